"""The objects that a function reaches by closures, defaults and attributes, and generators there.

NOTE [what is not looked for]
    A generator that is made in the function, or that is in a container or behind two attributes,
    is not found. No code of the user's runs.
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


def reached_from(roots: Iterable[Any], by_names: bool = False) -> Iterator[Any]:
    """Return some objects, and what they are made of, wrap, or close over; or name as a global."""
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
            if by_names:
                waiting += globals_of(x)
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


# ---- generators ----


def note_generators(x: Any, found: dict[int, tuple]) -> None:
    """Note the state of a generator of NumPy's, or of one in an attribute of an object."""
    module: Any = sys.modules.get("numpy.random")
    if module is None:
        return
    for each in (x, *attributes_of(x)):
        if type(each) in (module.Generator, module.RandomState):
            found.setdefault(id(each), (each, state_of(each)))


def moved(found: dict[int, tuple]) -> list[Any]:
    """Return the generators of NumPy's that have drawn since they were noted."""
    return [x for x, before in found.values() if state_of(x) != before]


def generators_of(func: Any) -> dict[int, tuple]:
    """Return the global generator, and those that `func` reaches, also by the names of globals."""
    module: Any = sys.modules.get("numpy.random")
    found: dict[int, tuple] = {}
    for x in () if module is None else reached_from((func, module.mtrand._rand), by_names=True):
        note_generators(x, found)
    return found


def state_of(generator: Any) -> Any:
    """Return the state of a generator of NumPy's, as something that is compared."""
    if hasattr(generator, "bit_generator"):
        bits = generator.bit_generator  # a child of it is a draw, too
        return repr(bits.state), getattr(bits.seed_seq, "n_children_spawned", 0)
    whole = generator.get_state(legacy=False)
    state = whole["state"]  # and a normal number may be left of the last two
    return state["pos"], state["key"].tobytes(), whole["has_gauss"], whole["gauss"]
