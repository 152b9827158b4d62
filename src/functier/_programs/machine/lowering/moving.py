"""Whole numbers and places that grow with the steps of loops.

NOTE [levels]
    A loop has a level: the number of loops around it. What grows has a step for each level, the
    outermost first. In the routine of a loop there are counters of all levels up to its own.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import changed, instances_in
from ...loops import Count, parts_of_count

LARGEST = 1 << 53
"""Whole numbers below this one are exact as floats."""


class Growing:
    """An integer in a body: its first value, and how it grows with the counters of loops.

    `counts` are the numbers of steps of these.
    """

    __slots__ = ("counts", "first", "steps")

    def __init__(self, count: Count, counts: tuple[int, ...]):
        self.first, steps = parts_of_count(count)
        self.steps = (0,) * (len(counts) - len(steps)) + steps[::-1]
        self.counts = counts

    @property
    def ends(self) -> tuple[int, int]:
        """Return the least and the largest value."""
        far = [step * (n - 1) for step, n in zip(self.steps, self.counts)]
        return (
            self.first + sum([x for x in far if x < 0]),
            self.first + sum([x for x in far if x > 0]),
        )

    def at(self, counters: Sequence[int]) -> int:
        return self.first + sum([step * i for step, i in zip(self.steps, counters)])

    def __eq__(self, other: object) -> bool:
        return type(other) is Growing and (self.first, self.steps) == (other.first, other.steps)

    def __hash__(self) -> int:
        return hash((self.first, self.steps))

    def __repr__(self) -> str:
        return f"{self.first} + {self.steps} * i"


class Moving(int):
    """An offset in bytes that grows by `by` with the counters of loops; its value is the first."""

    by: tuple[int, ...]

    def __new__(cls, start: int, by: tuple[int, ...]) -> "Moving":
        found = super().__new__(cls, start)
        found.by = by
        return found

    def __add__(self, other: int) -> "Moving":
        by = self.by
        if type(other) is Moving:
            by = tuple([a + b for a, b in zip(by, other.by)])
        return Moving(int(self) + int(other), by)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return type(other) is Moving and int(self) == int(other) and self.by == other.by

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.by))

    def __bool__(self) -> bool:
        return True


def moving(start: int, by: tuple[int, ...]) -> int:
    """Return an offset, which may grow."""
    return start + Moving(0, by) if any(by) else start


def growing_in(value: Any) -> list[Growing]:
    """Return the numbers in an argument that grow."""
    return instances_in(value, Growing)


def line_of(index: Any, far: Callable[[Any], Any]) -> tuple[Any, tuple[int, ...]] | None:
    """Return what ``far`` finds at the first index, and the steps of its offset; None if it does
    not move along a line. `far` returns an offset, and what has to be the same in all steps.
    """
    grows = growing_in(index)
    if any([low < 0 <= high for low, high in [x.ends for x in grows]]):
        return None  # NumPy counts from the end at some steps
    counts = grows[0].counts

    def found(counters: Sequence[int]) -> Any:
        return far(changed(index, Growing, lambda x: x.at(counters)))

    nothing = [0] * len(counts)
    start, same = found(nothing)
    by = []
    for level, n in enumerate(counts):
        offset = start
        if n > 1:
            offset, other = found([int(k == level) for k in range(len(counts))])
            if other != same:
                return None
        by.append(offset - start)
    last = [n - 1 for n in counts]
    if found(last) != (start + sum([x * n for x, n in zip(by, last)]), same):
        return None
    return (start, same), tuple(by)
