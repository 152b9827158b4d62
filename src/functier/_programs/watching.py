"""The watch of a trace is off while the level records a call: it sees the user's functions alone.

NOTE [off and on]
    `Watch` is asked at each call of Python code, and most of these are the level's own. So they
    run without it. What may enter a function of the user, as a callback of NumPy's, runs with it.
"""

import functools
import operator
from collections.abc import Callable
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .._core.numpy_facts import PLAIN, name_of
from .._cpython.code import file_of_code
from .._cpython.frames import current_frame
from .._cpython.functions import hook, read_code, set_hook
from .homes import HOME, home_of
from .objects import reached_from
from .questions import LIBRARIES

ndarray = np.ndarray
DISPATCHER = type(np.sum)
KINDS = frozenset({np.ufunc, DISPATCHER, FunctionType, BuiltinFunctionType})
ANYWHERE: Any = object()
"""Stands for the place of a level whose watch is on."""
ROOMS = tuple([f"{HOME}{room}" for room in ("_core", "_rules", "_levels", "_mutation")])
"""The rooms whose rules call no functions of the user's, but for those that they close over."""
VALUES = PLAIN - {ndarray, np.object_}

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
            self.here = current_frame(1)
            return method(self, *args)
        finally:
            self.here = ANYWHERE
            set_hook(note)

    return run


def watched(level: Any, call: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a call that may enter a function of the user."""
    note = level.note
    if note is None or hook() is not None:
        return call(*args, **kwargs)
    here, level.here = level.here, ANYWHERE
    try:
        set_hook(note)
        return call(*args, **kwargs)
    finally:
        set_hook(None)
        level.here = here


@functools.lru_cache(1024)
def enters_nothing(func: Callable) -> bool:
    """Return whether a function is code in C that calls no Python code for numbers."""
    if isinstance(func, np.ufunc):
        return name_of(func) != func.__name__
    return getattr(operator, getattr(func, "__name__", ""), None) is func


def is_public(func: Any) -> bool:
    """Return whether a function is one of a library, which a program may call."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, np.ufunc):
        return name_of(owner) != owner.__name__
    module = getattr(func, "__module__", None) or ""
    return module.partition(".")[0] in LIBRARIES


def is_followed(func: Any, args: tuple, kwargs: dict) -> bool:
    """Return whether a program has the parts of a call of a library, and not the call."""
    given = args[0] if args else kwargs.get("func1d", kwargs.get("func"))
    return func in TEXTS or (func in VIEWING and not is_public(given))


def is_known(func: Any) -> bool:
    """Tell if a function of a library calls no code but the library's and that of its arguments."""
    return type(func) in KINDS and _is_known(func)


@functools.lru_cache(1024)
def _is_known(func: Any) -> bool:
    owner = getattr(func, "__self__", None)
    if isinstance(func, (np.ufunc, BuiltinFunctionType)):
        return enters_nothing(owner if isinstance(owner, np.ufunc) else func)
    if is_of_rooms(func):
        return True
    code = getattr(func, "_implementation", func)  # which is in C for some
    in_python = type(code) is FunctionType
    return is_public(func) and func not in TEXTS and (
        not in_python or home_of(file_of_code(read_code(code))) == "library"
    )  # fmt: skip


def has_no_code(x: Any) -> bool:
    """Return whether an argument is a number, an array of numbers, or a tuple or list of these."""
    kind = type(x)
    if kind is ndarray:
        return not x.dtype.hasobject
    return kind in VALUES or (kind in (tuple, list) and all(map(has_no_code, x)))


def runs_alone(func: Callable, args: tuple, kwargs: dict) -> bool:
    """Return whether a call enters no code but that of a library."""
    return is_known(func) and all(map(has_no_code, args)) and (
        not kwargs or all(map(has_no_code, kwargs.values()))
    )  # fmt: skip


def is_of_rooms(rule: Any) -> bool:
    """Return whether a rule, with all that it closes over, is one of the `ROOMS`."""
    if type(rule) is itemgetter:
        return True
    if type(rule) is not FunctionType:
        return False
    return _is_of_rooms(rule) if rule.__closure__ else _known(rule)


def _is_of_rooms(rule: FunctionType) -> bool:
    inside = [x for x in reached_from([rule]) if isinstance(x, FunctionType)]
    return all([file_of_code(read_code(x)).startswith(ROOMS) for x in inside])


_known = functools.lru_cache(1024)(_is_of_rooms)
