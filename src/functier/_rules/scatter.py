"""Adding at an index, on plain arrays: the transpose of reading there."""

import numpy as np

from .._core.numpy_facts import dtype_of
from .._core.types import Index, Shape, Value


def scatter(
    values: Value, shape: Shape, index: Index, indices: Value, distinct: bool = False
) -> Value:
    """Add at an index of zeros, on plain arrays; `indices` are the arrays in the index.

    `distinct`: no position occurs twice, as in a permutation.
    """
    out = np.zeros(shape, dtype_of(values))
    repeatable = not distinct and [i for i in indices if i.dtype != bool and i.size > 1]
    if not repeatable:
        out[index] = values
    elif values.size < 1024 or out.ndim == 1:
        np.add.at(out, index, values)
    else:  # one flat index array is an order of magnitude faster than several, or slices
        positions = _positions(shape, index, values.size)
        values = np.broadcast_to(values, positions.shape)
        np.add.at(out.reshape(-1), positions.ravel(), values.ravel())
    return out


def _positions(shape: Shape, index: Index, count: Value) -> Value:
    """Return the flat positions, in an array of `shape`, of an index of `count` elements."""
    size = int(np.prod(shape, dtype=int))
    if size <= 8 * count:
        return np.arange(size).reshape(shape)[index]
    positions: Value = 0
    stride = size
    for axis, n in enumerate(shape):
        stride //= n
        along = np.arange(n).reshape((n,) + (1,) * (len(shape) - axis - 1)) * stride
        positions = positions + np.broadcast_to(along, shape)[index]
    return positions
