"""The functions and classes of a module: all that run with its globals, wherever they are."""

import functools
import gc
import sys
from collections.abc import Iterable
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
)
from typing import Any

import numpy as np

MOST = 200_000
"""How many objects are looked at, at most, from one module."""

ATOMS = (
    str, bytes, int, float, complex, type(None), CodeType, FrameType, ModuleType, np.ndarray,
    np.generic, BuiltinFunctionType, GeneratorType,
)  # fmt: skip


def functions_of(modules: Iterable[ModuleType]) -> dict[int, tuple[list, list]]:
    """Return the functions and the classes of each module, by the number of its namespace.

    The names of a module lead to those that it has, also through decorators, closures and
    containers. The garbage collector knows the others, such as closures that a caller keeps.
    """
    found: dict[int, tuple[dict, dict]] = {}
    for module in modules:
        found[id(vars(module))] = {}, {}
    namespaces = {id(vars(m)) for m in list(sys.modules.values()) if isinstance(m, ModuleType)}
    for module in modules:
        _reach(module, found, namespaces)
    for x in gc.get_objects():
        if type(x) is FunctionType and id(x.__globals__) in found:
            found[id(x.__globals__)][0][id(x)] = x
    return {key: (list(a.values()), list(b.values())) for key, (a, b) in found.items()}


def _reach(module: ModuleType, found: dict, namespaces: set[int]) -> None:
    """Note the functions and classes that the names of a module lead to."""
    classes = found[id(vars(module))][1]
    waiting: list[Any] = list(vars(module).values())
    seen: set[int] = set()
    while waiting and len(seen) < MOST:
        x = waiting.pop()
        kind = type(x)  # isinstance would ask what a weak proxy refers to
        if id(x) in seen or issubclass(kind, ATOMS) or id(x) in namespaces:
            continue
        seen.add(id(x))
        if kind is FunctionType:
            if id(x.__globals__) in found:
                found[id(x.__globals__)][0][id(x)] = x
            waiting += [x.__defaults__, x.__kwdefaults__, x.__dict__]
            waiting += _contents(x)
        elif issubclass(kind, type):
            if x.__module__ == module.__name__:
                classes[id(x)] = x
                waiting += list(vars(x).values())
        elif issubclass(kind, functools.partial):
            waiting += [x.func, x.args, x.keywords]
        else:
            waiting += [y for y in gc.get_referents(x) if not issubclass(type(y), type)]


def _contents(func: Any) -> list[Any]:
    """Return what a function closes over."""
    values = []
    for cell in func.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # empty
            continue
    return values


def is_running(codes: set[int]) -> bool:
    """Tell if a frame, or a generator that is suspended, runs one of the code objects."""
    for frame in list(sys._current_frames().values()):
        at: FrameType | None = frame
        while at is not None:
            if id(at.f_code) in codes:
                return True
            at = at.f_back
    for x in gc.get_objects():
        if type(x) in SUSPENDED and id(_code_of(x)) in codes:
            return True
    return False


SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)


def _code_of(x: Any) -> Any:
    for name in ("gi_code", "cr_code", "ag_code"):
        if hasattr(x, name):
            return getattr(x, name)
    return None
