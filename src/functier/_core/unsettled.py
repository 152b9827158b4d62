"""Questions about values that levels above may not know, or may know of this run alone."""

import cmath
import math
from typing import Any

import numpy as np

from .tensor import Tensor


def known_values(x: Any, noted: bool = False) -> Any:
    """Return the plain values of all examples; None where a level knows their form alone.

    A level that guards answers notes that something was `noted` of values that may change.
    """
    while isinstance(x, Tensor):
        level = x.level
        if level.records:
            return None
        if noted and level.guards:
            level.trusts = True
        x = x._value
    return x


def is_trusted(x: Any) -> bool:
    """Tell if values are finite; a program trusts that they stay so, and a level may not know."""
    known = x if type(x) is np.ndarray else known_values(x)
    if known is None:
        while not x.level.records:
            x = x._value
        return x.level.is_tame(x)
    finite = is_finite(known)
    if finite and known is not x:
        known_values(x, noted=True)
    return finite


def is_finite(x: Any) -> bool:
    """Tell if plain values are finite; a sum of squares is the fastest answer for a short array.

    BLAS wakes its threads for a long one, which may take longer than to look at each element.
    """
    kind = type(x)
    if kind is np.float64 or kind is float:
        return math.isfinite(x)
    if kind is np.ndarray:
        if x.size < 10_000 and x.dtype.char in "dfDF" and cmath.isfinite(np.vdot(x, x)):
            return True
    elif not isinstance(x, np.generic):  # an array of another library
        return True
    return bool(np.isfinite(x).all())


def are_settled(x: Any) -> bool:
    """Tell if all of the values are true, whatever the data of a program are."""
    level: Any = x
    while isinstance(level, Tensor):
        if level.level.guards:
            return False
        level = level._value
    known = known_values(x)
    return known is not None and bool(np.all(known))
