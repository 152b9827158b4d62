"""Generators and the call stack: who runs inside whose ``with`` block."""

import sys
import threading
from types import FrameType
from typing import Any

from ._core.tensor import Tensor


def generator_of(frame: FrameType | None) -> tuple[int, int] | None:
    """The generator whose body holds a ``with`` block, and its thread.

    A generator that `contextlib` runs is a context manager itself; its user counts.
    """
    while frame is not None:
        runner = frame.f_back
        if frame.f_globals.get("__name__") != "contextlib":
            if not frame.f_code.co_flags & 0x220:  # CO_GENERATOR, CO_ASYNC_GENERATOR
                return None
            if runner is None or runner.f_globals.get("__name__") != "contextlib":
                return id(frame), threading.get_ident()
        frame = runner
    return None


def steps_to(generator: tuple[int, int], frame: FrameType | None) -> int:
    """How many frames out the generator runs; -1 where it is suspended."""
    wanted, thread = generator
    if thread != threading.get_ident():
        return sys.maxsize
    steps = 0
    while frame is not None:
        if id(frame) == wanted:
            return steps
        frame = frame.f_back
        steps += 1
    return -1


def enclosing_level(cls: type[Tensor], frame: FrameType) -> type[Tensor]:
    """The innermost entered level that really surrounds `frame`.

    A level that has ended does not (levels can end out of order), nor does one that a
    suspended generator has entered: its ``with`` block is not on the stack. Where a
    generator was resumed inside a later level, its own ``with`` block is the inner one.
    """
    found: type[Tensor] = Tensor
    nearest = sys.maxsize
    while cls is not Tensor:
        level: Any = cls.level
        live, level = level.live, getattr(level, "level", level)
        if live:
            steps = sys.maxsize
            if level.generator is not None:
                steps = steps_to(level.generator, frame)
            if steps >= 0 and (found is Tensor or (steps < nearest and not issubclass(found, cls))):
                found, nearest = cls, steps
                if not level.held:
                    break
        cls = level.outer
    return found
