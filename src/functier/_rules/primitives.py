"""Functions that NumPy does not have, and that dispatch as NumPy's functions do."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import PLAIN, Value

NUMBERS = frozenset({bool, int, float, complex})
NO_TENSORS = PLAIN | {tuple, list}
"""Classes without a level, looked up first: to miss an attribute takes longer."""


def primitive(kernel: Callable, plain: bool = False) -> Callable:
    """Make a function that dispatches as NumPy's functions do.

    It is for array operations that NumPy has no function for, such as adding at an index.

    Parameters
    ----------
    kernel : callable
        The function for plain arrays.
    plain : bool
        Whether it is NumPy code that dispatches: tensors outside of all levels run it as it is,
        so that their hooks see NumPy's functions only.

    Returns
    -------
    callable
        The function to declare, and to call.

    Examples
    --------
    >>> twice = primitive(lambda x: x + x)
    >>> twice(3)
    np.int64(6)
    """

    def function(*args: Value, **kwargs: Any) -> Value:
        for arg in args:
            if type(arg) in NO_TENSORS:
                continue
            level = getattr(type(arg), "level", None)
            if level is not None and (level.depth or not plain):
                return level.function(function, args, kwargs)
        if type(args[0]) in NUMBERS:  # a transform has wrapped a number, which NumPy would convert
            return kernel(np.reshape(args[0], ()), *args[1:], **kwargs)
        return kernel(*args, **kwargs)

    function.__name__ = function.__qualname__ = kernel.__name__
    function.__module__, function.__doc__ = kernel.__module__, kernel.__doc__
    function.body = kernel if plain else None  # type: ignore[attr-defined]
    return function
