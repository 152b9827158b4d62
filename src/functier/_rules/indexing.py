"""Indexing: reading at an index, its transpose (adding at one), and what is made of them.

NOTE [a split index]
    An index is split into the arrays in it, which are operands (a batch may differ in
    them), and a `skeleton`: the tuple of the rest, with HOLE in each array's place.

NOTE [where NumPy puts advanced axes]
    The axes of advanced indices (arrays, masks, and ints next to these) replace those
    they index if they stand together, and come first if anything separates them.
"""

import operator

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import INDEX_PARTS, align, dtype_of
from .._core.table import PARTIALS
from .axes import as_array, batch_shape, promoting, shift, unless_scalar, unlisted
from .constructors import composite, constant, data_dependent, linear, primitive, reduction_vmap
from .scatter import scatter

HOLE = object()
FULL = slice(None)
BOOLEANS = (bool, np.bool_)

# ---- the two directions ----


def split(index):
    """The skeleton of an index and its arrays: see NOTE [a split index]."""
    skeleton, indices = [], []
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, (list, tuple)):
            part = as_array(part)
            if not part.size:
                part = np.astype(part, np.intp)
        if hasattr(part, "shape") and not isinstance(part, np.generic):
            indices.append(part)
            part = HOLE
        skeleton.append(part)
    return tuple(skeleton), indices


def filled(skeleton, indices):
    """The index of a skeleton and its arrays."""
    arrays = iter(indices)
    return tuple([next(arrays) if part is HOLE else part for part in skeleton])


@primitive
def getitem(x, skeleton, *indices):
    """``x[index]`` that dispatches on the arrays in the index too."""
    return x[filled(skeleton, indices)]


@primitive
def add_at(values, shape, skeleton, *indices):
    """Zeros of `shape` with `values` added at an index; repeated positions add up."""
    return scatter(values, shape, filled(skeleton, indices), indices)


def read(x, indices, skeleton):
    """``x[index]``, where any of the operands may be a tensor."""
    if type(x) is np.ndarray:
        for i in indices:
            if type(i) is not np.ndarray:
                return getitem(x, skeleton, *indices)
        return x[filled(skeleton, indices) if indices else skeleton]
    return as_array(x)[filled(skeleton, indices)]


def at(x, index):
    """``x[index]``, where `x` may be a plain array and the index hold tensors."""
    skeleton, indices = split(index)
    return read(x, indices, skeleton)


@primitive
def place(values, shape, index):
    """`add_at` with an index without arrays: one operand, so the short way."""
    return scatter(values, shape, index, ())


def scattered(g, shape, index, distinct=False):
    """The transpose of reading at `index` from an array of `shape`; see `scatter`."""
    parts = index if type(index) is tuple else (index,)
    arrays = [p for p in parts if type(p) is np.ndarray]
    if all([type(p) in INDEX_PARTS for p in parts]) and (type(g) is np.ndarray or not arrays):
        return scatter(g, shape, index, arrays, distinct) if arrays else place(g, shape, parts)
    skeleton, indices = split(index)
    return add_at(g, shape, skeleton, *indices)


PARTIALS[operator.getitem] = (scattered, None, False)


# ---- a batch: one NumPy call serves ----


def _layout(k, ndim, indices, skeleton):
    """The rank of the advanced axes, and where one example's result has them (None: first).

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
            n, mask = i.ndim - k, i.dtype == bool
        rank = max(rank, 1 if mask else n)
        consumed += n if mask else 1
        places.append(place)
    if not places:
        return 0, 0
    if places[-1] - places[0] != len(places) - 1:
        return rank, None
    before = skeleton[: places[0]]
    return rank, sum(ndim - consumed if part is Ellipsis else 1 for part in before)


def _plan(k, shape, indices, skeleton):
    """How to index a batch of `shape`, whose first `k` axes are the batch's.

    The shape, index arrays and skeleton for one NumPy call, and the axes to move in its
    result: how many, from where and to where.
    """
    for i in indices:
        if i.dtype == bool and i.shape[:k] != (1,) * k:
            raise DataDependentError(
                "a boolean mask that differs from example to example selects another number of "
                "elements in each; write numpy.sum(x, where=mask) for a sum, and "
                "numpy.where(mask, x, y) to keep all elements"
            )
    rank, start = _layout(k, len(shape) - k, indices, skeleton)
    one = (1,) * k
    if batch_shape(k, *indices) in ((), one):
        indices = [np.reshape(i, i.shape[k:]) for i in indices]
        return shape, indices, (FULL,) * k + skeleton, (rank if start is None else 0, 0, k)
    start = start or 0
    indices = [
        np.reshape(i, i.shape[k:])
        if i.dtype == bool
        else np.reshape(i, i.shape[:k] + (1,) * (k + rank - i.ndim) + i.shape[k:])
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


def _moved(x, width, source, destination):
    """`x` with `width` neighbouring axes moved from `source` to `destination`."""
    if not width or source == destination:
        return x
    axes = range(width)
    return np.moveaxis(x, [source + i for i in axes], [destination + i for i in axes])


def _getitem_vmap(k, x, indices, skeleton):
    try:
        if not indices and not any([type(part) in BOOLEANS for part in skeleton]):
            return read(x, (), (FULL,) * k + skeleton)
        shape, arrays, index, (width, here, there) = _plan(k, x.shape, indices, skeleton)
        y = read(x if shape == x.shape else np.reshape(x, shape), arrays, index)
        return _moved(y, width, here, there)
    except IndexError:
        _raise_for_one(k, x.shape[k:], indices, skeleton)
        raise


def _raise_for_one(k, shape, indices, skeleton):
    """Raise NumPy's error in the words for one example: its axes, its rank."""
    one = np.broadcast_to(np.zeros(()), shape)
    for b in np.ndindex(batch_shape(k, *indices)):
        example = [i[tuple(j if n > 1 else 0 for j, n in zip(b, i.shape))] for i in indices]
        read(one, example, skeleton)


def _add_at_vmap(k, values, indices, shape, skeleton):
    values = values if np.ndim(values) else np.reshape(values, (1,) * k)
    batch = batch_shape(k, values, *indices)
    full, arrays, index, (width, here, there) = _plan(k, batch + shape, indices, skeleton)
    return add_at(_moved(values, width, there, here), full, index, *arrays)


def _getitem_x(g, indices, skeleton, x_shape):
    return add_at(g, x_shape, skeleton, *indices)


def _bind_index(x, index):
    skeleton, indices = split(index)
    return {"x": x, "indices": indices, "skeleton": skeleton}


def _bind_split(x, skeleton, *indices):
    return {"x": x, "indices": indices, "skeleton": skeleton}


def _masks(call):
    """The places of the masks in an index."""
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
        by_value=_masks,
        vjp={"x": _getitem_x},
    )


def _bind_add_at(values, shape, skeleton, *indices):
    return {"values": values, "indices": indices, "shape": shape, "skeleton": skeleton}


linear(
    add_at,
    "values indices shape skeleton",
    "values indices",
    variadic="indices",
    bind=_bind_add_at,
    kernel=lambda values, indices, shape, skeleton: add_at(values, shape, skeleton, *indices),
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


def within(indices, n, mode):
    """Indices into an axis of length `n` as `mode` has them; "raise" is for the reading."""
    if mode == "raise":
        return indices
    if mode == "wrap":
        return np.remainder(indices, max(n, 1))
    if mode == "clip":
        return np.clip(indices, 0, n - 1)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def _take(a, indices, axis=None, out=None, mode="raise"):
    a, indices = as_array(a), as_array(indices)
    if unless_scalar(axis, a.ndim) is None:
        a, axis = np.ravel(a), 0
    axis = shift(axis, 0, a.ndim)
    if indices.dtype == bool or not indices.size:
        indices = np.astype(indices, np.intp)
    if not a.size and not a.shape[axis]:  # of no elements NumPy takes none, whatever the index
        shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
        return np.reshape(a, shape) if 0 in shape else np.take(np.zeros(0), 0)  # NumPy's error
    return at(a, (FULL,) * axis + (within(indices, a.shape[axis], mode),))


def along(shape, indices, axis):
    """The index that reads `indices` along `axis` of an array of `shape`."""
    ndim = len(shape)
    grids = [np.arange(n).reshape((n,) + (1,) * (ndim - i - 1)) for i, n in enumerate(shape)]
    return (*grids[:axis], indices, *grids[axis + 1 :])


def _take_along_axis(arr, indices, axis=-1):
    if dtype_of(indices).kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return at(np.ravel(arr), indices)
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return at(arr, along(arr.shape, indices, shift(axis, 0, arr.ndim)))


composite(np.take, _take)
composite(np.take_along_axis, _take_along_axis)
composite(
    np.compress,
    lambda condition, a, axis=None, out=None: np.take(a, np.flatnonzero(condition), axis),
)
composite(np.extract, lambda condition, arr: np.take(np.ravel(arr), np.flatnonzero(condition)))

# ---- choosing element by element ----


def _choose_vmap(k, a, choices, mode="raise"):
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
            np.equal(within(a, len(shapes), mode), index), g, 0
        )
    },
)


def _select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    *choicelist, default = unlisted(*choicelist, default)
    dtype = np.result_type(*map(promoting, [*choicelist, default]))
    result = np.astype(as_array(default), dtype)
    for i in reversed(range(len(condlist))):
        if dtype_of(condlist[i]).kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
        result = np.where(condlist[i], choicelist[i], result)
    return result


composite(np.select, _select)

# ---- indices that depend on the data ----

REMEDY = "write numpy.where(condition, x, y), which keeps all elements"

for func, params in (
    (np.nonzero, "a"), (np.flatnonzero, "a"), (np.argwhere, "a"),
):  # fmt: skip
    constant(func, params, vmap=data_dependent(func, REMEDY), by_value=params)

constant(np.count_nonzero, "a axis keepdims", vmap=reduction_vmap(np.count_nonzero))

# ---- indices made of indices and shapes ----


def _ix(*args):
    return tuple([_open(as_array(a), i, len(args)) for i, a in enumerate(args)])


def _open(a, axis, ndim):
    """A one-dimensional index along one axis of an open mesh."""
    if a.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    if a.dtype == bool:
        a = np.flatnonzero(a)
    elif not a.size:
        a = np.astype(a, np.intp)
    return np.reshape(a, (1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def _diag_indices_from(arr):
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], arr.ndim)


def _triangle(indices):
    def body(arr, k=0):
        if arr.ndim != 2:
            raise ValueError("input array must be 2-d")
        return indices(arr.shape[0], k=k, m=arr.shape[1])

    return body


composite(np.ix_, _ix)
composite(np.diag_indices_from, _diag_indices_from)
composite(np.tril_indices_from, _triangle(np.tril_indices))
composite(np.triu_indices_from, _triangle(np.triu_indices))
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


def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    shape = a.shape if shape is None else shape
    dtype = dtype_of(a) if dtype is None else dtype
    return np.astype(np.broadcast_to(fill_value, shape), dtype)


composite(np.full_like, _full_like)
