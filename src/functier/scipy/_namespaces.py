"""The twin of each thing in SciPy's modules.

NOTE [two kinds of twin]
    A function with a rule (in `_rules`) asks the tensors among its arguments. What takes
    functions, and classes, have a twin in a file of this package, whose table `TWINS` names them:
    see `OWN`. Functions without a rule, and classes, of some modules are copies of SciPy's code.
"""

import functools
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.fft  # type: ignore[import-untyped]
import scipy.special  # type: ignore[import-untyped]

from .._cpython.functions import unheard
from ..numpy import _namespaces as _numpy
from ..numpy._functions import make_twin
from ._copies import (
    copy_class,
    copy_of,
    holds_copies,
    is_copied_class,
    plain_only,
    takes_copies,
)
from ._dispatching import dispatching
from ._mirror import MIRROR

TWINS: dict[int, Any] = {}
"""The twins that have been made, by the number of the original, which lives as long."""

OWN: dict[str, str] = {
    "integrate": "_integrate", "interpolate": "_interpolate", "optimize": "_optimize",
    "sparse": "_sparse", "sparse.csgraph": "_sparse", "sparse.linalg": "_sparse_linalg",
    "stats": "_stats",
    "spatial": "_trees", "spatial.transform": "_rotation", "ndimage": "_ndimage",
}  # fmt: skip
"""The files of this package with twins, by the modules of SciPy that have their originals."""

FUNCTIONS: Any = FunctionType, BuiltinFunctionType, type(scipy.fft.fft)
if hasattr(scipy.special, "legendre_p"):  # since SciPy 1.15
    FUNCTIONS = *FUNCTIONS, type(scipy.special.legendre_p)
"""The classes of SciPy's functions."""
CYTHON = "cython_function_or_method"
"""The name of the classes of compiled functions, one for each version of Cython."""


def twin_of(value: Any, path: str) -> Any:
    """Return the twin of an object of SciPy, or the object where it has none.

    `path` is its name in this package.
    """
    load_own(path.rpartition(".")[0])
    made = TWINS.get(id(value))
    if made is None:
        made = _make(value, MIRROR.public_path(value, path))
        if made is not value:
            TWINS[id(value)] = made
    return made


def load_own(section: str) -> None:
    """Note the twins of a module of SciPy that a file of this package defines."""
    name = OWN.get(section)
    if name is not None:
        with unheard():  # what SciPy draws while it is loaded is not a function's
            table = import_module(f"{__package__}.{name}").TWINS
        del OWN[section]
        TWINS.update({id(original): twin for original, twin in table})


def _make(value: Any, path: str) -> Any:
    if isinstance(value, ModuleType):
        return MIRROR.namespace(value)
    if isinstance(value, type) and is_copied_class(value):
        return copy_class(value, path.rpartition(".")[2], twin_of, _home(path))
    if _is_compiled(value) and "._" in path:
        return plain_only(value)
    if isinstance(value, np.ufunc) or not isinstance(value, FUNCTIONS):
        return value
    if not MIRROR.owns(value.__module__ or ""):
        return _numpy.twin_of(value, path)
    return _twin_of_function(value, path)


def _is_compiled(value: Any) -> bool:
    """Return whether a value is a function in C of SciPy's."""
    if type(value).__name__ == CYTHON:
        return True
    return isinstance(value, BuiltinFunctionType) and MIRROR.owns(value.__module__ or "")


def _home(path: str) -> str:
    """Return the module of this package that an object with this path is in."""
    return f"{MIRROR.here}.{path}".rpartition(".")[0]


def _twin_of_function(func: Any, path: str) -> Any:
    def code_of(func: Any) -> Any:
        return copy_of(func, twin_of)

    twin = make_twin(func, path, code_of, package=MIRROR.here, outside=dispatching(func))
    if not takes_copies(func):
        return twin

    @functools.wraps(twin)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (code_of(func) if holds_copies(args) else twin)(*args, **kwargs)

    call.__qualname__ = path
    return call
