"""Forward mode: a tensor is a pair of primal and tangent.

A tensor of a `JvpLevel` always has a tangent; a value whose tangent is zero leaves the
level, so a symbolic zero costs nothing.
"""

import sys
from collections.abc import Callable
from operator import getitem, matmul
from typing import Any

import numpy as np

from ._context import LevelContext, check_escape
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
)  # fmt: skip
from ._level import Escape, Level, level_in
from ._numpy import SCALARS, dtype_of, shape_of
from ._op import PARTIALS, Call, Op, no_rule
from ._pytree import check_callable, flatten, is_value, like, name_of_function, paths, unflatten
from ._tensor import Tensor

new = object.__new__
ndarray = np.ndarray


class JvpLevel(Level):
    """A level of jvp: `_value` is the primal, `_extra` the tangent."""

    def pair(self, primal: Any, tangent: Any) -> Any:
        x = new(self.cls)
        x._value, x._extra = primal, tangent
        return x

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        return {
            func: (_unary if len(row) == 3 else _binary)(func, *row)
            for func, row in PARTIALS.items()
            if len(row) <= 6 and func is not matmul and func is not getitem
        }

    def fitted(self, tangent: Any, ans: Any) -> Any:
        """The tangent with the shape and dtype of its primal."""
        if tangent is None or fix_for(ans, tangent, False) is None:
            return tangent
        return fit(tangent, shape_of(ans), dtype_of(ans))

    def apply(self, op: Op, call: Call) -> Any:
        values = [self.lower(x) for x in call.operands]
        ans = call.run(values)
        if op.constant:
            return ans
        tangents = [
            x._extra if type(x) is self.cls and is_inexact(v) else None
            for x, v in zip(call.operands, values)
        ]
        moving = [i for i, t in enumerate(tangents) if t is not None]
        for i in moving:
            rules = op.vjp if isinstance(op.jvp, str) else (op.jvp or {})
            if call.names[i] not in rules:
                raise no_rule(str(self), op, call.names[i])
        if not moving:
            return ans
        if op.jvp == "linear":
            tangent = call.run(
                [
                    v if call.names[i] not in op.vjp else zeros(v) if t is None else t
                    for i, (v, t) in enumerate(zip(values, tangents))
                ]
            )
        else:
            tangent = None
            for i in moving:
                t = self.partial(op, call, ans, values, i, tangents[i])
                tangent = add(tangent, t)
        if isinstance(ans, (tuple, list)):
            pairs = [self.output(v, t) for v, t in zip(ans, tangent)]
            return like(ans, pairs)
        return self.output(ans, tangent)

    def partial(self, op: Op, call: Call, ans: Any, values: list, i: int, t: Any) -> Any:
        """What the tangent of operand `i` alone adds to the tangent of the result."""
        if op.jvp == "multilinear":
            return call.run([*values[:i], t, *values[i + 1 :]])
        rule = op.jvp[call.names[i]]
        return rule.fn(t, *rule.save(ans, call, values, i))

    def output(self, value: Any, tangent: Any) -> Any:
        if tangent is None or not is_value(value) or not is_inexact(value):
            return value
        return self.pair(value, self.fitted(tangent, value))

    # ---- the imperative style ----

    def make(self, cls: type, data: Any, tangent: Any = None) -> Any:
        if tangent is None:
            raise TypeError(f"{self}: no tangent was given; write J(x, tangent)")
        data, tangent = [d if is_value(d) else np.asarray(d) for d in (data, tangent)]
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x, t)"])
        data = self.lower(data)
        leaves, structure = flatten(data)
        (tangent,) = match(self, leaves, structure, self.lower(tangent), "tangent", "x")
        return self.pair(data, tangent)

    def unwrap(self, x: Any) -> Any:
        """``(primal, tangent)`` of a tensor of this level; zeros for any other value."""
        if type(x) is self.cls:
            return x._value, x._extra
        x = self.lower(x)
        return x, zeros(x)

    def convert(self, x: Any, how: Any, *args: Any) -> Any:
        if how is bool or how is int:
            return how(x._value)
        return super().convert(x, how, *args)


def _unary(func: Callable, rule: Callable, pick: Any, _: bool) -> Callable:
    def call(x: Any) -> Any:
        cls = type(x)
        level = cls.level
        if type(level) is not JvpLevel:
            return level.unary(func, x)
        value = x._value
        ans = func(value)
        y = new(cls)
        y._value = ans
        y._extra = rule(x._extra, *pick(ans, value)) if pick else rule(x._extra)
        return y

    return call


def _binary(
    func: Callable, rule: Callable, pick: Any, _: bool, rule2: Callable, pick2: Any, __: bool
) -> Callable:
    def call(a: Any, b: Any) -> Any:
        cls, other = type(a), type(b)
        mine = yours = True
        if other is not cls:
            if other in SCALARS or other is ndarray:
                yours = False
            elif cls in SCALARS or cls is ndarray:
                mine, cls = False, other
            else:
                return level_in(a, b).binary(func, a, b)
        level = cls.level
        if type(level) is not JvpLevel:
            return level.binary(func, a, b)
        x = a._value if mine else a
        y = b._value if yours else b
        ans = func(x, y)
        tangent = None
        if mine:
            tangent = rule(a._extra, *pick(ans, x, y)) if pick else rule(a._extra)
        if yours:
            t = rule2(b._extra, *pick2(ans, x, y)) if pick2 else rule2(b._extra)
            tangent = add(tangent, t)
        z = new(cls)
        z._value, z._extra = ans, level.fitted(tangent, ans)
        return z

    return call


def jvp(
    func: Callable | None = None,
    primals: tuple = (),
    tangents: tuple = (),
    *,
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
        The arguments, and for each the direction, of the same structure and shapes.
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
        Where a tangent does not have the structure or the shape of its primal.
    NoRuleError
        Where the function uses an operation that has no derivative rule.

    Examples
    --------
    >>> y, t = jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> float(y), float(t)
    (9.0, 6.0)
    """
    check_escape("jvp", escape)
    if func is None:
        return LevelContext(JvpLevel, "jvp()", escape, _no_decorator)
    check_callable("jvp", func)
    label = f"jvp({name_of_function(func)})"
    for noun, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"{label}: {noun} is a {type(given).__name__}; write a tuple with one entry "
                f"for each argument, jvp(f, (x,), (t,))"
            )
    if not primals:
        raise ValueError(f"{label}: no primals were given; call jvp(func, (x,), (t,))")
    primals, tangents = tuple(primals), tuple(tangents)
    leaves, structure = flatten(primals)
    check_inputs(label, leaves, lambda: paths(primals, "primals"))
    directions = match(label, leaves, structure, tangents, "tangent", "primals")
    outer = [x for x in (*leaves, *directions) if isinstance(x, Tensor)]
    level = JvpLevel.enter(label, escape, sys._getframe(1), outer)
    try:
        inner = [level.pair(level.lower(x), level.lower(t)) for x, t in zip(leaves, directions)]
        out = func(*unflatten(structure, inner))
        aux: Any = None
        if has_aux:
            out, aux = split_aux(level, out)
        outputs, out_structure = arrays_of(level, out)
        pairs = [level.unwrap(y) for y in outputs]
        del inner, out, outputs
    finally:
        level.exit()
    level.recycle()
    value = unflatten(out_structure, [p for p, _ in pairs])
    tangent = unflatten(out_structure, owned([t for _, t in pairs], directions))
    return (value, tangent, aux) if has_aux else (value, tangent)


def _no_decorator(func: Callable) -> Callable:
    raise TypeError("jvp() without a function is a context manager; call jvp(f, primals, tangents)")
