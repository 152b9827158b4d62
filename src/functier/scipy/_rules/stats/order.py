"""The smallest, the largest and the most frequent observations."""

from typing import Any

import numpy as np

from ...._core.numpy_facts import Value
from ...._rules.axes import is_known_false
from ...._rules.constructors import check_values
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
        message = "no integer of a sample is within the limit; pass a.astype(float)"
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
