"""Functions of Python: their code, what they close over, and copies of them."""

import dis
import inspect
from collections.abc import Callable
from operator import attrgetter
from types import CellType, CodeType, FunctionType
from typing import Any

from . import facts
from .lookups import codes_in, loads_in

Code = CodeType

code_of: Callable[[Any], CodeType] = attrgetter("__code__")
"""The code of a function."""

file_of_code: Callable[[CodeType], str] = attrgetter("co_filename")
"""The file of code, or another word between angle brackets."""

title_of_code: Callable[[CodeType], str] = attrgetter("co_qualname")
"""The name of code, with those of the functions and classes around it."""

name_of_code: Callable[[CodeType], str] = attrgetter("co_name")
"""The name of code."""

names_in: Callable[[CodeType], tuple[str, ...]]
names_in = attrgetter("co_names") if facts.names.holds else lambda code: ()
"""The names of globals and attributes in code, but not in functions inside it."""

EMPTY = object()
"""Nothing, where there may be any object."""

TELLING = "__code__", "__defaults__", "__kwdefaults__", "__closure__"
"""The attributes of a function that say what its calls do."""

HAS_CODE = "{}.__code__ is {}"
"""The source that asks if a function has this code."""


def give_code(func: FunctionType, code: CodeType) -> None:
    """Replace the code of a function: whoever calls it runs the other."""
    func.__code__ = code


def takes_places(code: CodeType) -> bool:
    """Tell if code has parameters that are given by their places, and may have defaults."""
    return code.co_argcount > 0


def takes_keywords(code: CodeType) -> bool:
    """Tell if code has parameters that are given by keywords alone."""
    return code.co_kwonlyargcount > 0


def variables_of(func: FunctionType) -> set[str]:
    """Return the names of the variables of a function, the parameters included."""
    return {*func.__code__.co_varnames, *func.__code__.co_cellvars}


def cells_of(func: Any) -> dict[str, CellType]:
    """Return the cells of the variables that a function closes over; none of one in C."""
    free = getattr(getattr(func, "__code__", None), "co_freevars", ())
    return dict(zip(free, getattr(func, "__closure__", None) or ()))


def contents(cell: CellType) -> Any:
    """Return what a variable of a closure has; `EMPTY` before its first value."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def copy_of_function(
    func: Any, names: dict, cells: tuple | None, code: CodeType | None = None
) -> Any:
    """Return a function like another one, with other globals and cells, and maybe other code."""
    made = FunctionType(code or func.__code__, names, func.__name__, None, cells)
    made.__defaults__, made.__kwdefaults__ = func.__defaults__, func.__kwdefaults__
    made.__doc__, made.__qualname__ = func.__doc__, func.__qualname__
    return made


# ---- what a function takes and reads ----


def parameters_of(function: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a function of Python takes by position.

    Another object has none.
    """
    if not facts.names.holds and isinstance(function, FunctionType):
        found = inspect.signature(function, follow_wrapped=False).parameters.values()
        return tuple(p.name for p in found if p.kind < p.VAR_POSITIONAL)
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def mentions(function: Any, name: str) -> bool:
    """Tell if a function mentions a global or an attribute, or may where that cannot be seen."""
    code = getattr(function, "__code__", None)
    return not facts.names.holds or (code is not None and name in code.co_names)


def reads(function: FunctionType, name: str) -> bool:
    """Tell if a function, or one inside it, reads its variable, or may."""
    if not facts.names.holds:
        return True
    return any(
        i.argval == name or (isinstance(i.argval, tuple) and name in i.argval)
        for i in dis.get_instructions(function)
        if i.opname.startswith("LOAD_")
        and i.opname not in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST")
    ) or any(name in code.co_freevars for code in codes_in(function.__code__))


def all_names_of(function: FunctionType) -> list[str]:
    """Return the names by which a function may ask for globals, also in what it defines."""
    facts.names.need()
    return [name for code in loads_in(function.__code__) for name in code.co_names]


def start_of(function: Any) -> tuple[str, int]:
    """Return the file and the line where the definition of a function of Python begins."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno
