"""Frames and tracebacks: who calls, where in the code, with which variables."""

import gc
import sys
from collections.abc import Callable
from operator import attrgetter
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

from . import facts

Frame = FrameType


def _no_frame(depth: int = 0) -> None:
    """Return None, as `current_frame` does in an interpreter that shows no frames."""


current_frame: Any = sys._getframe if facts.callers.holds else _no_frame
"""``current_frame(n)`` is the frame of the n-th caller of the code that asks, or None."""

globals_of: Callable[[Any], dict[str, Any]] = attrgetter("f_globals")
"""The globals of the code that a frame runs."""

code_in: Callable[[Any], CodeType] = attrgetter("f_code")
"""The code that a frame runs."""

caller_of: Callable[[Any], FrameType | None] = attrgetter("f_back")
"""The frame that has called the code of a frame."""


def names_seen_by(frame: FrameType) -> dict[Any, Any]:
    """Return what the names in the code of a frame stand for."""
    return {**frame.f_builtins, **frame.f_globals, **frame.f_locals}


def method_in(frame: FrameType) -> tuple[Any, Any]:
    """Return the class that ``super()`` means in a frame, and the first argument of its method."""
    return frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]]


def running_code() -> set[int]:
    """Return the numbers of the code objects that frames and suspended generators run."""
    found = set()
    for frame in list(sys._current_frames().values()):
        at: FrameType | None = frame
        while at is not None:
            found.add(id(at.f_code))
            at = at.f_back
    for x in gc.get_objects():
        name = SUSPENDED.get(type(x))
        if name is not None:
            found.add(id(getattr(x, name)))
    return found


SUSPENDED: dict[type, str] = {
    GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code",
}  # fmt: skip
