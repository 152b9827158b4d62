"""Tensors as Python's numbers: their form, their plain values, and what NumPy has for them.

NOTE [Python's number or NumPy's]
    ``float(x)`` is a number of Python's, and ``x`` one of NumPy's. A tensor stands for both, but a
    text such as ``np.float64(0.5)`` is that of one of them. So a number that is made by ``float``
    and its like is noted. What is computed with it may be either: from then on a level gives no
    such text of a number that is not noted.
"""

import math
from collections.abc import Collection
from typing import Any
from weakref import ref

import numpy as np

from .._control.masks import bare, narrow
from .._core.ambient import AMBIENT
from .._core.root import classes_in
from .._core.subclasses import OVER_TENSORS
from .._core.tensor import Tensor
from .._levels.lineage import levels_of
from .._mutation.array import Array, is_array
from .._mutation.array import settle as snapshot_of
from ..numpy._subclasses import Instance

float64 = np.float64
TENSORS = Tensor, Instance
"""The classes of tensors, and of instances of a subclass of NumPy's array over one."""


def settle(x: Any) -> Any:
    """Return a value with the snapshot of an array in it, of an instance that of its tensor."""
    return snapshot_of(x.functier_tensor if type(x) in OVER_TENSORS else x)


def in_level(x: Any) -> bool:
    """Return whether `x` is a tensor of a transform."""
    return isinstance(x, Tensor) and x.level.depth > 0


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


_NOTED: dict[int, tuple[ref, bool]] = {}
"""Numbers by their `id`: a reference, and if they are Python's."""


def note_python() -> None:
    """Note that the level has numbers of Python's: see NOTE [Python's number or NumPy's]."""
    level: Any = AMBIENT.get().level
    if level.depth:
        level.has_python = level.made  # which a later use of the level does not have


def noted(x: Any, python: bool) -> Any:
    """Return a number as one of Python's, or as one of NumPy's."""
    if python and in_level(x):
        note_python()
    if not in_level(x) or not x.level.batches or isinstance(x.parts()[0], Tensor):
        return x
    y: Any = type(x).join(*x.parts())
    key = id(y)
    _NOTED[key] = ref(y, lambda _: _NOTED.pop(key, None)), python
    return y


def is_python(x: Any) -> bool | None:
    """Return whether a number is Python's; None where that is not known."""
    found = _NOTED.get(id(x))
    if found is not None and found[0]() is x:
        return found[1]
    if x.dtype.char not in "?lqdD":
        return False
    levels = levels_of(AMBIENT.get())
    known = [vars(level).get("has_python") is not level.made for level in levels]
    return False if all(known) else None


def likeness(x: Any) -> Any:
    """Return what NumPy has for a tensor: a scalar or an array of its dtype and shape."""
    if type(x) is not Array and not x.ndim and not is_array(x):
        number = x.dtype.type()
        return number.item() if is_python(x) else number
    return np.empty(x.shape, x.dtype)


def class_of(x: Any) -> type:
    """Return the class of what NumPy has for a tensor: as it is for one example, in a loop.

    A number of Python's is one where no batch made it NumPy's.
    """
    found = type(likeness(x))
    while isinstance(x, Tensor):
        if type(x) is Array or x.level.kind.batches or x.level.records:
            return found
        x, *_ = x.parts()
    return type(x) if type(x) in (bool, int, float, complex) else found


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
