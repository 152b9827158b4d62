"""Copies of NumPy's classes that run on the twins: `numpy.poly1d`, those of `numpy.polynomial`.

A copy inherits from NumPy's class and has copies of its methods; see NOTE [the code stays NumPy's]
in `_core.own_code`.
"""

import abc
from types import FunctionType
from typing import Any

from .._cpython.functions import TwinOf, copy_function


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
