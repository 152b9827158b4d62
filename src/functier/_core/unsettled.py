"""Questions about values that levels above may not know, or may know of this run alone."""

from cmath import isfinite, nan
from typing import Any

import numpy as np

from .numpy_facts import FLOAT, PLAIN, is_lazy
from .tensor import Tensor

float64 = np.float64
ndarray = np.ndarray


vdot = getattr(np.vdot, "__wrapped__", np.vdot)  # without a search for other classes


def known_values(x: Any) -> Any:
    """Return the plain values of all examples; None where a level knows their form alone, or
    they are computed later.
    """
    while isinstance(x, Tensor):
        if x.level.records:
            return None
        x = x._value
    return None if is_lazy(x) else x


def is_trusted(x: Any) -> bool:
    """Tell whether values are finite; a program trusts that they stay so, and a level may not know.

    Those that are computed later are not known to be.

    A level that guards answers notes that this was asked of values that may change.
    """
    if type(x) is ndarray:
        return is_finite(x)
    value, guards = x, None
    while type(value) not in PLAIN and isinstance(value, Tensor):
        level = value.level
        if level.records:
            return level.is_tame(value)
        if level.guards:
            guards = (*(guards or ()), level)
        value = value._value
    finite = is_finite(value)
    if finite and guards is not None:
        for level in guards:
            level.trusts = True
    return finite


def is_finite(x: Any) -> bool:
    """Return whether plain values are finite, without warnings.

    A sum is the fastest answer for a short array, and one of squares for a longer one. BLAS wakes
    its threads for a long one, which may take longer than to look at each element.
    """
    kind = type(x)
    if kind is ndarray:
        if x.dtype is FLOAT or x.dtype.char in "fFD":
            size = x.size
            if size < 10:
                found = sum(x.tolist() if x.ndim == 1 else x.ravel().tolist())
            else:
                found = vdot(x, x) if size < 10_000 else nan
            if isfinite(found):
                return True
    elif kind is float64 or kind is float:
        return isfinite(x)
    elif not isinstance(x, np.generic):  # an array of another library
        return not is_lazy(x)
    return bool(np.isfinite(x).all())


def are_settled(x: Any) -> bool:
    """Return whether all of the values are true, whatever the data of a program are."""
    level: Any = x
    while isinstance(level, Tensor):
        if level.level.guards:
            return False
        level = level._value
    known = known_values(x)
    return known is not None and bool(np.all(known))
