"""Make a failing program smaller, as long as it fails."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Program = TypeVar("Program")


def shrunk(
    program: Program,
    smaller: Callable[[Program], Iterable[Program]],
    fails: Callable[[Program], bool],
    most: int,
) -> Program:
    """Return the smallest program on the way down that still fails, after up to `most` tries."""
    tries, found = 0, True
    while found and tries < most:
        found = False
        for candidate in smaller(program):
            tries += 1
            try:
                failing = fails(candidate)
            except Exception:
                failing = False
            if failing:
                program, found = candidate, True
                break
            if tries >= most:
                break
    return program
