"""Adding at an index, on plain arrays: the transpose of reading there."""

import math
from collections.abc import Sequence

import numpy as np

from .._core.numpy_facts import Index, Shape, Value, dtype_of

DENSE = 1 << 14
"""Up to this size an array of a piece costs less than to find the positions that come twice."""


def scatter(
    values: Value, shape: Shape, index: Index, indices: Value, distinct: bool = False
) -> Value:
    """Add at an index of zeros, on plain arrays; `indices` are the arrays in the index.

    `distinct`: no position occurs twice, as in a permutation.
    """
    out = np.zeros(shape, dtype_of(values))
    if distinct or not may_repeat(indices):
        out[index] = values
    elif values.size < 1024 or out.ndim == 1:
        np.add.at(out, index, values)
    else:  # one flat index array is an order of magnitude faster than several, or slices
        positions = _positions(shape, index, values.size)
        values = np.broadcast_to(values, positions.shape)
        np.add.at(out.reshape(-1), positions.ravel(), values.ravel())
    return out


def arrays_in(index: Index) -> list:
    """Return the plain arrays in an index."""
    return [i for i in (index if type(index) is tuple else (index,)) if type(i) is np.ndarray]


def may_repeat(arrays: Value) -> bool:
    """Return whether a position may occur twice at an index with these arrays."""
    return any([np.size(i) > 1 and i.dtype != bool for i in arrays])


def distinct_places(shape: Shape, index: Index, values: Value) -> tuple[Index, Value]:
    """Return an index that has each position of `index` once, and which of these each is."""
    positions = _positions(shape, index, math.prod(np.shape(values)))
    found, places = np.unique(positions, return_inverse=True)
    return np.unravel_index(found, shape), places.ravel()


def scatter_all(shape: Shape, places: Sequence[Index], *pieces: Value) -> Value:
    """Add each piece at its index to zeros, in their order, on plain arrays.

    A piece that has a position twice is summed before.
    """
    dtype = np.result_type(*{dtype_of(piece) for piece in pieces})
    if places[0] is ...:
        out = np.empty(shape, dtype)
        np.add(pieces[0], 0.0, out)  # as zeros, it turns -0.0 into 0.0
        places, pieces = places[1:], pieces[1:]
    else:
        out = np.zeros(shape, dtype)
    for index, piece in zip(places, pieces):
        arrays = [] if type(index) is int else arrays_in(index)
        if may_repeat(arrays):
            if out.size < DENSE:
                out += scatter(piece, shape, index, arrays)
                continue
            index, there = distinct_places(shape, index, piece)
            out[index] += scatter(piece.ravel(), index[0].shape, there, [there])
        else:
            out[index] += piece
    return out if shape else out[()]


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
