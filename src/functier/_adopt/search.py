"""Records of adopted modules, and of functions and classes that run with their globals."""

import functools
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, GeneratorType, ModuleType
from typing import Any

import numpy as np

from .._cpython.code import Code
from .._cpython.collector import known_containers, parts_of
from .._cpython.frames import Frame

RECORDS: dict[int, Any] = {}
"""The `Bindings` of adopted modules, by the numbers of their namespaces."""

MOST = 200_000
"""The most objects that are followed for each module."""

ATOMS = (
    str, bytes, int, float, complex, type(None), Code, Frame, ModuleType, np.ndarray,
    np.generic, BuiltinFunctionType, GeneratorType,
)  # fmt: skip


def functions_of(modules: Iterable[ModuleType]) -> dict[int, tuple[list, list]]:
    """Return the functions and the classes of each module, by the number of its namespace.

    The names of a module lead to those that it has, also through decorators, closures and
    containers. The garbage collector knows the others, such as closures that a caller keeps.
    """
    functions: dict[int, dict] = {}
    classes: dict[str, dict] = {}
    waiting: list[Any] = []
    for module in modules:
        functions[id(vars(module))] = {}
        classes[module.__name__] = classes[import_name(module)] = {}
        waiting += vars(module).values()
    _follow(waiting, functions, classes)
    for x in known_containers():
        if type(x) is FunctionType and id(x.__globals__) in functions:
            functions[id(x.__globals__)][id(x)] = x
    return {
        id(vars(m)): (list(functions[id(vars(m))].values()), list(classes[m.__name__].values()))
        for m in modules
    }


def import_name(module: ModuleType) -> str:
    """Return the name that imports a module: a package may give ``__name__`` another value."""
    name = getattr(getattr(module, "__spec__", None), "name", None)
    if isinstance(name, str) and sys.modules.get(name) is module:
        return name
    return module.__name__


class Space(ModuleType):
    """The namespace of a module that an object has replaced, as functions of its class have it."""

    def __init__(self, name: str, space: dict):
        super().__init__(name)
        self.space = space

    @property
    def __dict__(self) -> Any:  # type: ignore[override]  # `vars` of a module
        return self.space


SPACES: dict[int, Space] = {}
"""These modules, by the numbers of their namespaces."""


def module_behind(name: str, found: Any) -> Any:
    """Return the module of this name behind an object that a package has put there for it.

    The object keeps it, or the functions of its class have its names.
    """
    kind = type(found)
    if kind is ModuleType or found is None:
        return found
    kept = [] if issubclass(kind, ModuleType) else list(getattr(found, "__dict__", {}).values())
    for x in kept:
        if isinstance(x, ModuleType) and x.__name__ == name:
            return x
    for func in vars(kind).values() if kind.__module__ == name else ():
        if type(func) is FunctionType and func.__globals__.get("__name__") == name:
            space = func.__globals__
            return SPACES.setdefault(id(space), Space(name, space))
    return found


def is_of_python(name: str) -> bool:
    """Return whether Python gives a name its meaning, as ``__file__``."""
    return name[:2] == "__" == name[-2:]


def _follow(waiting: list[Any], functions: dict, classes: dict) -> None:
    """Note the functions and classes that some objects lead to, where they are asked for."""
    namespaces = {id(vars(m)) for m in list(sys.modules.values()) if isinstance(m, ModuleType)}
    most = MOST * len(functions)
    seen: set[int] = set()
    while waiting and len(seen) < most:
        x = waiting.pop()
        kind = type(x)  # isinstance would ask what a weak proxy refers to
        if id(x) in seen or issubclass(kind, ATOMS) or id(x) in namespaces:
            continue
        seen.add(id(x))
        if kind is FunctionType:
            if id(x.__globals__) in functions:
                functions[id(x.__globals__)][id(x)] = x
            waiting += [x.__defaults__, x.__kwdefaults__, x.__dict__]
            waiting += _contents(x)
        elif issubclass(kind, type):
            if x.__module__ in classes:
                classes[x.__module__][id(x)] = x
                waiting += vars(x).values()
        elif issubclass(kind, functools.partial):
            waiting += [x.func, x.args, x.keywords]
        else:
            waiting += [y for y in parts_of(x) if not issubclass(type(y), type)]


def _contents(func: Any) -> list[Any]:
    """Return what a function closes over."""
    values = []
    for cell in func.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # empty
            continue
    return values
