"""Repeating elements, leaving elements out and putting elements in.

`numpy.delete` and `numpy.insert` read the elements in an order that is a constant for derivatives.
The places may differ from example to example where the shape of the result does not.
"""

import math
from collections.abc import Sequence

import numpy as np

from .._core.numpy_facts import Shape, Value
from .axes import as_array, as_number, as_whole, flatten_examples, shift
from .constructors import composite, constant, data_dependent_vmap, linear, primitive
from .indexing import read_at


@primitive
def segment_sum(a: Value, counts: Value, axis: int) -> Value:
    """Return the sums of runs along an axis, of `counts` elements each; 0 for an empty run."""
    counts = np.asarray(counts).astype(np.intp)
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    out = np.zeros((*a.shape[:axis], len(counts), *a.shape[axis + 1 :]), a.dtype)
    if len(filled):
        out[(slice(None),) * axis + (filled,)] = np.add.reduceat(a, starts, axis)
    return out


linear(
    segment_sum,
    "a counts axis",
    vmap=lambda k, a, counts, axis: segment_sum(a, counts, axis + k),
    vjp={"a": lambda g, counts, axis: np.repeat(g, counts, axis)},
)

_refuse_batch = data_dependent_vmap(np.repeat, "pass the same repeats for every example")


def _repeat_vmap(k: int, a: Value, repeats: Value, axis: int | None = None) -> Value:
    if hasattr(repeats, "shape"):
        if any(n != 1 for n in repeats.shape[:k]):
            _refuse_batch(k, a, repeats)
        repeats = np.reshape(repeats, repeats.shape[k:])
        if not repeats.size:  # an empty list has become an array of floats
            repeats = repeats.astype(np.intp)
    if axis is None or (np.ndim(a) == k and axis in (0, -1)):
        return np.repeat(flatten_examples(k, a), repeats, k)
    return np.repeat(a, repeats, shift(axis, k, np.ndim(a) - k))


def _repeat_vjp(g: Value, a_shape: Shape, repeats: Value, axis: int | None = None) -> Value:
    """Return the sum over the copies of each element."""
    own: Shape
    if axis is None or len(a_shape) < 2:
        own, axis = (int(np.prod(a_shape, dtype=int)),), 0
    else:
        own, axis = a_shape, shift(axis, 0, len(a_shape))
    if np.size(repeats) == 1:
        times = int(np.reshape(repeats, ()))
        each = np.reshape(g, (*own[: axis + 1], times, *own[axis + 1 :]))
        return np.reshape(np.sum(each, axis + 1), a_shape)
    return np.reshape(segment_sum(g, repeats, axis), a_shape)


def _bind_repeat(a: Value, repeats: Value, axis: int | None = None) -> dict:
    """Return the parameters by name; NumPy casts a number of repeats, and no array of them."""
    if not np.ndim(repeats):
        repeats = as_whole(repeats)
    return {"a": a, "repeats": repeats, "axis": axis}


linear(
    np.repeat,
    "a repeats axis",
    "a repeats",
    bind=_bind_repeat,
    vmap=_repeat_vmap,
    by_value="repeats",
    vjp={"a": _repeat_vjp},
)


@lambda body: composite(np.tile, body)
def _tile(A: Value, reps: Value) -> Value:
    """Broadcast along new axes, each in front of the axis that it repeats."""
    reps = tuple(reps) if np.iterable(reps) else (reps,)
    shape = np.shape(A)
    ndim = max(len(shape), len(reps))
    shape = (1,) * (ndim - len(shape)) + shape
    reps = (1,) * (ndim - len(reps)) + reps
    apart = np.reshape(A, [m for n in shape for m in (1, n)])
    whole = np.broadcast_to(apart, [m for r, n in zip(reps, shape) for m in (r, n)])
    tiled = np.reshape(whole, tuple(r * n for r, n in zip(reps, shape)))
    return np.copy(tiled) if math.prod(reps) == 1 or np.size(A) == 1 else tiled


@lambda body: composite(np.resize, body)
def _resize(a: Value, new_shape: int | Sequence[int]) -> Value:
    """The elements in a row, over and over until the new shape is full."""
    sizes = new_shape if np.iterable(new_shape) else (new_shape,)
    new_shape = tuple([as_number(n) for n in sizes])
    size = int(np.prod(new_shape, dtype=int))
    if min(new_shape, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not a.size or not size:
        return np.zeros_like(a, shape=new_shape)
    times = -(-size // a.size)
    row = np.copy(np.ravel(a)) if times == 1 else np.tile(np.ravel(a), times)
    return np.reshape(row if row.size == size else row[:size], new_shape)


def _is_tensor(places: Value) -> bool:
    """Return whether the places are a tensor, whose values NumPy's functions cannot read."""
    return hasattr(places, "level")


def _check_integers(places: Value) -> None:
    """Raise where `places` is an array that cannot be an index."""
    if np.size(places) and getattr(places, "dtype", np.dtype(int)).kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")


def _as_places(obj: Value) -> Value:
    """Return an index as an array, of integers for an empty list."""
    places = as_array(obj)
    return places if places.size or hasattr(obj, "dtype") else np.astype(places, np.intp)


def _from_the_start(places: Value, n: int) -> Value:
    return np.where(places < 0, places + n, places)


@primitive
def left(obj: Value, n: int) -> Value:
    """Return the places among `n` that `obj` does not name, in order."""
    return np.delete(np.arange(n), obj)


def _kept(obj: Value, n: int) -> Value:
    """Return the truth of each place for each example: they are told apart by it."""
    if obj.dtype == bool:
        return np.logical_not(obj)
    return np.all(np.not_equal(np.expand_dims(_from_the_start(obj, n), -1), np.arange(n)), axis=-2)


REMEDY = (
    "the number of places is less where an index names one twice; delete one place at a time, or "
    "pass a plain array"
)

constant(
    left, "obj n", "obj", by_value="obj",
    vmap=data_dependent_vmap(left, REMEDY, True, _kept, "numpy.delete"),
)  # fmt: skip


def _remaining_places(obj: Value, n: int) -> Value:
    """Return the places that `obj` does not name."""
    obj = _as_places(obj) if isinstance(obj, (list, tuple)) else obj
    _check_integers(obj)
    if not _is_tensor(obj):
        return np.delete(np.arange(n), obj)
    if np.size(obj) != 1 or np.result_type(obj).kind == "b":
        return left(obj, n)
    rest = np.arange(n - 1)
    return rest + (rest >= _from_the_start(np.reshape(obj, ()), n))


@lambda body: composite(np.delete, body)
def _delete(arr: Value, obj: Value, axis: int | None = None) -> Value:
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = shift(axis, 0, arr.ndim)
    return _picked(arr, _remaining_places(obj, arr.shape[axis]), axis)


def _picked(x: Value, places: Value, axis: int) -> Value:
    """Return the elements at some places of an axis, which a recorded batch has in rows, too."""
    if type(places) is np.ndarray:
        return np.take(x, places, axis)
    return read_at(x, (slice(None),) * axis + (places,))


def _insertion_order(places: Value, n: int, length: Value) -> Value:
    """Return the place of each element of the result in the old elements followed by the new."""
    if not _is_tensor(places):
        return np.insert(np.arange(n), places, n + np.arange(length))
    before = np.broadcast_to(np.ravel(_from_the_start(places, n)) - 0.5, (length,))
    order = np.argsort(np.concatenate([before, np.arange(n)]), stable=True)
    return np.where(order < length, order + n, order - length)


@lambda body: composite(np.insert, body)
def _insert(arr: Value, obj: Value, values: Value, axis: int | None = None) -> Value:
    """Join the new elements to the old ones, and then put all in order."""
    arr = as_array(arr)
    if type(values) is complex and arr.dtype.kind != "c":
        raise TypeError(f"numpy.insert: values is complex, and arr is of dtype {arr.dtype}")
    values = as_array(values)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = shift(axis, 0, arr.ndim)
    n = arr.shape[axis]
    places = obj if isinstance(obj, slice) else _as_places(obj)
    values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
    if not isinstance(places, slice) and places.ndim == 0:
        values = np.moveaxis(values, 0, axis)  # NumPy's rule for a single place
    if isinstance(places, slice):
        places = np.arange(n)[places]
    else:
        _check_integers(places)
    if places.dtype == bool and places.ndim != 1:
        raise ValueError("boolean array argument obj to insert must be one dimensional")
    if places.dtype == bool:
        places = np.flatnonzero(places)
    length = values.shape[axis] if places.size == 1 else places.size
    shape = (*arr.shape[:axis], length, *arr.shape[axis + 1 :])
    new = np.astype(np.broadcast_to(values, shape), arr.dtype)
    return _picked(np.concatenate([arr, new], axis), _insertion_order(places, n, length), axis)
