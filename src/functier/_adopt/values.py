"""The plain values of tensors, and their snapshots."""

from typing import Any

import numpy as np

from .._control.masks import bare, narrow
from .._core.root import classes_in
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._mutation.array import Array
from .._mutation.array import settle as snapshot_of
from ..numpy._subclasses import Instance

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


def settled(args: Any) -> list[Any]:
    """Return arguments with the snapshots of arrays that were made inside a level."""
    return [settle(x) if type(x) is Array or isinstance(x, Instance) else x for x in args]
