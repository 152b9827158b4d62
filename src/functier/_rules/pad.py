"""Padding: a constant around an array is an operation. The other modes join, gather and reduce
along one axis after the other.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Function, Shape, Value
from .axes import as_array, as_strong
from .constructors import composite, op, primitive

OPTIONS = {
    "constant": "constant_values", "empty": "", "edge": "", "wrap": "",
    "reflect": "reflect_type", "symmetric": "reflect_type", "linear_ramp": "end_values",
    "maximum": "stat_length", "minimum": "stat_length",
    "mean": "stat_length", "median": "stat_length",
}  # fmt: skip
STATISTICS: dict[str, Callable] = {
    "maximum": np.max,
    "minimum": np.min,
    "mean": np.mean,
    "median": np.median,
}


@primitive
def pad_with(a: Value, widths: Sequence[tuple[int, int]], value: Value) -> Value:
    """Return an array with `widths` copies of one number before and after each axis."""
    shape = [before + n + after for n, (before, after) in zip(a.shape, widths)]
    out = np.full(shape, value, a.dtype)
    out[inner_index(a.shape, widths)] = a
    return out


def inner_index(shape: Shape, widths: Sequence[tuple[int, int]]) -> Value:
    """Return the index of the array within the padded one."""
    return tuple([slice(before, before + n) for n, (before, _) in zip(shape, widths)])


op(
    pad_with,
    "a widths value",
    vmap=lambda k, a, widths, value: pad_with(a, [(0, 0)] * k + widths, value),
    jvp={"a": lambda t, widths: pad_with(t, widths, 0)},
    vjp={"a": lambda g, a_shape, widths: g[inner_index(a_shape, widths)]},
    zeros="linear",
)


@lambda body: composite(np.pad, body)
def _pad(
    array: Value, pad_width: Value, mode: str | Function = "constant", **options: Any
) -> Value:
    if callable(mode):
        raise UnsupportedError(
            "numpy.pad: a padding function writes to its argument, and a tensor cannot be changed; "
            "write mode='constant' or another of NumPy's modes, or numpy.concatenate"
        )
    if mode not in OPTIONS:
        raise ValueError(f"mode '{mode}' is not supported")
    wrong = set(options) - {OPTIONS[mode]}
    if wrong:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {wrong}")
    array = as_strong(as_array(array))
    widths = _widths(pad_width, array.ndim)
    if not any([before or after for before, after in widths]):
        return np.copy(array)
    given = options.get(OPTIONS[mode], None if mode in STATISTICS else 0)
    if mode in ("constant", "empty") and isinstance(given, (int, float, complex, np.generic)):
        return pad_with(array, widths, given)
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if mode == "constant":
            start, stop = _ends(array, axis, given, before, after)
        elif array.shape[axis] == 0:
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
        elif mode == "linear_ramp":
            start, stop = _ramps(array, axis, given, before, after)
        elif mode in STATISTICS:
            start, stop = _statistics(array, axis, mode, given, before, after)
        elif options.get("reflect_type", "even") == "odd" and array.shape[axis] > 1:
            array = _pad_odd(array, axis, before, after, mode == "symmetric")
            continue
        else:  # NumPy itself says which element goes where
            index = np.pad(np.arange(array.shape[axis]), (before, after), mode)  # type: ignore[call-overload]
            array = np.take(array, index, axis)
            continue
        array = np.concatenate([start, array, stop], axis)
    return array


def _widths(pad_width: Value, ndim: int) -> list:
    """Return a pair of ints for each axis."""
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        return pairs
    widths = np.broadcast_to(pad_width, (ndim, 2))
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if np.any(widths < 0):
        raise ValueError("index can't contain negative values")
    return widths.tolist()


def _pair(given: Value, array: Value, axis: int) -> tuple:
    """Return the two values of an option for an axis."""
    pairs = np.broadcast_to(given, (array.ndim, 2))
    return pairs[axis, 0], pairs[axis, 1]


def _slice_along(
    array: Value, axis: int, start: Value, stop: Value, step: int | None = None
) -> Value:
    return array[(slice(None),) * axis + (slice(start, stop, step),)]


def _resized_shape(array: Value, axis: int, n: int) -> tuple:
    return (*array.shape[:axis], n, *array.shape[axis + 1 :])


def _fill_block(value: Value, array: Value, axis: int, n: int) -> Value:
    """Return a block of `n` along an axis, filled with `value`, of the dtype of `array`."""
    return np.astype(
        np.broadcast_to(value, _resized_shape(array, axis, n)), array.dtype, copy=False
    )


def _ends(array: Value, axis: int, given: Value, before: int, after: int) -> tuple:
    first, last = _pair(given, array, axis)
    return _fill_block(first, array, axis, before), _fill_block(last, array, axis, after)


def _ramps(array: Value, axis: int, given: Value, before: int, after: int) -> tuple:
    """Return ramps from the end value, which is included, to the edge, which is not."""
    first, last = _pair(given, array, axis)

    def ramp(end: Value, edge: Value, n: int) -> Value:
        steps = np.reshape(np.arange(n), [-1 if i == axis else 1 for i in range(array.ndim)])
        values = steps * ((edge - end) / max(n, 1)) + end
        values = np.floor(values) if array.dtype.kind in "iu" else values
        return np.astype(values, array.dtype, copy=False)

    start = ramp(first, _slice_along(array, axis, 0, 1), before)
    return start, np.flip(ramp(last, _slice_along(array, axis, -1, None), after), axis)


def _statistics(array: Value, axis: int, mode: str, given: Value, before: int, after: int) -> tuple:
    """Return blocks of a statistic of the elements nearest to each end, `given` of them or all."""
    n = array.shape[axis]
    lengths = (None, None) if given is None else _pair(given, array, axis)
    first, last = (n if m is None else min(int(m), n) for m in lengths)
    if mode in ("maximum", "minimum") and not (first and last):
        raise ValueError("stat_length of 0 yields no value for padding")

    def block(part: Value, n: int) -> Value:
        value = STATISTICS[mode](part, axis=axis, keepdims=True)
        value = np.rint(value) if array.dtype.kind in "iu" else value
        return _fill_block(value, array, axis, n)

    start = block(_slice_along(array, axis, 0, first), before)
    return start, block(_slice_along(array, axis, n - last, n), after)


def _pad_odd(array: Value, axis: int, before: int, after: int, whole: bool) -> Value:
    """Pad by reflections through the point at each edge, as many as it takes.

    `whole`: the edge itself is reflected too (mode "symmetric"). The pieces that NumPy
    reflects are multiples of the original length (less the edge), at each end in turn.
    """
    period = array.shape[axis] - (not whole)
    while before or after:
        length = (array.shape[axis] - (not whole)) // period * period
        skip = 1 - whole
        parts = [array]
        if before:
            n = min(length, before)
            mirrored = np.flip(_slice_along(array, axis, skip, skip + n), axis)
            parts.insert(0, _reflect_through(_slice_along(array, axis, 0, 1), mirrored))
            before -= n
        array = np.concatenate(parts, axis) if len(parts) > 1 else array
        if after:
            n, size = min(length, after), array.shape[axis]
            mirrored = np.flip(_slice_along(array, axis, size - skip - n, size - skip), axis)
            last = _slice_along(array, axis, size - 1, size)
            array = np.concatenate([array, _reflect_through(last, mirrored)], axis)
            after -= n
    return array


def _reflect_through(point: Value, mirrored: Value) -> Value:
    """Reflect through a point, in the dtype of the padded array, to which NumPy writes."""
    return np.astype(2 * point - mirrored, point.dtype, copy=False)
