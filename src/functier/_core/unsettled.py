"""Questions about values that levels above may not know, or may know of this run alone."""

from cmath import isfinite, nan
from collections.abc import Sequence
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

    Those that are computed later are not known to be. A level that guards answers notes what was
    asked. Where such values were not finite once, it trusts nothing more, so that the program is
    right for all values.
    """
    if type(x) is ndarray:
        return is_finite(x)
    return are_trusted((x,))


def are_trusted(values: Sequence) -> bool:
    """Tell whether all of some values are trusted; one that is not makes the others unimportant."""
    found = []
    finite = True
    for x in values:
        value = x
        while type(value) not in PLAIN and isinstance(value, Tensor):
            level = value.level
            if level.records:
                if not level.is_tame(value):
                    return False
                break
            if level.guards:
                if level.careful:
                    return False
                found.append(value)
            value = value._value
        else:
            finite = finite and is_finite(value)
    if found:
        found[0].level.trust(found if finite else [], finite)
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
