"""Variances, averages and covariances, and the reductions that ignore NaN."""

import functools
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Axis, Function, Shape, Value, dtype_of
from .._core.numpy_private import NO_VALUE as _NoValue
from .axes import convert_lists, is_known_false, normalize
from .constructors import check_values, composite
from .reduction import count_elements, divide_by_count, reduce_with


def _is_inexact(a: Value) -> bool:
    return dtype_of(a).kind in "fc"


def _value_or_default(value: Value, default: Value) -> Value:
    return default if value is _NoValue else value


# ---- variance ----


def _square(x: Value) -> Value:
    """Return the square of the modulus."""
    return np.square(np.real(x)) + np.square(np.imag(x))


def _resolve_ddof(ddof: Value, correction: Value) -> Value:
    if correction is _NoValue:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _var(
    a: Value,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Value | None = None,
    ddof: Value = 0,
    keepdims: Value = _NoValue,
    *,
    where: Value = _NoValue,
    mean: Value = _NoValue,
    correction: Value = _NoValue,
) -> Value:
    keepdims, where = _value_or_default(keepdims, False), _value_or_default(where, True)
    (a,) = convert_lists(a)
    half = dtype is None and dtype_of(a) == np.float16
    half = half and (mean is _NoValue or np.result_type(a, mean) == np.float16)
    wide = np.float32 if half else dtype
    if dtype is None and dtype_of(a).kind in "biu":
        wide = np.float64
    if mean is _NoValue:
        mean = reduce_with(np.mean, a, axis, True, where, wide)
    rest = a - mean
    squares = _square(rest) if dtype_of(a).kind == "c" else np.multiply(rest, rest)
    total = reduce_with(np.sum, squares, axis, keepdims, where, wide)
    n = count_elements(np.shape(a), axis, keepdims, where) - _resolve_ddof(ddof, correction)
    few = np.less_equal(n, 0)
    if is_known_false(few):
        variance = divide_by_count(total, n)
    else:  # no degrees of freedom: infinite or NaN, which does not move
        lost = np.astype(np.where(np.greater(total, 0), np.inf, np.nan), total.dtype)
        variance = np.where(few, lost, divide_by_count(total, np.where(few, 1, n)))
    return variance.astype(np.float16) if half else variance


def _nanvar(
    a: Value,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Value | None = None,
    ddof: Value = 0,
    keepdims: Value = _NoValue,
    *,
    where: Value = _NoValue,
    mean: Value = _NoValue,
    correction: Value = _NoValue,
) -> Value:
    (a,) = convert_lists(a)
    if not _is_inexact(a):
        return _var(
            a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
        )
    there = np.logical_not(np.isnan(a))
    if where is not _NoValue:
        there = np.logical_and(there, where)
    variance = _var(
        np.where(there, a, 0), axis, dtype, None, ddof, keepdims,
        where=there, mean=mean, correction=correction,
    )  # fmt: skip
    n = count_elements(np.shape(a), axis, _value_or_default(keepdims, False), there)
    few = np.less_equal(n, _resolve_ddof(ddof, correction))
    return variance if is_known_false(few) else np.where(few, np.nan, variance)


composite(np.var, _var)


def _deviation_body(variance: Function) -> Function:
    @functools.wraps(variance)
    def body(*args: Value, **kwargs: Any) -> Value:
        return np.sqrt(variance(*args, **kwargs))

    return body


composite(np.std, _deviation_body(_var))
composite(np.nanvar, _nanvar)
composite(np.nanstd, _deviation_body(_nanvar))

# ---- averages ----


def _is_nonzero(x: Value) -> bool:
    return not np.any(np.equal(x, 0))


def align_weights(weights: Value, shape: Shape, axis: Axis) -> Value:
    """Reshape weights of an array of `shape`, or of its axes `axis`, to broadcast with it."""
    if np.shape(weights) == shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize(axis, len(shape))
    if np.shape(weights) != tuple(shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = np.transpose(weights, np.argsort(axes).tolist())
    return np.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(shape)))


@lambda body: composite(np.average, body)
def _average(
    a: Value,
    axis: Axis = None,
    weights: Value = None,
    returned: bool = False,
    *,
    keepdims: Value = _NoValue,
) -> Value:
    a, weights = convert_lists(a, weights)
    keepdims = _value_or_default(keepdims, False)
    shape = np.shape(a)
    normalize(axis, len(shape))
    if weights is None:
        average = np.mean(a, axis=axis, keepdims=keepdims)
        n = count_elements(shape, axis)
        count = np.ones(np.shape(average), dtype_of(average)) * n
        return (average, count) if returned else average
    weights = align_weights(weights, shape, axis)
    dtype = np.result_type(a, weights, *([] if _is_inexact(a) else ["f8"]))
    scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
    scale = check_values(scale, _is_nonzero, "numpy.average: the weights sum to zero")
    average = np.sum(np.multiply(a, weights, dtype=dtype), axis=axis, keepdims=keepdims) / scale
    if not returned:
        return average
    return average, np.copy(np.broadcast_to(scale, np.shape(average)), "C")


# ---- NaN left out ----


def _replace_nan(a: Value, neutral: Value) -> Value:
    (a,) = convert_lists(a)
    return np.where(np.isnan(a), neutral, a) if _is_inexact(a) else a


def _nan_ignoring_body(func: Function, neutral: Value) -> Function:
    return lambda a, *args, **kwargs: func(_replace_nan(a, neutral), *args, **kwargs)


composite(np.nansum, _nan_ignoring_body(np.sum, 0))
composite(np.nanprod, _nan_ignoring_body(np.prod, 1))
composite(np.nancumsum, _nan_ignoring_body(np.cumsum, 0))
composite(np.nancumprod, _nan_ignoring_body(np.cumprod, 1))


@lambda body: composite(np.nanmean, body)
def _nanmean(
    a: Value,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Value | None = None,
    keepdims: Value = _NoValue,
    *,
    where: Value = _NoValue,
) -> Value:
    keepdims, where = _value_or_default(keepdims, False), _value_or_default(where, True)
    if not _is_inexact(a):
        return reduce_with(np.mean, a, axis, keepdims, where, dtype)
    total = reduce_with(np.sum, _replace_nan(a, 0), axis, keepdims, where, dtype)
    count = reduce_with(np.sum, np.logical_not(np.isnan(a)), axis, keepdims, where)
    return divide_by_count(total, count)


# ---- covariance ----

ONE_ROW = np.lib.NumpyVersion(np.__version__) < "2.2.0"
"""True where NumPy takes one row for one variable, whatever `rowvar`; it always does so for `y`."""


def _as_rows(x: Value, rowvar: bool, one_row: bool) -> Value:
    if np.ndim(x) > 2:
        raise ValueError("m has more than 2 dimensions")
    flat = np.ndim(x) < 2 or (np.shape(x)[0] == 1 and one_row)
    x = np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x
    return x if rowvar or flat else np.transpose(x)


def _is_whole(x: Value) -> Value:
    return np.all(np.equal(x, np.rint(x)))


def _is_nonnegative(x: Value) -> bool:
    return not np.any(x < 0)


@lambda body: composite(np.cov, body)
def _cov(
    m: Value,
    y: Value = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Value = None,
    fweights: Value = None,
    aweights: Value = None,
    *,
    dtype: DTypeLike | None = None,
) -> Value:
    m, y = convert_lists(m, y)
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    dtype = np.result_type(m, np.float64, *([] if y is None else [y])) if dtype is None else dtype
    x = _as_rows(m, rowvar, ONE_ROW)
    if not np.shape(x)[0]:
        return np.zeros((0, 0))
    if y is not None:
        x = np.concatenate([x, _as_rows(y, rowvar, True)], axis=0)
    x = x.astype(dtype)
    ddof = (0 if bias else 1) if ddof is None else ddof
    fweights, aweights = (
        None if w is None else np.real(convert_lists(w)[0]).astype(float)
        for w in (fweights, aweights)
    )
    if fweights is not None:
        fweights = check_values(fweights, _is_whole, "fweights must be integer")
        fweights = check_values(fweights, _is_nonnegative, "fweights cannot be negative")
    if aweights is not None:
        aweights = check_values(aweights, _is_nonnegative, "aweights cannot be negative")
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else np.multiply(fweights, aweights)
    if weights is None:
        average, total = np.mean(x, axis=1), np.shape(x)[1]
    else:
        average, total = np.average(x, axis=1, weights=weights, returned=True)
        total = total[0]
    if weights is None or ddof == 0 or aweights is None:
        degrees = total - ddof
    else:
        degrees = total - ddof * np.sum(np.multiply(weights, aweights)) / total
    degrees = np.maximum(degrees, 0)
    x = x - np.reshape(average, (-1, 1))
    other = np.transpose(x if weights is None else x * weights)
    c = np.matmul(x, np.conjugate(other)) * np.true_divide(1, degrees)
    return np.squeeze(c.astype(x.dtype))


@lambda body: composite(np.corrcoef, body)
def _corrcoef(
    x: Value, y: Value = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> Value:
    c = np.cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    deviations = np.sqrt(np.real(np.diagonal(c)))
    c = c / np.reshape(deviations, (-1, 1)) / deviations
    if np.iscomplexobj(c):
        return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
    return np.clip(c, -1, 1)
