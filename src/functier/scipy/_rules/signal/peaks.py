"""Peaks of a signal. Their places are constants; heights, prominences and widths are not.

NOTE [the number of peaks]
    SciPy finds the peaks of each example of a batch, as a truth value for each sample. The places
    are `numpy.nonzero` of these, which needs examples with equal numbers of peaks, or runs them
    apart where the transform allows it.
"""

from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ...._rules.indexing import read_at
from ....protocol import constant, primitive
from ..declare import declare_composite
from .filters import loop_examples

BOUNDED = "height", "threshold", "prominence", "width"
"""The conditions on peaks that have a least and a largest value."""


@primitive
def are_peaks(x: Value, low: Value, high: Value, given: tuple = (), **options: Any) -> Value:
    """Return for each sample if it is a peak; the bounds are those of the conditions `given`."""
    conditions = {name: (low[i], high[i]) for i, name in enumerate(given)}
    places, _ = signal.find_peaks(x, **conditions, **options)
    return np.isin(np.arange(x.shape[0]), places)


@primitive
def bases_of(x: Value, peaks: Value, wlen: Any = None) -> tuple:
    """Return the places of the two samples that the prominence of each peak refers to."""
    return signal.peak_prominences(x, peaks, wlen)[1:]


@primitive
def sides_of(x: Value, peaks: Value, prominences: Value, left: Value, right: Value,
             rel_height: float = 0.5) -> tuple:  # fmt: skip
    """Return the samples outside of each peak next to where it has the height of its width."""
    data = prominences, left, right
    _, _, first, last = signal.peak_widths(x, peaks, rel_height, data)
    return np.floor(first).astype(int), np.ceil(last).astype(int)


REASON = "SciPy looks for the peaks of one signal"


def _are_peaks_vmap(k: int, x: Value, low: Value, high: Value, **options: Any) -> Value:
    def one(x: Value, low: Value, high: Value) -> tuple:
        return (are_peaks(x, low, high, **options),)

    return loop_examples(k, one, "scipy.signal.find_peaks", REASON, x, low, high)[0]


def _bases_vmap(k: int, x: Value, peaks: Value, wlen: Any = None) -> tuple:
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in (x, peaks)])
    if 0 in batch:
        return (np.zeros(batch + np.shape(peaks)[k:], int),) * 2
    name = "scipy.signal.peak_prominences"
    return loop_examples(k, lambda x, p: bases_of(x, p, wlen), name, REASON, x, peaks)


def _sides_vmap(k: int, *operands: Value, rel_height: float = 0.5) -> tuple:
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in operands])
    if 0 in batch:
        return (np.zeros(batch + np.shape(operands[1])[k:], int),) * 2

    def one(*operands: Value) -> tuple:
        return sides_of(*operands, rel_height=rel_height)

    return loop_examples(k, one, "scipy.signal.peak_widths", REASON, *operands)


constant(
    are_peaks, "x low high given distance wlen rel_height", "x low high", vmap=_are_peaks_vmap,
)  # fmt: skip
constant(bases_of, "x peaks wlen", "x peaks", vmap=_bases_vmap)
constant(
    sides_of, "x peaks prominences left right rel_height", "x peaks prominences left right",
    vmap=_sides_vmap,
)  # fmt: skip

# ---- what peaks have ----


def _signal_of(x: Value) -> Value:
    x = as_array(x)
    if np.ndim(x) != 1:
        raise ValueError("`x` must be a 1-D array")
    return np.astype(x, float, copy=False)


def _places_of(peaks: Value) -> Value:
    peaks = as_array(peaks)
    return np.astype(peaks, int) if not np.size(peaks) else peaks


def _prominences(x: Value, peaks: Value, wlen: Any) -> tuple:
    left, right = bases_of(x, peaks, wlen)
    return read_at(x, peaks) - np.maximum(read_at(x, left), read_at(x, right)), left, right


@declare_composite(signal, "peak_prominences")
def _peak_prominences(x: Value, peaks: Value, wlen: Any = None) -> tuple:
    return _prominences(_signal_of(x), _places_of(peaks), wlen)


def _widths(x: Value, peaks: Value, rel_height: float, data: tuple) -> tuple:
    heights = read_at(x, peaks) - data[0] * rel_height
    first, last = sides_of(x, peaks, *data, rel_height=rel_height)
    ends = []
    for side, step in ((first, 1), (last, -1)):
        below = read_at(x, side) < heights
        other = np.where(below, side + step, side)
        rise = np.where(below, read_at(x, other) - read_at(x, side), 1.0)
        ends.append(side + step * np.where(below, (heights - read_at(x, side)) / rise, 0.0))
    return ends[1] - ends[0], heights, ends[0], ends[1]


@declare_composite(signal, "peak_widths")
def _peak_widths(
    x: Value, peaks: Value, rel_height: float = 0.5, prominence_data: Any = None, wlen: Any = None
) -> tuple:
    x, peaks = _signal_of(x), _places_of(peaks)
    data = _prominences(x, peaks, wlen) if prominence_data is None else prominence_data
    return _widths(x, peaks, rel_height, tuple(data))


# ---- finding them ----


@declare_composite(signal, "find_peaks")
def _find_peaks(
    x: Value, height: Any = None, threshold: Any = None, distance: Any = None,
    prominence: Any = None, width: Any = None, wlen: Any = None, rel_height: float = 0.5,
    plateau_size: Any = None,
) -> tuple:  # fmt: skip
    if plateau_size is not None:
        raise UnsupportedError(
            "scipy.signal.find_peaks: plateau_size is not supported for tensors; leave it out, and "
            "give height=, threshold=, distance=, prominence= or width="
        )
    x = _signal_of(x)
    conditions = dict(zip(BOUNDED, (height, threshold, prominence, width)))
    given = {name: _bounds_of(v) for name, v in conditions.items() if v is not None}
    low, high = (as_array([pair[i] for pair in given.values()]) for i in (0, 1))
    options = {"distance": distance, "wlen": wlen, "rel_height": rel_height}
    mask = are_peaks(x, low, high, given=tuple(given), **options)
    peaks = np.nonzero(mask)[0]
    found: dict[str, Value] = {}
    if height is not None:
        found["peak_heights"] = read_at(x, peaks)
    if threshold is not None:
        found["left_thresholds"] = read_at(x, peaks) - read_at(x, peaks - 1)
        found["right_thresholds"] = read_at(x, peaks) - read_at(x, peaks + 1)
    if prominence is not None or width is not None:
        data = _prominences(x, peaks, wlen)
        found |= dict(zip(("prominences", "left_bases", "right_bases"), data))
    if width is not None:
        names = "widths", "width_heights", "left_ips", "right_ips"
        found |= dict(zip(names, _widths(x, peaks, rel_height, data)))
    return peaks, found


def _bounds_of(value: Any) -> list:
    """Return the least and the largest value of a condition, of which one may be missing."""
    if (np.ndim(value) == 1 and np.size(value) != 2) or np.ndim(value) > 1:
        raise UnsupportedError(
            "scipy.signal.find_peaks: a condition with one number for each sample is not supported "
            "for tensors; pass one number, or select peaks by their properties"
        )
    if isinstance(value, tuple | list) and len(value) == 2:
        low, high = value
    elif np.ndim(value) == 1 and np.size(value) == 2:
        low, high = value[0], value[1]
    else:
        low, high = value, None
    return [-np.inf if low is None else low, np.inf if high is None else high]
