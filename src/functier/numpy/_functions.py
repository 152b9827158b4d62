"""The twins of NumPy's functions: inside a level they take tensors in lists, and what they make
can be written to.

NOTE [the twin of a function]
    Outside of all levels, and for a tensor as first argument, a twin calls NumPy's function at
    once. Inside a level it looks for tensors in the lists among the arguments, as NumPy's own
    dispatch sees the arguments alone. A new plain array that comes out is an `Array`, to which
    tensors can be written; a view of an array from outside stays plain.
"""

import functools
import math
import operator
from collections import deque
from collections.abc import Callable
from itertools import islice
from types import FunctionType
from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.ambient import AMBIENT
from .._core.blocks import EVENTS
from .._core.errors import UnsupportedError
from .._core.root import classes_in, dispatch_lists, tree_map
from .._core.table import find
from .._core.tensor import Tensor
from .._mutation.array import Array, array_holding, is_scalar, make_writable
from ..modes._asking import ask_through
from ._objects import array_of_elements, as_objects, elements_of, is_object_array, object_array
from ._testing import call_with_values

ndarray = np.ndarray
poly1d = np.poly1d
ambient = AMBIENT.get
CALLS = EVENTS["call"]


def make_twin(
    func: Callable, path: str, copy_of: Callable | None = None, package: str = "functier.numpy",
    outside: Callable | None = None,
) -> Callable:  # fmt: skip
    """Return the twin of a function.

    ``copy_of(func)`` is its Python code, run on twins, or None where that would not do; without
    it no code is copied. `outside`
    is the function to call outside of all levels, if that is another one.
    """
    outside = outside or func
    make = _twin_inside(func, copy_of)
    makes = path.endswith("_like")  # arrays to write to, also for a value of a level around
    direct = func not in INSIDE and not makes and _dispatches(func) and not takes_polynomials(func)
    several = SEQUENCES if func in SEQUENCES else func in OPERANDS

    @functools.wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not CALLS:
            if ambient() is Tensor:
                return outside(*args, **kwargs)
            if direct and args:
                if isinstance(args[0], Tensor):
                    return func(*args, **kwargs)
                if several:
                    parts = args[0] if several is SEQUENCES else args
                    if type(parts) in (list, tuple):
                        for x in parts:
                            if isinstance(x, Tensor):
                                return func(*args, **kwargs)
            return make(*args, **kwargs)
        return ask_through(func, make, make_new_writable, args, kwargs)

    call.__module__, call.__qualname__ = package, path  # by which it is pickled
    return call


SEQUENCES = {
    np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block,
}  # fmt: skip
"""Functions of a sequence of arrays, which NumPy's dispatch looks into."""
OPERANDS = {
    np.where, np.dot, np.vdot, np.inner, np.outer, np.cross, np.kron, np.tensordot, np.einsum,
    np.convolve, np.correlate, np.polyval, np.interp, np.linalg.solve,
}  # fmt: skip
"""Functions of several arrays, all of which NumPy's dispatch looks at."""


def _dispatches(func: Callable) -> bool:
    """Return whether NumPy dispatches a function on its arguments."""
    return hasattr(func, "_implementation")


def _twin_inside(func: Callable, copy_of: Callable | None) -> Callable:
    """Return the function that computes `func` inside a level."""
    inside = INSIDE.get(func)
    dispatches = _dispatches(func)
    of_polynomials = takes_polynomials(func)

    def make(*args: Any, **kwargs: Any) -> Any:
        if ambient() is Tensor:
            return func(*args, **kwargs)
        if of_polynomials and copy_of is not None and any([isinstance(x, poly1d) for x in args]):
            return copy_of(func)(*args, **kwargs)
        if inside is not None:
            result = inside(func, *args, **kwargs)
        elif dispatches:
            result = dispatch_lists(func, tuple(map(by_method, args)), kwargs)
        elif not classes_in(*args, *kwargs.values()):
            result = func(*args, **kwargs)
        elif find(func) is not None:
            result = dispatch_lists(func, args, kwargs)
        elif getattr(func, "__module__", "").startswith("numpy.testing"):
            return call_with_values(func, args, kwargs)
        else:
            copy = copy_of(func) if copy_of is not None else None
            if copy is not None:
                return copy(*args, **kwargs)
            result = func(*args, **kwargs)
        return make_new_writable(result, (args, kwargs))

    return make


def takes_polynomials(func: Any) -> bool:
    """Return whether a function is one for `numpy.poly1d`, whose coefficients no dispatch finds."""
    plain = getattr(func, "_implementation", None)
    return getattr(plain, "__globals__", None) is poly1d.__init__.__globals__


def make_new_writable(result: Any, given: Any) -> Any:
    """Return a result with its new plain arrays as `Array`s; views of the arguments stay plain."""
    kind = type(result)
    if kind is not ndarray and kind is not tuple and kind is not list:
        if not (isinstance(result, tuple) and hasattr(result, "_fields")):
            return result
    sources: list[ndarray] | None = None

    def writable(value: Any) -> Any:
        nonlocal sources
        if type(value) is not ndarray or value.dtype.kind not in "biufc":
            return as_objects(value) if type(value) is ndarray and value.base is None else value
        if sources is None:
            sources = []
            tree_map(lambda v: sources.append(v) if isinstance(v, ndarray) else None, given)
        base = value.base
        while isinstance(base, ndarray) and base.base is not None:
            base = base.base
        if base is not None and not isinstance(base, ndarray):
            return value
        for source in sources:
            if source is value or (base is not None and np.may_share_memory(source, value)):
                return value
        return make_writable(value)

    return tree_map(writable, result)


# ---- functions that have a meaning for tensors that NumPy's dispatch cannot give ----


def _convert(
    func: Callable, a: Any, dtype: Any = None, *args: Any, like: Any = None, **kwargs: Any
) -> Any:
    """`numpy.asarray` and its kin, and `numpy.array`, of plain values and of tensors."""
    a = by_method(a)
    if is_object_array(a, dtype):
        return object_array(a)
    if dtype is not None and np.dtype(dtype).names is not None and classes_in(a):
        raise UnsupportedError(
            f"numpy.{func.__name__}: a structured array holds plain numbers, and no tensors; write "
            f"a dict of arrays, one for each field, {{'u': numpy.stack([x, y])}}"
        )
    if dtype is not None and np.dtype(dtype) != object:
        a = elements_of(a)
    if isinstance(a, Tensor) and hasattr(a.level, "window"):
        if dtype is not None and np.dtype(dtype) != a.dtype:
            func(np.empty(0, a.dtype), dtype, *args, **kwargs)  # raises where it may not copy
            a = np.astype(a, dtype)  # type: ignore[call-overload]  # a tensor dispatches
        if is_scalar(a):
            a = a.level.point(a)
        return _convert_as(func, a, args, kwargs)
    if like is not None and not isinstance(like, Tensor):
        kwargs["like"] = like
    if isinstance(a, deque):  # a sequence in which NumPy's dispatch finds nothing
        a = list(a)
    return dispatch_lists(func, (a, dtype, *args), kwargs)


def by_method(x: Any) -> Any:
    """Return the tensor that ``x.__array__`` gives, which NumPy would not take; else `x`.

    NumPy does not ask an array of a subclass either.
    """
    method = getattr(type(x), "__array__", None)
    if (
        isinstance(x, np.ndarray)
        or type(method) is not FunctionType
        or method.__module__.startswith("functier.")
    ):
        return x
    found = vars(method).get("functier_original", method)(x)
    return found if isinstance(found, Tensor) else x


def _convert_as(func: Callable, a: Any, args: tuple, kwargs: dict) -> Any:
    """Return a tensor, or a copy of it, as NumPy does with the array of one example."""
    window = a.level.window(a)
    shown = func(window, None, *args, **kwargs)
    if not (shown is window or np.may_share_memory(shown, window)):
        flags, source = shown.flags, a
        a = _copy(a, "C" if flags.c_contiguous else "F" if flags.f_contiguous else "K")
        if func is np.require and _owning(window, *args, **kwargs):
            source.level.tie(func, source, a)  # which NumPy may have as one array
    return a if shown.shape == window.shape else np.reshape(a, shown.shape)


def _owning(window: np.ndarray, requirements: Any = None, **options: Any) -> bool:
    """Return whether `numpy.require` copies an array only because it does not own its memory."""
    rest = [r for r in requirements or () if r.upper() not in ("O", "OWNDATA")]
    return np.may_share_memory(np.require(window, None, rest, **options), window)


def _copy(a: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return a copy that can be written to here: of a value of a level around, an array."""
    copy: Any = np.copy(a, *args, **kwargs)  # type: ignore[arg-type]  # a tensor dispatches
    cls = type(copy)
    if cls is not Array and issubclass(cls, Tensor) and cls is not ambient():
        return array_holding(copy)
    return copy


def _copy_as_array(func: Callable, a: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(a, Tensor):
        return _copy(a, *args, **kwargs)
    return _convert(np.array, a, None, *args, **kwargs)


def _fill(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Functions that dispatch on ``like=`` alone."""
    if isinstance(kwargs.get("like"), Tensor):
        kwargs.pop("like")
    if func is np.full and kwargs.get("dtype") is object and isinstance(args[-1], Tensor):
        shape = np.empty(args[0], bool).shape
        return array_of_elements([args[-1]] * math.prod(shape), shape)
    if func is np.frombuffer and args and isinstance(args[0], Tensor) and is_scalar(args[0]):
        raise UnsupportedError(
            "numpy.frombuffer is about the memory of an array, and that of a number cannot be "
            "written to; write numpy.reshape(x, (1,))"
        )
    return dispatch_lists(func, args, kwargs)


def _from_iterable(func: Callable, iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    values = list(iter if count < 0 else islice(iter, count))
    return _fill(np.fromiter, values, dtype, count, **kwargs)


def _as_finite(func: Callable, a: Any, dtype: Any = None, order: Any = None) -> Any:
    made = _convert(np.asarray, a, dtype, order)
    if not np.all(np.isfinite(made)):
        np.asarray_chkfinite(np.inf)  # raises NumPy's error
    return made


def _is_scalar(func: Callable, element: Any) -> bool:
    return is_scalar(element) if isinstance(element, Tensor) else func(element)


def _is_fortran(func: Callable, a: Any) -> bool:
    """Tell of the memory order, which a tensor has as the array of one example."""
    return func(a.level.window(a) if isinstance(a, Tensor) else a)


ON_LIKE: set[Callable] = {
    np.zeros, np.empty, np.ones, np.full, np.eye, np.identity, np.arange, np.tri,
    np.fromfunction, np.frombuffer, np.fromstring, np.fromfile, np.loadtxt, np.genfromtxt,
}  # fmt: skip
"""Those that NumPy dispatches on ``like=`` only."""


def _exchange(func: Callable, x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """`numpy.from_dlpack`, whose result shares memory with a tensor as that of `asarray` does."""
    if not isinstance(x, Tensor):
        return func(x, device=device, copy=copy)
    return _convert(np.asarray, x, device=device, copy=copy)


def _with_number(func: Callable, n: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.fft.fftfreq` and its kin, which ask for the class of `n`."""
    return func(operator.index(n) if isinstance(n, Tensor) else n, *args, **kwargs)


def _write(func: Callable, a: Any, *args: Any, **options: Any) -> Any:
    form = functools.partial(func, *args, **options)
    return (isinstance(a, Tensor) and ADOPTED.text_for(a, form)) or form(a)


def _unmasked(answer: Callable) -> Callable:
    """Return a function of `numpy.ma` that asks for a mask, which a tensor does not have."""

    def call(func: Callable, a: Any, *args: Any, **options: Any) -> Any:
        return answer(a) if isinstance(a, Tensor) else func(a, *args, **options)

    return call


INSIDE: dict[Callable, Callable] = {
    np.ma.filled: _unmasked(lambda a: a),
    np.ma.getdata: _unmasked(lambda a: a),
    np.ma.getmask: _unmasked(lambda a: np.ma.nomask),
    np.ma.getmaskarray: _unmasked(lambda a: np.zeros(np.shape(a), bool)),
    np.ma.is_masked: _unmasked(lambda a: False),
    **{func: _write for func in (np.array2string, np.array_repr, np.array_str)},
    **{func: _fill for func in ON_LIKE},
    **{
        func: _convert
        for func in (
            np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray,
            np.require,
        )
    },
    np.copy: _copy_as_array,
    np.from_dlpack: _exchange,
    np.fromiter: _from_iterable,
    np.asarray_chkfinite: _as_finite,
    np.isscalar: _is_scalar,
    np.isfortran: _is_fortran,
    np.fft.fftfreq: _with_number,
    np.fft.rfftfreq: _with_number,
}  # fmt: skip
"""Functions of NumPy's function and the arguments, that compute it inside a level."""
