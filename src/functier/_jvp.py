"""Forward mode: a tensor is a pair of primal and tangent.

A tensor of a `JvpLevel` always has a tangent; a value whose tangent is zero leaves the
level, so a symbolic zero costs nothing.
"""

import sys
from collections.abc import Callable
from operator import getitem, matmul
from types import FrameType
from typing import Any

import numpy as np

from ._context import LevelContext, check_escape
from ._core.border import one_array, one_value, unexpected, without_derivative
from ._core.numpy_facts import FLOAT, INDEX_PARTS, dtype_of, shape_of
from ._core.op import Call, Op
from ._core.pytree import (
    check_callable,
    flatten,
    is_value,
    like,
    name_of_function,
    paths,
    unflatten,
)
from ._core.rule import negated
from ._core.table import PARTIALS, no_rule
from ._core.tensor import Tensor
from ._diff import (
    add,
    arrays_of,
    check_inputs,
    fit,
    fix_for,
    is_inexact,
    match,
    owned,
    split_aux,
    zeros,
)
from ._fast_calls import FastCalls
from ._level import Escape, Level, has_methods
from ._life import run

new = object.__new__
ndarray = np.ndarray
float64 = np.float64
NUMBERS = float, complex
WEAK = int, float, complex


class JvpLevel(Level):
    """A level of jvp: `_value` is the primal, `_extra` the tangent.

    A primal is of a floating-point or complex dtype; its tangent has its shape and dtype.
    """

    batches, differentiates, records = False, "forward", False

    def track(self, leaves: list, directions: list) -> list:
        """The inputs, each with its direction."""
        return [
            self.pair(x if type(x) is ndarray else self.lower(x), self.lower(t))
            for x, t in zip(leaves, directions)
        ]

    def pair(self, primal: Any, tangent: Any) -> Any:
        x = new(self.cls)
        x._value, x._extra = primal, tangent
        return x

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(
            kind, negated=negated, fitted=fitted, ndarray=ndarray, float64=float64, FLOAT=FLOAT,
            NUMBERS=NUMBERS,
        )  # fmt: skip
        makers = {  # by the number of facts, of which each operand has three
            3: fast.unary("func, rule, pick, _", UNARY),
            6: fast.binary("func, rule, pick, _, rule2, pick2, __", BINARY),
        }
        calls = {
            func: makers[len(row)](func, *row)
            for func, row in PARTIALS.items()
            if len(row) in makers and func not in (getitem, matmul)
        }
        product = fast.product("func", PRODUCT)
        calls[matmul] = calls[np.matmul] = product(matmul)
        calls[getitem] = fast.getitem("", INDEX_PARTS, GETITEM)()
        return calls

    def apply(self, op: Op, call: Call) -> Any:
        cls, values, moving = self.cls, [], []
        for i, x in enumerate(call.operands):
            if type(x) is cls:
                moving.append(i)
                values.append(x._value)
            else:
                values.append(self.lower(x))
        ans = call.run(values)
        if op.constant:
            return ans
        jvp, names, operands = op.jvp, call.names, call.operands
        rules = op.vjp if isinstance(jvp, str) else (jvp or {})
        for i in moving:
            if names[i] not in rules:
                raise no_rule(str(self), op, names[i])
        if not moving:
            return ans
        tangent: Any = None
        if jvp == "linear":
            tangent = call.run(
                [
                    x._extra if type(x) is cls else resting(v) if name in rules else v
                    for x, v, name in zip(operands, values, names)
                ]
            )
        elif jvp == "multilinear":
            for i in moving:
                t = call.run([*values[:i], operands[i]._extra, *values[i + 1 :]])
                tangent = add(tangent, t)
        else:
            for i in moving:
                rule = rules[names[i]]
                t = rule.fn(operands[i]._extra, *rule.save(ans, call, values, i))
                tangent = add(tangent, t)
        return self.outputs(ans, tangent, isinstance(jvp, str))

    def apply_single(self, op: Op, x: Any, given: dict) -> Any:
        value, jvp, name = x._value, op.jvp, op.lead[0]
        if jvp == "linear" and name in op.vjp:
            kernel = op.kernel
            return self.outputs(kernel(value, **given), kernel(x._extra, **given), True)
        rule = jvp.get(name) if type(jvp) is dict else None
        if rule is None or rule._direct is None:
            return Level.apply_single(self, op, x, given)
        ans = op.kernel(value, **given)
        tangent = rule.fn(x._extra, *rule.save_direct(ans, given, (value,)))
        return self.outputs(ans, tangent)

    def outputs(self, ans: Any, tangent: Any, linear: bool = False) -> Any:
        """The tensor, or tensors, of a result that has a tangent."""
        kind = type(ans)
        if linear and (kind is float64 or (kind is ndarray and ans.dtype is FLOAT)):
            return self.pair(ans, tangent)  # made alike, from operands of one form
        if isinstance(ans, (tuple, list)):
            return like(ans, [self.outputs(v, t) for v, t in zip(ans, tangent)])
        if tangent is None or not is_value(ans) or not is_inexact(ans):
            if tangent is not None and is_value(ans) and dtype_of(ans).kind not in "fciub":
                raise without_derivative(ans)
            return ans
        return self.pair(ans, fitted(tangent, ans))

    # ---- the imperative style ----

    def make(self, cls: type, data: Any, tangent: Any = None, *more: Any, **options: Any) -> Any:
        if more or options:
            raise unexpected(self, "J(x, tangent)", more, options)
        if tangent is None:
            raise TypeError(f"{self}: no tangent was given; write J(x, tangent)")
        data, tangent = [d if is_value(d) else one_array(self, d) for d in (data, tangent)]
        if has_methods(data):
            self.forward()
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x, t)"])
        data = self.lower(data)
        leaves, structure = flatten(data)
        (tangent,) = match(self, leaves, structure, self.lower(tangent), "tangent", "x")
        return self.pair(data, tangent)

    def unwrap(self, x: Any) -> Any:
        """``(primal, tangent)`` of a tensor of this level; zeros for any other value."""
        if type(x) is self.cls:
            return x._value, x._extra
        x = self.lower(one_value(self, x))
        return x, zeros(x)


# ---- the hot path ----


UNARY = """
value = x._value
y._value = ans = func(value)
y._extra = rule(x._extra, *pick(ans, value)) if pick else rule(x._extra)
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
    """,
    "left": """
        value = a._value
        ans = func(value, b)
        tangent = rule(a._extra, *pick(ans, value, b)) if pick else rule(a._extra)
    """,
    "right": """
        value = b._value
        ans = func(a, value)
        tangent = rule2(b._extra, *pick2(ans, a, value)) if pick2 else rule2(b._extra)
    """,
    "result": """
        kind = type(ans)
        if kind is not type(value) or (
            kind is not float64
            and not (
                kind is ndarray and ans.dtype is FLOAT is value.dtype and ans.shape == value.shape
            )
        ):  # so that the tangent may have another form than its primal
            tangent = fitted(tangent, ans)
        z._value, z._extra = ans, tangent
    """,
}

PRODUCT = {  # whose tangents have the form of their primal anyway
    "both": """
        x, y = a._value, b._value
        ans, tangent = func(x, y), func(a._extra, y) + func(x, b._extra)
    """,
    "left": "ans, tangent = func(a._value, b), func(a._extra, b)",
    "right": "ans, tangent = func(a, b._value), func(a, b._extra)",
    "result": "z._value, z._extra = ans, tangent",
}

GETITEM = """
value, t = x._value, x._extra
if type(value) in NUMBERS or type(t) in NUMBERS:  # which have no items
    return level.getitem(x, index)
y._value, y._extra = value[index], t[index]
"""


def fitted(tangent: Any, ans: Any) -> Any:
    """The tangent with the shape and dtype of its primal."""
    if fix_for(ans, tangent, False) is None:
        return tangent
    return fit(tangent, shape_of(ans), dtype_of(ans))


def resting(value: Any) -> Any:
    """The zero tangent of a constant; that of a Python number is as weak as it."""
    return type(value)(0) if type(value) in WEAK else zeros(value)


# ---- the transform ----


def pushed(
    label: str,
    escape: Escape,
    frame: FrameType,
    outer: list,
    call: Callable[[list], Any],
    leaves: list,
    directions: list,
    has_aux: bool,
    strict: bool = False,
) -> tuple[list, Any, Any]:
    """Call a function of leaves at a level of its own, each with its direction.

    The ``(primal, tangent)`` of every leaf of the result, its structure, and the rest of
    it where there is `has_aux`. `outer` holds the tensors in whose levels this one nests.
    """
    level = JvpLevel.prepare(label, escape, frame, outer)
    return run(level, _moved, (call, leaves, directions, has_aux, strict))


def _moved(level: Any, given: tuple) -> tuple[list, Any, Any]:
    """The result of `pushed`, at the level."""
    call, leaves, directions, has_aux, strict = given
    out = call(level.track(leaves, directions))
    aux: Any = None
    if has_aux:
        out, aux = split_aux(level, out)
    outputs, structure = arrays_of(level, out)
    if strict:
        _check_dependence(level, out, outputs)
    return [level.unwrap(y) for y in outputs], structure, aux


def directed(
    label: str,
    primals: Any,
    tangents: Any,
    noun: str = "tangent",
    call: str = "jvp(f, (x,), (t,))",
) -> tuple[list, Any, list]:
    """The leaves of the primals, checked, their tree, and a direction for each leaf."""
    if type(primals) is not tuple or type(tangents) is not tuple:
        for name, given in (("primals", primals), (f"{noun}s", tangents)):
            if not isinstance(given, (tuple, list)):
                raise TypeError(
                    f"{label}: {name} is a {type(given).__name__}; write a tuple with one entry "
                    f"for each argument, {call}"
                )
        primals, tangents = tuple(primals), tuple(tangents)
    if not primals:
        raise ValueError(f"{label}: no primals were given; call {call}")
    leaves, structure = flatten(primals, label, "primals")
    check_inputs(label, leaves, paths, primals, "primals")
    return leaves, structure, match(label, leaves, structure, tangents, noun, "primals")


def _check_dependence(level: JvpLevel, out: Any, outputs: list) -> None:
    """Raise where a leaf of the result has no tangent."""
    for i, y in enumerate(outputs):
        if type(y) is not level.cls:
            raise ValueError(
                f"{level}: {paths(out, 'the result')[i]} does not depend on any primal, or only "
                f"by operations whose derivative is zero (rounding, comparing); its tangent is "
                f"zeros where strict=True is left out"
            )


def jvp(
    func: Callable | None = None,
    primals: tuple = (),
    tangents: tuple = (),
    *,
    strict: bool = False,
    has_aux: bool = False,
    escape: Escape = "dead",
) -> Any:
    """The value of `func` and its Jacobian-vector product.

    Parameters
    ----------
    func : callable, optional
        A function of arrays or pytrees that returns such. Without it the result is a
        context manager: ``with jvp() as J:``, where ``x = J(primal, tangent)`` and
        ``J.unwrap(y)`` is ``(primal, tangent)``.
    primals, tangents : tuple
        The arguments, and for each the direction, of the same structure and shapes. A
        direction of integers or booleans is the same in the dtype of its primal.
    strict : bool
        Whether to raise where an output does not depend on any of the primals.
    has_aux : bool
        Whether `func` returns ``(output, aux)``.
    escape : {"dead", "passthrough"}
        What a tensor of this level does once the call is over.

    Returns
    -------
    tuple
        ``(output, tangent_out)``, or ``(output, tangent_out, aux)``. The tangent of an
        output has its shape and dtype; of an integer output it is zero.

    Raises
    ------
    TypeError
        Where primals or tangents are no tuples, or a primal is no floating-point array.
    ValueError
        Where a tangent does not have the structure or the shape of its primal; with
        `strict` where an output does not depend on the primals.
    NoRuleError
        Where the function uses an operation that has no derivative rule.

    Examples
    --------
    >>> y, t = jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(y), float(t)
    (9.0, 6.0)
    """
    check_escape("jvp", func, escape)
    if func is None:
        return LevelContext(JvpLevel, "jvp()", escape, _no_decorator)
    check_callable("jvp", func)
    label = f"jvp({name_of_function(func)})"
    leaves, structure, directions = directed(label, primals, tangents)
    outer = [x for x in (*leaves, *directions) if isinstance(x, Tensor)]
    pairs, out_structure, aux = pushed(
        label,
        escape,
        sys._getframe(1),
        outer,
        lambda inner: func(*unflatten(structure, inner)),
        leaves,
        directions,
        has_aux,
        strict,
    )
    results = [p for p, _ in pairs]
    value = unflatten(out_structure, results)
    given = (*leaves, *directions, *results)
    tangent = unflatten(out_structure, owned([t for _, t in pairs], given))
    return (value, tangent, aux) if has_aux else (value, tangent)


def _no_decorator(func: Callable) -> Callable:
    raise TypeError("jvp() without a function is a context manager; call jvp(f, primals, tangents)")
