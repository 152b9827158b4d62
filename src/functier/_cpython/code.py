"""Code objects: what a function of Python takes, mentions and defines, and where it stands.

Where the interpreter does not tell it, nothing is known of a function.
"""

import dis
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Set
from functools import lru_cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from . import facts

Code = CodeType

WAITING: dict[int, tuple[Code, Code, Callable[[Code], Code]]] = {}
"""Code that a function has until its first call, by its number: itself, what it stands for, and
what makes the code that runs. See NOTE [the first call] in `first_calls`.
"""


def code_of(function: Any) -> Code | None:
    """Return the code object of a function of Python, or None for another object."""
    code = getattr(function, "__code__", None)
    return None if code is None else made_code(code)


def made_code(code: Code) -> Code:
    """Return the code that runs instead of one that waits for a first call."""
    row = WAITING.get(id(code))
    return code if row is None else row[2](row[1])


def code_behind(function: Any) -> Code:
    """Return the code of a function, of one that waits for its first call what it stands for."""
    row = WAITING.get(id(function.__code__))
    return function.__code__ if row is None else row[1]


def parameters_of(function: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a function of Python takes by position.

    Another object has none.
    """
    if not facts.names.holds and isinstance(function, FunctionType):
        found = inspect.signature(function, follow_wrapped=False).parameters.values()
        return tuple(p.name for p in found if p.kind < p.VAR_POSITIONAL)
    code = code_of(function)
    return () if code is None else code.co_varnames[: code.co_argcount]


names_of: Callable[[Code], tuple[str, ...]]
names_of = attrgetter("co_names") if facts.names.holds else lambda code: ()
"""Return the names of globals and attributes that code mentions itself."""


file_of_code: Callable[[Code], str] = attrgetter("co_filename")
"""The file of code, or another word between angle brackets."""

title_of_code: Callable[[Code], str] = attrgetter("co_qualname")
"""The name of code, with those of the functions and classes around it."""

free_names_of: Callable[[Code], tuple[str, ...]] = attrgetter("co_freevars")
"""The names of the variables of functions around code that it uses."""

name_of_code: Callable[[Code], str] = attrgetter("co_name")
"""The name of code."""


def closed_over(function: Any) -> tuple[str, ...]:
    """Return the names of the variables that a function closes over."""
    return function.__code__.co_freevars


def mentions(function: Any, name: str) -> bool:
    """Tell if a function mentions a global or an attribute, or may where that cannot be seen."""
    return not facts.names.holds or name in getattr(code_of(function), "co_names", ())


def reads(function: FunctionType, name: str) -> bool:
    """Return whether a function, or one inside it, reads its variable, or may."""
    if not facts.names.holds:
        return True
    return any(
        i.argval == name or (isinstance(i.argval, tuple) and name in i.argval)
        for i in dis.get_instructions(code_behind(function))
        if i.opname.startswith("LOAD_")
        and i.opname not in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST")
    ) or any(name in code.co_freevars for code in codes_in(code_behind(function)))


def all_names_of(function: Any) -> list[str]:
    """Return the names by which a function may ask for globals, also in what it defines."""
    facts.names.need()
    return [name for code in loads_in(code_behind(function)) for name in code.co_names]


def texts_in(code: Code) -> set[str]:
    """Return the texts that are constants of a function, or of one inside it."""
    return {x for inner in loads_in(code) for x in inner.co_consts if type(x) is str}


def loads_in(code: Code) -> Iterator[Code]:
    """Yield a code object and all that are inside it."""
    yield code
    for inner in codes_in(code):
        yield from loads_in(inner)


def codes_in(code: Code) -> list[Code]:
    """Return the code objects that are right inside another one."""
    return [x for x in code.co_consts if isinstance(x, Code)]


def takes_places(code: Code) -> bool:
    """Return whether code has parameters that are given by their places, and may have defaults."""
    return code.co_argcount > 0


def takes_keywords(code: Code) -> bool:
    """Return whether code has parameters that are given by keywords alone."""
    return code.co_kwonlyargcount > 0


def has_handlers(code: Code) -> bool:
    """Return whether code may catch an exception, or has a block of ``with``."""
    return bool(code.co_exceptiontable)


# ---- places ----


def kept_by_identity(make: Callable[[Code], Any]) -> Callable[[Code], Any]:
    """Keep what a function says of the latest code: a hash would take all the constants in it."""
    kept: dict[int, tuple[Code, Any]] = {}

    def ask(key: Code) -> Any:
        found = kept.get(id(key))
        if found is None or found[0] is not key:
            if len(kept) >= 64:
                kept.clear()
            found = kept[id(key)] = key, make(key)
        return found[1]

    return ask


@kept_by_identity
def _lines(code: Code) -> dict[int, int]:
    """Return the lines of the instructions of code, by their first bytes."""
    return {i: line for a, b, line in code.co_lines() if line for i in range(a, b, 2)}


def line_of(code: Code, instruction: int, unknown: int | None = None) -> int:
    """Return the line of an instruction, else that of its function, or `unknown`."""
    line = _lines(code).get(instruction) if facts.lines.holds else None
    return line or (code.co_firstlineno if unknown is None else unknown)


def key_of(place: tuple | None) -> tuple:
    """Return a key of a place, with code by its identity: its hash takes all its constants."""
    return tuple([x if type(x) is int else id(x) for x in place or ()])


def beginning_of(place: tuple | None) -> tuple | None:
    """Return a place in code, with what follows it, from the beginning of its instruction.

    Python 3.12 stands at the last cache entry of an item whose owner has its method in Python, and
    before it has specialised the instruction, at the beginning.
    """
    if place is None or not facts.lines.holds:
        return place
    code, instruction, *more = place
    while code.co_code[instruction] == dis.opmap.get("CACHE"):
        instruction -= 2
    return code, instruction, *more


def describe_line(code: Code, line: int) -> str:
    """Return a line of code with its place: ``file.py:12, in f: y = g(x)``."""
    text = linecache.getline(code.co_filename, line).strip()
    return f"{name_line(code.co_filename, line)}, in {code.co_name}: {text}".rstrip(": ")


def file_and_line(place: tuple[Code, int]) -> tuple[str, int]:
    """Return the file and the line of an instruction of code."""
    code, instruction = place
    return code.co_filename, line_of(code, instruction)


def name_line(file: str, line: int) -> str:
    """Return a line as messages name it: ``file.py:12``, or ``Cell In[3], line 2`` of IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    cell = shell and shell.compile.format_code_name(file)
    return f"{' '.join(cell)}, line {line}" if cell else f"{file}:{line}"


def file_of(function: Any) -> str:
    """Return the file of a function of Python."""
    return function.__code__.co_filename


def start_of(function: Any) -> tuple[str, int]:
    """Return the file and the line where the definition of a function of Python begins."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno


def code_in(file: str, line: int) -> Code:
    """Return a code object that stands in a line of a file."""
    return code_in.__code__.replace(co_filename=file, co_firstlineno=line)


# ---- what code keeps ----

MUTATORS = {*"append appendleft insert extend update setdefault add".split()}
"""The methods by which a container is given something to keep."""
MAKERS = "__init__", "__new__", "__post_init__", "__setstate__"
"""The methods that make an object, in which they keep what was never there."""


class Kept(NamedTuple):
    """The names of variables, and ".names" of attributes, by which code may keep something."""

    stored: frozenset[str] = frozenset()
    loaded: frozenset[str] = frozenset()
    items: bool = False  # it gives something to a container

    def join(self, other: "Kept") -> "Kept":
        """Return what this code and another keep."""
        stored, loaded = self.stored | other.stored, self.loaded | other.loaded
        return Kept(stored, loaded, self.items or other.items)

    def both(self) -> frozenset[str]:
        """Return the names that are written to and read."""
        return self.loaded if self.items else self.stored & self.loaded


STORES = {dis.opmap[f"STORE_{x}"] for x in ("ATTR", "GLOBAL")}
ITEMS = {dis.opmap.get(f"STORE_{x}") for x in ("SUBSCR", "SLICE")}


def may_keep(code: Code, holds: Callable[[str], bool], others: Set[str] = frozenset()) -> bool:
    """Return whether a function may keep something, `holds` telling of which names, or has one of
    the names `others`.
    """
    if not others.isdisjoint(code.co_names):
        return True
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_name in MAKERS:
        return False
    units = {*code.co_code[::2]}
    if not units.isdisjoint(STORES):
        return True
    gives = not units.isdisjoint(ITEMS) or not MUTATORS.isdisjoint(code.co_names)
    if code.co_freevars and (gives or dis.opmap["STORE_DEREF"] in units):
        return True
    return gives and any(map(holds, code.co_names))


@lru_cache(4096)
def kept_by(code: Code) -> Kept:
    """Return what a function may keep outside of its own variables."""
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_name in MAKERS:
        return Kept()
    own, items = {*code.co_varnames, *code.co_cellvars}, False
    stored: set[str] = set()
    loaded: set[str] = set()
    for use in dis.get_instructions(code):
        way, name = use.opname, use.argval
        if way in ("STORE_SUBSCR", "STORE_SLICE") or (
            name in MUTATORS and way in ("LOAD_ATTR", "LOAD_METHOD")
        ):
            items = True
        elif way in ("STORE_ATTR", "LOAD_ATTR"):
            (stored if way == "STORE_ATTR" else loaded).add(f".{name}")
        elif way == "STORE_GLOBAL" or (way == "STORE_DEREF" and name not in own):
            stored.add(name)
        elif way == "LOAD_GLOBAL" or (way == "LOAD_DEREF" and name not in own):
            loaded.add(name)
    return Kept(frozenset(stored), frozenset(loaded), items)
