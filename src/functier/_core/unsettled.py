"""Cotangents that are infinite: a rule reports them, and the backward pass looks at them again."""

from threading import get_ident
from typing import Any

from .tensor import Tensor

UNSETTLED: set[int] = set()
"""The threads in which a rule has met one since the last look."""


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


def report() -> None:
    """Report an infinite cotangent of this thread."""
    UNSETTLED.add(get_ident())


def is_reported() -> bool:
    """Tell if one has been reported in this thread, and forget it."""
    thread = get_ident()
    if thread not in UNSETTLED:
        return False
    UNSETTLED.discard(thread)
    return True
