"""Operands and axes: arrays of lists, the axes of a batch and of a reduction."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .._core.numpy_facts import dtype_of
from .._core.types import Axis, Value

# ---- operands ----


def as_array(values: Value) -> Value:
    """An array of a list or a number, which may hold tensors."""
    if hasattr(values, "shape"):
        return values
    if not isinstance(values, (list, tuple)):
        return np.reshape(values, ())
    return np.stack([as_array(v) for v in values]) if values else np.zeros(0)


def convert_lists(*values: Value) -> list:
    """Lists as arrays; the rest as it is, since a number is weak."""
    return [as_array(v) if isinstance(v, (list, tuple)) else v for v in values]


def as_strong(x: Value) -> Value:
    """`x`, of which a Python number is an array: not weak any more, as where NumPy converts."""
    return x if np.ndim(x) else np.reshape(x, ())


def promotion_operand(x: Value) -> Value:
    """`x` as `numpy.result_type` has to see it: a Python number is weak in a tensor, too."""
    if not hasattr(x, "level") or np.ndim(x) or x.dtype.char not in "dD":
        return x
    weak = np.multiply(x, np.float16(1)).dtype != x.dtype
    return (0.0 if x.dtype.char == "d" else 0j) if weak else x


def is_known_false(mask: Value) -> bool:
    """Whether a mask is known to hold nowhere; a tensor's cannot be asked."""
    return type(mask) in (np.ndarray, np.bool_) and not np.count_nonzero(mask)


def replace_zeros(x: Value) -> Value:
    """`x` with 1 for each 0, to divide by."""
    zero = np.equal(x, 0)
    return x if is_known_false(zero) else np.where(zero, 1, x)


# ---- axes ----


def shift(axis: int, k: int, ndim: int) -> int:
    """The physical axis of a logical one, `ndim` being the logical rank."""
    return normalize_axis_index(axis, ndim) + k


def shift_all(axis: Axis | list[int], k: int, ndim: int) -> Any:
    """The physical axes of an axis argument that may be None (all) or a tuple."""
    if axis is None:
        return tuple(range(k, k + ndim))
    if isinstance(axis, (tuple, list)):
        return tuple(shift(a, k, ndim) for a in axis)
    return shift(axis, k, ndim)


def ignore_scalar_axis(axis: Axis, ndim: int) -> Value:
    """The axis argument of a reduction; NumPy takes 0 and -1 too where there is no axis."""
    return None if not ndim and axis in (0, -1) else axis


def normalize(axis: Axis | list[int], ndim: int) -> tuple[int, ...]:
    """An axis argument as a tuple of non-negative ints."""
    axes = shift_all(axis, 0, ndim)
    return axes if isinstance(axes, tuple) else (axes,)


def batch_shape(k: int, *values: Value) -> tuple[int, ...]:
    """The common batch shape of operands; Python scalars have none."""
    shapes = [s for s in [np.shape(v)[:k] for v in values] if s]
    return tuple([next((n for n in sizes if n != 1), 1) for sizes in zip(*shapes)])


def collapse(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """`shape` with axes of size 1."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def _rows_order(ndim: int, axis: Axis) -> tuple[int, ...]:
    axes = _row_axes(ndim, axis)
    return (*(i for i in range(ndim) if i not in axes), *axes)


def _row_axes(ndim: int, axis: Axis) -> tuple[int, ...]:
    """The axes of a reduction, for which a number counts as an array of one axis."""
    return normalize(axis if ndim or axis not in (0, -1) else None, ndim)


def as_rows(a: Value, axis: Axis) -> Value:
    """`a` with one last axis made of the axes that a reduction goes over."""
    shape, n = np.shape(a), len(_row_axes(np.ndim(a), axis))
    order = _rows_order(len(shape), axis)
    form = [shape[i] for i in order]
    cut = len(form) - n
    return np.reshape(np.transpose(a, order), (*form[:cut], math.prod(form[cut:])))


def from_rows(rows: Value, axis: Axis, shape: tuple[int, ...]) -> Value:
    """The array of `shape` of which `as_rows` has made rows."""
    order = _rows_order(len(shape), axis)
    whole = np.reshape(rows, [shape[i] for i in order])
    return np.transpose(whole, [order.index(i) for i in range(len(shape))])


def flatten_examples(k: int, a: Value) -> Value:
    """`a` with one axis after the batch's; also where a batch or the array is empty."""
    shape = np.shape(a)
    return np.reshape(a, (*shape[:k], math.prod(shape[k:])))


def expand(g: Value, shape: tuple[int, ...], axis: Axis = None, keepdims: bool = False) -> Value:
    """The result of a reduction, so that it broadcasts with what was reduced."""
    if keepdims or len(shape) < 2:
        return g
    if type(axis) is int:
        axis = normalize_axis_index(axis, len(shape))
        return g.reshape((*shape[:axis], 1, *shape[axis + 1 :]))  # a fifth of np.reshape
    axes = normalize(axis, len(shape))
    return np.reshape(g, collapse(shape, axes))


def broadcast_back(
    g: Value, shape: tuple[int, ...], axis: Axis = None, keepdims: bool = False
) -> Value:
    """Undo a reduction's change of shape: `g` repeated along the axes it went over."""
    kind = type(g)
    if not shape:
        return g
    if kind is np.float64:
        if math.prod(shape) < SMALL:
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
"""Up to so many elements an array is added to a tensor in less than a view of it takes."""

SMALL = 10_000
"""Up to so many elements an array is filled in less than a view takes (2.3 us)."""

LARGE = 1 << 17
"""Up to so many, repeating along one axis takes less than broadcasting in the next rule."""
