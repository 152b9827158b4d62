"""Copies of NumPy's Python code that take tensors.

NOTE [the code stays NumPy's]
    Much of NumPy is Python code over functions that dispatch. It is right for tensors as soon as
    its names mean what takes them: conversions that let tensors through, or, for code that does
    not dispatch, the twins of `functier.numpy`. So a copy of a function has NumPy's code object,
    and other globals.
"""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .._cpython.code import code_of
from .._cpython.functions import TwinOf, copy_function, note_own


class Namespace:
    """A module of NumPy, whose names mean their twins."""

    def __init__(self, module: ModuleType, twin_of: TwinOf):
        self._module, self._twin_of = module, twin_of

    def __getattr__(self, name: str) -> Any:
        value = self._twin_of(getattr(self._module, name), name)
        setattr(self, name, value)
        return value


def note_code(function: Any) -> None:
    """Note that the code of a function, if it has code, is that of a library."""
    code = code_of(function)
    if code is not None:
        note_own(code)


def twins_by(replaced: dict[Callable, Callable]) -> TwinOf:
    """Return what gives the twins where some functions of NumPy are `replaced`."""

    def twin_of(value: Any, name: str) -> Any:
        home = getattr(value, "__module__", None) or ""
        if isinstance(value, ModuleType):
            return Namespace(value, twin_of) if value.__name__.startswith("numpy") else value
        if isinstance(value, FunctionType) and home.startswith("numpy"):
            return copy_function(value, twin_of)
        return replaced.get(value, value) if callable(value) else value

    return twin_of
