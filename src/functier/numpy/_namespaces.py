"""The twin of each thing in NumPy's modules."""

from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._core.mirror import Mirror
from .._core.numpy_private import PYTHONS
from .._cpython.functions import copy_function
from . import _loops, _sizes
from ._copies import copy_class
from ._functions import make_twin, takes_polynomials
from ._ndarray import ndarray

TWINS: dict[int, Any] = {
    id(np.ndarray): ndarray,
    id(np.frompyfunc): _loops.frompyfunc,
    id(np.ndenumerate): _loops.ndenumerate,
    id(np.broadcast): _loops.broadcast,
    id(np.nditer): _loops.nditer,
    id(np.nonzero): _sizes.nonzero,
    id(np.flatnonzero): _sizes.flatnonzero,
    id(np.argwhere): _sizes.argwhere,
}
"""The twins that have been made, by the number of the original, which lives as long."""

COPIED = {
    np.poly1d, np.polynomial.Polynomial, np.polynomial.Chebyshev, np.polynomial.Legendre,
    np.polynomial.Hermite, np.polynomial.HermiteE, np.polynomial.Laguerre,
}  # fmt: skip
"""Classes whose Python code runs on the twins."""

FUNCTIONS = (
    FunctionType, BuiltinFunctionType, MethodType, type(np.sum), type(np.random.seed),
)  # fmt: skip
"""The classes of NumPy's functions; that of `numpy.sum` dispatches."""

INDEXERS = np.r_, np.c_, np.mgrid, np.ogrid
"""Instances of such classes."""


def twin_of(value: Any, path: str) -> Any:
    """Return the twin of an object of NumPy, or the object where it has none.

    `path` is its name in this package.
    """
    made = TWINS.get(id(value))
    if made is None:
        made = _make(value, MIRROR.public_path(value, path))
        if made is not value:
            TWINS[id(value)] = made
    return made


def _make(value: Any, path: str) -> Any:
    if isinstance(value, type):
        if value is np.vectorize:
            plain: Any = value._vectorize_call  # type: ignore[attr-defined]
            call = _loops.vectorize_call(copy_function(plain, twin_of))
            return copy_class(value, path, twin_of, _vectorize_call=call)
        return copy_class(value, path, twin_of) if value in COPIED else value
    if isinstance(value, ModuleType):
        return MIRROR.namespace(value)
    if any(value is indexer for indexer in INDEXERS):
        kind = type(value)
        made = copy_class(kind, kind.__qualname__, twin_of, __reduce__=lambda self: path)
        return made() if isinstance(made, type) else value
    if isinstance(value, np.ufunc) or not isinstance(value, FUNCTIONS):
        return value
    return make_twin(value, path, _copy_of)


PYTHON = ("numpy.polynomial", "numpy.lib", *PYTHONS)
"""Modules of NumPy whose functions do not dispatch, and whose Python code runs on twins."""


def _copy_of(func: Any) -> Any:
    """Return NumPy's code of a function, run on twins; None where that would not do."""
    if takes_polynomials(func):
        return copy_function(func._implementation, twin_of)
    if isinstance(func, FunctionType) and func.__module__.startswith(PYTHON):
        return copy_function(func, twin_of)
    return None


MIRROR = Mirror("functier.numpy", twin_of)
MIRROR.install()
