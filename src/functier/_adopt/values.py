"""Tensors as Python's numbers: their plain values, and their conversions."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from .._control.masks import bare, narrow
from .._core.root import classes_in
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._levels.python_numbers import noted
from .._mutation.array import Array, is_array
from .._mutation.array import settle as snapshot_of
from ..numpy._subclasses import Instance

float64 = np.float64
TENSORS = Tensor, Instance
"""The classes of tensors, and of instances of a subclass of NumPy's array over one."""


def settle(x: Any) -> Any:
    """Return a value with the snapshot of an array in it, of an instance that of its tensor."""
    return snapshot_of(x.functier_tensor if type(x) in OVER_TENSORS else x)


def noting_level(values: Any) -> Any:
    """Return the level that notes calls, if all tensors among `values` are of it, else None.

    A program then makes the call of Python's function as it is.
    """
    found: Any = classes_in(*values)
    if len(found) != 1 or not found[0].level.depth or not found[0].level.kind.guards:
        return None
    return found[0].level


def known_float(
    x: Any, modes: Collection[str] = ("forward", "reverse"), recorded: bool = False
) -> float | None:
    """Return the float that `x` stands for: a float64 number with derivatives of these modes.

    None stands for all others, as for those of a batch. Of a number that is `recorded`, for a
    program, the caller may use the type alone.
    """
    while isinstance(x, Tensor):
        level = type(x).level
        if level.differentiates not in modes and not (recorded and level.guards):
            return None
        if level.records or level.off:
            return None
        x = x._value
    return x if type(x) is float64 or type(x) is float else None


def is_finite(x: Any) -> bool:
    """Tell whether `x` is finite for all examples, which is all that a program then depends on."""
    known = known_float(x)
    if known is not None:
        return math.isfinite(known)
    if known_float(x, recorded=True) is not None:
        return bool(abs(x) < np.inf)  # which machine code can answer in spite of its rounding
    return bool(np.all(plain_values(np.isfinite(x))))


def is_batched(x: Any) -> bool:
    """Return whether a level of vmap is among those of `x`."""
    while isinstance(x, Tensor):
        if x.level.depth and x.level.kind.batches:
            return True
        x, *_ = x.parts()
    return False


def plain_values(x: Any) -> Any:
    """Return the values of all examples of `x`, batch axes first, without derivatives.

    Where a function runs for some examples only, the others have the values of one of these.
    """
    return bare(narrow(x))[0]


def shares(x: Any, values: np.ndarray) -> bool:
    """Return whether all examples of `x`, an integer with these values, have the same one.

    Then it is a plain number, by which NumPy's functions take lengths and axes. A recorded
    program is for other values, too.
    """
    while isinstance(x, Tensor) and x.level.depth:
        if x.level.kind.records or x.level.kind.guards:
            return False
        x = x.level.elem(x)
    return values.size > 0 and bool(np.all(values == values.flat[0]))


def as_scalar(x: Any, name: str) -> Any:
    """Return a tensor as one without axes, for the function of this name.

    Raise where Python would, which takes real numbers without axes.
    """
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: a real number is needed, not {x.dtype}")
    if x.ndim:
        float(np.zeros(x.shape, x.dtype))  # NumPy decides which forms are numbers
        x = x.reshape(())
    return x


def as_float(x: Any, name: str = "float") -> Any:
    """Return a tensor of a level as a float64 scalar, which keeps derivative and batch."""
    known = known_float(x, recorded=True)
    if known is None or is_array(x):
        x = as_scalar(x, name).astype(float)[()]
    elif type(known) is float:
        x = np.positive(x)
    return noted(x, True)


def settled(args: Any) -> list[Any]:
    """Return arguments with the snapshots of arrays that were made inside a level."""
    return [settle(x) if type(x) is Array or isinstance(x, Instance) else x for x in args]
