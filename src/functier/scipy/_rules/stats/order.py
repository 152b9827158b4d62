"""The most frequent observations."""

from typing import Any

import numpy as np

from ...._core.numpy_facts import Value
from .results import result_class
from .samples import statistic
from .slopes import at_places


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
