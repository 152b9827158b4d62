"""The watch of a trace: which code runs in it, and which generators draw.

NOTE [code that nobody has prepared]
    Python tells a watch of each call of Python code. Code of the user's that does not tell what it
    reads, as it was made by `exec` or is called by code in C, makes the trace one that cannot be
    watched.
"""

import random
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from .._core.errors import LevelError, NoRuleError, UnsupportedError
from .._core.reached import Generators
from .._cpython.call_sites import loaded_globals
from .._cpython.code import Code, file_of_code, title_of_code
from .._cpython.collector import observers
from .._cpython.frames import caller_of
from .._cpython.functions import (
    EMPTY,
    Hearing,
    Swaps,
    contents,
    hook_of_calls,
    is_in_import,
    is_told,
    read_code,
    tells,
)
from .homes import HOME, home_of_code
from .objects import reached_from
from .outside import Unwatched
from .reads import Reads
from .rewritten import listen, rewritten, turn_away

REFUSALS = LevelError, NoRuleError, UnsupportedError
"""Errors of a trace, not of the function."""

FRESH_ENTROPY = read_code(random.SystemRandom.getrandbits)
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
        True where the system was asked for a seed that a generator uses.
    noting : callable
        The function that Python calls, so that others can switch it off for a while.
    """

    def __init__(
        self, *roots: Any, given: Any = (), keep: bool | None = None, tries: bool = False
    ) -> None:
        self.seen: dict[int, Any] = {}
        self.generators = Generators()
        self.codes: list[tuple[Code, dict]] = []
        self.observers: dict[int, Any] = {}
        self.entropy = False
        self.swaps = Swaps(rewritten)
        self.roots, self.given, self.tries = roots, given, tries
        self.reads = None if keep is None else Reads(self.swaps.prepare, keep)
        if self.reads is not None:
            self.reads.generators = self.generators
        for x in reached_from(roots):
            self.generators.note(x)

    def enter(self, code: Code, names: dict, frame: Any = None) -> None:
        if code is FRESH_ENTROPY:
            self.entropy = self.entropy or self.reads is None or not self.reads.takes_seed()
            return
        home = home_of_code(code, names)
        told = tells(code)
        before = None if frame is None else caller_of(frame)
        if not told and before is not None and home != "library":
            if home == "standard" and not is_told(before):
                return  # a library has called it, and may be called by others later
            if is_in_import(before):
                return  # which finds the same module each time
        self.seen[id(code)] = names
        self.codes.append((code, names))  # so that its identity stays its own
        if home == "library":
            return
        reads = self.reads
        if reads is not None and not told:
            # Python's hook must not raise: the trace continues, and makes no program.
            reads.reason = (
                reads.reason or f"{title_of_code(code)} runs, which cannot tell what it reads"
            )
            return
        for name in loaded_globals(code):
            value = names.get(name, EMPTY)
            self.generators.note(value)
            if reads is None:
                continue
            words = f"the global {name} of {title_of_code(code)}"
            if reads.entry(names, name, words) is EMPTY:
                known = names.get("__builtins__", {})
                known = known if type(known) is dict else vars(known)
                reads.entry(known, name, f"the builtin {name}")

    def again(self) -> int:
        """Note all code once more that runs from now on; return how much has run."""
        self.seen.clear()
        self.seen.update(self.observers)
        return len(self.codes)

    def moved(self) -> list[Any]:
        """Return the generators of NumPy's that have drawn."""
        return self.generators.moved()

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
        listen(reads)

    def __enter__(self) -> "Watch":
        # A collection may begin at any time, and its observers do not belong to the function.
        for call in observers:
            if isinstance(call, FunctionType):
                self.observers[id(read_code(call))] = call.__globals__
        self.seen.update(self.observers)
        try:
            self.begin()
        except BaseException:
            self.swaps.restore()
            raise
        self.hearing = Hearing(hook_of_calls(self.seen, self.enter))
        self.noting = self.hearing.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        turn_away()
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
        if file_of_code(read_code(func)).startswith(HOME):
            for cell in func.__closure__ or ():
                yield from called_by(contents(cell))
