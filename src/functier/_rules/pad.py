"""Padding: a constant around an array is an operation. Other modes gather along one axis after the
other, and constants that differ are joined.
"""

from collections.abc import Sequence
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
REFUSED = {"linear_ramp", "maximum", "minimum", "mean", "median"}
"""Modes that compute the values around an array, which hardly any code differentiates."""


@primitive
def pad_with(a: Value, widths: Sequence[tuple[int, int]], value: Value) -> Value:
    """Return an array with `widths` copies of one number before and after each axis."""
    shape = [before + n + after for n, (before, after) in zip(a.shape, widths)]
    out = np.full(shape, value, a.dtype)
    out[_inner_index(a.shape, widths)] = a
    return out


def _inner_index(shape: Shape, widths: Sequence[tuple[int, int]]) -> Value:
    """Return the index of the array within the padded one."""
    return tuple([slice(before, before + n) for n, (before, _) in zip(shape, widths)])


op(
    pad_with,
    "a widths value",
    vmap=lambda k, a, widths, value: pad_with(a, [(0, 0)] * k + widths, value),
    jvp={"a": lambda t, widths: pad_with(t, widths, 0)},
    vjp={"a": lambda g, a_shape, widths: g[_inner_index(a_shape, widths)]},
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
    if mode in REFUSED or options.get("reflect_type", "even") != "even":
        kind = "reflect_type='odd'" if "reflect_type" in options else f"mode={mode!r}"
        raise UnsupportedError(
            f"numpy.pad: {kind} has no rule for tensors; compute the parts before and after along "
            f"an axis, and write numpy.concatenate([before, array, after], axis)"
        )
    array = as_strong(as_array(array))
    widths = _widths(pad_width, array.ndim)
    if not any([before or after for before, after in widths]):
        return np.copy(array)
    given = options.get(OPTIONS[mode], 0)
    if mode in ("constant", "empty") and isinstance(given, (int, float, complex, np.generic)):
        return pad_with(array, widths, given)
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if mode == "constant":
            start, stop = _ends(array, axis, given, before, after)
            array = np.concatenate([start, array, stop], axis)
        elif array.shape[axis] == 0:
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
        else:  # NumPy itself says which element goes where
            index = np.pad(np.arange(array.shape[axis]), (before, after), mode)  # type: ignore[call-overload]
            array = np.take(array, index, axis)
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
