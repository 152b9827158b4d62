"""The results of the steps of a loop as arrays, of which some steps have made one together."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from .._core.types import Value


class Stack(NamedTuple):
    """An array of what several steps have made."""

    values: Any
    steps: int


class Rows:
    """The results of steps, some of them as arrays of those of several steps."""

    def __init__(self) -> None:
        self.items: list[tuple[list, int]] = []  # with 0 for those of a single step

    def add(self, made: list, rest: list | None, steps: int) -> None:
        """Add the results of a step, or arrays of those of several."""
        self.items.append((made, 0) if rest is None else (rest, steps))

    def column(self, i: int) -> Value | None:
        """Return the array of one result of all steps; None is a zero."""
        some = [(made[i], steps) for made, steps in self.items if made[i] is not None]
        if not some:
            return None
        first, steps = some[0]
        shape, dtype = np.shape(first)[steps > 0 :], getattr(first, "dtype", None)
        column: list[Any] = []
        for made, steps in self.items:
            x = made[i]
            if x is None:
                x = np.zeros((steps, *shape) if steps else shape, dtype)
            column.append(Stack(x, steps) if steps else x)
        return joined(column)


def joined(column: list, reverse: bool = False) -> Value:
    """Return one array of what single steps have made, and of each `Stack` between."""
    parts: list[Any] = []
    for stacked, group in itertools.groupby(column, lambda x: type(x) is Stack):
        found = [*group]
        if stacked:
            parts += [x.values[::-1] if reverse else x.values for x in found]
        else:
            parts.append(np.stack(found[::-1] if reverse else found))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts[::-1] if reverse else parts)
