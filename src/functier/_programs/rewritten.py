"""Functions whose code tells what it reads, for as long as a trace lasts.

NOTE [in place]
    A function of the user's may be called by anybody, as by NumPy or `sorted`. So its code is
    replaced where it stands, and put back at the end of the trace. Traces of several threads share
    one replacement, which asks whose thread it runs in.
"""

import functools
import os
import threading
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .._core.adopted import SOURCES
from .observed import Events, observed

ndarray = np.ndarray

LIVE: dict[int, Any] = {}
"""The `Reads` of the trace of each thread."""

SWAPPED: dict[int, list] = {}
"""The functions with other code: each with its own, how many traces need that, and the other."""

SEEN: WeakValueDictionary[int, CodeType] = WeakValueDictionary()
"""The codes that tell what they read, by their numbers."""

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


class Teller(Events):
    """The observer of all such code: it tells the trace of its thread."""


def _forward(name: str) -> Callable:
    def tell(self: Teller, *given: Any) -> Any:
        reads = LIVE.get(get_ident())
        return None if reads is None else getattr(reads, name)(*given)

    tell.__name__ = name
    return tell


def _of_known(name: str) -> Callable:
    """Return the same for an event that means nothing for most objects."""

    def tell(self: Teller, owner: Any, *given: Any) -> None:
        reads = LIVE.get(get_ident())
        if reads is not None:
            outer = reads.outer
            kind = type(owner)
            if issubclass(kind, ModuleType):
                reads.module(owner)
            if id(owner) in outer or id(kind) in outer or kind is super or kind is ndarray:
                getattr(reads, name)(owner, *given)

    tell.__name__ = name
    return tell


QUIET = "attribute", "item", "contents", "truth", "cell", "stores_attribute", "deletes_attribute"
for _name in [name for name in vars(Events) if name[0] != "_"]:
    setattr(Teller, _name, (_of_known if _name in QUIET else _forward)(_name))
TELLER = Teller()


@functools.lru_cache(1024)
def rewritten(code: CodeType, path: str) -> CodeType | None:
    """Return code that tells what it reads, or None where that cannot be made."""
    try:
        made = observed(code, TELLER)
    except NotImplementedError:
        return None
    waiting = [(made, code)]
    while waiting:
        found, before = waiting.pop()
        SEEN[id(found)] = found
        SOURCES[found] = before
        pairs = zip(found.co_consts, before.co_consts)
        waiting += [(x, y) for x, y in pairs if isinstance(x, CodeType)]
    return made


def tells(code: CodeType) -> bool:
    """Tell if code tells what it reads."""
    return SEEN.get(id(code)) is code


def original(func: FunctionType) -> CodeType:
    """Return the code that a function has outside of traces."""
    row = SWAPPED.get(id(func))
    return row[1] if row is not None and func.__code__ is row[3] else func.__code__


class Swaps:
    """The functions whose code a trace has replaced, until `restore`."""

    def __init__(self) -> None:
        self.functions: dict[int, FunctionType] = {}

    def prepare(self, func: FunctionType) -> None:
        """Let a function tell what it reads, if that can be done."""
        if id(func) in self.functions:
            return
        with LOCK:
            row = SWAPPED.get(id(func))
            if row is None:
                if tells(func.__code__):
                    return  # such code has made it
                made = rewritten(func.__code__, func.__code__.co_filename)
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
