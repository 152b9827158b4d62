"""Copies of NumPy's Python code that run on the twins.

NOTE [the code stays NumPy's]
    Some of NumPy is Python code that does not dispatch: `numpy.r_`, `numpy.mgrid`, `numpy.poly1d`,
    the functions and classes of `numpy.polynomial`. Its code is right for tensors as soon as its
    names mean the twins. So a copy of a function has NumPy's code object, and other globals; a
    copy of a class inherits from NumPy's and has copies of its methods.
"""

import abc
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .._cpython.functions import copy_of_function

TwinOf = Callable[[Any, str], Any]
GLOBALS: dict[int, dict[str, Any]] = {}
"""The globals of copies, by the number of the module's own."""
COPIES: dict[int, FunctionType] = {}
"""Copies of functions, by the number of the original."""


def copy_function(func: FunctionType, twin_of: TwinOf) -> FunctionType:
    """Return a function with the code of `func`, whose globals are twins."""
    made = COPIES.get(id(func))
    if made is None:
        names = copy_globals(func.__globals__, twin_of)
        COPIES[id(func)] = made = copy_of_function(func, names, func.__closure__)
    return made


def copy_globals(names: dict[str, Any], twin_of: TwinOf) -> dict[str, Any]:
    """Return the globals of a module of NumPy, with twins of what has one."""
    made = GLOBALS.get(id(names))
    if made is None:
        made = GLOBALS[id(names)] = dict(names)
        for name, value in names.items():
            if name[:2] != "__" and (isinstance(value, ModuleType) or callable(value)):
                made[name] = twin_of(value, name)
    return made


class TwinMeta(type):
    """The class of the twins of NumPy's classes: an instance of NumPy's class is one of the twin.

    A twin has NumPy's class in `original`. Its subclasses are asked for, as an abstract class
    would ask the twin again.
    """

    def __instancecheck__(cls, x: Any) -> bool:
        original = vars(cls).get("original")
        return super().__instancecheck__(x) if original is None else original in type(x).__mro__

    def __subclasscheck__(cls, other: type) -> bool:
        original = vars(cls).get("original")
        return super().__subclasscheck__(other) if original is None else original in other.__mro__


class AbstractTwinMeta(TwinMeta, abc.ABCMeta):
    """The same for an abstract class."""


def copy_class(original: type, path: str, twin_of: TwinOf, **more: Any) -> Any:
    """Return a class that inherits from a class of NumPy, with copies of all its methods."""
    members: dict[str, Any] = {}
    for base in reversed(original.__mro__[:-1]):
        for name, member in vars(base).items():
            copy = copy_member(member, twin_of)
            if copy is not None:
                members[name] = copy
            else:  # which the class has, by inheritance, as it is
                members.pop(name, None)
    meta = AbstractTwinMeta if isinstance(original, abc.ABCMeta) else TwinMeta
    members |= {"__doc__": original.__doc__, "__module__": "functier.numpy", "__qualname__": path}
    return meta(original.__name__, (original,), {**members, "original": original, **more})


def copy_member(member: Any, twin_of: TwinOf) -> Any:
    """Return a copy of a method, static method or property; None for anything else."""
    if isinstance(member, FunctionType):
        return copy_function(member, twin_of)
    if isinstance(member, staticmethod):
        return staticmethod(twin_of(member.__func__, member.__func__.__name__))
    if isinstance(member, classmethod) and isinstance(member.__func__, FunctionType):
        return classmethod(copy_function(member.__func__, twin_of))
    if isinstance(member, property):
        parts: list[Any] = [member.fget, member.fset, member.fdel]
        parts = [copy_function(f, twin_of) if isinstance(f, FunctionType) else f for f in parts]
        return property(parts[0], parts[1], parts[2], member.__doc__)
    return None
