"""Functions whose code tells what it reads, for as long as a trace lasts: see `functions`.

NOTE [what need not be told]
    Loops tell the same again and again. A number tells nothing, nor does a tensor of a trace, in
    any thread. Nor does a function of NumPy with such arguments, once a trace has looked at it.
    What a module has for a name, and what is in a cell, are facts after the first time. If a trace
    is the only one, such facts are in `Teller.facts`.
"""

import functools
from collections.abc import Callable
from threading import get_ident
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from .._core.tensor import Tensor
from .._cpython.code import Code
from .._cpython.functions import LIVE, LOCK, SOURCES, note_pairs
from .._cpython.observed import Events, observed
from .graph import SCALARS
from .reads import DISPATCHER, STATES
from .watching import is_known

ndarray = np.ndarray


class Teller(Events):
    """The observer of all such code: it tells the trace of its thread."""

    inert: ClassVar[set[type]] = {*SCALARS, str, bytes, type(None), range}
    known: ClassVar[dict[type, set]] = {np.ufunc: set(), DISPATCHER: set()}
    facts: Any = frozenset()
    """Facts that the only trace knows: pairs of a module and a name, and the numbers of cells."""


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
    Teller.facts = next(iter(LIVE.values())).known if len(LIVE) == 1 else frozenset()


def _forward(name: str) -> Callable:
    def tell(self: Teller, *given: Any) -> Any:
        reads = LIVE.get(get_ident())
        return None if reads is None else getattr(reads, name)(*given)

    tell.__name__ = name
    return tell


def _of_known(name: str) -> Callable:
    """Return the same for an event that means nothing for most objects."""
    reads_name, reads_cell = name == "attribute", name == "cell"

    def tell(self: Teller, owner: Any, *given: Any) -> Any:
        kind = type(owner)
        if kind in Teller.inert:
            return None
        if reads_name and kind is ModuleType and (owner, *given) in Teller.facts:
            return None
        if reads_cell and id(owner) in Teller.facts:
            return None
        reads = LIVE.get(get_ident())
        if reads is not None:
            outer = reads.outer
            if issubclass(kind, ModuleType):
                reads.module(owner)
            if id(owner) in outer or id(kind) in outer or kind is super or kind is ndarray:
                return getattr(reads, name)(owner, *given)
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
