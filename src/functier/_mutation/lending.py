"""Arrays that have met no tensor, whose memory compiled code reads and writes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.ambient import AMBIENT
from .._core.numpy_facts import PLAIN
from .._core.root import classes_in, tree_map
from .._core.tensor import Tensor
from .array import Array, array_of, on_view, view_of
from .memory import CHOSEN, REGION, View

ndarray = np.ndarray


class Loan(NamedTuple):
    """The arguments of a call of compiled code, with the memory of the arrays among them."""

    args: tuple
    kwargs: dict
    views: Sequence[View] = ()

    def returned(self, result: Any) -> Any:
        """Return what the code has made; inside a level, as arrays that take writes."""
        views, given = self.views, (*self.args, *self.kwargs.values())
        for view in views:
            view.memory.version += 1
        if AMBIENT.get() is Tensor:
            return result
        closed = all([type(x) in PLAIN for x in given])  # others may have arrays in them

        def writable(value: Any) -> Any:
            if type(value) is not ndarray or value.dtype.kind not in "biufc":
                return value
            for view in views:
                if np.may_share_memory(value, view.memory.flat):
                    return on_view(view.at(value))
            if not closed or any([
                type(x) is ndarray and np.may_share_memory(x, value) for x in given
            ]):  # fmt: skip
                return value
            return array_of(value)

        return tree_map(writable, result)


def lend(args: tuple, kwargs: dict) -> Loan | None:
    """Return the arguments for code that may write to the memory of arrays; None with tensors.

    It is None, too, where the memory is not that of these arrays alone.
    """
    found = classes_in(args, kwargs)
    if not found:
        return Loan(args, kwargs)
    if found != (Array,) or CHOSEN.get() or REGION.get() >= 0:
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
    return None if classes_in(plain, words) else Loan(tuple(plain), words, views)
