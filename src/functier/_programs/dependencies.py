"""The watch of a trace: which code runs in it, what it reads, and which generators draw.

NOTE [what need not be told]
    Loops tell the same again and again. A number tells nothing, nor does a tensor of a trace, in
    any thread. Nor does a function of NumPy with such arguments, once a trace has looked at it.
    What a module has for a name, and what is in a cell, are facts after the first time. If a trace
    is the only one, such facts are in `Teller.facts`. Then it knows, too, which cell and which
    array were read last, and are none from outside: a black box reads them in each of its calls.

NOTE [code that nobody has prepared]
    Python tells a watch of each call of Python code. Code of the user's that does not tell what it
    reads, as it was made by `exec` or is called by code in C, makes the trace one that cannot be
    watched.
"""

import functools
import random
from collections.abc import Callable, Iterator
from threading import get_ident
from types import FunctionType, ModuleType
from typing import Any, ClassVar

import numpy as np

from .._core.errors import LevelError, NoRuleError, UnsupportedError
from .._core.reached import Generators
from .._core.tensor import Tensor
from .._cpython.allowed import STATES
from .._cpython.call_sites import loaded_globals
from .._cpython.code import Code, file_of_code, title_of_code
from .._cpython.collector import observers
from .._cpython.events import Events
from .._cpython.frames import caller_of
from .._cpython.functions import (
    EMPTY,
    LIVE,
    LOCK,
    SOURCES,
    Hearing,
    Swaps,
    contents,
    hook_of_calls,
    is_in_import,
    is_told,
    note_pairs,
    read_code,
    tells,
)
from .._cpython.homes import HOME, home_of_code
from .._cpython.observed import observed
from .graph import SCALARS
from .objects import DISPATCHER, reached_from
from .outside import Unwatched
from .reads import PLAIN, Reads
from .watching import is_known

ndarray = np.ndarray


class Teller(Events):
    """The observer of all such code: it tells the trace of its thread."""

    inert: ClassVar[set[type]] = {*SCALARS, str, bytes, type(None), range} - {np.void}
    known: ClassVar[dict[type, set]] = {np.ufunc: set(), DISPATCHER: set()}
    facts: Any = frozenset()
    """Facts that the only trace knows: pairs of a module and a name, and the numbers of cells."""
    only: Any = None
    """The reads of that trace."""


def listen(reads: Any) -> None:
    """Let the code tell the trace of this thread what it reads, until `turn_away`."""
    with LOCK:
        LIVE[get_ident()] = reads
        note_only()


def turn_away() -> None:
    """Tell the trace of this thread nothing more."""
    with LOCK:
        reads = LIVE.pop(get_ident(), None)
        if reads is not None:
            Teller.inert -= reads.classes
        note_only()


def note_only() -> None:
    """Note what the only trace knows; nothing is known where there are several."""
    Teller.only = next(iter(LIVE.values())) if len(LIVE) == 1 else None
    Teller.facts = Teller.only.known if Teller.only is not None else frozenset()


def _forward(name: str) -> Callable:
    def tell(self: Teller, *given: Any) -> Any:
        reads = LIVE.get(get_ident())
        return None if reads is None else getattr(reads, name)(*given)

    tell.__name__ = name
    return tell


def _of_known(name: str) -> Callable:
    """Return the same for an event that means nothing for most objects."""
    reads_name, reads_cell = name == "attribute", name == "cell"
    reads_item = name == "item"

    def tell(self: Teller, owner: Any, *given: Any) -> Any:
        kind, only = type(owner), Teller.only  # once, as another thread may begin a trace
        if reads_item and type(given[0]) not in PLAIN:
            reads = LIVE.get(get_ident())
            if reads is not None:
                reads.key(given[0])
        elif reads_item and only is not None and owner is only.own_array:
            return None
        if kind in Teller.inert:
            return None
        if reads_name and kind is ModuleType and (owner, *given) in Teller.facts:
            return None
        if reads_cell and only is not None:
            if owner is only.own_cell or id(owner) in only.known:
                return None
        reads = LIVE.get(get_ident())
        if reads is not None:
            outer = reads.outer
            if issubclass(kind, ModuleType):
                reads.module(owner)
            if id(owner) in outer or id(kind) in outer or kind is super or kind is ndarray:
                found = getattr(reads, name)(owner, *given)
                if reads_item and kind is ndarray and not reads.those_of(owner):
                    reads.own_array = owner
                return found
            if reads_cell:
                reads.own_cell = owner
        return None

    tell.__name__ = name
    return tell


def _of_operands(name: str) -> Callable:
    """Return the same for the operands of an operator, or a call; note what need not be told."""
    forward = _forward(name)

    def tell(self: Teller, *given: Any) -> Any:
        found = forward(self, *given)
        if found is not None:
            reads = LIVE[get_ident()]
            if name == "called":
                callee, given, _ = given
                kind = type(callee)
                if kind in Teller.known and is_known(callee) and callee.__name__ not in STATES:
                    Teller.known[kind].add(callee)
            for kind in {type(x) for x in given if isinstance(x, Tensor)}:
                if kind.level.quiet is not None:
                    reads.classes.add(kind)
                    Teller.inert.add(kind)
        return found

    tell.__name__ = name
    return tell


QUIET = "attribute", "item", "contents", "truth", "cell", "stores_attribute", "deletes_attribute"
for _name in [name for name in vars(Events) if name[0] != "_"]:
    setattr(Teller, _name, (_of_known if _name in QUIET else _forward)(_name))
for _name in ("operands", "called"):
    setattr(Teller, _name, _of_operands(_name))
TELLER = Teller()


@functools.lru_cache(1024)
def rewritten(code: Code, path: str) -> Code | None:
    """Return code that tells what it reads, or None where that cannot be made."""
    try:
        made = observed(code, TELLER)
    except NotImplementedError:
        return None
    SOURCES.update(note_pairs(made, code))
    return made


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
