"""Functions that have other code for a while, which is put back.

NOTE [in place]
    A function of the user's may be called by anybody, as by NumPy or `sorted`. So its code is
    replaced where it stands, and put back at the end of the trace. Traces of several threads share
    one replacement, which asks whose thread it runs in.
"""

import os
import sys
import threading
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from . import facts

LIVE: dict[int, Any] = {}
"""The listeners to such code, by thread."""

SWAPPED: dict[int, list] = {}
"""The functions with other code: each with its own, how many traces need that, and the other."""

SEEN: WeakValueDictionary[int, CodeType] = WeakValueDictionary()
"""The codes that stand for others, by their numbers."""

SOURCES: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()
"""The code that stands for another one while a trace lasts, and that other one."""

LOCK = threading.RLock()


def _in_child() -> None:
    """Put the code back that traces of other threads have replaced: these do not go on here."""
    LOCK.release()
    if get_ident() not in LIVE:
        for func, code, *_ in SWAPPED.values():
            func.__code__ = code
        SWAPPED.clear()


if hasattr(os, "register_at_fork"):  # else a process that is forked while it is held would wait
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_in_child)


def note_pairs(made: CodeType, before: CodeType) -> list[tuple[CodeType, CodeType]]:
    """Note that code stands for another one, as does each that is inside it; return the pairs."""
    found = [(made, before)]
    for new, old in found:  # which grows
        SEEN[id(new)] = new
        pairs = zip(new.co_consts, old.co_consts)
        found += [(x, y) for x, y in pairs if isinstance(x, CodeType)]
    return found


def tells(code: CodeType) -> bool:
    """Return whether code tells what it reads."""
    return SEEN.get(id(code)) is code


def original(func: FunctionType) -> CodeType:
    """Return the code that a function has outside of traces."""
    row = SWAPPED.get(id(func))
    return row[1] if row is not None and func.__code__ is row[3] else func.__code__


def globals_of_teller() -> dict[str, Any]:
    """Return the globals of the code that tells something now."""
    frame: Any = sys._getframe(1)
    while not tells(frame.f_code):
        frame = frame.f_back
    return frame.f_globals


def is_told(frame: Any) -> bool:
    """Return whether a frame runs code that tells what it reads."""
    return tells(frame.f_code)


def is_in_import(frame: Any) -> bool:
    """Return whether a frame is part of an import."""
    while frame is not None and not tells(frame.f_code):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class Swaps:
    """The functions whose code a trace has replaced, until `restore`.

    Parameters
    ----------
    make : function
        Returns other code for that of a function and its file, or None.
    """

    def __init__(self, make: Callable[[CodeType, str], CodeType | None]) -> None:
        self.make = make
        self.functions: dict[int, FunctionType] = {}

    def prepare(self, func: FunctionType) -> None:
        """Let a function tell what it reads, if that can be done."""
        if id(func) in self.functions or not facts.replacement.holds:
            return
        with LOCK:
            row = SWAPPED.get(id(func))
            if row is None:
                if tells(func.__code__):
                    return  # such code has made it
                made = self.make(func.__code__, func.__code__.co_filename)
                if made is None:
                    return
                SWAPPED[id(func)] = row = [func, func.__code__, 0, made]
                func.__code__ = made
            row[2] += 1
            self.functions[id(func)] = func

    def restore(self) -> None:
        with LOCK:
            for func in self.functions.values():
                row = SWAPPED[id(func)]
                row[2] -= 1
                if not row[2]:
                    if func.__code__ is row[3]:  # else the user has given it another one
                        func.__code__ = row[1]
                    del SWAPPED[id(func)]
            self.functions.clear()
