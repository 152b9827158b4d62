"""Frames and tracebacks: who calls, where in the code, with which variables."""

import sys
from types import FrameType
from typing import Any

from . import facts

Frame = FrameType


def _no_frame(depth: int = 0) -> None:
    """Return None, as `current_frame` does in an interpreter that shows no frames."""


current_frame: Any = sys._getframe if facts.callers.holds else _no_frame
"""``current_frame(n)`` is the frame of the n-th caller of the code that asks, or None."""
