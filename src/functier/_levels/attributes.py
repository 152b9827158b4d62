"""Attributes of a user's class, which a tensor of a level forwards to the value inside."""

from types import FunctionType
from typing import Any

import numpy as np

from .._core.border import operand
from .._core.errors import ConversionError, LevelError
from .._core.numpy_facts import is_lazy
from .._core.table import later
from .._core.tensor import Tensor
from .._core.types import Value


def attribute_inside(level: Any, x: Tensor, name: str) -> Any:
    """Look up an attribute in the user's class inside `x`; methods get `x` as `self`."""
    value: Any = x
    while isinstance(value, Tensor) and value.level.depth:
        value = value._value
    if is_lazy(value):
        return later("_dask").attribute(x, name)
    if isinstance(value, Tensor):
        for cls in type(value).__mro__:
            member = vars(cls).get(name)
            if isinstance(member, (FunctionType, property)):
                return member.__get__(x, type(x))
        found = getattr(value, name)
        if not isinstance(found, (np.ndarray, Tensor)):
            return found
        raise level.refusal(
            LevelError,
            f"x.{name} is an array that a {type(value).__name__} has beside its value, and the "
            f"transform does not track it; pass it to the function as an argument",
        )
    if is_quantity(value) and hasattr(value, name):  # hasattr(x, "magnitude") must not say no
        raise level.refusal(
            ConversionError,
            f"x.{name} is an attribute of a {type(value).__name__}, which is inside the tensor x, "
            f"and a tensor has no units; write q * x for x * q, so that the quantity q has the "
            f"tensor inside, or compute with q.magnitude",
        )
    raise AttributeError(f"a tensor of {level} has no attribute {name!r}")


def has_methods(x: Any) -> bool:
    """Tell if `x` is of a user's class, which may have more methods and attributes."""
    if isinstance(x, Tensor):
        return type(x) is not Tensor and not x.level.depth
    return is_quantity(x)


def is_quantity(x: Any) -> bool:
    """Tell if `x` is a number, or an array, with a unit."""
    return hasattr(type(x), "magnitude") and hasattr(type(x), "units")


def foreign(level: Any, x: Value) -> Value:
    """Return an operand of another library, checked; a Dask array as it is inside a level."""
    level.forward_attributes(x)
    x = operand(level, x)
    return later("_dask").taken_in(level, x) if is_lazy(x) else x


def forward_attributes(level: Any, x: Any = None) -> None:
    """Give tensors of a level the methods and attributes of the class inside.

    Only for a user's class, as `__getattr__` costs each attribute 10 ns. With `x`, only if that is
    a quantity or a Dask array.
    """
    if x is not None and not is_quantity(x) and not is_lazy(x):
        return
    level.forwards = True
    if "_writes" not in vars(level.cls):  # an armed class has its own
        type.__setattr__(level.cls, "__getattr__", forward_attribute)


def forward_attribute(x: Tensor, name: str) -> Any:
    """Look up an attribute for `__getattr__` of a level; see `Level.attribute`."""
    if name.startswith("__") or name in Tensor.__slots__:
        raise AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}")
    return x.level.attribute(x, name)
