"""Frames of the call stack: the user's, and those of other libraries.

Errors ask for them, and few other cases that are rare. Imports `adopted`.
"""

import os
import sys
from types import FrameType

import numpy as np

from .adopted import GLOBALS

STANDARD = os.path.dirname(os.__file__) + os.sep


def asking_frames() -> tuple[FrameType | None, list[FrameType]]:
    """Return the user's frame, and those of other libraries that it called, outermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame):
        frame = frame.f_back
    inside: list[FrameType] = []
    while frame is not None and not is_own(frame) and is_of_library(frame):
        inside.insert(0, frame)
        frame = frame.f_back
    return None if frame is None or is_own(frame) else frame, inside


def adopted_frame() -> FrameType | None:
    """Return the innermost frame of an adopted module, if no user's code is inside of it."""
    frame: FrameType | None = sys._getframe(1) if GLOBALS else None
    while frame is not None and id(frame.f_globals) not in GLOBALS:
        frame = frame.f_back if is_own(frame) or is_of_library(frame) else None
    return frame


def is_called_by_user() -> bool:
    """Tell if NumPy's function that runs was called by a user's code, and not by a rule."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame):
        if frame.f_code.co_name.strip("_") == "array_function":
            return frame.f_back is not None and not is_own(frame.f_back)
        frame = frame.f_back
    return False


def is_own(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] == "functier"


def is_of_library(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    installed = f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path
    return installed or path.startswith((STANDARD, "<frozen", "<__array_function__"))


def public_name(frames: list[FrameType]) -> str:
    """Return the public name of the outermost of some functions."""
    found = ""
    for frame in frames:
        module = frame.f_globals.get("__name__", "").split(".")
        parts = [part for part in frame.f_code.co_qualname.split(".") if part[:1] != "_"]
        if parts and "<locals>" not in parts:
            return without_private([*module, *parts])
        found = found or without_private([*module, ""]).rstrip(".")
    return found


def without_private(parts: list[str]) -> str:
    """Return ``scipy.linalg.solve`` for ``scipy.linalg._basic.solve``."""
    module = parts[:-1]
    for i, part in enumerate(module):
        if part.startswith("_"):
            module = module[:i]
            break
    if module[:1] == ["numpy"] and hasattr(np, parts[-1]):
        module = ["numpy"]
    return ".".join([*module, parts[-1]])


def is_foreign(frame: FrameType) -> bool:
    """Tell if a frame runs the code of a library other than NumPy and Python's own."""
    name = frame.f_globals.get("__name__", "").partition(".")[0]
    path = frame.f_code.co_filename
    installed = f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path
    return name != "numpy" and installed
