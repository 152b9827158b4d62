"""Reverse mode: a tensor has a value and a node of the tape."""

from collections.abc import Callable, Sequence
from operator import getitem, itemgetter
from typing import Any

import numpy as np

from .._core.border import one_array, unexpected
from .._core.numpy_facts import (
    FAST_PARTS,
    FLOAT,
    PLAIN,
    SEQUENCES,
    UFUNC_OF,
    Function,
    Index,
    Value,
    dtype_of,
    has_counts,
    shape_of,
)
from .._core.op import Call, Op
from .._core.pytree import describe, flatten, is_value, like, unflatten
from .._core.rule import POWERS, SQUARED, by_square, smooth_exponent
from .._core.subclasses import inside
from .._core.table import PARTIALS, no_rule
from .._core.tensor import Tensor
from .._mutation.array import alias_of, make_result_writable, settle
from .backward import backward
from .checks import REAL_RESULT, check_inputs, check_result
from .cotangents import complex_derivatives, fill_zeros, fix_for, form_of, is_inexact, one, zeros_of
from .fast_calls import WITHOUT_AXES, FastCalls
from .grad_store import GradStore
from .kept import SHARED, Keeping, compare, given_arrays, is_fixed, keep, owned
from .level import Level
from .memory import own_memory
from .norms import square_of
from .operands import has_methods, taken_out
from .second_look import moves_leaves
from .tape import node_numbers, node_of, output_rule

float64 = np.float64
new = object.__new__
ndarray = np.ndarray


class GradLevel(Level):
    """A level of grad, value_and_grad or vjp: each tensor has a value and a node."""

    batches, differentiates, records, guards = False, "reverse", False, False
    quiet = True
    store = GradStore

    holomorphic = False  # true where `gradient` is the complex derivative

    def track(self, leaves: list[Value]) -> list:
        """Return tensors to differentiate by: leaves of the tape."""
        cls, tracked = self.cls, []
        for leaf in leaves:
            x = new(cls)
            x._value = leaf if type(leaf) in PLAIN else self.lower(leaf)
            x._extra = next(node_numbers), None
            tracked.append(x)
        return tracked

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(
            kind, node_numbers=node_numbers, fix_for=fix_for, shape_of=shape_of,
            ndarray=ndarray, float64=float64, FLOAT=FLOAT, SHARED=SHARED,
            keep_large=_keep_large, keep_index=_keep_index, alias_of=alias_of,
            SQUARED=SQUARED,
        )  # fmt: skip
        one, two = "func, rule, pick, holomorphic", "rule2, pick2, holomorphic2"
        makers = {  # by the number of facts, of which each operand has three
            3: fast.unary(one, UNARY),
            8: fast.binary(f"{one}, {two}, reads, reads2", BINARY),
        }
        smooth = {
            3: fast.unary(one, SQUARE), 8: fast.binary(f"{one}, {two}, reads, reads2", POWER),
        }  # fmt: skip
        calls = fast.comparisons()
        for func, row in PARTIALS.items():
            if len(row) == 6:  # also whether the rule of the one operand reads the other one
                row = *row, _reads(row[1], 2), _reads(row[4], 1)
            if len(row) in makers and func is not getitem:
                powers = UFUNC_OF.get(func, func) in POWERS
                calls[func] = (smooth if powers else makers)[len(row)](func, *row)
        parts = {*FAST_PARTS, ndarray}
        calls[getitem] = fast.getitem("rule, *_", parts, GETITEM, WITHOUT_AXES)(*PARTIALS[getitem])
        return calls

    def getitem(self, x: Tensor, index: Index) -> Value:
        if type(x) is not self.cls or not has_counts(index):
            return super().getitem(x, index)
        value, node = x.parts()  # as the fast call does, so that its cotangent is a piece
        saved = shape_of(value), index
        made = next(node_numbers), node, PARTIALS[getitem][0], saved, None, None
        return self.cls.join(value[index], made)

    def apply(self, op: Op, call: Call) -> Value:
        values = [self.lower(x) for x in call.operands]
        return self.record(op, call, values, call.run(values))

    def record(self, op: Op, call: Call, values: list[Value], ans: Value) -> Value:
        """Return the tensor, or tensors, of a result, with the node that leads to it."""
        if op.constant:
            return make_result_writable(self.cls, ans)
        cls = self.cls
        edges: list[tuple] = []
        mine = [i for i, x in enumerate(call.operands) if type(x) is cls and is_inexact(values[i])]
        if not mine:
            return ans
        if op.func in POWERS and mine == [0] and (half := square_of(call.operands[0]._extra)):
            y = smooth_exponent(call)
            if y is not None:
                fix = fix_for(ans, values[0], True)
                made = new(cls)
                made._value, made._extra = ans, node_of([(half, by_square, (values[0], y), fix)])
                return made
        joint = op.joint if len(mine) > 1 else None
        keeping = None
        others = len(mine) < len(call.operands) or call.given  # of which a rule may keep an array
        for i in mine:
            rule = op.vjp.get(call.names[i])
            if rule is None:
                raise no_rule(str(self), op, call.names[i])
            fix = fix_for(ans, values[i], rule.holomorphic)
            if not fix and "dtype" in call.given:  # the other operands may be wider
                fix = (shape_of(values[i]), dtype_of(values[i]), False)
            if joint is None:
                fn, saved = rule.fn, rule.save(ans, call, values, i)
            else:
                fn, saved = itemgetter(i), ()
            if others and saved and not is_fixed(saved):
                keeping = keeping or Keeping.of_call(self, call, (ans, values))
                keeping.add(edges, call.operands[i]._extra, fn, saved, fix)
            else:
                edges.append((call.operands[i]._extra, fn, saved, fix))
        if joint is not None:
            node, edges = node_of(edges), []
            saved = joint.save(ans, call, values, 0)
            if others:
                keeping = Keeping.of_call(self, call, (ans, values))
                keeping.add(edges, node, joint.fn, saved, None)
            else:
                edges.append((node, joint.fn, saved, None))
        if issubclass(type(ans), SEQUENCES):
            return self.record_outputs(ans, edges)
        if not is_inexact(ans):
            return ans
        y = new(cls)
        y._value, y._extra = ans, node_of(edges)
        return y

    def apply_single(self, op: Op, x: Tensor, given: dict) -> Value:
        rule = op.vjp.get(op.lead[0])
        value = x._value
        if rule is None or rule._direct is None or op.func in POWERS:
            return Level.apply_single(self, op, x, given)
        kind = type(value)
        if kind not in PLAIN and op.dispatches and isinstance(value, Tensor) and kind.level.depth:
            ans = kind.level.function(op.func, (value,), given)  # without NumPy's dispatch
        else:
            ans = op.kernel(value, **given)
        kind = type(ans)
        if kind is float64 or (kind is ndarray and ans.dtype is FLOAT):
            is_plain = type(value) is ndarray and value.dtype is FLOAT
        elif issubclass(kind, SEQUENCES) or not is_inexact(ans):
            return self.record(op, Call(op, given, op.lead, [x], True), [value], ans)
        else:
            is_plain = False
        y = new(self.cls)
        y._value = ans
        fix = (value.shape, FLOAT, False) if is_plain else fix_for(ans, value, rule.holomorphic)
        saved = rule.save_direct(ans, given, (value,))
        if given and (arrays := given_arrays(self.cls, given.values())):
            edges: list[tuple] = []
            keeping = Keeping(self, op.func, arrays, (ans, [value]))
            keeping.add(edges, x._extra, rule.fn, saved, fix)
            y._extra = node_of(edges)
        else:
            y._extra = next(node_numbers), x._extra, rule.fn, saved, fix, None
        return y

    def record_outputs(self, ans: Sequence[Value], edges: list) -> Sequence[Value]:
        """Return tensors for an operation with several outputs."""
        edges = [(p, _with_zeros(rule, ans), saved, fix) for p, rule, saved, fix in edges]
        node = node_of(edges)
        outputs = []
        for i, value in enumerate(ans):
            if is_value(value) and is_inexact(value):
                y = new(self.cls)
                y._value, y._extra = value, node_of([(node, output_rule(i, len(ans)), (), None)])
                value = y
            outputs.append(value)
        return like(ans, outputs)

    def moves(self, x: Tensor) -> bool:
        """Return whether a tensor depends on what is differentiated."""
        return moves_leaves(x._extra, x._value)

    # ---- the imperative style ----

    def make(self, cls: type, data: Any, *more: Any, **options: Any) -> Any:
        if more or options:
            raise unexpected(self, "G(x)", more, options)
        if not is_value(data):
            data = one_array(self, data)
        elif has_methods(data):
            self.forward_attributes()
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x)"])
        return self.track([data])[0]

    def gradient(self, output: Any, inputs: Any) -> Any:
        """The gradient of the scalar `output` for `inputs`, a tensor or a pytree."""
        if inputs is None:
            raise TypeError(f"{self}: gradient(y) has no inputs; write gradient(y, x)")
        leaves, structure = flatten(inputs)
        for leaf in leaves:
            if type(leaf) is not self.cls:
                got = f"a tensor of {leaf.level}" if isinstance(leaf, Tensor) else describe(leaf)
                raise ValueError(
                    f"{self}: gradient(y, x) needs inputs made by G(x) in `with grad() as G`, "
                    f"the block of this level; got {got}"
                )
        value, node = self.scalar(output, self.holomorphic)
        grads = backward([(node, one(value))], [x._extra for x in leaves])
        if self.holomorphic:
            grads = complex_derivatives(grads)
        return unflatten(structure, own_memory(fill_zeros(grads, [x._value for x in leaves])))

    def scalar(self, output: Any, holomorphic: bool) -> tuple[Any, Any]:
        """The value and node of a differentiated output, checked to be a real scalar, or
        a complex one.
        """
        if not is_value(output):
            raise TypeError(
                f"{self}: the function returned {describe(output)}; return one scalar, or "
                f"(scalar, aux) with has_aux=True"
            )
        mine = type(output) is self.cls
        if not mine:
            output = taken_out(self, settle(inside(output)))
            mine = type(output) is self.cls
        if not mine:
            check_result(self, lambda: "the result", output)
        value = output._value if mine else self.lower(output)
        if holomorphic or (type(value) is not float64 and type(value) is not float):
            if shape_of(value) != ():
                raise ValueError(
                    f"{self}: the function returned shape {np.shape(value)}; the gradient is "
                    f"of a scalar: return numpy.sum(y) or numpy.mean(y), or write "
                    f"functier.jacrev(f), which differentiates each element"
                )
            if dtype_of(value).kind != ("c" if holomorphic else "f"):
                raise TypeError(
                    f"{self}: the function returned dtype {dtype_of(value)}; "
                    f"{_remedy(dtype_of(value).kind, holomorphic)}"
                )
        return value, output._extra if mine else (next(node_numbers), None)


def _remedy(kind: str, holomorphic: bool) -> str:
    """The advice of a message on an output whose dtype is of the wrong kind."""
    if holomorphic:
        return REAL_RESULT
    if kind == "c":
        return (
            "the gradient is of a real floating-point scalar: return numpy.real(y) or "
            "numpy.abs(y), or pass holomorphic=True for the complex derivative"
        )
    return "the gradient is of a real floating-point scalar: return y.astype(float)"


def _with_zeros(rule: Function, ans: Sequence[Value]) -> Function:
    """Return the rule for several outputs with zeros for the cotangents of unused ones."""
    if hasattr(rule, "takes_absent"):
        return rule
    forms = [form_of(v) for v in ans]

    def pull_filled(g: tuple, *saved: Any) -> Any:
        full = [zeros_of(form) if c is None else c for c, form in zip(g, forms)]
        return rule(tuple(full), *saved)

    return pull_filled


def _reads(pick: Callable | None, place: int) -> bool:
    """Return whether the values that a rule picks have that at `place` of ``ans, x, y``."""
    return pick is not None and place in pick(0, 1, 2)


def _keep_large(
    level: GradLevel, func: Function, ans: Value, x: Tensor, other: ndarray, rule: Function,
    pick: Callable, holomorphic: bool, first: bool,
) -> Tensor:  # fmt: skip
    """Return the result of `func` of `x` and a large array that its rule reads; `x` may be first.

    An edge in front of that of the rule compares the array.
    """
    value: Any = x._value
    other, kept = keep(other, level, func, (ans, value))
    saved = pick(ans, value, other) if first else pick(ans, other, value)
    edges: list[tuple] = [(x._extra, rule, saved, fix_for(ans, value, holomorphic))]
    if kept is not None:
        edges.insert(0, (x._extra, compare, (kept,), None))
    y = new(level.cls)
    y._value, y._extra = ans, node_of(edges)
    return y


def _keep_index(index: Any) -> Any:
    """Return an index with copies of the arrays in it."""
    return tuple([owned(x) for x in index]) if type(index) is tuple else owned(index)


# ---- the hot path ----

UNARY = """
value = x._value
ans = func(value)
kind = type(ans)
if kind is type(value) and (kind is float64 or (kind is ndarray and ans.dtype is FLOAT)):
    fix = False
else:
    fix = fix_for(ans, value, holomorphic)
y._value = ans
saved = pick(ans, value) if pick else ()
y._extra = next(node_numbers), x._extra, rule, saved, fix, None
"""

SQUARE = (
    """
if x._extra[1] is not None and x._extra[2] in SQUARED:
    return level.unary(func, x)
"""
    + UNARY
)

BINARY = {
    "both": """
        x, y = a._value, b._value
        ans = func(x, y)
        saved = pick2(ans, x, y) if pick2 else ()
        fix = False if type(ans) is float64 is type(y) else fix_for(ans, y, holomorphic2)
        rest = b._extra, rule2, saved, fix, None
        saved = pick(ans, x, y) if pick else ()
        fix = False if type(ans) is float64 is type(x) else fix_for(ans, x, holomorphic)
        node = next(node_numbers), a._extra, rule, saved, fix, rest
    """,
    "left": """
        x = a._value
        ans = func(x, b)
        if reads and type(b) is ndarray:
            if b.nbytes > SHARED:
                return keep_large(level, func, ans, a, b, rule, pick, holomorphic, True)
            b = b.copy()
        saved = pick(ans, x, b) if pick else ()
        fix = False if type(ans) is float64 is type(x) else fix_for(ans, x, holomorphic)
        node = next(node_numbers), a._extra, rule, saved, fix, None
    """,
    "right": """
        y = b._value
        ans = func(a, y)
        if reads2 and type(a) is ndarray:
            if a.nbytes > SHARED:
                return keep_large(level, func, ans, b, a, rule2, pick2, holomorphic2, False)
            a = a.copy()
        saved = pick2(ans, a, y) if pick2 else ()
        fix = False if type(ans) is float64 is type(y) else fix_for(ans, y, holomorphic2)
        node = next(node_numbers), b._extra, rule2, saved, fix, None
    """,
    "left_inner": """
        x = a._value
        ans = func(x, b)
        saved = pick(ans, x, alias_of(b) if reads else b) if pick else ()
        node = next(node_numbers), a._extra, rule, saved, fix_for(ans, x, holomorphic), None
    """,
    "right_inner": """
        y = b._value
        ans = func(a, y)
        saved = pick2(ans, alias_of(a) if reads2 else a, y) if pick2 else ()
        node = next(node_numbers), b._extra, rule2, saved, fix_for(ans, y, holomorphic2), None
    """,
    "result": "z._value, z._extra = ans, node",
}

POWER = {
    **BINARY,
    "left": """
        if a._extra[1] is not None and a._extra[2] in SQUARED:
            return level.binary(func, a, b)
    """ + BINARY["left"],
}  # fmt: skip
"""The calls of powers: those of a norm are differentiated by its square."""

GETITEM = """
value = x._value
if type(value) is float or type(value) is complex:
    return level.getitem(x, index)
y._value = value[index]
if ndarray in map(type, parts):
    index = keep_index(index)
y._extra = next(node_numbers), x._extra, rule, (shape_of(value), index), None, None
"""
