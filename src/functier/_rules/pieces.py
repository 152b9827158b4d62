"""Adding pieces at indices: the transpose of many reads of one array."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.hooks import add_in_memory
from .._core.numpy_facts import Index, Shape, Value
from .._core.sharing import declare_memory
from .._core.table import FEW_PIECES, PIECES
from .axes import batch_shape
from .constructors import linear, primitive
from .indexing import FULL, advanced_axes, move_axes, split_index, transpose_read
from .scatter import arrays_in, distinct_places, may_repeat, scatter_all


@primitive
def add_pieces(shape: Shape, places: Sequence[Index], *pieces: Value) -> Value:
    """Add each piece at its index to zeros of `shape`, in their order; no index has a tensor."""
    return scatter_all(shape, places, *pieces)


def is_all(index: Index) -> bool:
    """Return whether an index is `...`, or that alone in a tuple, as a program has it."""
    return index is ... or (type(index) is tuple and len(index) == 1 and index[0] is ...)


def _vmap(k: int, shape: Shape, places: Sequence[Index], pieces: Sequence[Value]) -> Value:
    batch, found, moved = batch_shape(k, *pieces), [], []
    for index, piece in zip(places, pieces):
        parts = index if type(index) is tuple else (index,)
        if is_all(index):
            found.append(index)
            moved.append(np.broadcast_to(piece, batch + shape))
            continue
        if arrays_in(index):
            piece = np.broadcast_to(piece, batch + np.shape(piece)[k:])
            skeleton, indices = split_index(index)
            rank, start = advanced_axes(0, len(shape), indices, skeleton)
            if start is None:
                piece = move_axes(piece, rank, k, 0)
        found.append((FULL,) * k + parts)
        moved.append(piece)
    return add_pieces(batch + shape, tuple(found), *moved)


def _bind(shape: Shape, places: Sequence[Index], *pieces: Value) -> dict[str, Any]:
    return {"shape": shape, "places": places, "pieces": pieces}


def _add_recorded(shape: Shape, places: Sequence[Index], *pieces: Value) -> Value:
    """Add a few pieces as arrays, which machine code does in one loop, and many in a memory."""
    indices, values = [*places], [*pieces]
    for i, index in enumerate(indices):
        if may_repeat(arrays_in(index)):  # summed before, as in `scatter_all`
            indices[i], there = distinct_places(shape, index, values[i])
            values[i] = transpose_read(np.reshape(values[i], -1), indices[i][0].shape, there)
    size = math.prod(shape)
    elements = sum([math.prod(np.shape(value)) for value in values])
    many = len(values) > FEW_PIECES or len(values) * size > 4 * (size + elements)
    goes_on = type(indices[0]) is tuple and is_all(indices[0])
    if many or goes_on or any(map(arrays_in, indices)):
        return add_in_memory(shape, indices, *values)
    total: Value = 0.0  # not -0.0, as in `scatter_all`
    for index, value in zip(indices, values):
        total = total + (value if index is ... else transpose_read(value, shape, index))
    return total


linear(
    add_pieces,
    "shape places pieces",
    "pieces",
    variadic="pieces",
    bind=_bind,
    kernel=lambda shape, places, pieces: add_pieces(shape, places, *pieces),
    vmap=_vmap,
    vjp={"pieces": lambda g, places_item: g[places_item]},
)
add_pieces.body = _add_recorded  # type: ignore[attr-defined]
declare_memory("fresh", [add_pieces])
PIECES[transpose_read] = add_pieces
