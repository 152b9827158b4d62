"""Integrals of samples in `scipy.integrate`, in the samples and in their places.

The formulas are those of SciPy's functions. Where two places of Simpson's rule coincide, SciPy
drops the terms that would divide by 0, and so do the derivatives.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate as si  # type: ignore[import-untyped]

from ..._core.errors import UnsupportedError
from ..._core.numpy_facts import Shape, Value, dtype_of
from ..._rules.axes import as_array
from ..._rules.constructors import check_values
from .declare import declare_composite

SHAPE_OF_X = "If given, shape of x must be 1-D or the same as y."
LENGTH_OF_X = "If given, length of x along axis must be the same as y."


def _along(ndim: int, axis: int, index: Any) -> tuple:
    """Return the index that selects along one axis."""
    places: list = [slice(None)] * ndim
    places[axis] = index
    return tuple(places)


def _strong(x: Value) -> Value:
    """Return `x`, a Python number as an array."""
    return np.reshape(x, np.shape(x))


def _as_float(x: Value) -> Value:
    """Return `x` as an array of a floating-point or complex dtype."""
    x = _strong(as_array(x))
    return x if dtype_of(x).kind in "fc" else np.astype(x, np.float64)


def _with_length(shape: Sequence[int], axis: int, n: int) -> Shape:
    """Return a shape with another length along one axis."""
    lengths = list(shape)
    lengths[axis] = n
    return tuple(lengths)


def _along_axis(x: Value, ndim: int, axis: int) -> Value:
    """Return places along one axis as an array that broadcasts with one of `ndim` axes."""
    return np.reshape(x, _with_length([1] * ndim, axis, -1))


# ---- the trapezoidal rule ----


@declare_composite(si, "trapezoid")
def _trapezoid(y: Value, x: Value | None = None, dx: Value = 1.0, axis: int = -1) -> Value:
    y = as_array(y)
    result = dtype_of(y) if dtype_of(y).kind in "fc" else np.float64
    later, earlier = (_along(y.ndim, axis, s) for s in (slice(1, None), slice(None, -1)))
    d = dx
    if x is not None:
        x = as_array(x)
        if x.ndim == 1:
            d = _along_axis(x[1:] - x[:-1], y.ndim, axis)
        else:
            x = np.broadcast_to(x, y.shape)
            d = x[later] - x[earlier]
    return np.sum(d * (y[later] + y[earlier]) / 2.0, axis=axis, dtype=result)


@declare_composite(si, "cumulative_trapezoid")
def cumulative_trapezoid(
    y: Value, x: Value | None = None, dx: Value = 1.0, axis: int = -1, initial: Any = None
) -> Value:
    y = as_array(y)
    if y.shape[axis] == 0:
        raise ValueError("At least one point is required along `axis`.")
    d = dx
    if x is not None:
        x = as_array(x)
        if x.ndim != 1 and x.ndim != y.ndim:
            raise ValueError(SHAPE_OF_X)
        d = _along_axis(np.diff(x), y.ndim, axis) if x.ndim == 1 else np.diff(x, axis=axis)
        if d.shape[axis] != y.shape[axis] - 1:
            raise ValueError(LENGTH_OF_X)
    later, earlier = (_along(y.ndim, axis, s) for s in (slice(1, None), slice(None, -1)))
    result = np.cumsum(d * (y[later] + y[earlier]) / 2.0, axis=axis)
    if initial is None:
        return result
    if initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    if not np.isscalar(initial):
        raise ValueError("`initial` parameter should be a scalar.")
    zero = np.zeros(_with_length(result.shape, axis, 1), result.dtype)
    return np.concatenate((zero, result), axis=axis)


# ---- Simpson's rule: Cartwright, J. Math. Sciences and Mathematics Education 12, 2017 ----


def _ratio(a: Value, b: Value) -> Value:
    """Return a / b, and 0 where b is 0."""
    return np.where(np.equal(b, 0), 0.0, a / np.where(np.equal(b, 0), 1, b))


def _pairs(y: Value, stop: int, x: Value | None, dx: Value, axis: int) -> Value:
    """Integrate over each pair of intervals that begins before `stop`."""
    y0, y1, y2 = (y[_along(y.ndim, axis, slice(i, max(stop + i, 0), 2))] for i in range(3))
    if x is None:
        total = np.sum(y0 + 4.0 * y1 + y2, axis=axis)
        return _as_before(total * (dx / 3.0), total)
    h = np.diff(x, axis=axis)
    h0, h1 = (
        np.astype(h[_along(h.ndim, axis, slice(i, max(stop + i, 0), 2))], float) for i in (0, 1)
    )
    both, product, ratio = h0 + h1, h0 * h1, _ratio(h0, h1)
    first = y0 * (2.0 - _ratio(1.0, ratio))
    middle = y1 * (both * _ratio(both, product))
    return np.sum(both / 6.0 * (first + middle + y2 * (2.0 - ratio)), axis=axis)


def _as_before(x: Value, total: Value) -> Value:
    """Return `x` in the dtype of `total`, to which SciPy adds in place if that is an array."""
    return np.astype(x, dtype_of(total), copy=False) if np.ndim(total) else x


@declare_composite(si, "simpson")
def _simpson(y: Value, x: Value | None = None, *, dx: Value = 1.0, axis: int = -1) -> Value:
    y = as_array(y)
    n = y.shape[axis]
    if x is not None:
        x = as_array(x)
        if x.ndim == 1:
            x = _along_axis(x, y.ndim, axis)
        elif x.ndim != y.ndim:
            raise ValueError(SHAPE_OF_X)
        if x.shape[axis] != n:
            raise ValueError(LENGTH_OF_X)
    if n % 2:
        return _pairs(y, n - 2, x, dx, axis)
    last, before, third = (_along(y.ndim, axis, -i) for i in (1, 2, 3))
    if n == 2:
        step = dx if x is None else x[last] - x[before]
        return 0.5 * step * (y[last] + y[before])
    total = _pairs(y, n - 3, x, dx, axis)
    if x is None:
        h0 = h1 = np.astype(_strong(dx), np.float64)
    else:
        h = np.astype(np.diff(x, axis=axis), np.float64)
        h0, h1 = h[before], h[last]
    alpha = _ratio(2 * h1**2 + 3 * h0 * h1, 6 * (h1 + h0))
    beta = _ratio(h1**2 + 3.0 * h0 * h1, 6 * h0)
    eta = _ratio(h1**3, 6 * h0 * (h0 + h1))
    rest = alpha * y[last] + beta * y[before] - eta * y[third]
    return _as_before(total + rest, total)


def _equal_intervals(y: Value, h: Value) -> Value:
    return h[..., :-1] / 3 * (5 * y[..., :-2] / 4 + 2 * y[..., 1:-1] - y[..., 2:] / 4)


def _unequal_intervals(y: Value, h: Value) -> Value:
    """Integrate over the first interval of each pair: equation 8 of Cartwright."""
    h0, h1 = h[..., :-1], h[..., 1:]
    whole = h0 / (h0 + h1)
    product = whole * (h0 / h1)
    first = (3 - whole) * y[..., :-2] + (3 + product + whole) * y[..., 1:-1]
    return h0 / 6 * (first - product * y[..., 2:])


def _accumulate(y: Value, h: Value, integrate: Any) -> Value:
    """Add the integrals over the first interval of a pair and over the second in turn."""
    first = integrate(y, h)
    second = np.flip(integrate(np.flip(y, -1), np.flip(h, -1)), -1)
    n = y.shape[-1] - 1
    places = [i if i % 2 == 0 else n - 2 + i for i in range(n)]
    places[-1] = 2 * n - 3
    parts = np.take(np.concatenate((first, second), -1), places, -1)
    return np.cumsum(np.astype(parts, np.result_type(y, h), copy=False), -1)


@declare_composite(si, "cumulative_simpson")
def _cumulative_simpson(
    y: Value, *, x: Value | None = None, dx: Value = 1.0, axis: int = -1, initial: Any = None
) -> Value:
    whole = y = _as_float(y)
    if not -y.ndim <= axis < y.ndim:
        raise ValueError(f"`axis={axis}` is not valid for `y` with `y.ndim={y.ndim}`.")
    one = _with_length(y.shape, axis, 1)
    y = np.swapaxes(y, axis, -1)
    if y.shape[-1] < 3:
        result = np.swapaxes(cumulative_trapezoid(whole, x, dx, axis), axis, -1)
    elif x is not None:
        x = _as_float(x)
        if x.shape != whole.shape and x.shape != y.shape[-1:]:
            raise ValueError(
                "If given, shape of `x` must be the same as `y` or 1-D with the same length as "
                "`y` along `axis`."
            )
        x = np.broadcast_to(x, y.shape) if x.ndim == 1 else np.swapaxes(x, axis, -1)
        h = check_values(np.diff(x), _is_positive, "Input x must be strictly increasing.")
        result = _accumulate(y, h, _unequal_intervals)
    else:
        h = _as_float(dx)
        if h.ndim and h.shape != one:
            raise ValueError(
                "If provided, `dx` must either be a scalar or have the same shape as `y` but with "
                "only 1 point along `axis`."
            )
        h = np.broadcast_to(h, _with_length(whole.shape, axis, whole.shape[axis] - 1))
        result = _accumulate(y, np.swapaxes(h, axis, -1), _equal_intervals)
    if initial is not None:
        initial = _as_float(initial)
        if initial.ndim and initial.shape != one:
            raise ValueError(
                "If provided, `initial` must either be a scalar or have the same shape as `y` but "
                "with only 1 point along `axis`."
            )
        initial = np.swapaxes(np.broadcast_to(initial, one), axis, -1)
        result = np.astype(result + initial, result.dtype, copy=False)
        result = np.concatenate((initial, result), -1)
    return np.swapaxes(result, -1, axis)


def _is_positive(h: Value) -> Value:
    return np.all(h > 0)


# ---- Romberg's rule: Richardson's extrapolation of the trapezoidal rule ----


@declare_composite(si, "romb")
def _romb(y: Value, dx: Value = 1.0, axis: int = -1, show: Any = False) -> Value:
    if show is not False:
        raise UnsupportedError(
            "scipy.integrate.romb would print a table of a transform's values; leave show out"
        )
    y = as_array(y)
    n = y.shape[axis] - 1
    steps = max(n, 1).bit_length() - 1
    if n != 1 << steps:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h = n * np.astype(_strong(dx), np.float64)
    row = [(y[_along(y.ndim, axis, 0)] + y[_along(y.ndim, axis, -1)]) / 2.0 * h]
    for i in range(1, steps + 1):
        between = slice(n >> i, n, n >> (i - 1))
        inner = np.sum(y[_along(y.ndim, axis, between)], axis=axis)
        finer = [0.5 * (row[0] + h * inner)]
        for j, coarse in enumerate(row, 1):
            finer.append(finer[-1] + (finer[-1] - coarse) / ((1 << 2 * j) - 1))
        row, h = finer, h / 2.0
    return row[-1]
