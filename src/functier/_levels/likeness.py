"""The class that a tensor answers type questions with: that of what NumPy or Python has for it."""

from typing import Any

import numpy as np

from .._core.adopted import ADOPTED
from .._core.tensor import Tensor
from .._mutation.array import is_array
from .operands import NUMBERS_OF_PYTHON

ndarray, float64 = np.ndarray, np.float64
KNOWN = {*NUMBERS_OF_PYTHON, ndarray}
"""The classes of values that tensors have, too, whoever has written to them."""
PLAIN = Tensor, np.generic, *KNOWN


def class_of(level: Any, x: Any) -> type:
    """Return the class of what NumPy has for a tensor of a level: of one example, in a loop."""
    value = x._value
    kind, notes = type(value), level.notes
    if kind is ndarray and level.batches:
        if value.ndim > level.k:
            return ndarray
    else:
        if not (level.batches or level.records):
            if kind in KNOWN:
                return kind
            if notes is None or not is_array(x):
                if kind is float64:
                    return kind
                if isinstance(value, Tensor):
                    found = kind.level.class_of(value)
                    return type(x) if found is kind else found  # a user's class inside
        if not issubclass(kind, PLAIN):
            return type(x)  # such as that of a quantity
        if x.ndim:
            return ndarray
    if notes is not None and is_array(x):
        return ndarray
    number = value.dtype.type if kind is ndarray else x.dtype.type
    return ADOPTED.methods["__class__"](x, number) if ADOPTED else number
