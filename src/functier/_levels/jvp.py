"""Forward mode: a tensor is a pair of primal and tangent.

A tensor of a `JvpLevel` always has a tangent; a value whose tangent is zero leaves the
level, so a symbolic zero costs nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import getitem, matmul
from operator import pow as power
from textwrap import dedent
from typing import Any

import numpy as np

from .._core.border import OBJECT, one_array, one_value, unexpected, without_derivative
from .._core.numpy_facts import FAST_PARTS, FLOAT, Function, Value, dtype_of, is_lazy, shape_of
from .._core.op import Call, Op
from .._core.pytree import flatten, is_value, like
from .._core.rule import STEEP, is_bent, kind_of, negated
from .._core.table import PARTIALS, no_rule
from .._core.tensor import Tensor
from .._core.unsettled import is_trusted
from .._mutation.array import Array, make_result_writable, settle
from .checks import check_inputs, match
from .cotangents import add, fit, fix_for, is_inexact, zeros
from .fast_calls import WITHOUT_AXES, FastCalls
from .level import Level
from .norms import is_norm, kinks_at, moves_of, note_norm, power_of_norm, settle_root
from .operands import check_real, has_methods, is_anywhere
from .second_look import (
    SPREADING,
    chosen,
    either,
    either_later,
    follow,
    follow_product,
    is_root,
    kinked,
    kinks_of,
    later,
    now,
    probe,
    question,
    rough,
    through,
    with_kinks,
)
from .states import Layer
from .stores import JvpStore

new = object.__new__
ndarray = np.ndarray
float64 = np.float64
NUMBERS = float, complex
WEAK = int, float, complex


class JvpLevel(Level):
    """A level of jvp: `_value` is the primal, `_extra` the tangent.

    A primal is of a floating-point or complex dtype; its tangent has its shape and dtype.
    """

    batches, differentiates, records, guards = False, "forward", False, False
    quiet = True
    store = JvpStore

    def track(self, leaves: list[Value], directions: list[Value]) -> list[Tensor]:
        """Return tensors of the inputs, each with its direction as the tangent."""
        found = []
        for x, t in zip(leaves, directions):
            t = self.lower(t)
            if type(t) is ndarray and t.ndim == 1 and t.size < 10:  # a list is faster
                all_of_it = all(t.tolist())
            else:
                all_of_it = type(t) in (ndarray, float64) and bool(t.all())
            moves = None if all_of_it else question(np.not_equal, (t, 0))
            found.append(self.pair(x if type(x) is ndarray else self.lower(x), t, moves))
        return found

    def pair(self, primal: Value, tangent: Value, moves: Any = None) -> Tensor:
        """Return the tensor of a primal and its tangent, and where that moves."""
        x: Any = new(self.cls)
        x._value, x._extra, x._moves = primal, tangent, moves
        return x

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(
            kind, negated=negated, fit_tangent=fit_tangent, ndarray=ndarray, float64=float64,
            FLOAT=FLOAT, NUMBERS=NUMBERS, OBJECT=OBJECT, without_derivative=without_derivative,
            chosen=chosen, either_later=either_later, kinked=kinked, rough=rough, getitem=getitem,
            through=through, is_trusted=is_trusted, check_real=check_real,
            is_norm=is_norm, is_bent=is_bent,
        )  # fmt: skip
        makers = {  # by the number of facts, of which each operand has three, and by their kind
            (3, False): fast.unary("func, rule, pick, _", UNARY),
            (3, True): fast.unary("func, rule, pick, _", STEEP_UNARY),
            (3, None): fast.unary("func, rule, pick, _", KINK_UNARY),
            (6, None): fast.binary("func, rule, pick, _, rule2, pick2, __", KINK_BINARY),
            (6, False): fast.binary("func, rule, pick, _, rule2, pick2, __", BINARY),
            (6, True): fast.binary("func, rule, pick, _, rule2, pick2, __", STEEP_BINARY),
            (6, power): fast.binary("func, rule, pick, _, rule2, pick2, __", POWER),
            (6, np.power): fast.binary("func, rule, pick, _, rule2, pick2, __", UFUNC_POWER),
            (3, np.square): fast.unary("func, rule, pick, _", SQUARE),
        }
        select = fast.binary("func, rule, pick, _, rule2, pick2, __", SELECTION)
        calls = fast.comparisons()
        for func, row in PARTIALS.items():
            if len(row) in (3, 6) and func not in (getitem, matmul):
                kind_here = kind_of(row[0])
                selects = kind_here in SPREADING and len(row) == 6
                how = None if kind_here == "kink" else func in STEEP
                make = select if selects else makers.get((len(row), func)) or makers[len(row), how]
                calls[func] = make(func, *row)
        product = fast.product("func", PRODUCT)
        calls[matmul] = calls[np.matmul] = product(matmul)
        calls[getitem] = fast.getitem("", {*FAST_PARTS, ndarray}, GETITEM, WITHOUT_AXES)()
        return calls

    def apply(self, op: Op, call: Call) -> Value:
        cls, values, moving = self.cls, [], []
        for i, x in enumerate(call.operands):
            if type(x) is cls:
                moving.append(i)
                values.append(x._value)
            else:
                values.append(self.lower(x))
        ans = call.run(values)
        if op.constant:
            return make_result_writable(self.cls, ans)
        jvp, names = op.jvp, call.names
        rules = op.vjp if isinstance(jvp, str) else (jvp or {})
        for i in moving:
            if names[i] not in rules:
                raise no_rule(str(self), op, names[i])
        if not moving:
            return ans
        tangent, moves = self.push(op, call, values, moving, ans)
        checked = op.family == "elementwise" and op.func is not np.where
        if checked and is_lazy(tangent):
            if op.func in STEEP and moves is not None:
                tangent = np.where(now(moves), tangent, 0)  # type: ignore[arg-type]
        elif checked and type(tangent) is not tuple and not is_trusted(tangent):
            if INFINITE.lay(self):
                tangent, moves = self.push(op, call, values, moving, ans)
        return self.outputs(ans, tangent, isinstance(jvp, str), moves)

    def push(
        self, op: Op, call: Call, values: list, moving: list[int], ans: Value
    ) -> tuple[Value, Any]:
        """Return the tangent of a result, and where it moves."""
        jvp: Any = op.jvp
        names, operands = call.names, call.operands
        tangent: Any = None
        moves: Any = None
        norm: list = []
        if found := power_of_norm(op, call, values, moving):
            return found
        if jvp == "linear":
            tangent = call.run(self.tangents(op, call, values))
            given = [operands[i]._moves for i in moving]
            constant = len(given) < len([n for n in names if n in op.vjp])
            if constant or all([m is not None for m in given]):
                moves = later(self.moves_through, given, op, call, values)
        elif jvp == "multilinear":
            for i in moving:
                t = call.run([*values[:i], operands[i]._extra, *values[i + 1 :]])
                tangent = add(tangent, t)
            moves = rough(*[operands[i]._moves for i in moving])
        else:
            for i in moving:
                rule, x = jvp[names[i]], operands[i]
                saved = rule.save(ans, call, values, i)
                part = moves_of(op, rule.fn, x, saved, ans)
                moves = part if tangent is None else either_later(moves, part)
                tangent = add(tangent, rule.fn(x._extra, *saved))
                norm.append((rule.fn, x._extra, saved))
            if kind_of(norm[0][0]) == "kink":  # else the question may be that of an operand
                note_norm(moves, ans, norm)
        return tangent, moves

    def tangents(self, op: Op, call: Call, values: list) -> list:
        """Return the operands of a linear operation, with the tangents of those that have one."""
        return [
            x._extra if type(x) is self.cls else zero_tangent(v) if name in op.vjp else v
            for x, v, name in zip(call.operands, values, call.names)
        ]

    def moves_through(self, moves: Sequence, op: Op, call: Call, values: list) -> Value:
        """Return where the result of a linear operation moves, for the `moves` of its operands."""
        found = iter(moves)
        numbers = [
            probe(t, now(next(found))) if type(x) is self.cls else t
            for x, t in zip(call.operands, self.tangents(op, call, values))
        ]
        found = call.run(numbers)
        return None if isinstance(found, (tuple, list)) else np.not_equal(found, 0)

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        value, jvp, name = x._value, op.jvp, op.lead[0]
        moves = x._moves  # type: ignore[attr-defined]
        if jvp == "linear" and name in op.vjp:
            kernel = op.kernel
            if moves is not None:
                moves = through(partial(kernel, **given), value, (), moves)
            return self.outputs(kernel(value, **given), kernel(x._extra, **given), True, moves)
        rule = jvp.get(name) if type(jvp) is dict else None
        if rule is None or rule._direct is None or op.family == "elementwise":
            return Level.apply_single(self, op, x, given)
        ans = op.kernel(value, **given)
        saved = rule.save_direct(ans, given, (value,))
        tangent = rule.fn(x._extra, *saved)
        return self.outputs(ans, tangent, False, moves_of(op, rule.fn, x, saved, ans))

    def steep(self, func: Function, args: tuple) -> Any:
        """Compute a call whose tangent is not finite, and all later ones, with where each moves."""
        if not any(map(is_lazy, args)):
            INFINITE.lay(self)
        return (self.binary if args[1:] else self.unary)(func, *args)

    def outputs(self, ans: Value, tangent: Value, linear: bool = False, moves: Any = None) -> Value:
        """Return the tensor, or tensors, of a result that has a tangent."""
        kind = type(ans)
        if linear and (kind is float64 or (kind is ndarray and ans.dtype is FLOAT)):
            return self.pair(ans, tangent, moves)  # made alike, from operands of one form
        if issubclass(kind, (tuple, list)):
            return like(ans, [self.outputs(v, t) for v, t in zip(ans, tangent)])
        if kind is self.cls:  # an object array among the operands had it as an element
            raise without_derivative(ans)
        if tangent is None or not is_value(ans) or not is_inexact(ans):
            if tangent is not None and is_value(ans) and dtype_of(ans).kind not in "fciub":
                raise without_derivative(ans)
            return ans
        return self.pair(ans, fit_tangent(tangent, ans), moves)

    def moves(self, x: Tensor) -> bool:
        """Return whether a tensor depends on what is differentiated."""
        t = x._extra
        recorded = isinstance(t, Tensor) and t.level.kind.records
        return t.level.moves(t) if recorded else is_anywhere(np.not_equal(t, 0), True)

    # ---- the imperative style ----

    def make(self, cls: type, data: Any, tangent: Any = None, *more: Any, **options: Any) -> Any:
        if more or options:
            raise unexpected(self, "J(x, tangent)", more, options)
        if tangent is None:
            raise TypeError(f"{self}: no tangent was given; write J(x, tangent)")
        data, tangent = [d if is_value(d) else one_array(self, d) for d in (data, tangent)]
        if has_methods(data):
            self.forward_attributes()
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x, t)"])
        data = self.lower(data)
        leaves, structure = flatten(data)
        (tangent,) = match(self, leaves, structure, self.lower(tangent), "tangent", "x")
        return self.pair(data, tangent)

    def unwrap(self, x: Value) -> tuple[Value, Value]:
        """Return ``(primal, tangent)`` of a tensor of this level; zeros for any other value."""
        if type(x) is Array:
            x = settle(x)
        if type(x) is self.cls:
            return x._value, x._extra
        x = self.lower(one_value(self, x))
        return x, zeros(x)


class Other:
    """The layer over a level of another kind, which is never laid."""


class Infinite(JvpLevel):
    """The layer over a level that has met a tangent which is not finite."""

    def push(
        self, op: Op, call: Call, values: list, moving: list[int], ans: Value
    ) -> tuple[Value, Any]:
        jvp: Any = op.jvp
        operands = call.operands
        tangent: Any = None
        moves: Any = None
        alone = len(moving) == 1
        norm: list = []
        if power := power_of_norm(op, call, values, moving):
            return power
        if jvp == "linear":
            tangent = call.run(self.tangents(op, call, values))
            given = [operands[i]._moves for i in moving]
            moves = self.moves_through(given, op, call, values)
            return tangent, with_kinks(moves, kinks_of(*given))
        kinks = kinks_of(*[operands[i]._moves for i in moving])
        for i in moving:
            x = operands[i]
            if jvp == "multilinear":
                given, other = x._extra, values[1 - i]
                rule = lambda g, v: call.run([g, v] if i == 0 else [v, g])  # noqa: E731
                t, found = follow_product(
                    rule, rule(given, other), given, _now_of(x), (other,), alone
                )
                t = t if found is None else np.where(found, t, 0)[()]
            else:
                rule = jvp[call.names[i]]
                saved = rule.save(ans, call, values, i)
                t, found = follow(rule.fn, x._extra, _now_of(x), saved, alone)
                norm.append((rule.fn, x._extra, saved))
                kinks += kinks_at(rule.fn, saved, ans)
                if is_root(rule.fn, saved):
                    t = settle_root(x, t, saved[0])
                    kinks += ((saved[0], 0),)
            moves = found if tangent is None else either(moves, found)
            tangent = add(tangent, t)
        moves = with_kinks(moves, kinks)
        note_norm(moves, ans, norm)
        return tangent, moves

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        return Level.apply_single(self, op, x, given)


def _now_of(x: Any) -> Value | None:
    """Return where a tangent moves; where it is not zero it does, whatever was written since."""
    moves, t = now(x._moves), x._extra
    if moves is None:
        return None
    return np.logical_or(moves, np.logical_and(np.isfinite(t), np.not_equal(t, 0)))


def _mixin(kind: type) -> type:
    return Infinite if kind.differentiates == "forward" else Other  # type: ignore[attr-defined]


INFINITE = Layer("Infinite", -1, _mixin)


def fit_tangent(tangent: Value, ans: Value) -> Value:
    """Give a tangent the shape and dtype of its primal."""
    fits = not fix_for(ans, tangent, False)
    return tangent if fits else fit(tangent, shape_of(ans), dtype_of(ans))


def zero_tangent(value: Value) -> Value:
    """Return the zero tangent of a constant; that of a Python number is a Python number, too."""
    return type(value)(0) if type(value) in WEAK else zeros(value)


# ---- the hot path ----

UNARY = """
value = x._value
y._value = ans = func(value)
y._extra = tangent = rule(x._extra, *pick(ans, value)) if pick else rule(x._extra)
y._moves = x._moves
"""

BINARY = {
    "both": """
        value, y, t = a._value, b._value, b._extra
        ans = func(value, y)
        tangent = rule(a._extra, *pick(ans, value, y)) if pick else rule(a._extra)
        if rule2 is negated:
            tangent = tangent - t
        else:
            tangent = tangent + (rule2(t, *pick2(ans, value, y)) if pick2 else rule2(t))
        moves = a._moves
        if moves is not b._moves:
            moves = either_later(moves, b._moves)
    """,
    "left": """
        value = a._value
        ans = func(value, b)
        tangent = rule(a._extra, *pick(ans, value, b)) if pick else rule(a._extra)
        moves = a._moves
    """,
    "right": """
        value = b._value
        ans = func(a, value)
        tangent = rule2(b._extra, *pick2(ans, a, value)) if pick2 else rule2(b._extra)
        moves = b._moves
    """,
    "result": """
        kind = type(ans)
        if kind is not type(value) or (
            kind is not float64
            and kind not in NUMBERS
            and not (
                kind is ndarray and ans.dtype is FLOAT is value.dtype and ans.shape == value.shape
            )
        ):  # the tangent may have another form than its primal
            if kind is type(z):
                raise without_derivative(ans)
            tangent = fit_tangent(tangent, ans)
        z._value, z._extra, z._moves = ans, tangent, moves
    """,
}

KINK_UNARY = """
value, t = x._value, x._extra
y._value = ans = func(value)
saved = pick(ans, value)
y._extra, y._moves = rule(t, *saved), kinked(x._moves, ans, 0, (ans, [(rule, t, saved)]))
"""
NORM_OF = {
    "both": "norm = [(rule, a._extra, pick(ans, value, y)), (rule2, t, pick2(ans, value, y))]",
    "left": "norm = [(rule, a._extra, pick(ans, value, b))]",
    "right": "norm = [(rule2, b._extra, pick2(ans, a, value))]",
    "result": "z._moves = kinked(moves, ans, 0, (ans, norm))",
}
KINK_BINARY = {case: f"{dedent(text)}\n{dedent(NORM_OF[case])}" for case, text in BINARY.items()}
"""The calls of norms."""

STEEP_UNARY = (
    UNARY
    + """
if not is_trusted(tangent):
    return level.steep(func, (x,))
"""
)
STEEP_BINARY = {
    **BINARY,
    "result": dedent(BINARY["result"]) + """
if not is_trusted(tangent):
    return level.steep(func, (a, b))
    """,
}  # fmt: skip
"""The calls of functions whose derivative may be infinite."""

OF_NORM = """
if is_norm(a):
    return level.binary(func, a, b)
"""
BENT = """
if type(b) is not int and (1 < b < 2 if type(b) is float else is_bent(b)):
    moves = kinked(moves, ans)
"""
UFUNC_POWER = {
    **STEEP_BINARY,
    "both": dedent(BINARY["both"]) + "moves = kinked(moves, ans)",
    "left": OF_NORM + dedent(BINARY["left"]) + BENT,
}
SQUARE = f"""
if is_norm(x):
    return level.unary(func, x)
{UNARY}"""
POWER = {
    **STEEP_BINARY,
    "both": UFUNC_POWER["both"].replace("tangent", "check_real(level, ans, value, y); tangent", 1),
    "left": UFUNC_POWER["left"].replace("tangent", "check_real(level, ans, value, b); tangent", 1),
}
"""The calls of the operator of powers."""

SELECTION = {
    **BINARY,
    "both": dedent(BINARY["both"]) + """
moves = kinked(moves, value, y)
    """,
    "left": dedent(BINARY["left"]) + """
moves = chosen(moves, value, ans)
    """,
    "right": dedent(BINARY["right"]) + """
moves = chosen(moves, value, ans)
    """,
}  # fmt: skip
"""The calls of functions that choose an operand."""

PRODUCT = {  # the tangents always have the form of their primal
    "both": """
        x, y = a._value, b._value
        ans, tangent = func(x, y), func(a._extra, y) + func(x, b._extra)
        moves = a._moves if a._moves is b._moves is None else rough(a._moves, b._moves)
    """,
    "left": """
        ans, tangent = func(a._value, b), func(a._extra, b)
        moves = a._moves if a._moves is None else rough(a._moves)
    """,
    "right": """
        ans, tangent = func(a, b._value), func(a, b._extra)
        moves = b._moves if b._moves is None else rough(b._moves)
    """,
    "result": """
        kind = type(ans)
        if kind is not float64 and (
            kind is type(z) or kind is float or ans.dtype is OBJECT
        ):
            raise without_derivative(ans)  # an operand is an array of objects
        z._value, z._extra, z._moves = ans, tangent, moves
    """,
}

GETITEM = """
value, t = x._value, x._extra
if type(value) in NUMBERS or type(t) in NUMBERS:  # numbers have no items
    return level.getitem(x, index)
y._value, y._extra, y._moves = value[index], t[index], x._moves
if x._moves is not None:
    y._moves = through(getitem, value, (index,), x._moves)
"""
