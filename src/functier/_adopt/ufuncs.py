"""Calls of NumPy's ufuncs in adopted code, which also take lists with tensors.

NumPy makes an array of a list before it asks who takes the call. So ``np.sqrt([x, 1.0])`` would
lose what a transform knows of x.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.numpy_facts import PLAIN
from .._core.root import opts_out
from ..numpy._functions import classes_in

METHODS = ("reduce", "accumulate", "reduceat", "outer")
LISTS = (list, tuple)


def _array_of(x: Any) -> Any:
    """Return a list with tensors as an array, and anything else as it is."""
    return fnp.asarray(x) if type(x) in LISTS and classes_in(x) else x


def _with_lists(func: Callable) -> Callable:
    """Return `func`, a ufunc or its method, for arguments that may be lists with tensors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) in LISTS:
                return func(*map(_array_of, args), **kwargs)
        return func(*args, **kwargs)

    return functools.update_wrapper(call, func, updated=())


def _quick(ufunc: np.ufunc) -> Callable:
    """Return the same for a ufunc of one or two arguments, which come alone in most calls."""
    call = _with_lists(ufunc)

    def call_one(x: Any, *rest: Any, **options: Any) -> Any:
        if rest or options or type(x) in LISTS:
            return call(x, *rest, **options)
        if type(x) not in PLAIN and opts_out(x) and hasattr(x, ufunc.__name__):
            return getattr(x, ufunc.__name__)()  # as NumPy asks an object: of a sparse matrix
        return ufunc(x)

    def call_two(x: Any, y: Any, *rest: Any, **options: Any) -> Any:
        if rest or options or type(x) in LISTS or type(y) in LISTS:
            return call(x, y, *rest, **options)
        return ufunc(x, y)

    quick: Any = {1: call_one, 2: call_two}.get(ufunc.nin, call)
    return functools.update_wrapper(quick, ufunc, updated=())


def caller_of(ufunc: np.ufunc) -> Callable:
    """Return the twin of calls of `ufunc` and of its methods."""
    call = _quick(ufunc)
    for name in dir(ufunc):
        if name[0] != "_":
            value = getattr(ufunc, name)
            setattr(call, name, _with_lists(value) if name in METHODS else value)
    return call


UFUNCS: dict[str, np.ufunc] = {
    name: value for name, value in vars(np).items() if isinstance(value, np.ufunc)
}
"""NumPy's ufuncs by their names in its namespace."""

UFUNC_CALLERS = {ufunc: caller_of(ufunc) for ufunc in set(UFUNCS.values())}
"""The twins of calls of ufuncs."""
