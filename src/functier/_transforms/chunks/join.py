"""The results of chunks, joined to the result of the whole batch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.numpy_facts import VALUES, PyTree, Value, dtype_of, shape_of
from ..._core.pytree import describe, flatten, paths, prefix_leaves, same_structure, unflatten
from .chunk import Chunk


class Join:
    """The joined results of the chunks: each leaf along its axis in `out_dims`.

    Plain arrays are copied into one of the full size, which is made for the first of them. So
    memory has the whole and the chunks under way, and no more. Tensors and arrays of other
    libraries are concatenated. Messages call chunk i ``name(i)``.
    """

    def __init__(self, label: str, out_dims: PyTree, name: Callable = "chunk {}".format):
        self.label, self.out_dims, self.name = label, out_dims, name
        self.first: tuple[int, str] | None = None  # which chunk came first, and its result's form
        self.columns: list[_Column] = []

    def take(self, chunk: Chunk, result: PyTree) -> None:
        """Add the result of a chunk."""
        if chunk.count == 1:
            self.only = result
            return
        leaves, structure = flatten(result)
        if self.first is None:
            self.structure = structure
            self.dims = leaf_dims(self.out_dims, result, leaves, self.label)
            self.columns = [_Column(dim, self.name) for dim in self.dims]
            self.first = chunk.index, describe(result)
        index, form = self.first
        if structure != self.structure and not same_structure(
            result, unflatten(self.structure, leaves[:1] * len(self.dims))
        ):
            raise ValueError(
                f"{self.label}: {self.name(chunk.index)} gave {describe(result)}, but "
                f"{self.name(index)} {form}, which has a different structure; return the same for "
                f"every batch"
            )
        for i, (column, leaf) in enumerate(zip(self.columns, leaves)):
            problem = column.add(chunk, leaf)
            if problem:
                where = paths(result, "the result")[i]
                raise ValueError(f"{self.label}: {where} of {self.name(chunk.index)} {problem}")

    def whole(self) -> PyTree:
        """Return the result of the whole batch."""
        if self.first is None:
            return self.only
        return unflatten(self.structure, [column.whole() for column in self.columns])


def leaf_dims(out_dims: PyTree, result: PyTree, leaves: list, label: str) -> list[int | None]:
    """Return the entry of `out_dims` for every leaf of a result."""
    if type(out_dims) is int:
        return [out_dims] * len(leaves)
    return prefix_leaves(out_dims, result, label, "out_dims")


class _Column:
    """A leaf of the results, over all chunks."""

    def __init__(self, dim: int | None, name: Callable):
        self.dim, self.name = dim, name
        self.form: tuple | None = None
        self.buffer: Any = None
        self.places: dict[int, slice] = {}  # of the chunks, in the batch
        self.pieces: dict[int, Any] = {}  # the leaf of a chunk that is not a plain array

    def add(self, chunk: Chunk, leaf: Value) -> str | None:
        """Add the leaf of a chunk; return the problem with it, if there is one."""
        if self.dim is None:
            return self.add_same(chunk, leaf)
        shape = shape_of(leaf)
        axis = self.dim % len(shape)
        form = (axis, *shape[:axis], *shape[axis + 1 :])
        self.form = self.form or form
        if form != self.form:
            return (
                f"has shape {form[1:]} for each example, and that of "
                f"{self.name(next(iter(self.places)))} {self.form[1:]}; return results of one shape"
            )
        self.places[chunk.index] = slice(chunk.start, chunk.stop)
        if type(leaf) is not np.ndarray:
            self.pieces[chunk.index] = leaf
            return None
        if self.buffer is None:
            self.buffer = np.empty((*shape[:axis], chunk.size, *shape[axis + 1 :]), leaf.dtype)
        elif leaf.dtype != self.buffer.dtype:  # as of eigenvalues, some of which are complex
            self.buffer = self.buffer.astype(np.result_type(leaf, self.buffer), copy=False)
        self.buffer[(*(slice(None),) * axis, self.places[chunk.index])] = leaf
        return None

    def add_same(self, chunk: Chunk, leaf: Value) -> str | None:
        """Add a leaf that has to be equal in all chunks; return the problem with it."""
        if not self.pieces:
            self.pieces[chunk.index] = leaf
            return None
        ((index, other),) = self.pieces.items()
        if type(leaf) in VALUES and type(other) in VALUES and leaf is not other:
            inexact = dtype_of(leaf).kind in "fc" and dtype_of(other).kind in "fc"
            if not np.array_equal(leaf, other, equal_nan=inexact):
                return (
                    f"is not that of {self.name(index)}, but out_dims is None for it; write the "
                    f"axis that the batch should have in the result"
                )
        if chunk.index < index:
            self.pieces = {chunk.index: leaf}
        return None

    def whole(self) -> Value:
        """Return the leaf of the whole batch."""
        if self.dim is None:
            return next(iter(self.pieces.values()))
        if not self.pieces:
            return self.buffer
        axis: int = self.form[0]  # type: ignore[index]
        lead = (slice(None),) * axis
        parts = [
            self.pieces[i] if i in self.pieces else self.buffer[(*lead, place)]
            for i, place in sorted(self.places.items())
        ]
        return np.concatenate(parts, axis)
