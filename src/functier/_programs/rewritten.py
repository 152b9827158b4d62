"""Functions whose code tells what it reads, for as long as a trace lasts: see `swaps`."""

import functools
from collections.abc import Callable
from threading import get_ident
from types import ModuleType
from typing import Any

import numpy as np

from .._cpython.code import Code
from .._cpython.observed import Events, observed
from .._cpython.swaps import LIVE, SOURCES, note_pairs

ndarray = np.ndarray


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
def rewritten(code: Code, path: str) -> Code | None:
    """Return code that tells what it reads, or None where that cannot be made."""
    try:
        made = observed(code, TELLER)
    except NotImplementedError:
        return None
    SOURCES.update(note_pairs(made, code))
    return made
