"""Functions that write to an argument or make an array to write to, and those that give views.

Their bodies, which are plain NumPy with assignments. The table loads this file with the rules.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.agreement import settle_masks
from .._core.ambient import AMBIENT
from .._core.errors import MutationError
from .._core.numpy_facts import Function, Index, Value, dtype_of, name_of
from .._core.sharing import MEMORY, sharing_of
from .._core.table import OPS
from .._core.tensor import Tensor
from .._cpython.frames import is_called_by_user
from .._rules.axes import as_array, shift
from .._rules.indexing import apply_mode, index_along, read_at
from .array import make_writable
from .copies import watch
from .selection import choice_of
from .stores import may_meet, parts_of

# ---- functions that write to their first argument ----


def declare(func: Function, body: Callable[..., None]) -> Callable[..., None]:
    """Return the body of a function that writes, and make it the one of its record."""

    more = ""
    if func is np.copyto:
        more = ", and for numpy.full_like(a, t), which calls it, write numpy.zeros_like(a) + t"

    @functools.wraps(body)
    def checked(a: Value, *args: Any, **kwargs: Any) -> None:
        if not isinstance(a, Tensor):
            raise MutationError(
                f"{name_of(func)} would write a tensor to a plain array; make the array inside the "
                f"function, with functier.numpy.zeros or functier.numpy.array(a){more}"
            )
        body(a, *args, **kwargs)

    if func in OPS:
        OPS[func].body = checked
    return checked


def _repeat(values: Value, n: int) -> Value:
    """Return `n` values: those of `values`, over and over."""
    values = np.ravel(as_array(values))
    return values if not values.size else values[np.arange(n) % values.size]


def _copyto(dst: Any, src: Value, casting: Any = "same_kind", where: Value = True) -> None:
    src = as_array(src)
    if not np.can_cast(dtype_of(src), dtype_of(dst), casting):
        raise TypeError(
            f"Cannot cast array data from {dtype_of(src)!r} to {dtype_of(dst)!r} according to the "
            f"rule {casting!r}"
        )
    dst[...] = src if where is True else np.where(where, src, dst)


def _put(a: Any, ind: Value, v: Value, mode: str = "raise") -> None:
    ind = np.ravel(as_array(ind))
    if not ind.size:
        return
    v = as_array(v)
    if not v.size:
        return
    a.flat[apply_mode(ind, a.size, mode)] = _repeat(v, ind.size)


def _putmask(a: Any, mask: Value, values: Value) -> None:
    values = np.reshape(_repeat(values, a.size), a.shape)
    a[...] = np.where(mask, values, a)


def _place(arr: Any, mask: Value, vals: Value) -> None:
    mask, vals = np.ravel(as_array(mask)).astype(bool), np.ravel(as_array(vals))
    if not vals.size:
        if np.any(mask):
            raise ValueError("Cannot insert from an empty array!")
        return
    rank = np.remainder(np.cumsum(mask) - 1, vals.size)
    arr[...] = np.where(
        np.reshape(mask, arr.shape), np.reshape(read_at(vals, rank), arr.shape), arr
    )


def _put_along_axis(arr: Any, indices: Value, values: Value, axis: int | None = -1) -> None:
    if axis is None:
        arr.flat[np.ravel(indices)] = values
        return
    arr[index_along(arr.shape, indices, shift(axis, 0, arr.ndim))] = values


def _fill_diagonal(a: Any, val: Value, wrap: bool = False) -> None:
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
    a.flat[places] = _repeat(val, places.size)


for _func, _body in (
    (np.copyto, _copyto), (np.put, _put), (np.putmask, _putmask), (np.place, _place),
    (np.put_along_axis, _put_along_axis), (np.fill_diagonal, _fill_diagonal),
):  # fmt: skip
    declare(_func, _body)


def at_body(ufunc: np.ufunc) -> Callable[..., None]:
    """Return the assignment that ``ufunc.at`` means."""

    def body(a: Any, indices: Index, b: Value = None) -> None:
        if choice_of(indices, a.ndim) is not None:
            indices = settle_masks(indices)
        if choice_of(indices, a.ndim) is not None:  # a mask, which has no place twice
            a[indices] = ufunc(a[indices]) if b is None else ufunc(a[indices], b)
            return
        window = a.level.window(a)
        if parts_of(indices) is not None and may_meet(a.shape, window.strides, window.itemsize):
            places = np.arange(a.size).reshape(a.shape)[indices]
            indices = tuple(np.unravel_index(places, a.shape))
        castable = b is None or np.can_cast(dtype_of(b), a.dtype, "same_kind")
        if castable and (ufunc is np.add or ufunc is np.subtract):  # else the sums are cast
            a.level.add_at(a, indices, b if ufunc is np.add else np.negative(b))
            return
        b = b if b is None or not isinstance(b, Tensor) else np.copy(b)  # it may be a view of `a`
        places = read_at(np.arange(a.size).reshape(a.shape), indices)
        values = None if b is None else np.ravel(np.broadcast_to(b, np.shape(places)))
        places = np.ravel(places)
        for i in range(places.size):  # one after the other: a place may come twice
            index = np.unravel_index(places[i], a.shape)
            old = read_at(a, index)
            a[index] = ufunc(old) if values is None else ufunc(old, values[i])

    return declare(ufunc.at, body)


def _replace_nan(body: Callable[..., Value]) -> Callable[..., Value]:
    """Return the body of `numpy.nan_to_num`, which may be told to write to its argument."""

    @functools.wraps(body)
    def replace(x: Any, copy: bool = True, *args: Any, **kwargs: Any) -> Value:
        if copy or not isinstance(x, Tensor):
            return body(x, True, *args, **kwargs)
        x[...] = np.nan_to_num(x, True, *args, **kwargs)  # type: ignore[index]
        return x if x.ndim else x[()]  # type: ignore[index]

    return replace


OPS[np.nan_to_num].body = _replace_nan(OPS[np.nan_to_num].body)  # type: ignore[arg-type]

# ---- functions that make arrays ----


def _make_writable(body: Callable[..., Value]) -> Callable[..., Value]:
    """Return a body whose result can be written to.

    A value of a level around the ambient one may be what a rule computes with: it gets no array.
    """

    @functools.wraps(body)
    def make(a: Value, *args: Any, **kwargs: Any) -> Value:
        made = body(a, *args, **kwargs)
        if type(made) is not np.ndarray or AMBIENT.get() is Tensor:
            return made
        return make_writable(made) if type(a) is AMBIENT.get() or is_called_by_user() else made

    return make


for _like in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    OPS[_like].body = _make_writable(OPS[_like].body)  # type: ignore[arg-type]

# ---- functions that give views ----

for _func in MEMORY:
    if MEMORY[_func] == "copied":
        OPS[_func].body = watch(_func, OPS[_func].body)  # type: ignore[arg-type]
VIEWS = [func for func in MEMORY if sharing_of(func) in ("view", "protected", "either")]
for _view in (*VIEWS, np.astype, np.copy):  # of an array without axes, one
    if _view in OPS and _view is not np.flip:  # which gives a number of that
        OPS[_view].views = MEMORY.get(_view, "view")

for _box in (
    np.where, np.select, np.piecewise, np.roll, np.tensordot, np.isin, np.broadcast_to, np.cov,
    np.real_if_close, np.i0, np.pad, np.block, np.linalg.tensorsolve, np.full, np.full_like,
    np.resize, np.lib.stride_tricks.as_strided,
):  # fmt: skip
    OPS[_box].boxes = True
