"""Places in the source: the line and the columns of an instruction, and of what runs now.

A place is a code object and the number of one of its bytes.
"""

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from . import facts
from .frames import Frame


class Position(NamedTuple):
    """A part of a file: lines from 1, columns in bytes."""

    line: int
    column: int
    last: int
    end: int


@lru_cache(4096)
def position_at(code: CodeType, instruction: int) -> Position | None:
    """Return the part of the file that an instruction is made of."""
    for i, found in enumerate(code.co_positions() if facts.positions.holds else ()):
        if i == instruction // 2:
            line, last, column, end = found
            if line is None or last is None or column is None or end is None:
                return None
            return Position(line, column, last, end)
    return None


def finder_of_places(is_internal: Callable[[str], bool], ours: str, stop: str) -> Callable:
    """Return a function that returns the place of the user's line that led to a frame, or None.

    That of the user's line that called its function follows, if there is one. The module `stop` is
    where the search ends; the names of `ours` begin with that text.
    """

    def place_of(frame: Frame | None) -> tuple | None:
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module == stop:
                return None
            if not is_internal(module):
                outer = frame.f_back
                if outer is None or outer.f_globals.get("__name__", "").startswith(ours):
                    return frame.f_code, frame.f_lasti
                return frame.f_code, frame.f_lasti, outer.f_code, outer.f_lasti
            frame = frame.f_back
        return None

    return place_of
