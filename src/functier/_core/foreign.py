"""Functions of other libraries, which do not dispatch: callables that ask tensors first."""

import functools
from typing import Any

from .root import dispatch_lists
from .types import Function

DISPATCHING: dict[Function, Function] = {}
"""The callables that `dispatching` has made, by the functions that they compute."""


def dispatching(func: Function) -> Function:
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
