"""Correlations, and lines through two samples, also by medians of slopes."""

from typing import Any

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.constructors import check_values
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
