"""The objects that a function is made of: what it wraps, closes over, and names as globals.

No code of the user's runs.
"""

import functools
import sys
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

HERE = __name__.partition(".")[0]
LIBRARIES = "numpy", "scipy", "optree", "llvmlite", "numba"
"""The last two have finalisers, which run at any time: Numba counts the locks of LLVM."""
KNOWN = frozenset({HERE, *LIBRARIES, *sys.stdlib_module_names}) - {"__main__"}

EMPTY = object()


def attributes_of(x: Any) -> list[Any]:
    """Return what an object has in its ``__dict__``; its own code does not run."""
    if isinstance(x, (type, ModuleType)):
        return []
    try:
        return list(object.__getattribute__(x, "__dict__").values())
    except AttributeError:
        return []


def is_known(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] in KNOWN


def reached_from(roots: Iterable[Any]) -> Iterator[Any]:
    """Return some objects, and what they are made of, wrap, or close over."""
    waiting = list(roots)
    seen: dict[int, Any] = {}
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        yield x
        if isinstance(x, FunctionType):
            waiting += map(contents, x.__closure__ or ())
            waiting += defaults_of(x)
            waiting.append(getattr(x, "__wrapped__", None))
        elif isinstance(x, functools.partial):
            waiting += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, MethodType):
            waiting += [x.__func__, x.__self__]
        elif isinstance(x, (tuple, list)) and len(x) < 100:
            waiting += x
        elif callable(x) and not isinstance(x, type):
            waiting.append(getattr(x, "__wrapped__", None))
            waiting.append(type(x).__call__)


def globals_of(func: FunctionType) -> list[Any]:
    """Return the globals that a user's function names, and those of its modules that it names."""
    space = func.__globals__
    if space.get("__name__", HERE).partition(".")[0] in KNOWN:
        return []
    texts = set(named_globals(func.__code__))
    found = [space[name] for name in texts & space.keys()]
    modules = [x for x in found if type(x) is ModuleType and not is_known(x)]
    return found + [vars(x)[name] for x in modules for name in texts & vars(x).keys()]


def named_globals(code: CodeType) -> Iterator[str]:
    """Return the names by which code may ask for globals, also in functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from named_globals(constant)


def contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def defaults_of(func: FunctionType) -> tuple:
    given = func.__kwdefaults__ or {}
    return (*(func.__defaults__ or ()), *given.values())
