"""The changes of the code of adopted modules, which are kept on disk for the next process.

NOTE [changes on disk]
    The key is a hash of all that the changes depend on: the code of a module, with its file and
    lines, what its names mean, the aliases, the files that decide, and the versions. A file has
    names and instructions alone; what else a function has stays its own.
"""

import marshal
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .._cpython import call_sites
from .._cpython.call_sites import Changes, Names
from .._cpython.code import Code
from .._programs.machine.compiler.cache import folder, hash_of, key_of, read, write
from . import twins

IMPORTED = "functier-"
"""The beginning of the aliases of modules, which have to be there when code imports them."""


class Kept:
    """The changes of code of one module; they are read when they are asked for first.

    Parameters
    ----------
    names : Names
        What the names in the code mean.
    codes : iterable of code
        The code of the functions of the module, in a fixed order.
    """

    def __init__(self, names: Names, codes: Iterable[Code]):
        self.names, self.codes = names, list(codes)
        self.places = {id(code): place for place, code in enumerate(self.codes)}
        self.key: str | None = None
        self.rows: dict[int, Changes] | None = None
        self.has_news = False

    def get(self, code: Code) -> Changes | None:
        """Return the changes of code, or None where they are not known."""
        if self.rows is None:
            self.rows = self._read()
        changes = self.rows.get(self.places[id(code)])
        for change in changes or ():
            for name in change[0] if change else ():
                if name.startswith(IMPORTED):
                    if self.names.module(name.removeprefix(IMPORTED)) != name:
                        return None
        return changes

    def put(self, code: Code, changes: Changes) -> None:
        assert self.rows is not None
        self.rows[self.places[id(code)]] = changes
        self.has_news = True

    def save(self) -> None:
        """Write what is new."""
        if self.has_news and self.key is not None:
            write(self.key, marshal.dumps(self.rows))

    def _read(self) -> dict[int, Changes]:
        if folder() is None:
            return {}
        parts = [marshal.dumps((code, self.names.facts(code, _mark)), 2) for code in self.codes]
        self.key = key_of(hash_of(b"".join(parts)).hex(), _identity())
        found = read(self.key)
        return {} if found is None else marshal.loads(found)


def _mark(module: ModuleType) -> tuple[str, bool]:
    name = str(vars(module).get("__name__"))
    return name, sys.modules.get(name) is module


@cache
def _identity() -> tuple[str, ...]:
    """Return what the changes of all code depend on."""
    files: list[Any] = [call_sites.__file__, twins.__file__]
    texts = [hash_of(Path(file).read_bytes()).hex() for file in files]
    return "adopted code", sys.version, np.__version__, *texts, *sorted(twins.ALIASES)
