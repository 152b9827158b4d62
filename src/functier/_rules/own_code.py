"""Functions whose rules are NumPy's own code; see NOTE [the code stays NumPy's]."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import Value
from .._core.own_code import copy_function, twins_by
from .._core.table import OPS
from . import creation  # noqa: F401  # which declares the conversions
from .constructors import composite


def _conversion(func: Callable) -> Callable:
    """Return the conversion that leaves tensors as they are."""
    body: Any = OPS[func].body

    def convert(a: Value, *args: Any, **kwargs: Any) -> Value:
        made = body(a, *args, **kwargs)
        return made if hasattr(made, "shape") else func(made)

    return convert


_twin_of = twins_by({func: _conversion(func) for func in (np.array, np.asarray, np.asanyarray)})


def by_own_code(*funcs: Any) -> None:
    """Declare functions that NumPy's own code computes for tensors, too.

    The code may not write to arrays, ask tensors for truth values, or ask if something is an array.
    """
    for func in funcs:
        if hasattr(func, "_implementation"):
            composite(func, copy_function(func._implementation, _twin_of))
