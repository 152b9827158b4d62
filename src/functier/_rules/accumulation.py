"""Derivatives of the methods `accumulate`, `reduce` and `reduceat` of a ufunc of two operands,
from the derivatives of the ufunc itself.

With ``y[i] = f(y[i-1], x[i])`` tangents follow the linear recurrence
``dy[i] = f_x dy[i-1] + f_y dx[i]``, whose factors are known once `y` is; cotangents follow
its transpose. Either takes log2(n) steps of whole arrays (Blelloch, *Prefix sums and their
applications*, 1990). Equal extrema share a gradient two by two, so that the earliest of
three equal ones gets a quarter.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.errors import NoRuleError
from .._core.numpy_facts import Axis, Value
from .._core.op import NO_VALUE
from .._core.rule import Rule
from .._core.table import OPS
from .axes import as_rows, from_rows
from .indexing import transpose_read
from .reduction import from_last, recurrence, reverse, to_last


def is_differentiable(ufunc: np.ufunc) -> bool:
    """Return whether the ufunc has a derivative by both of its operands."""
    record = OPS.get(ufunc)
    return record is not None and ufunc.nout == 1 and {"x", "y"} <= set(record.vjp)


# ---- along the last axis ----


def _step_factors(ufunc: np.ufunc, x: Value, y: Value) -> list:
    """Return the derivatives of each step by the result before it and by its element."""
    known = {"ans": y[..., 1:], "x": y[..., :-1], "y": x[..., 1:], "where": True}
    form = np.ones_like(known["ans"])
    rules = [OPS[ufunc].vjp[name] for name in ("x", "y")]
    return [rule.fn(form, *[known.get(name) for name in rule.needs]) for rule in rules]


def _zero_step(x: Value) -> Value:
    """Return zeros for one step."""
    return np.zeros_like(x[..., :1])


def _push_forward(ufunc: np.ufunc, t: Value, x: Value, y: Value) -> Value:
    """Return the tangent of ``y = ufunc.accumulate(x)``."""
    before, own = _step_factors(ufunc, x, y)
    steps = np.concatenate([t[..., :1], own * t[..., 1:]], axis=-1)
    return recurrence(np.concatenate([_zero_step(x), before], axis=-1), steps)


def _pull_back(ufunc: np.ufunc, g: Value, x: Value, y: Value, length: Value = None) -> Value:
    """Return the cotangent of `x`, given that of ``y = ufunc.accumulate(x)``.

    Elements of a row beyond its `length` do not take part: their factors may be infinite.
    """
    before, own = _step_factors(ufunc, x, y)
    if length is not None:
        inside = np.arange(1, np.shape(x)[-1]) < length
        before, own = np.where(inside, before, 0), np.where(inside, own, 0)
    after = reverse(np.concatenate([before, _zero_step(x)], axis=-1))
    total = reverse(recurrence(after, reverse(g)))
    return np.concatenate([total[..., :1], own * total[..., 1:]], axis=-1)


# ---- accumulate ----


def accumulate_rules(ufunc: np.ufunc) -> dict[str, Any]:
    """Return the derivative rules of ``ufunc.accumulate``."""

    def jvp(t: Value, array: Value, ans: Value, axis: int = 0) -> Value:
        x, y = to_last(array, axis), to_last(ans, axis)
        return from_last(_push_forward(ufunc, to_last(t, axis), x, y), axis, ans.shape)

    def vjp(g: Value, array: Value, ans: Value, axis: int = 0) -> Value:
        x, y = to_last(array, axis), to_last(ans, axis)
        return from_last(_pull_back(ufunc, to_last(g, axis), x, y), axis, ans.shape)

    return _pair_rules(jvp, vjp, "array")


def _pair_rules(jvp: Callable, vjp: Callable, *operands: str) -> dict[str, Any]:
    return {"jvp": {"array": jvp}, "vjp": {"array": Rule(vjp, operands, holomorphic=True)}}


# ---- reduce: the last that is accumulated ----


def _rows_to_accumulate(
    ufunc: np.ufunc, array: Value, axis: Axis, initial: Value, where: Value
) -> tuple[Value, bool]:
    """Return the rows to accumulate, and True where `initial` leads each of them.

    NumPy begins with the identity of the ufunc, which matters for one element alone.
    """
    if where is not True:
        if ufunc.identity is None:
            raise NoRuleError(
                f"numpy.{ufunc.__name__}.reduce has no derivative rule with where=; write "
                f"numpy.where(where, x, y) with a neutral y, and reduce that"
            )
        array = np.where(where, array, ufunc.identity)
    x = as_rows(array, axis if np.ndim(array) else None)
    if initial is NO_VALUE:
        initial = ufunc.identity if np.shape(x)[-1] == 1 else None
    if initial is None:
        return x, False
    first = np.astype(np.ones((*np.shape(x)[:-1], 1)) * initial, x.dtype)
    return np.concatenate([first, x], axis=-1), True


def reduce_rules(ufunc: np.ufunc) -> dict[str, Any]:
    """Return the derivative rules of ``ufunc.reduce``."""

    def jvp(
        t: Value,
        array: Value,
        ans: Value,
        axis: int = 0,
        initial: Value = NO_VALUE,
        where: Value = True,
    ) -> Value:
        x, led = _rows_to_accumulate(ufunc, array, axis, initial, where)
        if np.shape(x)[-1] == 0:
            return np.zeros_like(ans)
        moved = as_rows(np.where(where, t, 0), axis if np.ndim(array) else None)
        if led:
            moved = np.concatenate([_zero_step(x), moved], axis=-1)
        moved = _push_forward(ufunc, moved, x, ufunc.accumulate(x, axis=-1))
        return np.reshape(moved[..., -1], np.shape(ans))

    def vjp(
        g: Value, array: Value, axis: Axis = 0, initial: Value = NO_VALUE, where: Value = True
    ) -> Value:
        x, led = _rows_to_accumulate(ufunc, array, axis, initial, where)
        n = np.shape(x)[-1]
        if n == 0:
            return np.zeros_like(array)
        lead = np.reshape(g, (*np.shape(x)[:-1], 1)) * (np.arange(n) == n - 1)
        given = _pull_back(ufunc, lead, x, ufunc.accumulate(x, axis=-1))
        given = given[..., 1:] if led else given
        axis = axis if np.ndim(array) else None
        return np.where(where, from_rows(given, axis, np.shape(array)), 0)

    return _pair_rules(jvp, vjp, "array", "where")


# ---- reduceat: every slice as a row, its last element repeated up to the longest ----


def _slice_places(indices: Value, n: int) -> tuple:
    """Return the positions of the elements of each slice, and the length of each slice."""
    start = np.reshape(indices, (-1, 1))
    stop = np.concatenate([start[1:], np.reshape(n, (1, 1))])
    length = np.where(stop > start, stop - start, 1)
    size = int(np.max(length, initial=1)) if type(indices) is np.ndarray else n
    return start + np.minimum(np.arange(size), length - 1), length


def reduceat_rules(ufunc: np.ufunc) -> dict[str, Any]:
    """Return the derivative rules of ``ufunc.reduceat``."""

    def jvp(t: Value, array: Value, indices: Value, axis: int = 0) -> Value:
        array, t = np.moveaxis(array, axis, -1), np.moveaxis(t, axis, -1)
        places, length = _slice_places(indices, np.shape(array)[-1])
        x = np.take(array, places, axis=-1)
        with np.errstate(all="ignore"):  # the elements that are repeated
            moved = _push_forward(
                ufunc, np.take(t, places, axis=-1), x, ufunc.accumulate(x, axis=-1)
            )
        last = np.reshape(length - 1, (1,) * (np.ndim(array) - 1) + np.shape(length))
        moved = np.take_along_axis(moved, last, axis=-1)
        return np.moveaxis(np.reshape(moved, np.shape(moved)[:-1]), -1, axis)

    def vjp(g: Value, array: Value, indices: Value, axis: int = 0) -> Value:
        array, g = np.moveaxis(array, axis, -1), np.moveaxis(g, axis, -1)
        places, length = _slice_places(indices, np.shape(array)[-1])
        x = np.take(array, places, axis=-1)
        lead = np.reshape(g, (*np.shape(g), 1)) * (np.arange(np.shape(places)[-1]) == length - 1)
        with np.errstate(all="ignore"):  # the elements that are repeated
            given = _pull_back(ufunc, lead, x, ufunc.accumulate(x, axis=-1), length)
        index = (slice(None),) * (np.ndim(array) - 1) + (places,)
        return np.moveaxis(transpose_read(given, np.shape(array), index), -1, axis)

    return _pair_rules(jvp, vjp, "array", "indices")
