"""The functions that NumPy lets others override, and the rows of the sample table for each."""

import functools
import warnings
from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.char
import numpy.fft
import numpy.lib.recfunctions
import numpy.strings
from numpy.testing.overrides import (
    get_overridable_numpy_array_functions,
    get_overridable_numpy_ufuncs,
)

import functier as ft
import samples
from functier._core.numpy_facts import name_of
from functier._core.tensor import canonical
from functier.testing import operations
from samples._row import Row
from support.basics import load_all

load_all()


def is_public(func: Callable) -> bool:
    """Tell if a user can call it; NumPy also lists functions behind its ``like=``."""
    owner = np
    for name in func.__module__.split(".")[1:]:
        owner = getattr(owner, name)
    return func.__name__[0] != "_" and getattr(owner, func.__name__, None) is func


def surface() -> dict[str, Callable]:
    """The functions and ufuncs that NumPy lets others override, by name."""
    functions = {f for f in get_overridable_numpy_array_functions() if is_public(f)}
    ufuncs = {f for f in vars(np).values() if isinstance(f, np.ufunc)}
    ufuncs |= {f for f in vars(np.linalg).values() if isinstance(f, np.ufunc)}
    ufuncs &= get_overridable_numpy_ufuncs()
    return {name_of(f): f for f in functions | ufuncs}


@functools.cache
def called() -> dict[Callable, list]:
    """The rows of the sample table by the functions that they call."""
    found: dict[Callable, list] = {}
    current: list = []
    of_scipy = False

    class Noting(ft.Tensor):
        """Notes the functions that are called on it."""

        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            note(canonical(func, args, kwargs or {})[0])
            return super().__tensor_function__(func, types, args, kwargs)

    def note(func: Callable) -> None:
        if of_scipy and not name_of(func).startswith("scipy."):
            return  # what it is made of
        rows = found.setdefault(func, [])
        if not rows or rows[-1] is not current[0]:
            rows.append(current[0])

    for name, row in samples.named().items():
        of_scipy = name.startswith("scipy_")
        current[:] = [row]
        note(row.func)
        if row.func not in operations():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row.call(*[Noting(x) for x in row.leaves])
    return found


def rows_of(name: str, func: Any) -> dict[str, Row]:
    """Return the rows of a function by their names, those of a quick run and its own first."""
    if func in operations():
        own = set(map(id, called().get(func, [])))
        found = {n: row for n, row in samples.named().items() if id(row) in own}
    else:
        wanted, last = {id(func), id(twin_of(name, func))}, name.rpartition(".")[2]
        found = {n: r for n, r in samples.named().items() if mentions(r.func, last, wanted)}
    chosen = samples.chosen()
    return dict(
        sorted(found.items(), key=lambda item: (item[0] not in chosen, item[1].func is not func))
    )


def twin_of(name: str, func: Any) -> Any:
    """Return what the package has for a function of NumPy or SciPy, or the function itself."""
    try:
        return resolve_name(f"functier.{name}")
    except (ImportError, AttributeError):
        return func


def mentions(func: Any, last: str, wanted: set[int]) -> bool:
    """Tell if the code of a row's function names an object, by its last name and its ids."""
    waiting, seen = [func], set()
    while waiting:
        one = waiting.pop()
        if id(one) in wanted:
            return True
        if id(one) in seen or not isinstance(one, FunctionType):
            continue
        seen.add(id(one))
        if not one.__module__.startswith("samples."):
            continue
        names = set(names_in(one.__code__))
        held = [c.cell_contents for c in one.__closure__ or ()] + list(one.__defaults__ or ())
        held += [one.__globals__[n] for n in names if n in one.__globals__]
        waiting += [x for x in held if not isinstance(x, ModuleType)]
        if last in names or last in [x for x in held if isinstance(x, str)]:
            modules = [x for x in held if isinstance(x, ModuleType)]
            inside = [getattr(m, n, None) for m in modules for n in names]
            modules += [x for x in inside if isinstance(x, ModuleType)]
            waiting += [getattr(m, last, None) for m in modules]
    return False


def names_in(code: CodeType) -> Iterator[str]:
    """The names that a function's code looks up, and the functions inside of it."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from names_in(part)
