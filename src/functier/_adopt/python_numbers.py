"""Tensors as Python's numbers or NumPy's: what NumPy has for them.

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

from .._core.adopted import ADOPTED
from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._levels.lineage import levels_of
from .._mutation.array import is_array
from .values import as_scalar, plain_values

float64 = np.float64


def in_level(x: Any) -> bool:
    """Return whether `x` is a tensor of a transform."""
    return isinstance(x, Tensor) and x.level.depth > 0


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


def as_float(x: Any, name: str = "float") -> Any:
    """Return a tensor of a level as a float64 scalar, which keeps derivative and batch."""
    known = known_float(x, recorded=True)
    if known is None or is_array(x):
        x = as_scalar(x, name).astype(float)[()]
    elif type(known) is float:
        x = np.positive(x)
    return x


_NOTED: dict[int, tuple[ref, bool]] = {}
"""Numbers by their `id`: a reference, and if they are Python's."""


def note_python() -> None:
    """Note that the level has numbers of Python's: see NOTE [Python's number or NumPy's]."""
    level: Any = AMBIENT.get().level
    if level.depth:
        level.has_python = level.made  # which a later use of the level does not have


def noted(x: Any, python: bool) -> Any:
    """Return a number as one of Python's, or as one of NumPy's."""
    if not in_level(x):
        return x
    if python:
        note_python()
        x = with_python(x)
    if not x.level.batches or isinstance(x.parts()[0], Tensor):
        return x
    y: Any = type(x).join(*x.parts())
    key = id(y)
    _NOTED[key] = ref(y, lambda _: _NOTED.pop(key, None)), python
    return y


def as_whole(x: Any) -> Any:
    """Return integers that differ from example to example as Python's, which never wrap."""
    for level in levels_of(AMBIENT.get()):
        if level.batches:
            level.whole.lay(level)
    return noted(x.astype(np.int64), True)


def with_python(x: Any) -> Any:
    """Return a number over one of Python's, whose operators follow Python's rules.

    In a batch, and in a program that is recorded, it stays what it is.
    """
    if not isinstance(x, Tensor):
        return x.item() if type(x) in (float64, np.complex128) else x
    if not x.level.depth or x.level.batches or x.level.records or x.level.guards or x.level.off:
        return x
    value, *extra = x.parts()
    inner = with_python(value)
    return x if inner is value else type(x).join(inner, *extra)


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
    """Return what NumPy has for a tensor: a number or an array of its dtype and shape."""
    kind = class_of(x)
    return np.empty(x.shape, x.dtype) if kind is np.ndarray else kind()


def class_of(x: Any) -> type:
    """Return the class of what NumPy has for a tensor; raise where the tensor is dead."""
    if not x.level.live:
        x.level.dtype(x)
    return x.level.class_of(x)


def _class_of_noted(x: Any, number: type) -> type:
    """Return Python's class of a number where it is known to be Python's, and else NumPy's."""
    return type(number().item()) if id(x) in _NOTED and is_python(x) else number


ADOPTED.methods["__class__"] = _class_of_noted
