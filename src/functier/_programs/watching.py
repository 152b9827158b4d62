"""The watch of a trace is off while the level records a call: it sees the user's functions alone.

NOTE [off and on]
    `Watch` is asked at each call of Python code, and most of these are the level's own. So they
    run without it. What may enter a function of the user, as a callback of NumPy's, runs with it.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import PLAIN, name_of
from .._core.tensor import Tensor
from .._cpython.profiling import hook, set_hook
from .questions import LIBRARIES

TEXTS = np.array_repr, np.array_str, np.array2string
"""Functions whose results no program has."""
VIEWING = np.apply_along_axis, np.apply_over_axes
"""Functions that call another one with views of an array, which that may write to."""


def unwatched(method: Callable) -> Callable:
    """Return a method of a level that runs without its watch."""

    @functools.wraps(method)
    def run(self: Any, *args: Any) -> Any:
        note = self.note
        if note is None or hook() is not note:
            return method(self, *args)
        try:
            set_hook(None)
            return method(self, *args)
        finally:
            set_hook(note)

    return run


QUIET = PLAIN - {np.object_}


def is_quiet(x: Any) -> bool:
    """Tell if an operand has no code of the user's: a number, an array, or a tensor of a trace."""
    kind = type(x)
    if kind in QUIET:
        return True
    if kind is tuple or kind is list:
        return all(map(is_quiet, x))
    return issubclass(kind, Tensor) and kind.level.quieten is not None


LOUD = frozenset({"__class__", "__str__", "__repr__", "__format__", "__hash__", "__getattr__"})
"""Methods that answer questions, and those that other code of functier's looks at."""


def quiet_methods(level: Any, methods: dict[str, Any]) -> dict[str, Any]:
    """Return the methods of a class of tensors that run without the watch of the level `level`.

    The watch is on where an operand may have code of the user's.
    """
    return {
        name: quiet(level, method, OPERANDS.get(name)) if name not in LOUD else method
        for name, method in methods.items()
    }


def quiet(level: Any, method: Any, operands: Callable | None) -> Any:
    """Return a method that runs without the watch, if its operands are without code."""
    if not callable(method):
        return method

    def run(*args: Any, **kwargs: Any) -> Any:
        note = level.note
        if note is None or hook() is not note:
            return method(*args, **kwargs)
        try:
            set_hook(None)
            for x in args if operands is None else operands(*args):
                if type(x) not in QUIET and not is_quiet(x):
                    break
            else:
                if not kwargs or all(map(is_quiet, kwargs.values())):
                    return method(*args, **kwargs)
        finally:
            set_hook(note)
        return method(*args, **kwargs)

    return run


@functools.lru_cache(1024)
def is_known(func: Any) -> bool:
    """Tell if a function of a library calls no others than those among its arguments."""
    return is_public(func) and func not in TEXTS


OPERANDS: dict[str, Callable] = {
    "__array_ufunc__": lambda x, ufunc, method, *inputs: (
        (x, *inputs) if enters_nothing(ufunc) else (ufunc,)
    ),
    "__array_function__": lambda x, func, types, args, kwargs: (
        (x, args, [*kwargs.values()]) if is_known(func) else (func,)
    ),
}
"""The operands of methods that have other arguments, too; a function is one that has code."""


def watched(level: Any, call: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a call that may enter a function of the user."""
    note = level.note
    if note is None or hook() is not None:
        return call(*args, **kwargs)
    try:
        set_hook(note)
        return call(*args, **kwargs)
    finally:
        set_hook(None)


@functools.lru_cache(1024)
def enters_nothing(func: Callable) -> bool:
    """Tell if a function is code in C that calls no Python code for numbers."""
    if isinstance(func, np.ufunc):
        return name_of(func) != func.__name__
    return getattr(operator, getattr(func, "__name__", ""), None) is func


def is_public(func: Any) -> bool:
    """Tell if a function is one of a library, which a program may call."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, np.ufunc):
        return name_of(owner) != owner.__name__
    module = getattr(func, "__module__", None) or ""
    return module.partition(".")[0] in LIBRARIES


def is_followed(func: Any, args: tuple, kwargs: dict) -> bool:
    """Tell if a program has the parts of a call of a library, and not the call."""
    given = args[0] if args else kwargs.get("func1d", kwargs.get("func"))
    return func in TEXTS or (func in VIEWING and not is_public(given))


def is_object(x: Any) -> bool:
    """Tell if an array has objects, whose methods a function may call."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.hasobject
