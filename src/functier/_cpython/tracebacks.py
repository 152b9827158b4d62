"""Tracebacks: the frames that an error has passed, and a traceback without functier's."""

import os
from collections.abc import Iterable
from opcode import opmap
from pathlib import Path
from types import TracebackType

from . import facts
from .frames import Frame, file_at

RAISE = opmap["RAISE_VARARGS"]
OWN = str(Path(__file__).parent.parent) + os.sep, "<functier "
"""The beginnings of the names of files whose frames are functier's."""


def frames_of(error: BaseException) -> list[Frame]:
    """Return the frames that an error has passed, innermost last."""
    return [x.tb_frame for x in _entries(error.__traceback__)]


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def hide_frames(error: BaseException) -> None:
    """Take functier's frames out of the tracebacks of an error, its causes and its parts."""
    if not facts.tracebacks.holds:
        return
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        trace = one.__traceback__
        if trace is not None:
            one.__traceback__ = _without_own(trace)
        parts: Iterable = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [x for x in (one.__cause__, one.__context__, *parts) if x is not None]


def _without_own(trace: TracebackType) -> TracebackType | None:
    """Return the entries of a traceback that are not functier's, as a new list where some are."""
    entries = _entries(trace)
    kept = [x for x in entries if not file_at(x.tb_frame).startswith(OWN)]
    if len(kept) == len(entries):
        return trace
    found: TracebackType | None = None
    for x in reversed(kept):
        found = TracebackType(found, x.tb_frame, x.tb_lasti, x.tb_lineno)
    return found


def is_raised_here(error: Exception) -> bool:
    """Tell if a ``raise`` of functier's raised the error, whose words say what is wrong."""
    if error.__traceback__ is None or not facts.instructions.holds:
        return False
    last = _entries(error.__traceback__)[-1]
    code = last.tb_frame.f_code
    return code.co_filename.startswith(OWN) and code.co_code[last.tb_lasti] == RAISE
