"""The order in memory of new arrays: that of NumPy's, where a rule computes them in another one.

`_core.sharing.ORDERS` says which order a function's results have. It decides whether a later
reshape is a view.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import order_of
from .._core.op import Op
from .._core.root import tree_map
from .._core.sharing import ASKED
from .._core.tensor import Tensor
from .._core.types import Function
from .._mutation.array import innermost, view_of, was_written
from .._mutation.layouts import laid_as
from .lying import example, is_hidden, steps_in_numpy

ndarray = np.ndarray
Axes = Sequence[int]
"""The axes of an array, from that with the largest steps in memory on."""


def made_in_order(op: Op, args: tuple, kwargs: dict, y: Any) -> Any:
    """Return the result of a body as it lies in NumPy, where the call may ask for an order."""
    place = ASKED.get(op.func, len(args))
    asked = args[place] if place < len(args) else kwargs.get("order")
    order = (asked.upper(), 0) if asked else op.order
    return in_order(order, op.func, args, kwargs, y)  # type: ignore[arg-type]  # it has one


def in_order(order: tuple[str, int], func: Function, args: tuple, kwargs: dict, result: Any) -> Any:
    """Return a new array, or several, as NumPy's lie in memory; see `_core.sharing.ORDERS`."""
    if type(result) in (tuple, list):
        return type(result)([in_order(order, func, args, kwargs, y) for y in result])
    if not isinstance(result, Tensor) or result.ndim < 2 or is_hidden(result):
        return result
    kind, place = order
    rows = range(result.ndim)
    axes: Axes | None = rows[::-1] if kind == "F" else rows
    if kind in ("M", "R"):
        axes = _axes_by_model(func, args, kwargs, rows if kind == "R" and not kwargs else None)
    elif kind in ("K", "A"):
        axes = _axes_of(args[place] if place < len(args) else None, kind, rows)
    return result if axes is None or _lies_by(result, axes) else _copy_by(result, axes)


def product_in_order(a: Any, b: Any, z: Any) -> Any:
    """Return the product of matrices `z` as it lies in NumPy."""
    value = innermost(z)
    if type(value) is ndarray and value.flags.c_contiguous and z.ndim < 3:
        return z
    return in_order(("R", 0), np.matmul, (a, b), {}, z)


def _axes_of(x: Any, kind: str, rows: range) -> Axes | None:
    """Return the axes of a result that lies as `x` does; None where nobody can tell."""
    if not isinstance(x, Tensor) or is_hidden(x):
        return None
    window = x.level.window(x)
    if kind == "A":
        return rows[::-1] if order_of(window) == "F" else rows
    form = np.empty_like(window)
    if form.ndim == len(rows):
        return _by_steps(form)
    return rows[::-1] if order_of(form) == "F" else rows


def _by_steps(form: ndarray) -> Axes:
    """Return the axes of an array as they lie."""
    steps = [s if n > 1 else 0 for s, n in zip(form.strides, form.shape)]
    return sorted(range(form.ndim), key=lambda axis: -steps[axis])


def _axes_by_model(func: Function, args: tuple, kwargs: dict, rows: range | None) -> Axes:
    """Return the axes of NumPy's own result for operands with two elements along each axis.

    They are `rows`, where these are given, of operands in rows.
    """
    in_rows = True

    def small(x: Any) -> Any:
        nonlocal in_rows
        if isinstance(x, Tensor) and not is_hidden(x):
            window = x.level.window(x)
        elif type(x) is ndarray:
            window = x
        else:
            return x
        in_rows = in_rows and window.flags.c_contiguous
        window = window[(slice(2),) * window.ndim]
        if window is x or type(x) is ndarray:
            return window
        values = np.cos(np.arange(float(window.size))) ** 2  # in the bounds of a quantile
        return laid_as(window, values.reshape(window.shape).astype(x.dtype))

    models = tree_map(small, args), tree_map(small, kwargs)
    if in_rows and rows is not None:
        return rows
    with np.errstate(all="ignore"):
        return _by_steps(func(*models[0], **models[1]))


def _lies_by(x: Any, axes: Axes) -> bool:
    """Tell if the elements of `x` lie in a row, with these axes from the outermost on."""
    written = was_written(x)
    form = view_of(x).window if written else example(x)
    steps: Sequence[int] = (None if written else steps_in_numpy(x)) or form.strides
    step = form.itemsize
    for axis in reversed(axes):
        if form.shape[axis] != 1 and steps[axis] != step:
            return not form.size
        step *= form.shape[axis]
    return True


def _copy_by(x: Any, axes: Axes) -> Any:
    """Return a copy of `x` whose axes lie so."""
    copy: Callable = np.copy
    for order in ("C", "F"):
        if list(axes) == list(range(x.ndim))[:: 1 if order == "C" else -1]:
            return copy(x, order)
    back = sorted(range(x.ndim), key=list(axes).__getitem__)
    return np.transpose(copy(np.transpose(x, axes), "C"), back)
