"""The watch of a trace: which code runs in it, and which generators draw.

NOTE [code that nobody has prepared]
    Python tells a watch of each call of Python code. Code of the user's that does not tell what it
    reads, as it was made by `exec` or is called by code in C, makes the trace one that cannot be
    watched.
"""

import gc
import random
from _thread import get_ident
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from .._core.errors import LevelError, NoRuleError, UnsupportedError
from .._core.reached import EMPTY, contents, moved, note_generators, reached_from
from .._cpython.profiling import Hearing
from .guards import names_of
from .homes import HOME, home_of_code
from .outside import Unwatched
from .reads import Reads
from .rewritten import LIVE, Swaps, tells

REFUSALS = LevelError, NoRuleError, UnsupportedError
"""Errors of a trace, which are none of the function's."""

FRESH_ENTROPY = random.SystemRandom.getrandbits.__code__
"""Python code that NumPy calls for the seed of a generator that has none."""


class Watch:
    """A block that notes the Python functions that are entered in it.

    Parameters
    ----------
    *roots : object
        The function, and the leaves of its arguments.
    given : tuple
        The arguments.
    keep : bool or None
        See `Reads`; None for a trace that is not called again, where nothing is noted.
    tries : bool
        Whether another trace follows if this one fails.

    Attributes
    ----------
    entropy : bool
        True where a generator was made without a seed.
    noting : callable
        The function that Python calls, so that others can switch it off for a while.
    """

    def __init__(
        self, *roots: Any, given: Any = (), keep: bool | None = None, tries: bool = False
    ) -> None:
        self.seen: dict[int, Any] = {}
        self.codes: list[CodeType] = []
        self.generators: dict[int, tuple] = {}
        self.entropy = False
        self.swaps = Swaps()
        self.roots, self.given, self.tries = roots, given, tries
        self.reads = None if keep is None else Reads(self.swaps.prepare, keep)
        for x in reached_from(roots):
            note_generators(x, self.generators)

    def note(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code, names = frame.f_code, frame.f_globals
            if self.seen.get(id(code)) is not names:
                self.enter(code, names, frame)

    def enter(self, code: CodeType, names: dict, frame: Any = None) -> None:
        if code is FRESH_ENTROPY:
            self.entropy = True
            return
        home = home_of_code(code, names)
        told = tells(code)
        before = None if frame is None else frame.f_back
        if not told and before is not None and home != "library":
            if home == "standard" and not tells(before.f_code):
                return  # a library has called it, and may be called by others later
            if is_in_import(before):
                return  # which finds the same module each time
        self.seen[id(code)] = names
        self.codes.append(code)  # so that its identity stays its own
        if home == "library":
            return
        reads = self.reads
        if reads is not None and not told:
            # Python's hook is no place to raise in: the trace goes on, and makes no program.
            reads.reason = (
                reads.reason or f"{code.co_qualname} runs, which cannot tell what it reads"
            )
            return
        for name in names_of(code):
            value = names.get(name, EMPTY)
            note_generators(value, self.generators)
            if reads is None:
                continue
            words = f"the global {name} of {code.co_qualname}"
            if reads.entry(names, name, words) is EMPTY:
                known = names.get("__builtins__", {})
                known = known if type(known) is dict else vars(known)
                reads.entry(known, name, f"the builtin {name}")

    def moved(self) -> list[Any]:
        """Return the generators of NumPy's that have drawn."""
        return moved(self.generators)

    def begin(self) -> None:
        """Let what the function is made of tell what it reads."""
        reads = self.reads
        if reads is None:
            return
        reads.roots = {id(x) for x in called_by(self.roots[0])}
        for x in reached_from(self.roots):
            if not isinstance(x, (np.ndarray, np.generic)):  # those are inputs
                reads.bring(x)
                reads.call_later(x)
        reads.open_tree(self.given)
        LIVE[get_ident()] = reads

    def __enter__(self) -> "Watch":
        # A collection may begin at any time, and its observers do not belong to the function.
        for call in gc.callbacks:
            if isinstance(call, FunctionType):
                self.seen[id(call.__code__)] = call.__globals__
        try:
            self.begin()
        except BaseException:
            self.swaps.restore()
            raise
        self.hearing = Hearing(self.note)
        self.noting = self.hearing.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        LIVE.pop(get_ident(), None)
        self.swaps.restore()
        self.hearing.__exit__()
        reads = self.reads
        if reads is None:
            return
        if reads.dead or isinstance(error, REFUSALS) or (error is not None and self.tries):
            reads.take_back()
        if reads.dead and (error is None or isinstance(error, Exception)):  # it was caught
            raise Unwatched(reads.reason) from None
        if error is None:
            reads.settle()


def called_by(func: Any) -> Iterator[FunctionType]:
    """Return the function that is called: it, or those that wrappers of functier call."""
    if type(func) is FunctionType:
        yield func
        if func.__code__.co_filename.startswith(HOME):
            for cell in func.__closure__ or ():
                yield from called_by(contents(cell))


def is_in_import(frame: Any) -> bool:
    """Tell if a frame is part of an import."""
    while frame is not None and not tells(frame.f_code):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
