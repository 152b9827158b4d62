"""Places of what is not zero, in a given number: results of one shape for all examples."""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import shape_of
from ._functions import make_twin

_as_array = make_twin(np.asarray, "asarray")

SAID = """

    With `size`, which is functier's, the result has this many places: the first ones, and if there
    are fewer, `fill_value` for the rest (a number, or one for each axis; by default 0). So all
    examples of a batch have results of one shape. The names are JAX's.
"""


def sized(func: Callable, form: Callable[[tuple], Any]) -> Callable:
    """Return the twin of a function that finds places, which takes `size` and `fill_value`, too.

    ``form(places)`` is its result, of the places along each axis.
    """
    plain = make_twin(func, func.__name__)

    @functools.wraps(plain)
    def call(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
        if size is None and fill_value is None:
            return plain(a)
        if size is None:
            raise TypeError(
                f"functier.numpy.{func.__name__}: fill_value is for a result of a fixed size, "
                "and there is none; write size=n, too"
            )
        a = np.ravel(_as_array(a)) if func is np.flatnonzero else _as_array(a)
        return form(_places(a, size, fill_value)) if shape_of(a) else plain(a)

    del call.__wrapped__  # whose signature has no `size`
    call.__doc__ = f"{func.__doc__}{SAID}"
    return call


def _places(a: Any, size: int, fill_value: Any) -> tuple:
    shape = shape_of(a)
    found = np.not_equal(np.ravel(a), 0)
    few = np.arange(operator.index(size)) >= np.count_nonzero(found)
    order = np.argsort(np.logical_not(found), kind="stable")[:size]  # the found ones come first
    order = np.concatenate([order, np.zeros(len(few) - len(order), np.intp)])
    fill = 0 if fill_value is None else fill_value
    fills = fill if isinstance(fill, tuple) else (fill,) * len(shape)
    order = np.where(few, 0, order)
    places = np.unravel_index(order, shape) if 0 not in shape else (order,) * len(shape)
    return tuple([np.where(few, fill, place) for fill, place in zip(fills, places, strict=True)])


nonzero = sized(np.nonzero, tuple)
flatnonzero = sized(np.flatnonzero, lambda places: places[0])
argwhere = sized(np.argwhere, lambda places: np.stack(places, axis=-1))
