"""Leaving elements out and putting elements in: `numpy.delete` and `numpy.insert`.

Both read the elements in an order that is a constant for derivatives. The places may differ
from example to example where the shape of the result does not.
"""

import numpy as np

from .._core.numpy_facts import Value
from .axes import as_array, shift
from .constructors import composite, constant, data_dependent_vmap, primitive
from .indexing import read_at


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
    whole = np.concatenate([arr, new], axis)
    return _picked(whole, _insertion_order(places, n, length), axis)
