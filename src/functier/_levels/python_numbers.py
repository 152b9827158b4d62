"""Tensors as Python's numbers or NumPy's: what NumPy has for them.

NOTE [Python's number or NumPy's]
    ``float(x)`` is a number of Python's, and ``x`` one of NumPy's. A tensor stands for both, but a
    text such as ``np.float64(0.5)`` is that of one of them. So a number that is made by ``float``
    and its like is noted. What is computed with it may be either: from then on a level gives no
    such text of a number that is not noted.
"""

from typing import Any
from weakref import ref

import numpy as np

from .._core.tensor import Tensor
from .._mutation.array import Array, is_array
from .lineage import AMBIENT, levels_of
from .operands import NUMBERS_OF_PYTHON

ndarray, float64 = np.ndarray, np.float64


def in_level(x: Any) -> bool:
    """Return whether `x` is a tensor of a transform."""
    return isinstance(x, Tensor) and x.level.depth > 0


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
    """Return what NumPy has for a tensor: a number or an array of its dtype and shape."""
    kind = class_of(x.level, x)
    return np.empty(x.shape, x.dtype) if kind is ndarray else kind()


def class_of(level: Any, x: Any) -> type:
    """Return the class of what NumPy has for a tensor of a level: of one example, in a loop."""
    if type(x) is Array or (level.batches and x._value.ndim > level.k):
        return ndarray
    if not level.live:
        level.dtype(x)  # raises where the tensor is dead
    notes = level.notes
    if not level.batches and not level.records:
        value = x._value
        kind = type(value)
        if kind in NUMBERS_OF_PYTHON:
            return kind
        if kind is ndarray or (kind is float64 and notes is None):
            return kind
        if isinstance(value, Tensor) and value.level.depth and not notes:
            return value.level.class_of(value)
    if (not level.batches and x.ndim) or (notes is not None and is_array(x)):
        return ndarray
    number = x.dtype.type
    return type(number().item()) if id(x) in _NOTED and is_python(x) else number
