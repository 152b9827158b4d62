"""The attribute ``__class__`` of tensors: adopted code, and `functools`, read NumPy's class.

That is so while code is adopted that asks for it, as each `isinstance` that does not hold for a
tensor then takes 0.3 us more.
"""

import functools
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from .._core.adopted import ADOPTED
from .._core.tensor import Tensor
from .._cpython.call_sites import asks_for
from .._cpython.code import Code, loads_in
from .._cpython.frames import current_frame, globals_at
from .._mutation.array import Array
from .calls import type_

NAME = "__class__"
ClassAttribute: Any = type(vars(Tensor)[NAME])
DISPATCHERS = id(vars(functools))
"""The namespace of `functools.singledispatch`, which asks for the class of an argument."""


def _read(attribute: Any, x: Any, owner: Any = None, names: dict | None = None) -> Any:
    if x is None:
        return attribute
    namespace = id(globals_at(current_frame(1)) if names is None else names)
    if namespace not in ADOPTED and namespace != DISPATCHERS:
        return type(x)
    return type_(x) if x.level.depth or type(x) is Array else type(x)


def asks_for_class(codes: Iterable[Code], values: Iterable[Any]) -> bool:
    """Tell if code reads ``x.__class__``, or if a value is a function that dispatches on it."""
    if any([asks_for(inner, NAME) for code in codes for inner in loads_in(code)]):
        return True
    return any([_dispatches(value) for value in values])


def _dispatches(value: Any) -> bool:
    """Return whether a value is what `functools.singledispatch` makes."""
    kind = type(value)  # isinstance would ask what a weak proxy refers to
    if issubclass(kind, type):
        return any([type(v) is functools.singledispatchmethod for v in vars(value).values()])
    if value is functools.singledispatch:
        return True
    return kind is FunctionType and value.__globals__ is vars(functools)


def install() -> None:
    """Have tensors answer as NumPy's objects would."""
    ClassAttribute.__get__ = _read


def remove() -> None:
    """Have them answer as other objects."""
    if "__get__" in vars(ClassAttribute):
        del ClassAttribute.__get__
