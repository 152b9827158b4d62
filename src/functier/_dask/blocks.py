"""Operations that are one function of each chunk.

NOTE [whole axes]
    An axis that is in one chunk is whole. What an operation does along whole axes, and what it
    repeats, it does inside each chunk: this is one layer of Dask's kind `Blockwise`, and Dask
    makes one task of several of these. Dask's own functions make tasks for the same that stay
    apart: for ``x[:, None]``, ``np.sum(x, axis=1)``, ``x @ w`` and a broadcast, one to three for
    each chunk, which takes longer than the chunk's own work where that is 10 MB.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.layers import ArrayChunkShapeDep, ArraySliceDep

from .._core.numpy_facts import Index, Shape
from .._core.table import PACKAGE
from .array import MET


class BlockFunction:
    """A function of chunks, for `given` values: where it arrives, functier has to be the same.

    A block of which an axis was dropped is in a list, for each such axis.
    """

    def __init__(self, func: Callable, *given: Any):
        self.func, self.given = func, given

    def __call__(self, *blocks: Any, **options: Any) -> Any:
        return self.func(*self.given, *map(_alone, blocks), **options)

    def __reduce__(self) -> Any:
        return arrived, (_version(), self.func, *self.given)

    def __dask_tokenize__(self) -> Any:
        return tokenize(self.func, self.given)

    @property
    def __name__(self) -> str:
        return getattr(self.func, "__name__", type(self.func).__name__).strip("_")


def _alone(block: Any) -> Any:
    while type(block) is list:
        (block,) = block
    return block


def _version() -> str:
    return sys.modules[PACKAGE].__version__


def arrived(version: str, func: Callable, *given: Any) -> BlockFunction:
    """Return a function of chunks that another process has sent."""
    if version != _version():
        raise ImportError(
            f"a task was made by functier {version}, and this worker has functier {_version()}; "
            f"install the same version where the graph is made and where it is computed"
        )
    return BlockFunction(func, *given)


def in_blocks(
    func: Callable, given: tuple, out: Sequence[int], *pairs: Any, dtype: Any = None, **options: Any
) -> Any:
    """Return `func(*given, *blocks)` for chunks of arrays, each followed by the names of its axes.

    `out` has the names of the result's axes. A name that only others have is a whole axis.
    """
    x = next(x for x in pairs if isinstance(x, da.Array))
    dtype = x.dtype if dtype is None else dtype
    meta = meta_from_array(x, ndim=len(out), dtype=dtype)
    made = BlockFunction(func, *given)
    return da.blockwise(made, tuple(out), *pairs, dtype=dtype, meta=meta, **options)


def each(func: Callable, x: Any, dtype: Any) -> Any:
    """Return `func` of each chunk, which has the chunk's shape."""
    return in_blocks(func, (), range(x.ndim), x, range(x.ndim), dtype=dtype)


# ---- chunks for a shape ----


def chunks_along(x: Any, shape: Shape) -> tuple:
    """Return the chunks for `x` as an array of `shape`: its own, and along new axes the data's."""
    own = ((1,),) * (len(shape) - x.ndim) + x.chunks
    new = chunks_for(shape, x.dtype)
    return tuple([new[i] if len(c) == 1 == c[0] else c for i, c in enumerate(own)])


def chunks_for(shape: Shape, dtype: np.dtype) -> tuple:
    """Return the chunks of an array of `shape`: those of one that was met, or else of its axes."""
    known = MET.get(shape)
    if known is not None:
        return known
    chunks = tuple([MET.get((n,), ("auto",))[0] for n in shape])
    return da.core.normalize_chunks(chunks, shape, dtype=dtype)


# ---- reading, writing to zeros, broadcasting ----

ALL = slice(None)


def parts_of(index: Index, ndim: int) -> list:
    """Return the parts of an index of an array, one for each axis and each new one."""
    parts = list(index) if type(index) is tuple else [index]
    given = sum([part is not None and part is not Ellipsis for part in parts])
    if not any([part is Ellipsis for part in parts]):
        parts.append(Ellipsis)
    at = [part is Ellipsis for part in parts].index(True)
    parts[at : at + 1] = [ALL] * (ndim - given)
    return parts


def read(x: Any, index: Index) -> Any:
    """Return ``x[index]`` where it takes the whole of each axis in chunks, and else None."""
    parts, out, axis = parts_of(index, x.ndim), [], 0
    sizes, new = {}, []
    for k, part in enumerate(parts):
        if part is None:
            new.append(x.ndim + k)
            out.append(x.ndim + k)
            continue
        if axis == x.ndim:
            return None
        n = x.shape[axis]
        if type(part) is slice and part == ALL:
            out.append(axis)
        elif x.numblocks[axis] > 1:
            return None
        elif type(part) is slice:
            sizes[axis] = len(range(n)[part])
            out.append(axis)
        elif not isinstance(part, Integral) or isinstance(part, bool) or not -n <= part < n:
            return None
        axis += 1
    # The word `new_axes` of `blockwise` is wrong where the new axis meets one in chunks.
    size = ArrayChunkShapeDep(((1,),) * len(new))
    return in_blocks(
        _read, (tuple(parts),), out, x, range(x.ndim), size, new, adjust_chunks=sizes,
        align_arrays=False,
    )  # fmt: skip


def _read(index: tuple, block: Any, shape: Shape) -> Any:
    return block[index]


def write(values: Any, shape: Shape, index: Index) -> Any:
    """Return zeros of `shape` with values at an index; None where `read` returns it."""
    chunks, parts = chunks_for(shape, values.dtype), parts_of(index, len(shape))
    axis, own, form = 0, [], []
    for k, part in enumerate(parts):
        if part is None:
            own.append(len(shape) + k)
            form.append((1,))
            continue
        if type(part) is slice and part == ALL:
            own.append(axis)
            form.append(chunks[axis])
        elif len(chunks[axis]) > 1:
            return None
        elif type(part) is slice:
            own.append(len(shape) + k)
            form.append((len(range(shape[axis])[part]),))
        elif not isinstance(part, Integral):
            return None
        axis += 1
    out = range(len(shape))
    values = values if values.chunks == tuple(form) else values.rechunk(tuple(form))
    size = ArrayChunkShapeDep(chunks)
    return in_blocks(_write, (tuple(parts),), out, values, own, size, out, align_arrays=False)


def _write(index: tuple, block: Any, shape: Shape) -> Any:
    out = np.zeros_like(block, shape=shape)
    out[index] = block
    return out


def spread(x: Any, shape: Shape) -> Any:
    """Return an array broadcast to a shape, in chunks of its own and of the data."""
    chunks, out = chunks_along(x, shape), range(len(shape))
    own = out[len(shape) - x.ndim :]
    return in_blocks(_spread, (), out, ArrayChunkShapeDep(chunks), out, x, own, align_arrays=False)


def _spread(shape: Shape, block: Any) -> Any:
    return np.broadcast_to(block, shape)


def numbered(shape: Shape) -> Any:
    """Return the number of each element of an array of `shape`, in the order of rows."""
    chunks, out = chunks_for(shape, np.dtype(float)), range(len(shape))
    made, meta = BlockFunction(_numbered, shape), np.empty((0,) * len(shape))
    return da.blockwise(
        made, out, ArraySliceDep(chunks), out, dtype=float, meta=meta, align_arrays=False
    )


def _numbered(shape: Shape, part: tuple[slice, ...]) -> Any:
    first = np.ogrid[part] if part else [np.zeros((), int)]
    return np.ravel_multi_index(tuple(first), shape or (1,)).astype(float)


def reshape(x: Any, shape: Shape) -> Any:
    """Return ``x.reshape(shape)`` where only axes of length 1 come or go, and else None."""
    if [n for n in shape if n != 1] != [n for n in x.shape if n != 1] or 0 in shape:
        return None
    index: list = []
    old, new = list(x.shape), list(shape)
    while old or new:
        if old and new and old[0] == new[0]:
            index.append(ALL)
            old, new = old[1:], new[1:]
        elif new and new[0] == 1:
            index.append(None)
            new = new[1:]
        else:
            index.append(0)
            old = old[1:]
    return read(x, tuple(index))


# ---- reductions and products ----


def reduced(func: Callable, x: Any, axes: Sequence[int], keepdims: bool) -> Any:
    """Return a reduction along axes that are whole."""
    own, axes = range(x.ndim), tuple(axes)
    if keepdims:
        options: dict = {"adjust_chunks": dict.fromkeys(axes, 1)}
        out: Sequence[int] = own
    else:
        options, out = {}, [i for i in own if i not in axes]
    given = partial(func, axis=axes, keepdims=keepdims)
    dtype = given(np.ones((1,) * x.ndim, x.dtype)).dtype
    return in_blocks(given, (), out, x, own, dtype=dtype, **options)


def product(
    func: Callable, out: Sequence[int], a: Any, own: Sequence[int], b: Any, others: Sequence[int]
) -> Any:
    """Return a sum of products: `func` of chunks, summed over the axes that are not in `out`."""
    chunks, (a, b) = da.core.unify_chunks(a, own, b, others)
    dtype = func(np.ones((1,) * a.ndim, a.dtype), np.ones((1,) * b.ndim, b.dtype)).dtype
    across = [i for i, n in zip(own, a.numblocks) if n > 1 and i not in out]
    parts = in_blocks(
        _product, (func, len(across)), [*across, *out], a, own, b, others, dtype=dtype,
        adjust_chunks={i: chunks[i] for i in out} | dict.fromkeys(across, 1), align_arrays=False,
    )  # fmt: skip
    if not across:
        return parts
    axes = tuple(range(len(across)))
    meta = meta_from_array(parts, ndim=len(out))
    return da.reduction(parts, _same, np.sum, axis=axes, dtype=dtype, meta=meta)


def _product(func: Callable, across: int, a: Any, b: Any) -> Any:
    return func(a, b)[(None,) * across]


def _same(x: Any, axis: Any, keepdims: bool) -> Any:
    return x
