"""Functions in the tasks of a graph that give the same for the same arguments, as far as is known.

NOTE [what is known]
    Operations of NumPy and SciPy with a record, functions of Dask and of functier whose own
    arguments are known, what the table `_cpython.allowed` has for code that nobody sees run, and
    functions of the user whose code says that they use nothing else: neither imports, nor variables
    that they assign, nor items that they set of what was there, and of modules only what is known.
    All else may draw, count or read a clock.
"""

import builtins
import functools
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from dask._task_spec import GraphNode

from .._core.numpy_facts import name_of
from .._core.table import find
from .._cpython import facts
from .._cpython.allowed import CLOCKS, CLOSED, is_pure_builtin, is_pure_class
from .._cpython.call_sites import changes_nothing
from .._cpython.code import all_names_of, code_of, texts_in
from .._cpython.functions import contents, defaults_of

ROOTS = "functier", "dask", "tlz", "toolz", "cytoolz"
VALUES = (
    str, bytes, int, float, complex, type(None), type(...), type(NotImplemented), slice, range,
    np.dtype, np.generic, np.ndarray, np.random.SeedSequence,
)  # fmt: skip
BITS = np.random.BitGenerator
WITHOUT_VALUES = np.empty, np.empty_like
"""Functions with a record whose result is whatever was in memory."""


def are_pure(roots: Iterable[Any]) -> bool:
    """Return whether tasks, and all functions that they call, are known to be pure."""
    waiting, seen = [*roots], dict[int, Any]()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        inside = parts_of(x)
        if inside is None:
            return False
        waiting += inside
    return True


def parts_of(x: Any) -> Iterable[Any] | None:
    """Return what has to be pure for an object to be so; None for one that is not known."""
    kind = type(x)
    if isinstance(x, GraphNode):
        task: Any = x
        if not hasattr(task, "func"):
            return [getattr(task, "value", None)]
        return [task.func, *task.args, *task.kwargs.values()]
    if kind in (tuple, list, set, frozenset):
        return x
    if kind is dict:
        return [*x, *x.values()]
    if isinstance(x, VALUES):
        return None if isinstance(x, np.ndarray) and x.dtype.hasobject else ()
    if kind is functools.partial:
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, type):
        known = root_of(x) in ROOTS or is_pure_class(x) or issubclass(x, BITS)  # with its seed
        return () if known else None
    if kind is FunctionType and root_of(x) in ROOTS:
        return [*map(contents, x.__closure__ or ()), *defaults_of(x)]
    if x in WITHOUT_VALUES:
        return None
    if callable(x) and has_record(x):
        return ()
    if kind is FunctionType:
        return parts_of_function(x)
    if kind is BuiltinFunctionType:
        return () if is_pure_builtin(x, seen=False) else None
    if root_of(kind) in ROOTS:
        return [*getattr(x, "__dict__", {}).values()]
    return None


def root_of(x: Any) -> str:
    return (getattr(x, "__module__", None) or "").partition(".")[0]


def has_record(x: Any) -> bool:
    """Return whether a function is one of NumPy or SciPy that functier has a record of."""
    if isinstance(x, np.ufunc):
        return name_of(x) != x.__name__
    try:
        return find(x) is not None and root_of(x) in ("numpy", "scipy")
    except TypeError:  # it has no hash
        return False


def parts_of_function(func: FunctionType) -> list[Any] | None:
    """Return what the code of a user's function uses; None if it may change anything."""
    code: Any = code_of(func)
    if not facts.names.holds or not changes_nothing(code):
        return None
    if not texts_in(code).isdisjoint(CLOCKS):
        return None
    names, space = set(all_names_of(func)), func.__globals__
    found = [*map(contents, func.__closure__ or ()), *defaults_of(func)]
    for name in names:
        if name in space:
            found.append(space[name])
        elif hasattr(builtins, name):
            found.append(getattr(builtins, name))
    inside, seen = [], set[str]()
    while found:
        x = found.pop()
        if not isinstance(x, ModuleType):
            if isinstance(x, (list, dict, set)) or (isinstance(x, type) and issubclass(x, BITS)):
                return None  # which may have other items at another time, or no seed
            inside.append(x)
        elif x.__name__ not in seen:
            seen.add(x.__name__)
            if not (x.__name__ in CLOSED or root_of_module(x) in ("numpy", "scipy")):
                return None
            found += [vars(x)[name] for name in names & vars(x).keys()]
    return inside


def root_of_module(module: ModuleType) -> str:
    name = module.__name__
    return "" if ".random" in name else name.partition(".")[0]
