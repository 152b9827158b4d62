"""The results of the steps of a loop as arrays, of which some steps have made one together; and
pieces of cotangents, of which each step makes one.
"""

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._core.numpy_facts import Shape, Value
from .._core.tensor import Tensor


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


def moved(x: Value, source: int, destination: int) -> Value:
    """Return an array with the axis of the steps at another place, if it is one."""
    return x if source == destination else np.moveaxis(x, source, destination)


class Piece(NamedTuple):
    """A piece of the cotangent of what a step closes over: one at the number of each step."""

    place: int
    rule: Callable
    shape: Shape
    growth: tuple[int, int]
    others: tuple

    def total(self, values: Value, numbers: range) -> Value:
        """Return the sum of the pieces of some steps."""
        factor, summand = self.growth
        at = np.array([factor * number + summand for number in numbers])
        return self.rule(values, self.shape, (at, *self.others))


def holds_tensors(index: Iterable) -> bool:
    """Return whether there is a tensor among the parts of an index."""
    parts = [(x.start, x.stop, x.step) if type(x) is slice else (x,) for x in index]
    return any([isinstance(x, Tensor) for part in parts for x in part])
