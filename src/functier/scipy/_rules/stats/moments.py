"""Moments, deviations and scores."""

import math
from typing import Any

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.constructors import check_values
from ..declare import declare_composite
from .means import within
from .ranks import still
from .samples import check_policy, has_no_nan, statistic


def as_float(x: Value) -> Value:
    return x if x.dtype.kind in "fc" else np.astype(x, float)


def _power(x: Value, order: int) -> Value:
    """Return a power by squares, in SciPy's order."""
    if order <= 2:
        return x if order == 1 else x**2
    half = _power(x, order // 2) ** 2
    return half * x if order % 2 else half


def central_moment(a: Value, order: int, center: Value = None) -> Value:
    """Return a moment along the last axis, around its mean or around `center`."""
    if order == 0 or (order == 1 and center is None):
        return np.zeros(np.shape(a)[:-1], a.dtype)[()] + (1 - order)
    center = np.mean(a, axis=-1, keepdims=True) if center is None else center
    return np.mean(_power(a - center, order), axis=-1)


def sample_variance(a: Value, ddof: int = 1) -> Value:
    """Return the variance along the last axis, corrected by `ddof`."""
    n, variance = np.shape(a)[-1], central_moment(a, 2)
    if not ddof:
        return variance
    with np.errstate(divide="ignore", invalid="ignore"):
        return variance * np.divide(n, n - ddof, dtype=variance.dtype)


def stacked(*values: Value) -> Value:
    """Return the moments of several orders as an array; the last value is 0 for one order."""
    *moments, several = values
    return np.stack(moments) if several else moments[0]


def check_orders(given: dict[str, Any]) -> None:
    """Refuse the new axes of results that SciPy takes for one result."""
    order = given.get("order", 1)
    if given.get("keepdims") and (order is None or np.shape(order) == (1,)):
        raise UnsupportedError(
            "scipy.stats.moment and lmoment put the axes of keepdims=True elsewhere for order=None "
            "and for a list of one order, which is not supported for tensors; write the order as a "
            "number, or the default orders of lmoment as order=[1, 2, 3, 4]"
        )


@statistic("moment", too_small=-1, hides_nan=True, join=stacked, check=check_orders)
def _moment(a: Value, order: Any = 1, center: Value = None) -> tuple:
    a, orders = as_float(a), np.atleast_1d(order)
    if not orders.size or orders.ndim > 1:
        raise ValueError("`order` must be a scalar or a non-empty 1D array.")
    if np.any(orders != np.round(orders)):
        raise ValueError("All elements of `order` must be integral.")
    if not np.shape(a)[-1]:
        none = np.full(np.shape(a)[:-1], np.nan, a.dtype)[()]
        return *[none] * orders.size, np.ndim(order)
    if center is not None and hasattr(center, "dtype"):
        center = np.astype(center, a.dtype, copy=False)
    moments = [central_moment(a, n, center) for n in orders.astype(int).tolist()]
    return *moments, np.ndim(order)


def _degenerate(a: Value, m2: Value) -> tuple:
    """Tell which samples have a variance of rounding errors only, and put 1 for these.

    They have NaN as their result. The 1 keeps the division from making NaN of their cotangents.
    """
    eps = np.finfo(m2.dtype).eps
    zero = np.less_equal(m2, (eps * np.mean(a, axis=-1)) ** 2)
    return zero, np.where(zero, np.ones((), m2.dtype), m2)[()]


@statistic("skew")
def skewness(a: Value, bias: bool = True) -> Value:
    a, n = as_float(a), np.shape(a)[-1]
    m2, m3 = central_moment(a, 2), central_moment(a, 3)
    with np.errstate(all="ignore"):
        zero, m2 = _degenerate(a, m2)
        ratio = m3 / m2**1.5
        if not bias and n > 2:
            ratio = ((n - 1.0) * n) ** 0.5 / (n - 2.0) * m3 / m2**1.5
        return np.where(zero, np.asarray(np.nan, m2.dtype), ratio)[()]


@statistic("kurtosis")
def kurtosis(a: Value, fisher: bool = True, bias: bool = True) -> Value:
    a, n = as_float(a), np.shape(a)[-1]
    m2, m4 = central_moment(a, 2), central_moment(a, 4)
    with np.errstate(all="ignore"):
        zero, m2 = _degenerate(a, m2)
        ratio = m4 / m2**2.0
        if not bias and n > 3:
            ratio = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * ratio - 3 * (n - 1) ** 2.0) + 3.0
        ratio = np.where(zero, np.asarray(np.nan, m2.dtype), ratio)[()]
    return ratio - 3 if fisher else ratio


# ---- k-statistics ----


def k_statistic(data: Value, n: int) -> Value:
    """Return the unbiased estimate of a cumulant."""
    size = np.shape(data)[-1]
    s1, s2, s3, s4 = (np.sum(data**k, axis=-1) if k <= n else 0 for k in (1, 2, 3, 4))
    if n == 1:
        return s1 * 1.0 / size
    if n == 2:
        total: Value = size * s2 - s1**2.0
    elif n == 3:
        total = 2 * s1**3 - 3 * size * s1 * s2 + size * size * s3
    else:
        total = -6 * s1**4 + 12 * size * s1**2 * s2 - 3 * size * (size - 1.0) * s2**2
        total = total - 4 * size * (size + 1) * s1 * s3 + size * size * (size + 1) * s4
    divisor = math.prod((size - i for i in range(1, n)), start=1.0 * size)
    if divisor:
        return total / divisor
    with np.errstate(invalid="ignore", divide="ignore"):
        return still(total) / divisor  # too few observations: an infinity, or NaN


@statistic("kstat", "data", axis=None)
def _kstat(data: Value, n: int = 2) -> Value:
    if n > 4 or n < 1:
        raise ValueError("k-statistics only supported for 1<=n<=4")
    return k_statistic(data, int(n))


@statistic("kstatvar", "data", axis=None)
def _kstatvar(data: Value, n: int = 2) -> Value:
    size = np.shape(data)[-1]
    if n == 1:
        return k_statistic(data, 2) * 1.0 / size
    if n != 2:
        raise ValueError("Only n=1 or n=2 supported.")
    k2, k4 = k_statistic(data, 2), k_statistic(data, 4)
    return (2 * size * k2**2 + (size - 1) * k4) / (size * (size + 1))


# ---- deviations ----


@statistic("sem", too_small=1)
def _sem(a: Value, ddof: Value = 1) -> Value:
    return np.std(a, axis=-1, ddof=ddof) / np.shape(a)[-1] ** 0.5


@statistic("variation")
def _variation(a: Value, ddof: Value = 0) -> Value:
    if a.dtype.kind == "c":
        raise TypeError("scipy.stats.variation does not take complex numbers")
    n, mean = np.shape(a)[-1], np.mean(a, axis=-1)
    deviation = np.std(a, axis=-1)
    if n == ddof:
        infinite = np.copysign(np.asarray(np.inf, mean.dtype), mean)
        return np.where(np.greater(deviation, 0), infinite, np.asarray(np.nan, mean.dtype))
    with np.errstate(divide="ignore", invalid="ignore"):
        size = mean.dtype.type(n)
        return deviation * (size / (size - ddof)) ** 0.5 / mean


def _variance_within(a: Value, limits: Any, inclusive: Any, ddof: Value) -> tuple:
    """Return the variance of the observations within limits, and their number."""
    if a.dtype.kind == "c":
        raise UnsupportedError(
            "scipy.stats.tvar, tstd and tsem of complex tensors are not supported; write "
            "numpy.var(a, ddof=1), which squares absolute values"
        )
    inside = within(a, limits, inclusive)
    if inside is True:
        return np.var(as_float(a), axis=-1, ddof=ddof), np.shape(a)[-1]
    variance = np.var(as_float(np.where(inside, a, 0)), axis=-1, ddof=ddof, where=inside)
    return variance, np.sum(inside, axis=-1)


@statistic("tvar")
def _tvar(a: Value, limits: Any = None, inclusive: Any = (True, True), ddof: Value = 1) -> Value:
    return _variance_within(a, limits, inclusive, ddof)[0]


@statistic("tstd")
def _tstd(a: Value, limits: Any = None, inclusive: Any = (True, True), ddof: Value = 1) -> Value:
    return _variance_within(a, limits, inclusive, ddof)[0] ** 0.5


@statistic("tsem")
def _tsem(a: Value, limits: Any = None, inclusive: Any = (True, True), ddof: Value = 1) -> Value:
    variance, n = _variance_within(a, limits, inclusive, ddof)
    return variance**0.5 / np.astype(as_array(n), variance.dtype) ** 0.5


# ---- scores ----


def _scores(
    scores: Value, compare: Value, axis: Any, ddof: Value, nan_policy: str, alike: bool
) -> Value:
    if check_policy(nan_policy) == "raise":
        compare = check_values(compare, has_no_nan, "The input contains nan values")
    axis, omits = axis if axis is None else normalize(axis, np.ndim(compare)), nan_policy == "omit"
    mean = (np.nanmean if omits else np.mean)(compare, axis=axis, keepdims=True)
    variance = (np.nanvar if omits else np.var)(compare, axis=axis, ddof=ddof, keepdims=True)
    deviation = variance**0.5
    if alike:  # a result of NaN, through whose division no cotangent passes
        zero = np.less_equal(deviation, np.absolute(np.finfo(deviation.dtype).eps * mean))
        deviation = np.where(zero, np.ones((), variance.dtype), variance) ** 0.5
    hidden: Value = np.isnan(scores)
    if omits:  # what is left out has no part in a derivative
        scores = np.where(hidden, mean, scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (scores - mean) / deviation
    if omits:
        z = np.where(hidden, np.asarray(np.nan, z.dtype), z)
    if not alike:
        return z
    return np.where(zero, np.asarray(np.nan, z.dtype), z)


@declare_composite(stats, "zmap")
def _zmap(
    scores: Value,
    compare: Value,
    axis: Any = 0,
    ddof: Value = 0,
    nan_policy: str = "propagate",
) -> Value:
    alike = scores is compare
    scores, compare = as_array(scores), as_array(compare)
    dtype = np.result_type(scores, compare)
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    scores, compare = (np.astype(x, dtype, copy=False) for x in (scores, compare))
    return _scores(scores, compare, axis, ddof, nan_policy, alike)


@declare_composite(stats, "zscore")
def _zscore(a: Value, axis: Any = 0, ddof: Value = 0, nan_policy: str = "propagate") -> Value:
    a = as_float(as_array(a))
    return _scores(a, a, axis, ddof, nan_policy, True)


@declare_composite(stats, "gzscore")
def _gzscore(a: Value, *, axis: Any = 0, ddof: Value = 0, nan_policy: str = "propagate") -> Value:
    a = np.log(as_float(as_array(a)))
    return _scores(a, a, axis, ddof, nan_policy, True)
