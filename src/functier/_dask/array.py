"""The class of Dask arrays inside levels.

NOTE [a Dask array inside a level]
    A level takes a Dask array in as a `DaskArray`, which has the same graph. NumPy's functions of
    it are those of `functions` first, then Dask's, and their results are of the class again. One
    that Dask lacks is refused, as NumPy would compute the graph to run it. A result leaves the
    level as the Dask array that it was made from.
"""

from collections.abc import Callable
from functools import partial, wraps
from types import FunctionType
from typing import Any

import numpy as np
from dask import array as dask_array
from dask.array import Array
from dask.array.utils import meta_from_array

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Function, Shape, Value, name_of
from .clones import cloned, note_parents

FUNCTIONS: dict[Any, Callable] = {}
"""Functions that Dask lacks, or has in part: by the function, or by the ufunc and its method.

`functions` fills it.
"""


class _Rules:
    """The level of a `DaskArray` for the functions of `_rules` that NumPy does not have."""

    depth = 0

    def function(self, func: Function, args: tuple, kwargs: dict) -> Any:
        own = FUNCTIONS.get(func)
        if own is None:
            raise missing(func)
        return compute_later(func, own, args, kwargs)


def compute_later(func: Any, own: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function that makes a graph; see NOTE [barriers] in `clones`."""
    args = cloned(args)
    kwargs = {name: plain(x) for name, x in kwargs.items()}
    return note_parents(inside(own(*all_plain(args), **kwargs)), func, args)


class DaskArray(Array):
    """A Dask array inside a level: see NOTE [a Dask array inside a level]."""

    __slots__ = ()
    level = _Rules()
    backward = False
    barrier: Any = None
    given: Any = None

    def __array_function__(self, func: Function, types: Any, args: tuple, kwargs: dict) -> Any:
        own = FUNCTIONS.get(func)
        if own is None and _of_dask(func) in (None, func):
            raise missing(func)
        theirs = super().__array_function__

        def of_dask(*args: Any, **kwargs: Any) -> Any:
            return theirs(func, types, args, kwargs)

        return compute_later(func, own or of_dask, args, kwargs)

    def __array_ufunc__(self, numpy_ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        own = FUNCTIONS.get(numpy_ufunc if method == "__call__" else (numpy_ufunc, method))
        theirs = partial(super().__array_ufunc__, numpy_ufunc, method)
        return compute_later(numpy_ufunc, own or theirs, inputs, kwargs)

    def __setitem__(self, index: Any, value: Value) -> None:
        Array.__setitem__(self, index, plain(value))
        self.given = None


def _of_dask(func: Function) -> Any:
    """Return Dask's function of the name of one of NumPy's, or None."""
    found: Any = dask_array
    for name in (*(func.__module__ or "").split(".")[1:], func.__name__):
        found = getattr(found, name, None)
    return found


def missing(func: Any) -> UnsupportedError:
    """Return the error for a function that no Dask array can be given."""
    name = name_of(func)
    name = name if name[:5] == "numpy" else f"a step of the derivative ({func.__name__})"
    return UnsupportedError(
        f"{name}: Dask has no such function, and NumPy's would compute the whole array "
        f"while the graph is built; write x.map_blocks(f) where it is one for each chunk, or "
        f"x.compute() for x where it fits into memory"
    )


MET: dict[Shape, tuple] = {}
"""The chunks of the arrays that were met last, by their shapes, and by the length of each axis."""


def inside(result: Any) -> Any:
    """Return a result of Dask as it is inside a level."""
    if type(result) is Array:
        if len(MET) > 500:
            MET.clear()
        MET.update([((n,), (chunks,)) for n, chunks in zip(result.shape, result.chunks)])
        MET[result.shape] = result.chunks
        made = _as_class(DaskArray, result)
        made.given = result
        return made
    if isinstance(result, (list, tuple)):
        items = [inside(x) for x in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def plain(x: Value) -> Value:
    """Return the Dask array that a `DaskArray` stands for; another value stays as it is."""
    if type(x) is not DaskArray:
        return x
    if x.given is None:
        x.given = _as_class(Array, x)
    return x.given


def _as_class(cls: type, x: Any) -> Any:
    return cls(x.dask, x.name, x.chunks, x.dtype, meta_from_array(x))


def all_plain(args: Any) -> Any:
    """Return arguments with Dask's arrays for those inside a level, also in lists."""
    if type(args) in (list, tuple):
        return type(args)([all_plain(x) for x in args])
    return plain(args)


def _wrap(func: Callable, name: str) -> Callable:
    """Return a method of Dask's class whose result is inside a level."""

    @wraps(func)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = FUNCTIONS.get(getattr(np, name, func), FUNCTIONS.get(func))
        return compute_later(func, own or func, (self, *args), kwargs)

    return method


DaskArray.mT = property(lambda self: np.swapaxes(self, -1, -2))  # type: ignore[attr-defined]
for _name, _member in list(vars(Array).items()):
    dunder = _name.startswith("__") and not _name.startswith(("__dask", "__array", "__reduce"))
    if _name not in vars(DaskArray) and (dunder or _name[0] != "_"):
        if isinstance(_member, FunctionType):
            setattr(DaskArray, _name, _wrap(_member, _name))
        elif _name in ("T", "real", "imag"):
            setattr(DaskArray, _name, property(_wrap(_member.fget, _name)))
