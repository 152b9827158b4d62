"""Declarations of SciPy's functions, which do not dispatch.

NOTE [rules of SciPy's functions]
    The key of an operation is SciPy's own function, and its value is SciPy's. As SciPy does not
    dispatch, a rule calls ``dispatching(func)`` instead of ``func``, so that values one
    level down may be tensors. Functions that NumPy has too are composites of NumPy's.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..._core.table import find
from ...protocol import Op, composite, op
from .._dispatching import dispatching

__all__ = ["declare", "declare_composite", "dispatching", "record_of"]


def declare(
    module: ModuleType, name: str, params: str, arrays: str = "", **facts: Any
) -> Op | None:
    """Declare the function `name` of a module by its rules; None where this SciPy has none."""
    func = getattr(module, name, None)
    if func is None:
        return None
    return op(func, params, arrays, **{"kernel": dispatching(func), **facts})


def declare_composite(module: ModuleType, name: str) -> Callable[[Callable], Callable]:
    """Declare the function `name` of a module by a body: NumPy code with its signature."""

    def declared(body: Callable) -> Callable:
        func = getattr(module, name, None)
        if func is not None:
            composite(func, body)
        return body

    return declared


def record_of(func: Callable) -> Op:
    """Return the record of a function of NumPy, which has the rules of SciPy's, too."""
    record: Any = find(func)
    return record
