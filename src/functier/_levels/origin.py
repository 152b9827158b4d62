"""The origin of a tensor: from outside of an inner level, or made in it.

NOTE [who can see a write]
    A result of an outer level's tensors is a tensor of the outer level, also where an inner level
    has computed it. It has no mark of where that was. So the first write to it inside asks
    who holds it: a value of the inner level may be written to it where no frame outside of that
    level has it, nor a container that such a frame has. One that is held elsewhere (in a
    container of containers) holds a value of an ended level later, and refuses to be read.
"""

import sys
from types import FrameType
from typing import Any

from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .lineage import levels_of

CO_OPTIMIZED = 1


def home_of(tensors: list[Any], holders: list[Any]) -> type[Tensor]:
    """Return the class of the innermost level that some views of one array were made in.

    They are of a level around the ambient one, and `holders` refer to them. See NOTE [who can see
    a write].
    """
    own: Any = type(tensors[0])
    wanted = {id(x) for x in (*tensors, *holders)}
    home = own
    frame: FrameType | None = sys._getframe(1)
    for level in levels_of(AMBIENT.get()):
        if level is own.level:
            break
        frame = _frame_outside(level, frame)
        if frame is None:
            break
        if not _holds(frame, wanted):
            home = level.cls
            break
    return home


def _frame_outside(level: Any, frame: FrameType | None) -> FrameType | None:
    """Return the frame that made a level, a function or a ``with`` block around `frame`."""
    code, _ = level.made
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _holds(frame: FrameType | None, wanted: set[int]) -> bool:
    """Tell if a frame, or one further out, has one of the objects with these ids."""
    while frame is not None:
        names = frame.f_locals
        found = id(frame.f_globals) in wanted or any(id(x) in wanted for x in names.values())
        if frame.f_code.co_flags & CO_OPTIMIZED and type(names) is dict:
            names.clear()  # a copy, which would keep the values alive
        if found:
            return True
        frame = frame.f_back
    return False
