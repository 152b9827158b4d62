"""Products that are not finite: rules report them, and the backward pass looks at them again.

Rules ask here about values, as they do not know what a level knows of them.
"""

import math
from threading import get_ident
from typing import Any

import numpy as np

from .tensor import Tensor

UNSETTLED: set[int] = set()
"""The threads in which a rule has met an infinite cotangent since the last look."""


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
    """Tell if values are finite, or not known; a program trusts that they stay finite."""
    known = known_values(x)
    if known is None:
        return True
    finite = is_finite(known)
    if finite and known is not x:
        known_values(x, noted=True)
    return finite


def is_finite(x: Any) -> bool:
    """Tell if plain values are finite; a sum of squares is the fastest answer."""
    kind = type(x)
    if kind is np.float64 or kind is float:
        return math.isfinite(x)
    if kind is np.ndarray:
        total = np.vdot(x, x)
        if total - total == 0:
            return True
    return bool(np.isfinite(x).all())


def report_infinite(x: Any) -> None:
    """Report a product of this thread if it is infinite somewhere."""
    if np.isinf(known_values(x)).any():
        UNSETTLED.add(get_ident())


def is_reported() -> bool:
    """Tell if one has been reported in this thread, and forget it."""
    thread = get_ident()
    if thread not in UNSETTLED:
        return False
    UNSETTLED.discard(thread)
    return True
