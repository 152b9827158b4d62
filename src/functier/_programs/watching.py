"""The watch of a trace is off while functier's own code computes: it sees the user's functions.

NOTE [off and on]
    `Watch` is asked at each call of Python code, and most of these are the level's own. So they
    run without it. What may enter a function of the user, as a callback of NumPy's, runs with it.

NOTE [quiet operations]
    Most of what Python tells the watch are calls of functier's own. So the methods of the tensors
    of a trace run without it where no operand has code of its own: these are numbers, arrays, and
    tensors of functier's kinds of level. A backward pass does where all rules on the tape are
    functier's. In all other cases the watch stays on.
"""

import functools
import operator
from collections.abc import Callable
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .._core.numpy_facts import PLAIN, name_of
from .._core.tensor import Tensor
from .._cpython.code import file_of_code
from .._cpython.frames import current_frame
from .._cpython.functions import BETWEEN, hook, read_code, set_hook
from .._cpython.homes import HOME, home_of
from .._mutation.array import Array
from .objects import DISPATCHER, reached_from
from .questions import LIBRARIES

ndarray = np.ndarray
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


LOUD = frozenset("__class__ __str__ __repr__ __format__ __hash__ __getattr__ _writes".split())
"""Methods that answer questions, and other attributes."""

OPERANDS: dict[str, Callable] = {
    "__array_ufunc__": lambda x, ufunc, method, *inputs: (
        (x, *inputs) if is_known(ufunc) else (ufunc,)
    ),
    "__array_function__": lambda x, func, types, args, kwargs: (
        (x, args, [*kwargs.values()]) if is_known(func) else (func,)
    ),
}
"""The operands of methods that have other arguments, too. A function is one that has code."""

OPERANDS_ALONE = PLAIN - {np.object_}


def is_quiet(x: Any) -> bool:
    """Return whether an operand has no code of the user's."""
    kind = type(x)
    if kind in OPERANDS_ALONE:
        return True
    if kind is tuple or kind is list:
        return all(map(is_quiet, x))
    return kind is Array or (issubclass(kind, Tensor) and kind.level.quiet is not None)


class Quiet:
    """Computing of the levels inside a trace without its watch; `level` is that of the trace."""

    def __init__(self, level: Any):
        self.level = level
        self.operate = self.method(lambda call, *args: call(*args), lambda call, *args: args)

    def methods(self, methods: dict[str, Any]) -> dict[str, Any]:
        """Return the methods of a class of tensors as those that run without the watch."""
        return {
            name: method if name in LOUD or isinstance(method, property)
            else self.method(method, OPERANDS.get(name))
            for name, method in methods.items()
        }  # fmt: skip

    def method(self, method: Callable, operands: Callable | None = None) -> Callable:
        level = self.level

        def run(*args: Any, **kwargs: Any) -> Any:
            note = level.note
            if note is None or hook() is not note:
                return method(*args, **kwargs)
            try:
                set_hook(None)
                level.here = current_frame(1)
                for x in args if operands is None else operands(*args):
                    if type(x) not in OPERANDS_ALONE and not is_quiet(x):
                        break
                else:
                    if not kwargs or all(map(is_quiet, kwargs.values())):
                        return method(*args, **kwargs)
            finally:
                level.here = ANYWHERE
                set_hook(note)
            return method(*args, **kwargs)

        BETWEEN.add(id(read_code(run)))
        return run

    def begin(self, roots: list) -> Any:
        """Switch the watch off for a backward pass, and return it; None where it stays as it is."""
        level = self.level
        note = level.note
        if note is None or hook() is not note:
            return None
        known = False
        try:
            set_hook(None)
            level.here = current_frame(1)
            known = all(map(is_of_rooms, rules_on(roots)))
        finally:
            if not known:
                self.end(note)
        return note if known else None

    def end(self, note: Any) -> None:
        self.level.here = ANYWHERE
        set_hook(note)


def rules_on(roots: list) -> set[Any]:
    """Return the rules on the tape of some nodes, each with its cotangent: see `_levels.tape`."""
    found: set[Any] = set()
    seen: set[int] = set()
    waiting = [node for node, _ in roots]
    while waiting:
        number, *rest = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        while rest[0] is not None:
            parent, rule, _, _, more = rest
            found.add(rule if type(rule) in HASHED else type(rule))
            waiting.append(parent)
            if more is None:
                break
            rest = more
    return found


HASHED = frozenset({FunctionType, itemgetter})
