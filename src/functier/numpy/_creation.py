"""Functions that make arrays: inside a level, arrays that tensors can be written to."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._mutation.array import Array, array_holding, make_writable, settle


def _making(func: Callable) -> Callable:
    """`func`, with a result that may be written to inside a level."""

    @functools.wraps(func)
    def make(*args: Any, **kwargs: Any) -> Any:
        if AMBIENT.get() is Tensor:
            return func(*args, **kwargs)
        args, kwargs = settle(args), settle(kwargs)
        if func in ON_LIKE and kwargs.get("like") is None:
            like = _tensor_in((args, kwargs))
            if like is not None:
                kwargs["like"] = like
        return make_writable(func(*args, **kwargs))

    return make


def _copying(func: Callable, copies: bool) -> Callable:
    """`numpy.array` and its kin, of plain values and of tensors, also in lists."""
    convert = _making(func)

    @functools.wraps(func)
    def make(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if AMBIENT.get() is Tensor:
            return func(a, dtype, *args, **kwargs)
        kwargs = {key: v for key, v in kwargs.items() if key != "like" or not isinstance(v, Tensor)}
        if isinstance(a, Tensor) and not kwargs.get("ndmin"):
            copy = kwargs.get("copy", copies)
            if dtype is not None and np.dtype(dtype) != a.dtype:
                return np.astype(a, dtype)  # type: ignore[call-overload]  # a tensor dispatches
            return _copied(a) if copy else a
        if isinstance(a, np.ndarray):
            made = func(a, dtype, *args, **kwargs)
            return made if np.may_share_memory(made, a) else make_writable(made)
        return convert(a, dtype, *args, **kwargs)

    return make


def _copied(a: Tensor) -> Tensor:
    """A copy that can be written to here: of a value of a level around, an array."""
    copy: Any = np.copy(a)  # type: ignore[arg-type]  # a tensor dispatches
    cls = type(copy)
    if cls is not Array and issubclass(cls, Tensor) and cls is not AMBIENT.get():
        return array_holding(copy)
    return copy


def _tensor_in(value: Any) -> Any:
    """A tensor of a level that is in `value`, a nest of lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return value if value.level.depth else None
    parts: Any = value.values() if isinstance(value, dict) else value
    if isinstance(value, (list, tuple, dict)):
        for part in parts:
            found = _tensor_in(part)
            if found is not None:
                return found
    return None


ON_LIKE = {
    np.zeros, np.empty, np.ones, np.full, np.eye, np.identity, np.arange, np.tri, np.array,
    np.asarray,
}  # fmt: skip
"""Those that NumPy dispatches on ``like=`` only."""

MAKERS: dict[Callable, Callable] = {
    func: _making(func)
    for func in (
        np.zeros,
        np.empty,
        np.ones,
        np.full,
        np.eye,
        np.identity,
        np.arange,
        np.linspace,
        np.zeros_like,
        np.empty_like,
        np.ones_like,
        np.full_like,
        np.tri,
    )
} | {np.array: _copying(np.array, True), np.asarray: _copying(np.asarray, False)}
MAKERS[np.copy] = _copying(np.copy, True)
for _func in (np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require):
    MAKERS[_func] = _copying(_func, False)
"""The twins of NumPy's functions that make arrays."""
