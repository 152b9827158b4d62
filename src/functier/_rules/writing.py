"""Functions that write to their first argument, as the assignments that they mean.

See `_mutation`: a tensor takes an assignment as an array does.
"""

import numpy as np

from .._core.errors import MutationError
from .._core.numpy_facts import dtype_of, name_of
from .._core.tensor import Tensor
from .._mutation.selection import mask_of
from .axes import as_array, shift
from .constructors import op
from .indexing import apply_mode, index_along, read_at


def writing(func, body):
    """A function that writes; `body` does it by assignments to its first argument."""

    def checked(a, *args, **kwargs):
        if not isinstance(a, Tensor):
            raise MutationError(
                f"{name_of(func)} would write a tensor to a plain array; make the array inside the "
                f"function, with functier.numpy.zeros or functier.numpy.array(a)"
            )
        return body(a, *args, **kwargs)

    return op(func, "", "", family="writing", body=checked)


def _repeated(values, n):
    """`values`, flat, over and over: `n` of them."""
    values = np.ravel(as_array(values))
    if not values.size:
        return values
    return values[np.arange(n) % values.size]


def _copyto(dst, src, casting="same_kind", where=True):
    src = as_array(src)
    if not np.can_cast(dtype_of(src), dtype_of(dst), casting):
        raise TypeError(
            f"Cannot cast array data from {dtype_of(src)!r} to {dtype_of(dst)!r} according to the "
            f"rule {casting!r}"
        )
    dst[...] = src if where is True else np.where(where, src, dst)


def _put(a, ind, v, mode="raise"):
    ind = np.ravel(as_array(ind))
    if not ind.size:
        return
    v = as_array(v)
    if not v.size:
        return
    a.flat[apply_mode(ind, a.size, mode)] = _repeated(v, ind.size)


def _putmask(a, mask, values):
    values = np.reshape(_repeated(values, a.size), a.shape)
    a[...] = np.where(mask, values, a)


def _place(arr, mask, vals):
    mask, vals = np.ravel(as_array(mask)).astype(bool), np.ravel(as_array(vals))
    if not vals.size:
        if np.any(mask):
            raise ValueError("Cannot insert from an empty array!")
        return
    rank = np.remainder(np.cumsum(mask) - 1, vals.size)
    arr[...] = np.where(
        np.reshape(mask, arr.shape), np.reshape(read_at(vals, rank), arr.shape), arr
    )


def _put_along_axis(arr, indices, values, axis=-1):
    if axis is None:
        arr.flat[np.ravel(indices)] = values
        return
    arr[index_along(arr.shape, indices, shift(axis, 0, arr.ndim))] = values


def _fill_diagonal(a, val, wrap=False):
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step = a.shape[1] + 1
        stop = a.size if wrap else a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + int(np.sum(np.cumprod(a.shape[:-1])))
        stop = a.size
    places = np.arange(a.size)[:stop:step]
    a.flat[places] = _repeated(val, places.size)


for _func, _body in (
    (np.copyto, _copyto), (np.put, _put), (np.putmask, _putmask), (np.place, _place),
    (np.put_along_axis, _put_along_axis), (np.fill_diagonal, _fill_diagonal),
):  # fmt: skip
    writing(_func, _body)


def ufunc_at(ufunc):
    """The assignment that ``ufunc.at`` means."""

    def body(a, indices, b=None):
        if b is not None and not np.can_cast(dtype_of(b), a.dtype, "same_kind"):
            pass  # the sums are cast, not the values
        elif ufunc is np.add or ufunc is np.subtract:
            a.level.add_at(a, indices, b if ufunc is np.add else np.negative(b))
            return
        if mask_of(indices) is not None:  # which has no place twice
            a[indices] = ufunc(a[indices]) if b is None else ufunc(a[indices], b)
            return
        b = b if b is None or not np.ndim(b) else np.copy(b)  # which may be a view of `a`
        places = read_at(np.arange(a.size).reshape(a.shape), indices)
        values = None if b is None else np.ravel(np.broadcast_to(b, np.shape(places)))
        places = np.ravel(places)
        for i in range(places.size):  # one after the other, as a place may come twice
            index = np.unravel_index(places[i], a.shape)
            old = read_at(a, index)
            a[index] = ufunc(old) if values is None else ufunc(old, values[i])

    return body
