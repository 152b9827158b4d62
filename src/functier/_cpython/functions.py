"""Functions of Python: their code, what they close over, and copies of them."""

from collections.abc import Callable
from operator import attrgetter
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from . import facts

read_code: Callable[[Any], CodeType] = attrgetter("__code__")
"""The code of a function."""

EMPTY = object()
"""Nothing, where there may be any object."""

TELLING = "__code__", "__defaults__", "__kwdefaults__", "__closure__"
"""The attributes of a function that say what its calls do."""

HAS_CODE = "{}.__code__ is {}"
"""The source that asks if a function has this code."""


def give_code(func: FunctionType, code: CodeType) -> None:
    """Replace the code of a function: whoever calls it runs the other."""
    facts.replacement.need()
    func.__code__ = code


def variables_of(func: FunctionType) -> set[str]:
    """Return the names of the variables of a function, the parameters included."""
    return {*func.__code__.co_varnames, *func.__code__.co_cellvars}


def cells_of(func: Any) -> dict[str, CellType]:
    """Return the cells of the variables that a function closes over; a function in C has none."""
    cells = getattr(func, "__closure__", None)
    if not cells:
        return {}
    facts.names.need()
    return dict(zip(func.__code__.co_freevars, cells))


def contents(cell: CellType) -> Any:
    """Return what a variable of a closure has; `EMPTY` before its first value."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def defaults_of(func: FunctionType) -> tuple:
    """Return the defaults of the parameters of a function."""
    given = func.__kwdefaults__ or {}
    return (*(func.__defaults__ or ()), *given.values())


def copy_of_function(
    func: Any, names: dict, cells: tuple | None, code: CodeType | None = None
) -> Any:
    """Return a function like another one, with other globals and cells, and maybe other code."""
    made = function_of(
        code or func.__code__, names, func.__qualname__, func.__defaults__, func.__kwdefaults__,
        cells,
    )  # fmt: skip
    made.__name__, made.__doc__ = func.__name__, func.__doc__
    return made


def function_of(
    code: CodeType, names: dict, title: str, defaults: Any, named: Any, cells: tuple | None
) -> Any:
    """Return a function of its parts; `title` is its qualified name, `named` has more defaults."""
    made = FunctionType(code, names, None, defaults, cells)
    made.__kwdefaults__, made.__qualname__ = named, title
    return made


# ---- copies whose names mean twins ----

TwinOf = Callable[[Any, str], Any]
GLOBALS: dict[tuple[int, TwinOf], dict[str, Any]] = {}
"""The globals of copies, by the number of the module's own and by what gives the twins."""
COPIES: dict[tuple[int, TwinOf], FunctionType] = {}
"""Copies of functions, by the number of the original and the same."""


def copy_function(func: FunctionType, twin_of: TwinOf) -> FunctionType:
    """Return a function with the code of `func`, whose globals are twins."""
    made = COPIES.get((id(func), twin_of))
    if made is None:
        names = copy_globals(func.__globals__, twin_of)
        made = COPIES[id(func), twin_of] = copy_of_function(func, names, func.__closure__)
    return made


def copy_globals(names: dict[str, Any], twin_of: TwinOf) -> dict[str, Any]:
    """Return the globals of a module, with twins of what has one."""
    made = GLOBALS.get((id(names), twin_of))
    if made is None:
        made = GLOBALS[id(names), twin_of] = dict(names)
        for name, value in names.items():
            if name[:2] != "__" and (isinstance(value, ModuleType) or callable(value)):
                made[name] = twin_of(value, name)
    return made
