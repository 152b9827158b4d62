"""Operands and axes: lists as arrays, the axes of a batch and of a reduction."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .._core.numpy_facts import Axis, Value, dtype_of, known_type

# ---- operands ----


def as_array(values: Value) -> Value:
    """Return a list, a range or a number as an array; tensors may be in a list."""
    if hasattr(values, "shape"):
        return values
    if isinstance(values, range):
        return np.arange(values.start, values.stop, values.step)
    if not isinstance(values, (list, tuple)):
        return np.reshape(values, ())
    return np.stack([as_array(v) for v in values]) if values else np.zeros(0)


def convert_lists(*values: Value) -> list:
    """Return lists as arrays, and other values as they are: a Python number stays weak."""
    return [as_array(v) if isinstance(v, (list, tuple, range)) else v for v in values]


def as_strong(x: Value) -> Value:
    """Return `x`, a Python number as an array: no longer weak, as where NumPy converts."""
    return x if np.ndim(x) else np.reshape(x, ())


def promotion_operand(x: Value) -> Value:
    """Return `x` for `numpy.result_type`: a Python number is weak, also inside a tensor."""
    if not hasattr(x, "level") or np.ndim(x) or x.dtype.char not in "dD":
        return x
    weak = np.multiply(x, np.float16(1)).dtype != x.dtype
    return (0.0 if x.dtype.char == "d" else 0j) if weak else x


def is_known_false(mask: Value) -> bool:
    """Return whether a mask is known to be False everywhere; that of a tensor is not known."""
    kind = type(mask)
    if kind is np.bool_ or kind is bool:
        return not mask
    return kind is np.ndarray and not np.count_nonzero(mask)


def replace_zeros(x: Value) -> Value:
    """Return `x` with 1 for each 0, as a divisor."""
    zero = x == 0  # of a number ten times as fast as `numpy.equal`
    if is_known_false(zero):
        return x
    replaced = np.where(zero, 1, x)
    return replaced if np.ndim(replaced) else replaced[()]  # an array's powers round in another way


def as_number(n: Value) -> Value:
    """Return a count or a place that is a tensor as an `int`, which all examples share."""
    return operator.index(n) if hasattr(n, "level") else n


def as_whole(n: Value) -> Value:
    """Return a count that is a tensor of floats without its digits, as NumPy cuts those off."""
    return np.astype(n, np.intp) if hasattr(n, "level") and n.dtype.kind == "f" else n


# ---- axes ----


def shift(axis: int, k: int, ndim: int) -> int:
    """Return the physical axis of a logical one; `ndim` is the logical rank."""
    return normalize_axis_index(axis, ndim) + k


def shift_all(axis: Axis | list[int], k: int, ndim: int) -> Any:
    """Return the physical axes of an axis argument, which may be None (all) or a tuple."""
    if axis is None:
        return tuple(range(k, k + ndim))
    if isinstance(axis, (tuple, list)):
        return tuple(shift(a, k, ndim) for a in axis)
    return shift(axis, k, ndim)


def ignore_scalar_axis(axis: Axis, ndim: int) -> Value:
    """Return the axis argument of a reduction; without axes NumPy takes 0 and -1 as None."""
    return None if not ndim and axis in (0, -1) else axis


def normalize(axis: Axis | list[int], ndim: int) -> tuple[int, ...]:
    """Return an axis argument as a tuple of non-negative ints."""
    axes = shift_all(axis, 0, ndim)
    return axes if isinstance(axes, tuple) else (axes,)


def batch_shape(k: int, *values: Value) -> tuple[int, ...]:
    """Return the common batch shape of operands; Python scalars have none."""
    shapes = [s for s in [np.shape(v)[:k] for v in values] if s]
    return tuple([next((n for n in sizes if n != 1), 1) for sizes in zip(*shapes)])


def collapse(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return `shape` with size 1 at `axes`."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def _rows_order(ndim: int, axis: Axis) -> tuple[int, ...]:
    axes = _row_axes(ndim, axis)
    return (*(i for i in range(ndim) if i not in axes), *axes)


def _row_axes(ndim: int, axis: Axis) -> tuple[int, ...]:
    """Return the axes of a reduction, for which a number counts as an array of one axis."""
    return normalize(axis if ndim or axis not in (0, -1) else None, ndim)


def as_rows(a: Value, axis: Axis) -> Value:
    """Return `a` with the axes of a reduction merged into one last axis."""
    shape, n = np.shape(a), len(_row_axes(np.ndim(a), axis))
    order = _rows_order(len(shape), axis)
    form = [shape[i] for i in order]
    cut = len(form) - n
    return np.reshape(np.transpose(a, order), (*form[:cut], math.prod(form[cut:])))


def from_rows(rows: Value, axis: Axis, shape: tuple[int, ...]) -> Value:
    """Return the array of `shape` whose rows these are: the inverse of `as_rows`."""
    order = _rows_order(len(shape), axis)
    whole = np.reshape(rows, [shape[i] for i in order])
    return np.transpose(whole, [order.index(i) for i in range(len(shape))])


def flatten_examples(k: int, a: Value) -> Value:
    """Return `a` with one axis after those of the batch; also where either is empty."""
    shape = np.shape(a)
    return np.reshape(a, (*shape[:k], math.prod(shape[k:])))


def expand(g: Value, shape: tuple[int, ...], axis: Axis = None, keepdims: bool = False) -> Value:
    """Reshape the result of a reduction to broadcast with the array that was reduced."""
    if keepdims or len(shape) < 2:
        return g
    if type(axis) is int:
        axis = normalize_axis_index(axis, len(shape))
        return g.reshape((*shape[:axis], 1, *shape[axis + 1 :]))  # a fifth of np.reshape
    return np.reshape(g, collapse(shape, normalize(axis, len(shape))))


def broadcast_back(
    g: Value, shape: tuple[int, ...], axis: Axis = None, keepdims: bool = False
) -> Value:
    """Undo a reduction's change of shape: repeat `g` along the axes of the reduction."""
    kind = known_type(g)
    if not shape:
        return g
    if kind is np.float64:
        if math.prod(shape) < SMALL:
            if kind is not type(g):  # the same, as a call
                return g * np.ones(shape)
            whole = np.empty(shape)
            whole.fill(g)
            return whole
    elif kind is not np.ndarray:
        if math.prod(shape) <= FEW:
            return expand(g, shape, axis, keepdims) + np.zeros(shape, dtype_of(g))
        if axis is not None:
            g = expand(g, shape, axis, keepdims)
    elif axis is not None:
        g = expand(g, shape, axis, keepdims)
        size = math.prod(shape)
        if type(axis) is int and size < LARGE and g.ndim == len(shape):
            return g.repeat(shape[axis], axis)
        if size < SMALL:
            return np.zeros(shape, g.dtype) + g
    return np.broadcast_to(g, shape)


FEW = 64
"""Up to so many elements, adding zeros to a tensor takes less time than a view of it."""

SMALL = 10_000
"""Up to so many elements, filling an array takes less time than a view does (2.3 us)."""

LARGE = 1 << 17
"""Up to so many, repeating along one axis takes less than broadcasting in the next rule."""
