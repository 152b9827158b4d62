"""Functions of SciPy, which do not dispatch: callables that ask tensors first."""

import functools
from collections.abc import Callable
from typing import Any

from .._core.root import dispatch_lists

DISPATCHING: dict[Callable, Callable] = {}
"""The callables that `dispatching` has made, by the functions that they compute."""


def dispatching(func: Callable) -> Callable:
    """Return a function that computes `func`, and asks the tensors among its arguments first.

    Its operation is that of `func`. Rules call it on values one level down.
    """
    made = DISPATCHING.get(func)
    if made is None:

        @functools.wraps(func, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            return dispatch_lists(func, args, kwargs)

        made = DISPATCHING[func] = call
    return made
