"""Functions of SciPy, which do not dispatch: callables that ask tensors first; and derivatives of
functions of SciPy by differences.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import Value, shape_of
from .._core.reached import Generators
from .._core.root import dispatch_lists
from .._custom.finite_difference import finite_difference
from .._transforms.jvp import jvp

put_back = Generators.put_back
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


def hide_draws(*funcs: Callable) -> None:
    """Have the callables of functions put the state back: for the declarations that follow.

    SciPy draws what it estimates norms with: no result depends on it, so no batch is refused.
    """
    for func in funcs:
        DISPATCHING[func] = put_back()(dispatching(func))


def order_slope(function: Any, place: int, *operands: Value) -> Value:
    """Return the derivative of a function of each element by the operand at `place`.

    It is for orders and parameters without a closed form: finite differences of all elements at
    once, with an estimate of their error; where that is large they are refused.
    """
    given = np.broadcast_arrays(*operands)
    along = [(np.ones if i == place else np.zeros)(shape_of(x)) for i, x in enumerate(given)]
    return jvp(finite_difference(function), tuple(given), tuple(along), allow_int=True)[1]
