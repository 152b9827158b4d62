"""Adding at an index, on plain arrays: the transpose of reading there."""

from collections.abc import Sequence

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
    if distinct or not _may_repeat(indices):
        out[index] = values
    elif values.size < 1024 or out.ndim == 1:
        np.add.at(out, index, values)
    else:  # one flat index array is an order of magnitude faster than several, or slices
        _add_flat(out, index, values)
    return out


def arrays_in(index: Index) -> list:
    """Return the plain arrays in an index."""
    return [i for i in (index if type(index) is tuple else (index,)) if type(i) is np.ndarray]


def _may_repeat(arrays: Value) -> bool:
    """Tell if a position may occur twice at an index with these arrays."""
    return any([i.dtype != bool and i.size > 1 for i in arrays])


def _add_flat(out: Value, index: Index, values: Value) -> None:
    """Add at an index with arrays, in the order of rows; `out` lies in rows, too."""
    whole = out.ndim == 1 and type(index) is np.ndarray
    positions: Value = index if whole else _positions(out.shape, index, values.size)
    values = np.broadcast_to(values, positions.shape)
    np.add.at(out.reshape(-1), positions.ravel(), values.ravel())


def scatter_all(shape: Shape, places: Sequence[Index], *pieces: Value) -> Value:
    """Add each piece at its index to zeros, in their order, on plain arrays."""
    dtype = np.result_type(*{dtype_of(piece) for piece in pieces})
    if places[0] is ...:
        out = np.empty(shape, dtype)
        np.add(pieces[0], 0.0, out)  # as zeros, it turns -0.0 into 0.0
        places, pieces = places[1:], pieces[1:]
    else:
        out = np.zeros(shape, dtype)
    for index, piece in zip(places, pieces):
        if type(index) is not int and _may_repeat(arrays_in(index)):
            own, which = distinct(_positions(out.shape, index, piece.size))
            sums = np.zeros(own.size, out.dtype)
            np.add.at(sums, which, np.broadcast_to(piece, which.shape))
            np.add.at(out.reshape(-1), own, sums)
        else:
            out[index] += piece
    return out if shape else out[()]


def distinct(positions: Value) -> tuple[Value, Value]:
    """Return the places that occur among flat positions, and for each position which one it is.

    A piece is summed by itself before it is added, as a piece that is an array of zeros is.
    """
    places, which = np.unique(positions, return_inverse=True)
    return places, which.reshape(positions.shape)


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
