"""The smallest, the largest and the most frequent observations."""

from typing import Any

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, is_known_false, normalize
from ...._rules.constructors import check_values
from ..declare import declare_composite
from .means import within
from .results import result_class
from .samples import statistic
from .slopes import at_places


def _extreme(a: Value, limits: tuple, inclusive: bool, sign: int) -> Value:
    """Return the smallest (sign 1) or the largest (-1) observation within a limit."""
    inside = within(a, limits, (inclusive, inclusive))
    find = np.min if sign > 0 else np.max
    if limits == (None, None):
        return find(a, axis=-1)
    info: Any = np.finfo(a.dtype) if a.dtype.kind == "f" else np.iinfo(a.dtype)
    other = sign * np.inf if a.dtype.kind == "f" else info.max if sign > 0 else info.min
    found = find(np.where(inside, a, a.dtype.type(other)), axis=-1)
    none = np.logical_not(np.any(inside, axis=-1))
    if is_known_false(none):
        return found
    if a.dtype.kind != "f":
        message = "a sample has no whole number within the limit; pass a.astype(float)"
        check_values(none, lambda none: not np.any(none), message)
        return found
    return np.where(none, np.asarray(np.nan, a.dtype), found)[()]


@statistic("tmin", hides_nan=True)
def _tmin(a: Value, lowerlimit: Value = None, inclusive: bool = True) -> Value:
    return _extreme(a, (lowerlimit, None), inclusive, 1)


@statistic("tmax", hides_nan=True)
def _tmax(a: Value, upperlimit: Value = None, inclusive: bool = True) -> Value:
    return _extreme(a, (None, upperlimit), inclusive, -1)


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


@declare_composite(stats, "trim1")
def _trim1(a: Value, proportiontocut: float, tail: str = "right", axis: int | None = 0) -> Any:
    a = as_array(a)
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    if proportiontocut >= 1:
        return []
    n = np.shape(a)[axis]
    cut = int(proportiontocut * n)
    low, high = (cut, n) if tail.lower() == "left" else (0, n - cut)
    kept = np.partition(a, (low, high - 1), axis)
    return kept[(slice(None),) * normalize(axis, np.ndim(a))[0] + (slice(low, high),)]


SigmaclipResult = result_class("_stats_py", "SigmaclipResult", "clipped lower upper")


@declare_composite(stats, "sigmaclip")
def _sigmaclip(a: Value, low: float = 4.0, high: float = 4.0) -> Any:
    clipped = np.reshape(as_array(a), (-1,))
    removed = True
    while removed:
        deviation, mean, size = np.std(clipped), np.mean(clipped), np.size(clipped)
        lower, upper = mean - deviation * low, mean + deviation * high
        inside = np.logical_and(np.greater_equal(clipped, lower), np.less_equal(clipped, upper))
        clipped = clipped[inside]
        removed = np.size(clipped) < size
    return SigmaclipResult(clipped, lower, upper)
