"""Medians, quantiles and percentiles, with and without NaN, from sorted values.

The derivative by the values goes to the two that the result lies between; the derivative by
q is the step between these over the step of q from one to the other. Weights only choose a
value.
"""

from math import prod

import numpy as np

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Axis, Function, Index, Shape, Value, is_lazy
from .axes import (
    as_array,
    as_rows,
    as_strong,
    collapse,
    convert_lists,
    normalize,
    promotion_operand,
)
from .constructors import check_values, composite
from .statistics import align_weights

# n values, at q: the virtual index in the sorted values (Hyndman and Fan, 1996).
CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
CHOOSING = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
BETWEEN = ("linear", "averaged_inverted_cdf", "midpoint")


def _virtual_indices(n: int, q: Value, method: str) -> tuple:
    """Return the two indices to interpolate between, and the weight of the second one.

    The weight is None where q is an integer, for which NumPy does not interpolate.
    """
    if method.endswith("inverted_cdf") and method not in CONTINUOUS:
        virtual = n * q - 1
    elif method == "closest_observation":
        virtual = n * q - 1.5
    elif method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        virtual = n * q + (alpha + q * (1 - alpha - beta)) - 1
    else:
        virtual = (n - 1) * q  # with nothing to round
        if method == "linear" and virtual.dtype.kind in "iu":
            return virtual, virtual, None
    low = np.floor(virtual)
    weight = virtual - low
    exact = np.equal(weight, 0)
    if method == "closest_observation":  # the even one of two, which is odd counted from 0
        exact = np.logical_and(exact, np.equal(low % 2, 1))
    if method in ("inverted_cdf", "closest_observation"):
        low = np.where(exact, low, low + 1)
    elif method == "averaged_inverted_cdf":
        weight = 1 - 0.5 * exact.astype(weight.dtype)
    elif method == "higher":
        low = np.ceil(virtual)
    elif method == "nearest":  # to even
        low = np.rint(virtual)
    elif method == "midpoint":
        weight = 0.5 * np.logical_not(exact).astype(weight.dtype)
        virtual = virtual * 1.0
    last = n - 1
    weight = np.where(np.logical_or(virtual < 0, virtual >= last), 0, weight)
    low = np.minimum(np.maximum(low, 0), last).astype(int)
    return low, np.minimum(low + 1, last).astype(int), weight.astype(virtual.dtype)


def _make_range_check(scale: float) -> Function:
    """Return a function that tells if all numbers are from 0 to `scale`."""
    return lambda q: np.all(np.less_equal(0, q)) and np.all(np.less_equal(q, scale))


def _is_distribution(weights: Value) -> Value:
    """Return whether the weights along the last axis have a finite sum that is not zero."""
    total = np.sum(weights, axis=-1)
    return np.all(np.isfinite(total)) and not np.any(np.equal(total, 0))


def _is_nonnegative(weights: Value) -> bool:
    return not np.any(weights < 0)


WEAK: tuple[type, ...] = (int, float)
"""The types of a `q` that leaves float32 as it is; NumPy's own floats did so, too, up to 2.1."""
if np.quantile(np.ones(1, np.float32), np.float64(0)).dtype == np.float32:
    WEAK = (*WEAK, np.float64)


def _quantile(scale: float, leave_out: bool) -> Function:
    def body(
        a: Value,
        q: Value,
        axis: Axis = None,
        out: Value | None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Value = None,
    ) -> Value:
        if weights is not None and method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        if method not in (*CONTINUOUS, *CHOOSING, *BETWEEN):
            raise ValueError(
                f"{method!r} is not a valid method. Use one of: "
                f"{', '.join((*CONTINUOUS, *CHOOSING, *BETWEEN))}"
            )
        (a,) = convert_lists(a)
        dtype, shape = np.result_type(a), np.shape(a)
        normalize(axis, len(shape))  # NumPy's error
        if dtype.kind == "c":
            raise TypeError("a must be an array of real numbers")
        if scale == 100 and not leave_out and is_lazy(a) and len(shape) == 1 < len(a.chunks[0]):
            raise UnsupportedError(
                "numpy.percentile of an array in several chunks is an estimate in Dask, which has "
                "no derivative; write np.percentile(x.rechunk(-1), q)"
            )
        weak, q = type(promotion_operand(q)) in WEAK, as_strong(as_array(q))
        name = "Quantiles" if scale == 1 else "Percentiles"
        points = check_values(
            q, _make_range_check(scale), f"{name} must be in the range [0, {scale}]"
        )
        points = points if scale == 1 else points / scale
        if leave_out and 0 in shape:  # as NumPy does, whatever the shape of q
            return np.nanmean(a, axis, keepdims=keepdims)
        x = as_rows(a, axis)
        if weights is None:
            x = np.sort(x, axis=-1)
        else:
            order = np.argsort(x, axis=-1)
            x = np.take_along_axis(x, order, -1)
            weights = align_weights(convert_lists(weights)[0], shape, axis)
            weights = as_rows(np.broadcast_to(weights, shape), axis)
            weights = np.take_along_axis(weights, order, -1)
        n, missing, kept = np.shape(x)[-1], False, np.shape(x)[:-1]
        if dtype.kind == "f" and not leave_out:
            missing = np.isnan(x[..., -1])
        elif dtype.kind == "f":
            there = np.logical_not(np.isnan(x))
            n = np.sum(there, axis=-1)
            missing, n = np.equal(n, 0), np.maximum(n, 1)
            n = n.astype(points.dtype) if points.dtype.kind in "fiu" else n  # as a Python int
            if weights is not None:
                empty = np.reshape(missing, (*kept, 1))
                weights = np.where(there, weights, np.where(empty, 1, 0))
        if weights is None:
            points = np.reshape(points, np.shape(q) + (1,) * len(kept))
            low, high, weight = _virtual_indices(n, points, method)
            method = "lower" if weight is None else method
        else:
            low = _weighted_index(weights, points)
        y = low = _pick(x, np.broadcast_to(low, np.shape(q) + kept), np.ndim(q))
        if method not in CHOOSING:
            if weak:  # as a Python number would be
                weight = weight.astype(dtype if dtype.kind == "f" else float)
            high = _pick(x, np.broadcast_to(high, np.shape(q) + kept), np.ndim(q))
            step = high - low
            y = np.where(weight < 0.5, low + step * weight, high - step * (1 - weight))
        if dtype.kind == "f":
            y = np.where(missing, np.nan, y)
        return _restore_axes(y, shape, axis, keepdims, np.ndim(q))

    return body


def _weighted_index(weights: Value, q: Value) -> Value:
    """Return the first index where the cumulative part of the weights reaches q."""
    weights = check_values(weights, _is_nonnegative, "Weights must be non-negative.")
    weights = check_values(weights, _is_distribution, "Weights included NaN, inf or were all zero.")
    total = np.cumsum(weights, axis=-1, dtype=np.float64)
    part = total / total[..., -1:]
    if np.result_type(q).kind == "f":
        part = part.astype(np.result_type(q))
    part = np.where(np.equal(part, 0), -1, part)  # a quantile 0 is not there either
    q = np.reshape(q, np.shape(q) + (1,) * np.ndim(part))
    return np.minimum(np.sum(part < q, axis=-1), np.shape(part)[-1] - 1)


def _pick(x: Value, index: Index, ndim: int) -> Value:
    """Return the values of `x` at `index`, whose first `ndim` axes are those of q."""
    moved = np.moveaxis(index, range(ndim), range(-ndim, 0))
    last = np.reshape(moved, (*np.shape(x)[:-1], prod(np.shape(index)[:ndim])))
    values = np.take_along_axis(x, last, axis=-1)
    values = np.reshape(values, np.shape(x)[:-1] + np.shape(index)[:ndim])
    return np.moveaxis(values, range(-ndim, 0), range(ndim))


def _restore_axes(y: Value, shape: Shape, axis: Axis, keepdims: bool, ndim: int) -> Value:
    if not keepdims:
        return y
    return np.reshape(y, np.shape(y)[:ndim] + collapse(shape, normalize(axis, len(shape))))


composite(np.quantile, _quantile(1, False))
composite(np.percentile, _quantile(100, False))
composite(np.nanquantile, _quantile(1, True))
composite(np.nanpercentile, _quantile(100, True))


def _median(leave_out: bool) -> Function:
    """Return the body of a median: the mean of the one or two elements in the middle."""

    def body(
        a: Value,
        axis: Axis = None,
        out: Value | None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Value:
        (a,) = convert_lists(a)
        shape = np.shape(a)
        normalize(axis, len(shape))  # NumPy's error
        x = np.sort(as_rows(a, axis), axis=-1)
        n, inexact = np.shape(x)[-1], np.result_type(x).kind in "fc"
        if not leave_out or not inexact or not n:
            y = np.mean(x[..., (n - 1) // 2 : n // 2 + 1] if n else x, axis=-1)
            if inexact and n:
                y = np.where(np.isnan(x[..., -1]), x[..., -1], y)
        else:
            last = n - 1
            n = np.sum(np.logical_not(np.isnan(x)), axis=-1, keepdims=True)
            places = np.concatenate([np.maximum(n - 1, 0) // 2, n // 2], axis=-1)
            y = np.mean(np.take_along_axis(x, np.minimum(places, last), -1), axis=-1)
        return _restore_axes(y, shape, axis, keepdims, 0)

    return body


composite(np.median, _median(False))
composite(np.nanmedian, _median(True))
