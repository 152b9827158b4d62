"""The twin of each thing in SciPy's modules.

NOTE [two kinds of twin]
    A function with a rule (in `_rules.scipy`) asks the tensors among its arguments. What takes
    functions, and classes, have a twin in a file of this package, whose table `TWINS` names them:
    see `OWN`.
"""

from importlib import import_module
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.fft  # type: ignore[import-untyped]
import scipy.special  # type: ignore[import-untyped]

from .._core.foreign import dispatching
from ..numpy import _namespaces as _numpy
from ..numpy._functions import make_twin
from ..numpy._mirror import Mirror

TWINS: dict[int, Any] = {}
"""The twins that have been made, by the number of the original, which lives as long."""

OWN: dict[str, str] = {
    "integrate": "_integrate", "interpolate": "_interpolate", "optimize": "_optimize",
    "sparse.linalg": "_sparse_linalg", "stats": "_stats",
}  # fmt: skip
"""The files of this package with twins, by the modules of SciPy that have their originals."""

FUNCTIONS: Any = FunctionType, BuiltinFunctionType, type(scipy.fft.fft)
if hasattr(scipy.special, "legendre_p"):  # since SciPy 1.15
    FUNCTIONS = *FUNCTIONS, type(scipy.special.legendre_p)
"""The classes of SciPy's functions."""


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
        table = import_module(f"{__package__}.{name}").TWINS
        del OWN[section]
        TWINS.update({id(original): twin for original, twin in table})


def _make(value: Any, path: str) -> Any:
    if isinstance(value, ModuleType):
        return MIRROR.namespace(value)
    if isinstance(value, np.ufunc) or not isinstance(value, FUNCTIONS):
        return value
    if not MIRROR.owns(value.__module__ or ""):
        return _numpy.twin_of(value, path)
    return make_twin(value, path, package=MIRROR.here, outside=dispatching(value))


MIRROR = Mirror("functier.scipy", twin_of)
MIRROR.install()
