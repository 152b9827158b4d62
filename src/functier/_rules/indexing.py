"""Indexing: reading at an index, its transpose (adding at one), and functions made of these.

NOTE [a split index]
    An index is split into the arrays in it, which are operands (a batch may differ in
    them), and a `skeleton`: the tuple of the rest, with HOLE in each array's place.

NOTE [where NumPy puts advanced axes]
    The axes of advanced indices (arrays, masks, and ints next to these) replace those
    they index if they stand together, and come first if anything separates them.
"""

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from .._core.errors import DataDependentError
from .._core.numpy_facts import (
    INDEX_PARTS,
    Index,
    Shape,
    Value,
    align,
    dtype_of,
    has_counts,
    lies_in_row,
)
from .._core.op import Call
from .._core.rule import declare_zeros
from .._core.sharing import declare_memory
from .._core.table import PARTIALS
from .axes import as_array, batch_shape, convert_lists, ignore_scalar_axis, promotion_operand, shift
from .constructors import (
    composite,
    constant,
    data_dependent_vmap,
    linear,
    op,
    primitive,
    reduction_vmap,
)
from .own_code import by_own_code
from .scatter import scatter

HOLE = object()
FULL = slice(None)
BOOLEANS = (bool, np.bool_)

# ---- the two directions ----


def split_index(index: Index) -> tuple:
    """Return the skeleton of an index and its arrays: see NOTE [a split index]."""
    skeleton, indices = [], []
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, (list, tuple)):
            part = as_array(part)
            if not part.size:
                part = np.astype(part, np.intp)
        if hasattr(part, "shape") and not isinstance(part, np.generic) and not has_counts(part):
            indices.append(part)
            part = HOLE
        skeleton.append(part)
    return tuple(skeleton), indices


def fill_holes(skeleton: tuple, indices: Sequence[Value]) -> Value:
    """Return the index of a skeleton and its arrays: the inverse of `split_index`."""
    arrays = iter(indices)
    return tuple([next(arrays) if part is HOLE else part for part in skeleton])


@primitive
def getitem(x: Value, skeleton: tuple, *indices: Value) -> Value:
    """Return ``x[index]``; dispatches on the arrays in the index, too."""
    return x[fill_holes(skeleton, indices)]


@primitive
def add_at(
    values: Value, shape: Shape, skeleton: tuple, *indices: Value, distinct: bool = False
) -> Value:
    """Add `values` at an index of zeros of `shape`; repeated positions add up."""
    return scatter(values, shape, fill_holes(skeleton, indices), indices, distinct)


def read(x: Value, indices: Sequence[Value], skeleton: tuple) -> Value:
    """Return ``x[index]``, where any of the operands may be a tensor."""
    if type(x) is np.ndarray:
        for i in indices:
            if type(i) is not np.ndarray:
                return getitem(x, skeleton, *indices)
        return x[fill_holes(skeleton, indices) if indices else skeleton]
    return as_array(x)[fill_holes(skeleton, indices)]


def read_at(x: Value, index: Index) -> Value:
    """Return ``x[index]``, where `x` may be a plain array and the index may hold tensors."""
    skeleton, indices = split_index(index)
    return read(x, indices, skeleton)


@primitive
def place(values: Value, shape: Shape, index: tuple) -> Value:
    """Add at an index without arrays: `add_at` with one operand, which takes less time."""
    return scatter(values, shape, index, ())


declare_memory("fresh", (add_at, place))


def transpose_read(g: Value, shape: Shape, index: Index, distinct: bool = False) -> Value:
    """Return the transpose of reading at `index` from an array of `shape`; see `scatter`."""
    parts = index if type(index) is tuple else (index,)
    arrays = [p for p in parts if type(p) is np.ndarray]
    if all([type(p) in INDEX_PARTS for p in parts]):
        if type(g) is np.ndarray or (type(g) is np.float64 and not arrays):
            return scatter(g, shape, index, arrays, distinct)
        if not arrays:
            return place(g, shape, parts)
    skeleton, indices = split_index(index)
    options = {"distinct": True} if distinct else {}
    return add_at(g, shape, skeleton, *indices, **options)


PARTIALS[operator.getitem] = (transpose_read, None, False)
declare_zeros("selection", [transpose_read])


# ---- a batch: one NumPy call serves ----


def advanced_axes(k: int, ndim: int, indices: Sequence[Value], skeleton: tuple) -> tuple:
    """Return the rank of the advanced axes, and their place in one example's result (None: first).

    See NOTE [where NumPy puts advanced axes].
    """
    arrays, rank, consumed, places = iter(indices), 0, 0, []
    for place, part in enumerate(skeleton):
        if part is None or part is Ellipsis or isinstance(part, slice):
            consumed += isinstance(part, slice)
            continue
        n, mask = 0, type(part) in BOOLEANS
        if part is HOLE:
            i = next(arrays)
            n, mask = i.ndim - k, i.dtype.kind == "b"
        rank = max(rank, 1 if mask else n)
        consumed += n if mask else 1
        places.append(place)
    if not places:
        return 0, 0
    if places[-1] - places[0] != len(places) - 1:
        return rank, None
    before = skeleton[: places[0]]
    return rank, sum(ndim - consumed if part is Ellipsis else 1 for part in before)


def _plan_batch(k: int, shape: Shape, indices: Sequence[Value], skeleton: tuple) -> tuple:
    """Plan the indexing of a batch of `shape`, whose first `k` axes are the batch's.

    Returns the shape, the index arrays and the skeleton for one NumPy call, and the axes to
    move in its result: their number, their place and their new place.
    """
    for i in indices:
        if i.dtype.kind == "b" and i.shape[:k] != (1,) * k:
            raise DataDependentError(
                "a boolean mask that differs from example to example selects a different number "
                "of elements in each; write numpy.sum(x, where=mask) for a sum, and "
                "numpy.where(mask, x, y) to keep all elements"
            )
    rank, start = advanced_axes(k, len(shape) - k, indices, skeleton)
    one = (1,) * k
    if batch_shape(k, *indices) in ((), one):
        indices = [i.reshape(i.shape[k:])[()] for i in indices]  # at numbers NumPy has views
        return shape, indices, (FULL,) * k + skeleton, (rank if start is None else 0, 0, k)
    start = start or 0
    indices = [
        i.reshape(i.shape[k:])
        if i.dtype.kind == "b"
        else i.reshape(i.shape[:k] + (1,) * (k + rank - i.ndim) + i.shape[k:])
        for i in indices
    ]
    if shape[:k] == one:
        return shape[k:], indices, skeleton, (k, start, 0)
    grids = [
        np.arange(n).reshape((n,) + (1,) * (k - 1 - axis + rank))
        for axis, n in enumerate(shape[:k])
        if n != 1
    ]
    lead = tuple([0 if n == 1 else HOLE for n in shape[:k]])
    return shape, grids + indices, lead + skeleton, (rank, k, k + start)


def move_axes(x: Value, width: int, source: int, destination: int) -> Value:
    """Move `width` neighbouring axes of `x` from `source` to `destination`."""
    if not width or source == destination:
        return x
    order = [axis for axis in range(x.ndim) if not source <= axis < source + width]
    order[destination:destination] = range(source, source + width)
    return x.transpose(order)


def _getitem_vmap(k: int, x: Value, indices: Sequence[Value], skeleton: tuple) -> Value:
    try:
        if not indices and not any([type(part) in BOOLEANS for part in skeleton]):
            return read(x, (), (FULL,) * k + skeleton)
        shape, arrays, index, (width, here, there) = _plan_batch(k, x.shape, indices, skeleton)
        if len(skeleton) == len(arrays) == 1 and len(index) == k + 1 < x.ndim:
            (i,) = arrays
            if type(i) is type(x) is np.ndarray and i.dtype.kind == "i" and x.flags.c_contiguous:
                return x.take(i, k)  # whose examples lie apart, and it takes less time
        y = read(x if shape == x.shape else np.reshape(x, shape), arrays, index)
        return move_axes(y, width, here, there)
    except IndexError:
        _raise_for_one(k, x.shape[k:], indices, skeleton)
        raise


def _raise_for_one(k: int, shape: Shape, indices: Sequence[Value], skeleton: tuple) -> None:
    """Raise NumPy's error for one example: it names the axes and the rank of that."""
    one = np.broadcast_to(np.zeros(()), shape)
    for b in np.ndindex(batch_shape(k, *indices)):
        example = [i[tuple(j if n > 1 else 0 for j, n in zip(b, i.shape))] for i in indices]
        read(one, example, skeleton)


def _add_at_vmap(
    k: int, values: Value, indices: Sequence[Value], shape: Shape, skeleton: tuple, **options: Any
) -> Value:
    values = values if np.ndim(values) else np.reshape(values, (1,) * k)
    batch = batch_shape(k, values, *indices)
    full, arrays, index, (width, here, there) = _plan_batch(k, batch + shape, indices, skeleton)
    return add_at(move_axes(values, width, there, here), full, index, *arrays, **options)


def _getitem_x(g: Value, indices: Sequence[Value], skeleton: tuple, x_shape: Shape) -> Value:
    return add_at(g, x_shape, skeleton, *indices)


def _bind_index(x: Value, index: Index) -> dict[str, Any]:
    skeleton, indices = split_index(index)
    return {"x": x, "indices": indices, "skeleton": skeleton}


def _bind_split(x: Value, skeleton: tuple, *indices: Value) -> dict[str, Any]:
    return {"x": x, "indices": indices, "skeleton": skeleton}


def _mask_places(call: Call) -> Value:
    """Return the places of the masks among the operands of a call."""
    if len(call.operands) == 1:
        return ()
    return [i for i, x in enumerate(call.operands) if i and dtype_of(x).kind == "b"]


for func, bind in ((operator.getitem, _bind_index), (getitem, _bind_split)):
    linear(
        func,
        "x indices skeleton",
        "x indices",
        variadic="indices",
        bind=bind,
        kernel=read,
        vmap=_getitem_vmap,
        by_value=_mask_places,
        vjp={"x": _getitem_x},
        zeros="selection",
    )


def _bind_add_at(
    values: Value, shape: Shape, skeleton: tuple, *indices: Value, **options: Any
) -> dict[str, Any]:
    return {"values": values, "indices": indices, "shape": shape, "skeleton": skeleton, **options}


linear(
    add_at,
    "values indices shape skeleton distinct",
    "values indices",
    variadic="indices",
    bind=_bind_add_at,
    kernel=lambda values, indices, shape, skeleton, **options: add_at(
        values, shape, skeleton, *indices, **options
    ),
    vmap=_add_at_vmap,
    vjp={"values": lambda g, indices, skeleton: read(g, indices, skeleton)},
)

linear(
    place,
    "values shape index",
    vmap=lambda k, v, shape, index: place(v, v.shape[:k] + shape, (FULL,) * k + index),
    vjp={"values": lambda g, index: g[index]},
)

# ---- reading along an axis ----


def apply_mode(indices: Value, n: int, mode: str) -> Value:
    """Return indices into an axis of length `n` by `mode`; the reading itself does "raise"."""
    if mode == "raise":
        return indices
    if mode == "wrap":
        return np.remainder(indices, max(n, 1))
    if mode == "clip":
        return np.clip(indices, 0, n - 1)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def _take(
    a: Value, indices: Value, axis: int | None = None, out: Value | None = None, mode: str = "raise"
) -> Value:
    a, indices = as_array(a), as_array(indices)
    axis = ignore_scalar_axis(axis, a.ndim)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = shift(axis, 0, a.ndim)
    if indices.dtype == bool or not indices.size:
        indices = np.astype(indices, np.intp)
    if not a.size and not a.shape[axis]:  # NumPy takes no element of an empty array at any index
        shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
        return np.reshape(a, shape) if 0 in shape else np.take(np.zeros(0), 0)  # NumPy's error
    found = read_at(a, (FULL,) * axis + (apply_mode(indices, a.shape[axis], mode),))
    return found if lies_in_row(found, found.ndim) else np.copy(found, "C")


def index_along(shape: Shape, indices: Value, axis: int) -> tuple:
    """Return the index that reads `indices` along `axis` of an array of `shape`."""
    ndim = len(shape)
    grids = [np.arange(n).reshape((n,) + (1,) * (ndim - i - 1)) for i, n in enumerate(shape)]
    return (*grids[:axis], indices, *grids[axis + 1 :])


def _take_along_axis(arr: Value, indices: Value, axis: int | None = -1) -> Value:
    if dtype_of(indices).kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return read_at(np.ravel(arr), indices)
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return read_at(arr, index_along(arr.shape, indices, shift(axis, 0, arr.ndim)))


composite(np.take, _take)
composite(np.take_along_axis, _take_along_axis)
composite(
    np.compress,
    lambda condition, a, axis=None, out=None: _take(as_array(a), np.flatnonzero(condition), axis),
)
composite(
    np.extract, lambda condition, arr: read_at(np.ravel(as_array(arr)), np.flatnonzero(condition))
)

# ---- choosing element by element ----


def _choose_vmap(
    k: int, a: Value, choices: Sequence[Value], mode: Literal["raise", "wrap", "clip"] = "raise"
) -> Value:
    a, *choices = align(k, (a, *choices))
    return np.choose(a, choices, mode=mode)


linear(
    np.choose,
    "a choices out mode",
    "a choices",
    variadic="choices",
    vmap=_choose_vmap,
    vjp={
        "choices": lambda g, a, index, shapes, mode="raise": np.where(
            np.equal(apply_mode(a, len(shapes), mode), index), g, 0
        )
    },
)


def _select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Value:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    *choicelist, default = convert_lists(*choicelist, default)
    dtype = np.result_type(*map(promotion_operand, [*choicelist, default]))
    result = np.astype(as_array(default), dtype)
    for i in reversed(range(len(condlist))):
        if dtype_of(condlist[i]).kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
        result = np.where(condlist[i], choicelist[i], result)
    return result


composite(np.select, _select)

# ---- indices that depend on the data ----

for func in (np.nonzero, np.flatnonzero, np.argwhere):
    remedy = (
        "write numpy.where(condition, x, y), which keeps all elements; "
        f"functier.numpy.{func.__name__}(x, size=n), which gives n places, the last ones filled; "
        'or vmap(..., branches="split"), which runs the function once for each pattern of zeros'
    )
    constant(func, "a", vmap=data_dependent_vmap(func, remedy, True), by_value="a")

constant(np.count_nonzero, "a axis keepdims", vmap=reduction_vmap(np.count_nonzero))

# ---- indices made of indices and shapes ----


def _ix(*args: Value) -> Value:
    given = [a if hasattr(a, "dtype") or np.size(a) else np.empty(np.shape(a), int) for a in args]
    return tuple([_open_mesh_index(as_array(a), i, len(args)) for i, a in enumerate(given)])


def _open_mesh_index(a: Value, axis: int, ndim: int) -> Value:
    """Return a one-dimensional index along one axis of an open mesh."""
    if a.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    if a.dtype == bool:
        a = np.flatnonzero(a)
    return np.reshape(a, (1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


composite(np.ix_, _ix)
by_own_code(np.diag_indices_from, np.tril_indices_from, np.triu_indices_from)
constant(
    np.unravel_index,
    "indices shape order",
    vmap=lambda k, indices, shape, **params: np.unravel_index(indices, shape, **params),
)
constant(
    np.ravel_multi_index,
    "multi_index dims mode order",
    "multi_index",
    variadic="multi_index",
    vmap=lambda k, multi_index, dims, **params: np.ravel_multi_index(
        tuple(align(k, multi_index)), dims, **params
    ),
)

# ---- filling ----


def _full_like(
    a: Value,
    fill_value: Value,
    dtype: DTypeLike | None = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: str | None = None,
) -> Value:
    shape = a.shape if shape is None else shape
    dtype = dtype_of(a) if dtype is None else dtype
    return np.astype(np.broadcast_to(fill_value, shape), dtype)


composite(np.full_like, _full_like)

# ---- functions that write to their first argument: `_mutation.functions` has their bodies ----

for func in (
    np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal,
):  # fmt: skip
    op(func, "", family="writing")
