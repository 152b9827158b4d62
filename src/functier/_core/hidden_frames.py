"""Whether tracebacks show functier's frames, and errors that are raised outside of transforms.

Imports nothing of the package but `_cpython`. See NOTE [frames that are hidden] in `tracebacks`.
"""

import os
from contextvars import ContextVar

from .._cpython.frames import hide_frames

VARIABLE = "FUNCTIER_TRACEBACKS"
SHOWN: ContextVar[bool | None] = ContextVar("shown", default=None)
"""True and False show and hide functier's frames; None leaves it to the environment variable."""


def shows_frames() -> bool:
    """Return whether functier's frames are to be seen in tracebacks."""
    shown = SHOWN.get()
    return os.environ.get(VARIABLE, "") == "full" if shown is None else shown


def hide_own(error: BaseException) -> None:
    """Hide functier's frames in an error that leaves functier where no transform is around it.

    It is that of a tensor whose level has ended, or of an unknown name.
    """
    if not shows_frames():
        hide_frames(error)
