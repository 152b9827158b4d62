"""Globals, imports and attributes that code looks up, as its instructions tell."""

import dis
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any
from weakref import ref

from . import facts
from .code import loads_in

SILENT = {"NOP", "CACHE", "EXTENDED_ARG", "PRECALL", "RESUME", "NOT_TAKEN"}
"""Instructions that touch no value; PRECALL belongs to the CALL behind it."""

STORES = {dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]}
LOADS = "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"
IMPORT = dis.opmap["IMPORT_NAME"]


class CodeTable:
    """Facts of code objects, which are kept as long as these are; equal ones are not the same."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[ref, Any]] = {}

    def get(self, code: CodeType) -> Any:
        """Return the fact of a code object, or None."""
        row = self.rows.get(id(code))
        return None if row is None or row[0]() is not code else row[1]

    def put(self, code: CodeType, fact: Any) -> None:
        """Note a fact, which does not have the code object itself."""
        key = id(code)
        self.rows[key] = ref(code, lambda _: self.rows.pop(key, None)), fact


def stored_globals(code: CodeType) -> set[str]:
    """Return the globals that a function, or one inside it, assigns or deletes."""
    facts.lookups.need()
    return {
        i.argval
        for inner in loads_in(code)
        if not STORES.isdisjoint(inner.co_code[::2])
        for i in dis.get_instructions(inner)
        if i.opcode in STORES
    }


@lru_cache(4096)
def loaded_globals(code: CodeType) -> tuple[str, ...]:
    """Return the globals that code looks up."""
    if not facts.lookups.holds:
        return code.co_names
    return tuple({i.argval for i in dis.get_instructions(code) if i.opname in LOADS})


def asks_for(code: CodeType, name: str) -> bool:
    """Return whether code reads an attribute of an object that is not ``self``."""
    if name not in code.co_names:
        return False
    before = None
    for use in dis.get_instructions(code):
        if use.opname.startswith("LOAD_ATTR") and use.argval == name and before != "self":
            return True
        before = use.argval
    return False


def imports_in(code: CodeType, package: str) -> Iterator[str]:
    """Yield the names of the modules that code imports, and of what it imports from them."""
    if IMPORT not in code.co_code[::2]:
        return
    found = _IMPORTS.get(code)
    if found is None:
        found, last = [], (None, None)
        for use in dis.get_instructions(code):
            if use.opcode == IMPORT:
                found.append((use.argval, *last))
            elif use.opname not in SILENT:
                last = last[1], use.argval
        _IMPORTS.put(code, found)
    for name, level, names in found:
        if type(level) is int and level:
            try:
                name = importlib.util.resolve_name("." * level + name, package)
            except ImportError:  # above the package: an error when it runs, too
                continue
        parts = name.split(".")
        yield from [".".join(parts[: i + 1]) for i in range(len(parts))]
        if type(names) is tuple:
            yield from [f"{name}.{part}" for part in names]


_IMPORTS = CodeTable()
"""The imports in code: a name, the number of dots, and what is imported from there."""
