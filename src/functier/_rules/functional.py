"""Functions that take a function."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Axis, Function, Value
from .._core.table import OPS
from .axes import as_array, as_strong, normalize
from .constructors import composite
from .own_code import by_own_code


@lambda body: composite(np.apply_along_axis, body)
def _apply_along_axis(
    func1d: Function, axis: Axis, arr: Value, *args: Value, **kwargs: Any
) -> Value:
    (axis,) = normalize(axis, np.ndim(arr))
    moved = np.moveaxis(arr, axis, -1)
    shape = np.shape(moved)[:-1]
    if 0 in shape:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = np.stack([func1d(moved[i], *args, **kwargs) for i in np.ndindex(*shape)])
    result = np.shape(rows)[1:]
    rows = np.reshape(rows, (*shape, *result))
    ends = range(len(shape), len(shape) + len(result))
    return np.moveaxis(rows, tuple(ends), tuple(range(axis, axis + len(result))))


by_own_code(np.apply_over_axes)
_by_numpy: Any = OPS[np.apply_over_axes].body


@lambda body: composite(np.apply_over_axes, body)
def _apply_over_axes(func: Function, a: Value, axes: Axis) -> Value:
    if not np.ndim(a):  # an array or a number is what `func` makes of it
        raise UnsupportedError(
            "numpy.apply_over_axes(func, x, axes): expected an array with axes, got one without; "
            "write func(x, axis)"
        )
    return _by_numpy(func, a, axes)


@lambda body: composite(np.piecewise, body)
def _piecewise(x: Value, condlist: Value, funclist: Sequence, *args: Value, **kw: Any) -> Value:
    several = isinstance(condlist, (list, tuple)) and (
        np.ndim(x) == 0 or isinstance(condlist[0], (list, tuple)) or np.ndim(condlist[0])
    )
    if not several and (isinstance(condlist, (list, tuple)) or np.ndim(condlist) <= np.ndim(x)):
        condlist = [condlist]  # one condition, for each element or for all
    conditions = [condlist[i] for i in range(len(condlist))]
    if len(conditions) == len(funclist) - 1:
        rest = conditions[0]
        for condition in conditions[1:]:
            rest = np.logical_or(rest, condition)
        conditions.append(np.logical_not(rest))
    elif len(conditions) != len(funclist):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    y = np.zeros(np.shape(x), np.result_type(x))
    for condition, func in zip(conditions, funclist):
        piece = func(_restrict(x, condition), *args, **kw) if callable(func) else func
        y = np.where(condition, np.astype(as_strong(as_array(piece)), np.result_type(x)), y)
    return y


def _restrict(x: Value, condition: Value) -> Value:
    """Replace the elements of `x` where the condition is false by one where it is true.

    So a function is called within its domain only, and no NaN reaches a derivative.
    """
    one = np.max(np.where(condition, x, -np.inf), initial=-np.inf)
    return np.where(condition, x, np.where(np.isfinite(one), one, 1)).astype(np.result_type(x))
