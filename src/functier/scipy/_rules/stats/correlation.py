"""Correlations, and lines through two samples, also by medians of slopes."""

import math
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.constructors import check_values
from .ranks import ranks
from .results import check_alternative, result_class, t_p_value, with_attributes
from .samples import statistic

LinregressResult = with_attributes(
    type(stats.linregress([0.0, 1.0], [0.0, 1.0])), "intercept_stderr"
)


@statistic("linregress", "x y", too_small=1, outputs=6, join=LinregressResult)
def _linregress(x: Value, y: Value, alternative: str = "two-sided") -> tuple:
    n = np.shape(x)[-1]
    if x.dtype.kind == "c":
        raise UnsupportedError(
            "scipy.stats.linregress of complex tensors is not supported; write "
            "numpy.linalg.lstsq(numpy.stack([x, numpy.ones_like(x)], -1), y)"
        )
    x, y = (np.astype(v, np.result_type(v, float), copy=False) for v in (x, y))
    message = "Cannot calculate a linear regression if all x values are identical"
    spread = np.max(x, axis=-1) - np.min(x, axis=-1)
    check_values(spread, lambda v: not np.any(np.equal(v, 0)), message)
    x_mean, y_mean = np.mean(x, axis=-1), np.mean(y, axis=-1)
    dx, dy = x - x_mean[..., None], y - y_mean[..., None]
    xx, xy, yy = (np.mean(p * q, axis=-1) for p, q in ((dx, dx), (dx, dy), (dy, dy)))
    slope = xy / xx
    intercept = y_mean - slope * x_mean
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0)
    if n == 2:
        p = np.astype(np.equal(y[..., 0], y[..., 1]), float)
        zero = np.zeros(np.shape(p))[()]
        return slope, intercept, r, p, zero, zero
    check_alternative(alternative)
    degrees, tiny = n - 2, 1.0e-20
    t = r * np.sqrt(degrees / ((1.0 - r + tiny) * (1.0 + r + tiny)))
    p = t_p_value(degrees, t, alternative)
    error = np.sqrt((1 - r**2) * yy / xx / degrees)
    return slope, intercept, r, p, error, error * np.sqrt(xx + x_mean**2)


def at_places(values: Value, places: Value) -> Value:
    """Return the numbers at places along the last axis, one for each sample."""
    index = np.astype(np.nan_to_num(places)[..., None], int)
    return np.take_along_axis(values, index, axis=-1)[..., 0]


def _sorted_first(values: Value, chosen: Value) -> tuple[Value, Value]:
    """Return the chosen numbers in order, before the others, and their count."""
    infinity = np.asarray(np.inf, values.dtype)
    return np.sort(np.where(chosen, values, infinity), axis=-1), np.sum(chosen, axis=-1)


def _median(ordered: Value, n: Value) -> Value:
    """Return the median of the first `n` numbers; NaN of none."""
    low, high = (np.maximum(k, 0) for k in ((n - 1) // 2, n // 2))
    whole = np.where(np.equal(n, 0)[..., None], np.zeros((), ordered.dtype), ordered)
    middle = (at_places(whole, low) + at_places(whole, high)) / 2
    return np.where(np.equal(n, 0), np.asarray(np.nan, middle.dtype), middle)[()]


def _pairs(y: Value, x: Value) -> tuple[Value, Value, Value]:
    """Return the slopes between all pairs, with 1 for a divisor of 0, and the differences."""
    dx, dy = (v[..., :, None] - v[..., None, :] for v in (x, y))
    zero = np.equal(dx, 0)
    divisor = np.where(zero, np.ones((), dx.dtype), dx)
    return dy / divisor, dx, divisor


def _ties(x: Value) -> Value:
    """Return the sum of k (k - 1) (2 k + 5) over the groups of `k` equal numbers."""
    k = ranks(x, "max") - ranks(x, "min") + 1
    return np.sum((k - 1) * (2 * k + 5), axis=-1)


def _with_places(y: Value, x: Value, dtype: Any) -> tuple[Value, Value]:
    n = np.shape(y)[-1]
    x = np.arange(n, dtype=float) if x is None else np.astype(x, dtype, copy=False)
    return np.astype(y, dtype, copy=False), np.broadcast_to(x, np.shape(y))


@statistic(
    "theilslopes",
    "y x",
    axis=None,
    too_small=1,
    hides_nan=True,
    outputs=4,
    join=result_class(
        "_stats_mstats_common", "TheilslopesResult", "slope intercept low_slope high_slope"
    ),
)
def _theilslopes(y: Value, x: Value = None, alpha: float = 0.95, method: str = "separate") -> tuple:
    if method not in ("joint", "separate"):
        raise ValueError(f"method must be either 'joint' or 'separate'.'{method}' is invalid.")
    y, x = _with_places(y, x, float)
    n = np.shape(y)[-1]
    slopes, dx, _ = _pairs(y, x)
    flat = (*np.shape(y)[:-1], n * n)
    ordered, count = _sorted_first(np.reshape(slopes, flat), np.reshape(np.greater(dx, 0), flat))
    slope = _median(ordered, count)
    if method == "joint":
        intercept = np.median(y - slope[..., None] * x, axis=-1)
    else:
        intercept = np.median(y, axis=-1) - slope * np.median(x, axis=-1)
    z = special.ndtri((1.0 - alpha if alpha > 0.5 else alpha) / 2.0)
    width = z * np.sqrt((n * (n - 1) * (2 * n + 5) - _ties(x) - _ties(y)) / 18.0)
    last = np.maximum(count - 1, 0)
    high = np.minimum(np.round((count - width) / 2.0), last)
    low = np.minimum(np.maximum(np.round((count + width) / 2.0) - 1, 0), last)
    ends = [at_places(ordered, place) for place in (low, high)]
    none = np.isnan(slope)
    ends = [np.where(none, math.nan, end)[()] for end in ends]
    return slope, intercept, *ends


@statistic(
    "siegelslopes",
    "y x",
    axis=None,
    too_small=1,
    hides_nan=True,
    outputs=2,
    join=result_class("_stats_mstats_common", "SiegelslopesResult", "slope intercept"),
)
def _siegelslopes(y: Value, x: Value = None, method: str = "hierarchical") -> tuple:
    if method not in ("hierarchical", "separate"):
        raise ValueError("method can only be 'hierarchical' or 'separate'")
    y, x = _with_places(y, x, np.result_type(y, float, np.float32))
    slopes, dx, divisor = _pairs(y, x)
    chosen = np.not_equal(dx, 0)
    slope = np.median(_median(*_sorted_first(slopes, chosen)), axis=-1)
    if method == "separate":
        products = y[..., None, :] * x[..., :, None] - y[..., :, None] * x[..., None, :]
        each = _median(*_sorted_first(products / divisor, chosen))
        return slope, np.median(each, axis=-1)
    return slope, np.median(y - slope[..., None] * x, axis=-1)


# ---- the most frequent observation ----


def _mode_result(mode: Value, count: Value) -> Any:
    """Return a result: NaN of an empty sample stands for the count 0."""
    if count.dtype.kind == "f":
        count = np.nan_to_num(count)
    return ModeResult(mode, count)


ModeResult = result_class("_stats_py", "ModeResult", "mode count")


@statistic("mode", outputs=2, join=_mode_result)
def _mode(a: Value) -> tuple:
    ordered, n = np.sort(a, axis=-1), np.shape(a)[-1]
    new = np.not_equal(ordered[..., 1:], ordered[..., :-1])
    if a.dtype.kind in "fc":  # NaNs count as equal
        new = np.logical_and(new, np.logical_not(np.isnan(ordered[..., :-1])))
    places = np.arange(n)
    starts = np.where(new, places[1:], 0)
    starts = np.concatenate([np.zeros_like(starts[..., :1]), starts], axis=-1) if n > 1 else places
    lengths = places - np.maximum.accumulate(starts, axis=-1) + 1
    best = np.argmax(lengths, axis=-1)
    return at_places(ordered, best), np.max(lengths, axis=-1)
