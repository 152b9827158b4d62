"""The class of Dask arrays inside levels.

NOTE [a Dask array inside a level]
    A level takes a Dask array in as a `DaskArray`, which has the same graph; so it does with those
    among the arguments that it does not track, whose methods may be given its tensors. NumPy's
    functions of it are those of `functions` first, then Dask's, and their results are of the class
    again. One that Dask lacks is refused, as NumPy would compute the graph to run it. A result
    leaves the level as the Dask array that it was made from.
"""

from collections.abc import Callable
from functools import partial, wraps
from types import FunctionType
from typing import Any

import numpy as np
from dask import array as dask_array
from dask.array import Array
from dask.array.utils import meta_from_array

from .._core.errors import MutationError, UnsupportedError
from .._core.numpy_facts import Function, Shape, Value, name_of
from .._core.tensor import Tensor
from .clones import arrays_in, cloned, note_parents
from .hidden import check_graph, check_hidden

FUNCTIONS: dict[Any, Callable] = {}
"""Functions that Dask lacks, or has in part: by the function, or by the ufunc and its method.

`functions` fills it.
"""


class _Rules:
    """The level of a `DaskArray` for the functions of `_rules` that NumPy does not have."""

    depth = 0

    def function(self, func: Function, args: tuple, kwargs: dict) -> Any:
        for x in args:
            if isinstance(x, Tensor):
                return x.level.function(func, args, kwargs)
        own = FUNCTIONS.get(func)
        if own is None:
            raise missing(func)
        return compute_later(func, own, args, kwargs)


def compute_later(func: Any, own: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function that makes a graph; see NOTE [barriers] in `clones`.

    Where there is a tensor among the arguments, its level computes the result.
    """
    if _has_tensor((*args, *kwargs.values())):
        return NotImplemented
    for x in arrays_in(args):
        if type(x) is Array:
            check_graph(x)
    args = cloned(args)
    kwargs = {name: plain(x) for name, x in kwargs.items()}
    try:
        return note_parents(inside(own(*all_plain(args), **kwargs)), func, args)
    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
        if not _has_unknown_shape((*args, *kwargs.values())):
            raise
        raise UnsupportedError(
            f"{name_of(func)}: the shape of a Dask array that a mask selects, as in x[x > 0], is "
            f"unknown until it is computed, and this call needs it; write numpy.where(mask, x, "
            f"0.0) for x[mask], or x[mask].compute_chunk_sizes() before the transform, or "
            f"x.compute() for x where it fits into memory"
        ) from error


def _has_tensor(x: Any) -> bool:
    return any(map(_has_tensor, x)) if isinstance(x, (list, tuple)) else isinstance(x, Tensor)


def _has_unknown_shape(x: Any) -> bool:
    """Return whether a shape, or a part of one, is not known, or an index is a mask."""
    if isinstance(x, (list, tuple)):
        return any(map(_has_unknown_shape, x))
    if isinstance(x, (Array, np.ndarray)):
        return x.dtype.kind == "b" or any([n != n for n in x.shape])
    return isinstance(x, float) and x != x


class DaskArray(Array):
    """A Dask array inside a level: see NOTE [a Dask array inside a level]."""

    __slots__ = ()
    level = _Rules()
    backward = False
    barrier: Any = None
    given: Any = None
    argument: Any = None

    def __array_function__(self, func: Function, types: Any, args: tuple, kwargs: dict) -> Any:
        own = FUNCTIONS.get(func)
        if any([issubclass(kind, Tensor) for kind in types]):
            return NotImplemented
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
        if _has_tensor([index, value]):
            raise MutationError(
                "a tensor cannot be written to a Dask array that is not one; write "
                "y = numpy.where(mask, value, x)"
            )
        Array.__setitem__(self, index, plain(value))
        if self.argument is not None:
            self.argument[index] = plain(value)


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
    if x.given is None or x.given.name != x.name:  # one of them was written to
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
        given = (*args, *kwargs.values())
        check_hidden(list(filter(callable, given)), f"an argument of {name}")
        found = getattr(np, name, func)
        if found is not func and _has_tensor(given):
            return found(self, *args, **kwargs)
        own = FUNCTIONS.get(found, FUNCTIONS.get(func))
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
