"""The numbers of a loop's body that grow with its steps, for faults that are planted there."""

from collections.abc import Callable
from typing import Any

from functier._programs.loops import Count


def counted(value: Any, change: Callable[[Count], Count]) -> Any:
    """Return an argument with other numbers that grow."""
    kind: Any = type(value)
    if kind is Count:
        return change(value)
    if kind is tuple or kind is list:
        return kind([counted(part, change) for part in value])
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return slice(*[counted(part, change) for part in parts])
    return value
