"""The memory of results: what comes out shares none with what went in."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import SCALARS
from .._core.tensor import Tensor
from .spares import COUNTS, getrefcount

ndarray = np.ndarray

TO_PLAIN: dict[type, Callable] = {}
"""Functions that make plain arrays, by the class of arrays that ask modes (which nobody else gets).

Empty until a mode has been on.
"""


def own_memory(grads: list, given: Sequence = ()) -> list:
    """(Co)tangents as arrays that the caller may write to: each has its own memory,
    shared with no other and with none of `given`.
    """
    if TO_PLAIN:
        grads[:] = show_plain(grads)
    return separate(grads, given)


def separate(values: list, given: Sequence) -> list:
    """`values`, with copies of what is memory of another one or of `given`, and of what
    cannot be written to.

    Of tensors it is the memory of the values that they hold: it comes out with these.
    """
    if len(values) == 1 and not given:
        if type(values[0]) is ndarray and not values[0].flags.writeable:
            values[0] = values[0].copy()
        return values
    owners = {id(owner_of(x)) for x in given if type(x) not in SCALARS} if given else set()
    for i, x in enumerate(values):
        kind = type(x)
        if kind is not ndarray and not isinstance(x, Tensor):
            continue
        owner = x if kind is ndarray and x.base is None else owner_of(x)
        if owner is None:
            continue
        if id(owner) in owners:
            values[i] = x.copy() if kind is ndarray else np.copy(x)
        elif kind is ndarray and not x.flags.writeable:
            values[i] = x.copy()
        owners.add(id(owner))
    return values


def separate_from_holders(values: list, others: Sequence = ()) -> list:
    """The results of a user's function, as `values` that the caller alone holds.

    An array that somebody else may hold becomes a view that cannot be written to, so that
    `separate` copies it where it comes out as a result. A tensor is copied where it is memory
    of `others`.
    """
    owners = None
    for i in range(len(values)):
        kind = type(values[i])
        if kind is ndarray:
            if not COUNTS or getrefcount(values[i]) > 2 or values[i].base is not None:
                values[i] = values[i].view()
                values[i].flags.writeable = False
        elif kind not in SCALARS and isinstance(values[i], Tensor):
            if owners is None:
                owners = {id(owner_of(v)) for v in others} - {id(None)}
            if id(owner_of(values[i])) in owners:
                values[i] = np.copy(values[i])
    return values


def owner_of(x: Any) -> Any:
    """The array whose memory `x` is, of any level; None where `x` is not an array."""
    if type(x) is ndarray:
        base = x.base
        if base is None or (type(base) is ndarray and base.base is None):
            return x if base is None else base
    while isinstance(x, Tensor):
        x = x._value
    if not isinstance(x, ndarray):
        return None
    owner: Any = x
    base = x
    while base is not None:
        if isinstance(base, ndarray):
            owner = base
        base = getattr(base, "base", None)  # of as_strided an object without memory
    return owner


def show_plain(values: list) -> list:
    """`values` with plain arrays for those that ask modes."""
    return (
        [TO_PLAIN[type(v)](v) if type(v) in TO_PLAIN else v for v in values] if TO_PLAIN else values
    )
