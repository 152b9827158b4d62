"""The origin of a tensor: from outside of an inner level, or made in it.

NOTE [who can see a write]
    A result of an outer level's tensors is a tensor of the outer level, also where an inner level
    has computed it. It has no mark of where that was. So the first write to it inside asks
    who holds it: a value of the inner level may be written to it where no frame outside of that
    level has it, nor a container that such a frame has. One that is held elsewhere (in a
    container of containers) holds a value of an ended level later, and refuses to be read.
"""

from typing import Any

from .._core.ambient import AMBIENT
from .._core.tensor import Tensor
from .._cpython.frames import Frame, current_frame, may_have, running
from .lineage import levels_of


def home_of(tensors: list[Any], holders: list[Any]) -> type[Tensor]:
    """Return the class of the innermost level that some views of one array were made in.

    They are of a level around the ambient one, and `holders` refer to them. See NOTE [who can see
    a write].
    """
    own: Any = type(tensors[0])
    wanted = {id(x) for x in (*tensors, *holders)}
    home = own
    frame: Frame | None = current_frame(1)
    for level in levels_of(AMBIENT.get()):
        if level is own.level:
            break
        frame = running(level.made[0], frame)
        if frame is None:
            break
        if not may_have(frame, wanted):
            home = level.cls
            break
    return home
