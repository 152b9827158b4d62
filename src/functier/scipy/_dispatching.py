"""Functions of SciPy, which do not dispatch: callables that ask tensors first."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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


@contextmanager
def draws_put_back() -> Iterator[None]:
    """Put the state of `numpy.random` back: SciPy draws what it estimates norms with.

    No result depends on it, so a batch is not refused for it.
    """
    before = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def hide_draws(*funcs: Callable) -> None:
    """Have the callables of functions put the state back: for the declarations that follow."""
    for func in funcs:
        DISPATCHING[func] = draws_put_back()(dispatching(func))
