"""The modules that adopted code calls, by its names, and which of them are adopted.

NOTE [which modules are adopted with others]
    Facts decide, and no list of names. The names of a module lead to other modules: they are
    modules, functions, classes or instances. So do imports inside of its functions. Followed like
    this, a module is adopted, too, if it is

    - of no library that has twins, nor of Python's own;
    - in Python: it has no compiled object of a library other than NumPy and SciPy, and reaches
      no module of its package that has one. So pandas, Matplotlib and scikit-learn are left
      alone, and the formulas beside a package's compiled code are not;
    - in a numerical package: one in ten of its modules that are reached has a name of NumPy, SciPy
      or `math`. So SymPy, NetworkX and pytest are left alone.

    What is left alone is remembered with the reason. Compiled code is not followed; what a package
    that is not numerical calls is, as it may hand numbers on, such as one that looks for the
    library of an array.
"""

import functools
import sys
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .._cpython.call_sites import imports_in
from .._cpython.code import code_behind, loads_in
from .._cpython.sources import is_extension
from .compiled import is_of_numba, python_function
from .search import import_name, module_behind
from .twins import original_of, twin_of

STOPS = frozenset({"numpy", "scipy", "functier", "__main__", *sys.stdlib_module_names})
"""Libraries whose functions have twins, and those that no adoption follows."""

SHARE = 0.1
"""The least part of a package's modules that has numerical names."""

MOST_WRAPPERS = 10
COMPILED_KINDS = "cython_function_or_method", "fused_cython_function", "fortran"
CACHED = type(functools.lru_cache(is_extension))
COMPILED = "is or reaches compiled code"
OTHER = "is of a package in which few modules use NumPy, SciPy or math"


class Found:
    """A module that was reached: where its names lead to, and its facts."""

    def __init__(self, name: str, module: ModuleType):
        self.name, self.module, self.root = name, module, root_of(name)
        self.leads: set[str] = set()
        self.compiled = is_compiled(name)
        self.numerical = False
        for value in [] if self.compiled else list(vars(module).values()):
            self.numerical = self.numerical or is_numerical(value)
            for lead in modules_of(value):
                self.compiled = self.compiled or is_compiled(lead)
                self.leads.add(lead)


class Reach:
    """The modules that the given ones lead to; what is imported later is added.

    Parameters
    ----------
    names : iterable of str
        The names of the modules and packages that a user gave, which are adopted anyhow.
    """

    def __init__(self, names: Iterable[str]):
        self.names = tuple(names)
        self.found: dict[str, Found] = {}
        self.starts: set[str] = set()
        self.taken: set[str] = set()
        self.left: dict[str, str] = {}
        self.awaited: set[str] = set()  # what functions import that is not there yet
        self.roots: set[str] = set()

    def is_given(self, name: str) -> bool:
        """Return whether a module is one that a user gave, or inside of one."""
        return any([name == given or name.startswith(f"{given}.") for given in self.names])

    def awaits(self, name: str) -> bool:
        """Return whether a module that is imported now may be one to adopt.

        One that was found may have been seen by another thread before all of its code had run.
        """
        known = name in self.awaited or name in self.found
        return known or root_of(name) in self.roots

    def add(self, modules: Iterable[ModuleType]) -> list[ModuleType]:
        """Follow these modules; return those to adopt with them that were not known before."""
        starts = {import_name(module): module for module in modules}
        self.found |= {name: Found(name, module) for name, module in starts.items()}
        self.starts |= starts.keys()
        waiting, news = list(starts), list[ModuleType]()
        while waiting:
            self.follow(waiting)
            fresh = [f for f in self.qualified() if f.name not in self.taken]
            self.taken |= {f.name for f in fresh}
            others = [f for f in fresh if not self.is_given(f.name)]
            self.roots |= {f.root for f in others}
            news += [f.module for f in others]
            waiting = list({lead for f in fresh for lead in self.imports_of(f)})
        return news

    def follow(self, waiting: list[str]) -> None:
        """Note the modules of these names, and those that their names lead to."""
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen or (is_stop(name) and name not in self.found):
                continue
            seen.add(name)
            module = module_behind(name, sys.modules.get(name))
            if name not in self.found and isinstance(module, ModuleType):
                self.found[name] = Found(name, module)
            found = self.found.get(name)
            if found is not None and (self.is_given(name) or not found.compiled):
                waiting += found.leads

    def qualified(self) -> list[Found]:
        """Return the modules to adopt by NOTE [which modules are adopted with others]."""
        bad = {name for name, f in self.found.items() if f.compiled}
        while True:
            more = {
                name for name, f in self.found.items()
                if name not in bad and any([
                    lead in bad and self.found[lead].root == f.root for lead in f.leads
                ])
            }  # fmt: skip
            if not more:
                break
            bad |= more
        counts: dict[str, list[int]] = {}
        for name, f in self.found.items():
            count = counts.setdefault(f.root, [0, 0])
            count[0] += 1
            count[1] += f.numerical and name not in bad
        chosen: dict[str, Found] = {}
        waiting, passed = list(self.starts), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in self.found or name in passed:
                continue
            passed.add(name)
            found = self.found[name]
            whole, numerical = counts[found.root]
            given = self.is_given(name)
            if name in bad and not given:
                self.left[name] = COMPILED
                continue
            if given or (numerical and numerical >= SHARE * whole):
                chosen[name] = found
            else:
                self.left[name] = OTHER
            waiting += found.leads
        return list(chosen.values())

    def summary(self) -> dict[str, str]:
        """Return what is left alone, and why; a package by its name if no module is adopted."""
        adopted = {root_of(name) for name in self.taken}
        return {
            name if root_of(name) in adopted else root_of(name): why
            for name, why in self.left.items()
            if name not in self.taken
        }

    def imports_of(self, found: Found) -> Iterator[str]:
        """Yield the loaded modules that functions of a module import; await the others."""
        package = vars(found.module).get("__package__") or ""
        for func in functions_in(found.module):
            for code in loads_in(code_behind(func)):
                for name in imports_in(code, package):
                    if not is_stop(name):
                        found.leads.add(name)
                        if name in sys.modules:
                            yield name
                        else:
                            self.awaited.add(name)


def root_of(name: str) -> str:
    """Return the name of the package of a module, inside of namespaces that several ones share."""
    root, *rest = name.split(".")
    for part in rest:
        module = sys.modules.get(root)
        if module is None or getattr(module, "__file__", None) is not None:
            break
        root = f"{root}.{part}"
    return root


def is_stop(name: str) -> bool:
    """Tell if a module is of a library where the search ends, or the alias of one with twins."""
    root = name.partition(".")[0]
    return root in STOPS or root.startswith("functier-")


def is_compiled(name: str) -> bool:
    """Return whether a module is compiled code of a library other than NumPy and SciPy."""
    return not is_stop(name) and is_extension(name)


def is_numerical(value: Any) -> bool:
    """Tell if a name has an object of NumPy, SciPy or `math`, or its twin: it is adopted then."""
    original = value if twin_of(value) is not None else original_of(value)
    if original is None:
        return type(value) is np.ufunc
    return getattr(original, "__module__", None) != "functools"  # whose caches have twins


def modules_of(value: Any) -> list[str]:
    """Return the names of the modules that an object is, or comes from; run none of its code."""
    kind = type(value)
    if issubclass(kind, ModuleType):
        known = object.__getattribute__(value, "__dict__")
        spec = known.get("__spec__")
        names = [getattr(spec, "name", None), known.get("__name__")]
    elif kind is FunctionType:
        names = [value.__module__, _name_of(value.__globals__)]
    elif issubclass(kind, type):
        own = [v for v in vars(value).values() if type(v) is FunctionType][:1]
        names = [value.__module__, *[_name_of(v.__globals__) for v in own]]
    elif kind is BuiltinFunctionType or kind.__name__ in COMPILED_KINDS:
        names = [getattr(value, "__module__", None)]
    elif kind is functools.partial:
        return modules_of(value.func)
    elif is_of_numba(kind):
        return modules_of(python_function(value))
    else:
        names = [kind.__module__]
    return list({name for name in names if type(name) is str})


def _name_of(namespace: dict) -> Any:
    return getattr(namespace.get("__spec__"), "name", None) or namespace.get("__name__")


def functions_in(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods that a module defines, decorated ones as well."""
    space = vars(module)
    for value in list(space.values()):
        inside = issubclass(type(value), type) and value.__module__ == module.__name__
        for part in list(vars(value).values()) if inside else [value]:
            for func in _unwrapped(part):
                if func.__globals__ is space:
                    yield func


def _unwrapped(value: Any) -> Iterator[FunctionType]:
    """Yield the functions in an object that may be a descriptor or a decorated function."""
    kind = type(value)
    parts: tuple[Any, ...] = (value,)
    if kind is property:
        parts = value.fget, value.fset
    elif kind in (staticmethod, classmethod):
        parts = (value.__func__,)
    elif kind is functools.cached_property:
        parts = (value.func,)
    elif kind is CACHED:
        parts = (value.__wrapped__,)
    for part in parts:
        for _ in range(MOST_WRAPPERS):
            if type(part) is not FunctionType:
                break
            yield part
            part = part.__dict__.get("__wrapped__")
