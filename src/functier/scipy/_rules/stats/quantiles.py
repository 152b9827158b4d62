"""Quantiles."""

from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, is_known_false, normalize
from ...._rules.constructors import check_values
from ..declare import declare_composite
from .moments import as_float
from .samples import arrange, check_policy, has_no_nan


@declare_composite(stats, "scoreatpercentile")
def _scoreatpercentile(
    a: Value,
    per: Value,
    limit: Any = (),
    interpolation_method: str = "fraction",
    axis: int | None = None,
) -> Value:
    a = as_array(a)
    if not np.size(a):
        return np.full(np.shape(per), np.nan)[()]
    if limit:
        a = a[np.logical_and(np.less_equal(limit[0], a), np.less_equal(a, limit[1]))]
    if axis not in (0, -1):
        normalize(axis, np.ndim(a))  # NumPy's error
    rows = np.sort(arrange([a], axis, True)[0][0], axis=-1)
    message = "percentile must be in the range [0, 100]"
    per = check_values(
        as_array(per),
        lambda p: np.all(np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 100))),
        message,
    )
    n = np.shape(rows)[-1]
    place = per / 100.0 * (n - 1)
    low = np.floor(place)
    if interpolation_method == "lower":
        place = low
    elif interpolation_method == "higher":
        place = low = np.ceil(place)
    elif interpolation_method != "fraction":
        message = "interpolation_method can only be 'fraction', 'lower' or 'higher'"
        raise ValueError(message)
    shape = (*np.shape(rows)[:-1], np.size(per))
    index = np.broadcast_to(np.reshape(np.astype(low, int), (-1,)), shape)
    upper = np.minimum(index + 1, n - 1)
    first, second = (np.take_along_axis(rows, i, axis=-1) for i in (index, upper))
    weight = np.astype(np.reshape(place - low, (-1,)), float, copy=False)  # as SciPy's weights
    found = np.moveaxis(first * (1 - weight) + second * weight, -1, 0)
    return np.reshape(found, np.shape(per) + shape[:-1])[()]


OFFSETS = {
    "inverted_cdf": lambda p: 0,
    "averaged_inverted_cdf": lambda p: 0,
    "closest_observation": lambda p: -0.5,
    "interpolated_inverted_cdf": lambda p: 0,
    "hazen": lambda p: 0.5,
    "weibull": lambda p: p,
    "linear": lambda p: 1 - p,
    "median_unbiased": lambda p: p / 3 + 1 / 3,
    "normal_unbiased": lambda p: p / 4 + 3 / 8,
}


def _fraction(method: str, place: Value, low: Value) -> Value:
    """Return the weight of the upper observation at a place between two of them."""
    g = place % 1
    if method == "inverted_cdf":
        g = np.astype(np.greater(g, 0), place.dtype)
    elif method == "averaged_inverted_cdf":
        g = (1 + np.astype(np.greater(g, 0), place.dtype)) / 2
    elif method == "closest_observation":
        even = np.logical_and(np.equal(g, 0), np.equal(low % 2, 1))
        g = 1 - np.astype(even, place.dtype)
    bad = np.less(low, 0)
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        bad = np.logical_or(bad, np.less(place, 0))
    return np.where(bad, np.zeros((), g.dtype), g)


def _harrell_davis(y: Value, p: Value, n: Value) -> Value:
    """Return the mean of all observations in order, weighted by a beta distribution."""
    p, n = p[..., :, None], n[..., :, None]
    steps = np.arange(np.shape(y)[-1] + 1, dtype=y.dtype) / n
    steps = np.clip(steps, 0, 1)
    weights = np.diff(special.betainc(p * (n + 1), (1 - p) * (n + 1), steps), axis=-1)
    weights = np.where(np.isnan(weights), np.zeros((), weights.dtype), weights)
    return np.sum(weights * y[..., None, :], axis=-1)


@declare_composite(stats, "quantile")
def _quantile(
    x: Value,
    p: Value,
    *,
    method: str = "linear",
    axis: int | None = 0,
    nan_policy: str = "propagate",
    keepdims: bool | None = None,
    weights: Any = None,
) -> Value:
    if weights is not None:
        raise UnsupportedError(
            "scipy.stats.quantile: weights are not supported for tensors; write "
            "numpy.quantile(x, p, weights=weights, method='inverted_cdf')"
        )
    if method not in OFFSETS and method != "harrell-davis":
        raise UnsupportedError(
            f"scipy.stats.quantile: {method=} is not supported for tensors; take one of "
            f"{', '.join(OFFSETS)} and harrell-davis"
        )
    x, weak = as_array(x), type(p) is float
    if x.dtype.kind not in "iuf":
        raise ValueError("`x` must have real dtype.")
    if as_array(p).dtype.kind != "f":
        raise ValueError("`p` must have real floating dtype.")
    dtype = np.result_type(as_float(x) if weak else x, p if weak else as_array(p))
    dtype = dtype if dtype.kind == "f" else np.dtype(float)
    x, p = (np.astype(as_array(v), dtype, copy=False) for v in (x, p))
    ndim = max(np.ndim(x), np.ndim(p))
    if axis is None:
        x, p, place = np.reshape(x, (-1,)), np.reshape(p, (-1,)), 0
    else:
        place = normalize(axis, max(ndim, 1))[0]
    rank = max(np.ndim(x), np.ndim(p), 1)
    x, p = (np.reshape(v, (1,) * (rank - np.ndim(v)) + np.shape(v)) for v in (x, p))
    y, p = (np.moveaxis(v, place, -1) for v in (x, p))
    if keepdims is False and np.shape(p)[-1] != 1:
        message = "`keepdims` may be False only if the length of `p` along `axis` is 1."
        raise ValueError(message)
    keepdims = np.shape(p)[-1] != 1 if keepdims is None else keepdims
    found = _quantiles_of_rows(y, p, method, check_policy(nan_policy))
    if axis is None and keepdims:
        return np.reshape(found, (*(1,) * (ndim - 1), *np.shape(found)))
    found = np.moveaxis(found, -1, place)
    return found if keepdims else np.squeeze(found, axis=place)[()]


def _quantiles_of_rows(y: Value, p: Value, method: str, policy: str) -> Value:
    """Return quantiles along the last axis, which broadcast along the others."""
    if not np.shape(y)[-1]:
        y = np.full((*np.shape(y)[:-1], 1), np.nan, y.dtype)
    if policy == "raise":
        y = check_values(y, has_no_nan, "The input contains nan values")
    missing: Value = np.isnan(y)
    y = np.sort(y, axis=-1)
    lead = np.broadcast_shapes(np.shape(y)[:-1], np.shape(p)[:-1])
    y, p, missing = (np.broadcast_to(v, (*lead, np.shape(v)[-1])) for v in (y, p, missing))
    n = np.full((*lead, 1), np.shape(y)[-1], y.dtype)
    bad: Value = np.logical_not(np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1)))
    p = np.where(bad, np.asarray(0.5, p.dtype), p)
    if not is_known_false(missing):
        if policy == "omit":
            n = np.astype(np.sum(np.logical_not(missing), axis=-1, keepdims=True), y.dtype)
            hidden = np.equal(n, 0)
            n = np.where(hidden, np.asarray(np.shape(y)[-1], n.dtype), n)
            if method == "harrell-davis":
                y = np.where(np.isnan(y), np.zeros((), y.dtype), y)
        else:
            hidden = np.any(missing, axis=-1, keepdims=True)
        bad = np.logical_or(bad, hidden)
    if method == "harrell-davis":
        found = _harrell_davis(y, p, n)
    else:
        place = p * n + OFFSETS[method](p)
        upper = np.floor(place)
        low = upper - 1
        g = _fraction(method, place, low)
        first, second = (
            np.take_along_axis(y, np.astype(np.clip(v, 0.0, n - 1), int), axis=-1)
            for v in (low, upper)
        )
        found = (1 - g) * first + g * second
    return np.where(bad, np.asarray(np.nan, found.dtype), found)
