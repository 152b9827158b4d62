"""Arrays that have met no tensor, whose memory compiled code reads and writes."""

from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.numpy_facts import PLAIN
from .._core.root import classes_in, tree_map
from .._core.tensor import Tensor
from .array import Array, array_of, on_view, view_of
from .memory import CHOSEN, REGION, View

ndarray = np.ndarray


def lend(args: tuple, kwargs: dict) -> tuple[tuple, dict, list[View]] | None:
    """Return the arguments with the memory of such arrays, and these, for code that writes to it.

    None where the memory is not theirs alone.
    """
    if CHOSEN.get() or REGION.get() >= 0:
        return None
    views: list[View] = []
    for x in (*args, *kwargs.values()):
        if type(x) is Array:
            view = view_of(x)
            store = view.memory.store
            if type(view) is not View or view.readonly or not view.plain:
                return None
            if (
                store.lends
                or store.flat is not view.memory.flat
                or type(view.window) is not ndarray
            ):
                return None
            views.append(view)
    plain = [x if type(x) is not Array else view_of(x).window for x in args]
    words = {k: x if type(x) is not Array else view_of(x).window for k, x in kwargs.items()}
    return None if classes_in(plain, words) else (tuple(plain), words, views)


def take_back(result: Any, args: tuple, kwargs: dict, views: list[View]) -> Any:
    """Return what code has made of lent memory; inside a level, as arrays that take writes."""
    for view in views:
        view.memory.version += 1
    if AMBIENT.get() is Tensor:
        return result
    given = (*args, *kwargs.values())
    closed = all([type(x) in PLAIN for x in given])  # others may have arrays in them

    def writable(value: Any) -> Any:
        if type(value) is not ndarray or value.dtype.kind not in "biufc":
            return value
        for view in views:
            if np.may_share_memory(value, view.memory.flat):
                return on_view(view.at(value))
        if not closed or any([type(x) is ndarray and np.may_share_memory(x, value) for x in given]):
            return value
        return array_of(value)

    return tree_map(writable, result)
