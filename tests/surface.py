"""The functions that NumPy lets others override, and the rows of the sample table for each."""

import warnings
from collections.abc import Callable

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
from functier._core.table import OPS
from functier._core.tensor import canonical
from support import load_all

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
        if row.func not in OPS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row.call(*[Noting(x) for x in row.leaves])
    return found
