"""Functions of NumPy that Dask lacks or has with fewer parameters, and those of `_rules`."""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Axis, Index, Shape, Value, is_lazy
from .._levels.memory import TO_PLAIN
from .._mutation.array import innermost
from .._rules.diagonal import from_diagonal
from .._rules.indexing import add_at, fill_holes, getitem, place
from .._rules.pad import pad_with
from .._rules.pieces import add_pieces
from . import blocks
from .array import FUNCTIONS, DaskArray, inside, missing, plain


def declare(*functions: Any) -> Callable[[Callable], Callable]:
    """Declare a function that Dask lacks; it is given Dask arrays, and gives one."""

    def note(own: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(functions, own))
        return own

    return note


# ---- forms ----


@declare(np.reshape)
def _reshape(a: Any, *shape: Any, order: str = "C", copy: Any = None, **options: Any) -> Any:
    """Reshape as NumPy does; in the order of Fortran between two transposes."""
    given = options.pop("shape", None) or options.pop("newshape", None) or shape
    if len(given) == 1 and not isinstance(given, int) and np.ndim(given[0]):
        given = given[0]
    if len(given) == 2 and isinstance(given[1], str):  # the order, given in its place
        given, order = given[0], given[1]
    given = tuple(np.atleast_1d(np.asarray(given, int)).tolist())
    if -1 in given and a.size:
        n = a.size // -np.prod(given)
        given = tuple([n if part == -1 else part for part in given])
    if order == "F":
        return da.reshape(a.T, given[::-1]).T
    found = blocks.reshape(a, given)
    return da.reshape(a, given) if found is None else found


@declare(da.Array.__getitem__)
def _read(x: Any, index: Index) -> Any:
    found = None if x.dtype.names else blocks.read(x, index)
    return x[index] if found is None else found


@declare(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    axes = normalize_axis_tuple(axis, a.ndim + np.size(axis))
    return _read(a, tuple([None if i in axes else blocks.ALL for i in range(a.ndim + len(axes))]))


@declare(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple([i for i, n in enumerate(a.shape) if n == 1])
    axes = normalize_axis_tuple(axis, a.ndim)
    if any([a.shape[i] != 1 for i in axes]):
        return da.squeeze(a, axis)
    return _read(a, tuple([0 if i in axes else blocks.ALL for i in range(a.ndim)]))


@declare(np.ravel)
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, order=order)


@declare(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, **options: Any) -> Any:
    return da.Array.astype(plain(x), dtype)


@declare(np.concatenate)
def _concatenate(
    arrays: Sequence, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: str = ""
) -> Any:
    joined = da.concatenate([plain(x) for x in arrays], axis)
    return joined if dtype is None else joined.astype(dtype)


@declare(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    places = np.array_split(np.arange(ary.shape[axis]), indices_or_sections)
    before = (slice(None),) * (axis % ary.ndim)
    ends = [slice(int(p[0]), int(p[-1]) + 1) if p.size else slice(0) for p in places]
    return [plain(ary)[(*before, end)] for end in ends]


@declare(np.iscomplexobj)
def _iscomplexobj(x: Any) -> bool:
    return x.dtype.kind == "c"


@declare(np.copy)
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return plain(a).copy()


# ---- reductions ----

WHOLE = {np.add: (da.sum, 0), np.multiply: (da.prod, 1), np.maximum: (da.max, None),
         np.minimum: (da.min, None), np.logical_and: (da.all, True),
         np.logical_or: (da.any, False)}  # fmt: skip
"""The reductions of Dask, and the values that change none of their results."""


def _reduce(
    func: Callable, neutral: Any, first: Axis, a: Any, axis: Any = ..., dtype: Any = None,
    out: Any = None, keepdims: bool = False, initial: Any = None, where: Value = True,
    **options: Any,
) -> Any:  # fmt: skip
    if where is not True:
        a = da.where(where, a, _neutral(neutral, initial))
    axis = first if axis is ... else axis
    given = {} if dtype is None else {"dtype": dtype}
    total = _in_blocks(partial(_join(func).reduce, **given), a, axis, keepdims)
    if total is None:
        total = func(a, axis=axis, keepdims=keepdims, **given)
    if isinstance(initial, (int, float, complex, np.generic)):
        total = _join(func)(total, initial)
    return total


def _in_blocks(func: Callable, a: Any, axis: Any, keepdims: bool) -> Any:
    """Return a reduction along axes that are whole, or None."""
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    if any([a.numblocks[i] > 1 or not a.shape[i] for i in axes]):
        return None
    return blocks.reduced(func, a, axes, keepdims)


@declare(np.mean)
def _mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False,
          **options: Any) -> Any:  # fmt: skip
    found = None if options else _in_blocks(partial(np.mean, dtype=dtype), a, axis, keepdims)
    return da.mean(a, axis, dtype, keepdims, **options) if found is None else found


def _neutral(neutral: Any, initial: Any) -> Any:
    return initial if neutral is None else neutral


def _join(func: Callable) -> np.ufunc:
    return next(ufunc for ufunc, (own, _) in WHOLE.items() if own is func)


for _ufunc, (_func, _value) in WHOLE.items():
    declare((_ufunc, "reduce"))(partial(_reduce, _func, _value, 0))
for _numpy, _ufunc in ((np.sum, np.add), (np.prod, np.multiply), (np.max, np.maximum),
                       (np.min, np.minimum), (np.amax, np.maximum), (np.amin, np.minimum),
                       (np.all, np.logical_and), (np.any, np.logical_or)):  # fmt: skip
    declare(_numpy)(partial(_reduce, *WHOLE[_ufunc], None))


# ---- writing to zeros ----


def _zeros_for(values: Any, shape: Shape) -> Any:
    """Return zeros of `shape`, in the chunks of the data."""
    return da.zeros(shape, dtype=values.dtype, chunks=blocks.chunks_for(shape, values.dtype))


@declare(place)
def _place(values: Any, shape: Shape, index: tuple) -> Any:
    return _scatter(values, shape, index)


@declare(getitem)
def _getitem(x: Any, skeleton: tuple, *indices: Value) -> Any:
    index = fill_holes(skeleton, indices)
    if isinstance(x, np.ndarray) and x.ndim == 1 and len(index) == 1 and is_lazy(index[0]):
        return blocks.each(partial(getitem, x, skeleton), plain(index[0]), x.dtype)
    return _read(da.asarray(x), index)


@declare(add_at)
def _add_at(
    values: Any, shape: Shape, skeleton: tuple, *indices: Value, distinct: bool = False
) -> Any:
    return _scatter(values, shape, fill_holes(skeleton, indices))


def _scatter(values: Any, shape: Shape, index: Index) -> Any:
    """Add `values` at an index of zeros, of whose parts one may be an array with one axis."""
    found = blocks.write(values, shape, index) if values.size else _zeros_for(values, shape)
    if found is not None:
        return found
    parts = blocks.parts_of(index, len(shape))
    lazy = [i for i, part in enumerate(parts) if is_lazy(part)]
    along = all([np.ndim(part) == len(shape) and part.dtype != bool for part in parts])
    if len(lazy) == 1 and along:  # of `numpy.take_along_axis`: the others are grids
        (axis,) = lazy
        n = shape[axis]
        return _along(put_along, values, parts[axis], axis=axis, size=n, chunks={axis: (n,)})
    for i, part in enumerate(parts):
        if np.ndim(part):
            values = _spread(values, shape, parts, i)
            parts[i] = slice(None)
    kept = [part for part in parts if part is None or isinstance(part, slice)]
    axes = tuple([axis for axis, part in enumerate(kept) if part is None])
    out = _zeros_for(values, shape)
    out[tuple([part for part in parts if part is not None])] = da.squeeze(values, axes)
    return out


def _spread(values: Any, shape: Shape, parts: list, i: int) -> Any:
    """Add the elements along the axis of the array in an index to those that it reads."""
    places = parts[i]
    arrays = [part for part in parts if np.ndim(part)]
    if len(arrays) > 1 or np.ndim(places) > 1 or type(places) is not np.ndarray:
        raise UnsupportedError(
            "the derivative of reading a Dask array at several arrays, or at one that is not known "
            "yet or has several axes; write x[i] with one plain array of one axis, and "
            "numpy.where(mask, x, 0) for x[mask]"
        )
    n = shape[sum([part is not None for part in parts[:i]])]
    places = np.flatnonzero(places) if places.dtype == bool else places % n
    numbers = [k for k, part in enumerate(parts) if np.ndim(part) or isinstance(part, Integral)]
    axes = [part is None or isinstance(part, slice) for part in parts]
    together = numbers[-1] - numbers[0] == len(numbers) - 1
    axis = sum(axes[:i])
    values = da.moveaxis(values, sum(axes[: numbers[0]]) if together else 0, axis)
    pieces, start = [], 0
    for size in da.core.normalize_chunks("auto", (n,), dtype=values.dtype)[0]:
        own = np.flatnonzero((places >= start) & (places < start + size))
        piece = da.take(values, own, axis).rechunk({axis: -1})
        chunks = (*piece.chunks[:axis], (size,), *piece.chunks[axis + 1 :])
        pieces.append(
            piece.map_blocks(
                add_along, places[own] - start, size, axis, dtype=values.dtype, chunks=chunks
            )
        )
        start += size
    return da.concatenate(pieces, axis)


def put_along(values: np.ndarray, indices: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Add values at indices along an axis of `size` zeros, in one block."""
    moved, places = np.moveaxis(values, axis, 0), np.moveaxis(indices, axis, 0)
    out = np.zeros((size, *moved.shape[1:]), values.dtype)
    np.add.at(out, (places, *np.indices(places.shape, sparse=True)[1:]), moved)
    return np.moveaxis(out, 0, axis)


def add_along(values: np.ndarray, places: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Add values at places of zeros along an axis of `size` elements, in one block."""
    out = np.zeros((*values.shape[:axis], size, *values.shape[axis + 1 :]), values.dtype)
    np.add.at(np.moveaxis(out, axis, 0), places, np.moveaxis(values, axis, 0))
    return out


@declare(add_pieces)
def _add_pieces(shape: Shape, places: Sequence[Index], *pieces: Value) -> Any:
    total: Any = None
    for index, piece in zip(places, pieces):
        part = plain(piece) if index is ... else _scatter(plain(piece), shape, index)
        total = part if total is None else total + part
    return total


@declare(pad_with)
def _pad_with(a: Any, widths: Sequence[tuple[int, int]], value: Value) -> Any:
    return da.pad(plain(a), widths, mode="constant", constant_values=value)


# ---- along an axis ----


def _along(
    func: Callable, a: Any, *others: Any, axis: int = -1, dtype: Any = None, chunks: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Compute a function of NumPy that needs the whole of an axis, which becomes one chunk."""
    first = da.asarray(plain(a)).rechunk({axis: -1})
    form = [("auto" if n == 1 else own) for n, own in zip(first.shape, first.chunks)]
    form[axis] = -1
    arrays = [first, *[da.asarray(plain(x)).rechunk(tuple(form)) for x in others]]
    sizes = [*first.chunks]
    for i, own in (chunks or {}).items():
        sizes[i] = own
    return da.map_blocks(
        func, *arrays, axis=axis, dtype=dtype or first.dtype, chunks=tuple(sizes), **options
    )


def _sort(func: Callable, a: Any, axis: Any = -1, **kw: Any) -> Any:
    if axis is None:
        a, axis = _ravel(a), -1
    dtype = np.dtype(np.intp) if func in (np.argsort, np.argpartition) else a.dtype
    return _along(func, a, axis=axis, dtype=dtype, **{k: v for k, v in kw.items() if v is not None})


for _func in (np.sort, np.argsort):
    declare(_func)(partial(_sort, _func))


@declare(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Any:
    chunks = {axis % arr.ndim: (np.shape(indices)[axis],)}
    return _along(np.take_along_axis, arr, indices, axis=axis, chunks=chunks)


@declare(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Return the places in a sorted array, which Dask wants to be one of its own."""
    if isinstance(a, da.Array) or isinstance(sorter, da.Array):
        return da.searchsorted(da.asarray(a), da.asarray(v), side, sorter)
    find = partial(np.searchsorted, a, side=side, sorter=sorter)
    return blocks.each(find, plain(v), dtype=np.intp)


# ---- linear algebra ----

CORE: dict[Callable, str] = {
    np.linalg.inv: "(i,j)->(i,j)", np.linalg.cholesky: "(i,j)->(i,j)",
    np.linalg.det: "(i,j)->()", np.linalg.slogdet: "(i,j)->(),()",
    np.linalg.eigh: "(i,j)->(j),(i,j)", np.linalg.eigvalsh: "(i,j)->(j)",
    np.linalg.solve: "(i,j),(j,k)->(i,k)", np.linalg.qr: "(i,j)->(i,k),(k,j)",
    np.linalg.svd: "(i,j)->(i,k),(k),(k,j)",
}  # fmt: skip
"""Functions of whole matrices, and the axes that they take and give."""


def _of_matrices(func: Callable, core: str, a: Any, *others: Any, **options: Any) -> Any:
    """Compute a function of matrices: Dask's for one in chunks, and NumPy's for each of many.

    NumPy's gets each matrix in one chunk.
    """
    arrays = [da.asarray(plain(x)) for x in (a, *others)]
    if func is np.linalg.solve and arrays[1].ndim == 1:
        return _of_matrices(func, core, a, arrays[1][:, None])[:, 0]
    own = {np.linalg.qr: da.linalg.qr, np.linalg.svd: da.linalg.svd}.get(func)
    if own is not None:  # thin factors alone, as Dask's
        if set(options.values()) - {None, False, "reduced"} or "compute_uv" in options:
            raise missing(func)
        if arrays[0].ndim == 2 and min(arrays[0].chunks[0]) >= arrays[0].shape[-1]:
            return own(arrays[0])
        options = {"full_matrices": False} if func is np.linalg.svd else {}
    forms = [np.ones((1,) * 2, x.dtype) for x in arrays]
    made = func(*forms, **options)
    several = isinstance(made, tuple)
    found = da.apply_gufunc(
        func, core, *arrays, allow_rechunk=True,
        output_sizes={} if len(arrays) > 1 else {"k": min(arrays[0].shape[-2:])},
        output_dtypes=[y.dtype for y in made] if several else made.dtype, **options,
    )  # fmt: skip
    return type(made)(*found) if several else found


for _matrices, _core in CORE.items():
    declare(_matrices)(partial(_of_matrices, _matrices, _core))


# ---- products ----


@declare(np.matmul, da.Array.__matmul__)
def _matmul(a: Any, b: Any, **options: Any) -> Any:
    a, b = da.asarray(a), da.asarray(b)
    if options or not a.ndim or not b.ndim:
        return da.matmul(a, b, **options)
    n = max(a.ndim, b.ndim)
    batch, (i, k, j) = list(range(n)), (n, n + 1, n + 2)
    own = [*batch[n - a.ndim + 2 :], i, k] if a.ndim > 1 else [k]
    others = [*batch[n - b.ndim + 2 :], k, j] if b.ndim > 1 else [k]
    out = [*batch[min(n - a.ndim, n - b.ndim) + 2 :], *[i][: a.ndim - 1], *[j][: b.ndim - 1]]
    return blocks.product(np.matmul, out, a, own, b, others)


@declare(da.Array.__rmatmul__)
def _rmatmul(b: Any, a: Any) -> Any:
    return _matmul(a, b)


@declare(np.dot)
def _dot(a: Any, b: Any, out: None = None) -> Any:
    if not np.ndim(a) or not np.ndim(b):
        return np.multiply(a, b)
    return _tensordot(a, b, ((np.ndim(a) - 1,), (max(np.ndim(b) - 2, 0),)))


@declare(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = da.asarray(a), da.asarray(b)
    if isinstance(axes, Integral):
        axes = range(a.ndim - axes, a.ndim), range(axes)
    left, right = [normalize_axis_tuple(x, y.ndim) for x, y in zip(axes, (a, b))]
    own, others = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for i, j in zip(left, right):
        others[j] = i
    out = [i for i in (*own, *others) if i not in left]
    given = partial(np.tensordot, axes=(left, right))
    return blocks.product(given, out, a, own, b, others)


@declare(np.vecdot)
def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    return _reduce(da.sum, 0, axis, np.conjugate(x1) * x2)


def _matvec(x1: Any, x2: Any) -> Any:
    return _read(_matmul(x1, _read(da.asarray(x2), (..., None))), (..., 0))


def _vecmat(x1: Any, x2: Any) -> Any:
    x1 = da.conj(da.asarray(x1))
    return _read(_matmul(_read(x1, (..., None, blocks.ALL)), x2), (..., 0, blocks.ALL))


if hasattr(np, "matvec"):  # NumPy 2.2
    declare(np.matvec)(_matvec)
    declare(np.vecmat)(_vecmat)


# ---- forms of the data ----


@declare(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    if 0 in shape:
        return da.zeros(shape, dtype=array.dtype)
    np.broadcast_shapes(array.shape, shape)  # raises NumPy's error
    return blocks.spread(array, shape)


@declare(from_diagonal)
def _from_diagonal(d: Any, shape: Shape, offset: int = 0) -> Any:
    rows, columns = shape
    i = np.arange(d.shape[-1])
    spread = np.zeros((d.shape[-1], rows, columns), d.dtype)
    spread[i, i + max(-offset, 0), i + max(offset, 0)] = 1
    return da.tensordot(plain(d), spread, axes=1)


def one(value: Value) -> Any:
    """Return the cotangent 1 of a result that is computed later."""
    inner = innermost(value)
    if inner.shape != np.shape(value):  # of one example
        return value.dtype.type(1)
    made = inside(da.ones_like(plain(inner)))
    made.backward = True
    return made


def chunked_as(g: Value, x: Any) -> Any:
    """Return a cotangent of a Dask array as one, in the chunks of `x`."""
    g = plain(g)
    if not isinstance(g, da.Array):
        if hasattr(g, "_value"):
            return g
        return da.from_array(np.asarray(g), chunks=x.chunks)
    return g if g.chunks == x.chunks else g.rechunk(x.chunks)


TO_PLAIN[DaskArray] = plain


def positions(shape: Shape) -> Any:
    """Return the number of each element of an array of `shape`, in the order of rows."""
    return inside(blocks.numbered(shape))
