"""Aliases: the views of one memory that tensors become, from the places of their elements."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.errors import MutationError
from .._core.pytree import flatten
from .._core.tensor import Tensor
from .._mutation.array import innermost
from .._mutation.layouts import address, layout_of, positions_of, window_of
from .._mutation.memory import Memory, PartView, View
from .lineage import levels_of
from .lying import example
from .memory import meet, owner_of

ndarray = np.ndarray


def rank(window: ndarray) -> tuple:
    """Order windows: that from which the others were taken comes last."""
    low, high = np.lib.array_utils.byte_bounds(window)
    return (
        window.flags.writeable,
        high - low,
        window.itemsize,
        window.size,
        window.flags.forc,
        -_reversed(window),
    )


def _reversed(window: ndarray) -> int:
    return sum(stride < 0 for stride in window.strides)


def check_arguments(level: Any, window: ndarray, owner: Any) -> None:
    """Raise where the elements of `window` are those of two arguments of the transform.

    `owner` has the memory of the window.
    """
    for outer in levels_of(level.cls)[1:] if level.depth > 1 else ():
        if outer.guards and owners_of(outer)[id(owner)]:
            outer.asked.add("memory")
    count = owners_of(level)[id(owner)]
    if not count:
        return
    given, sources, _ = level.arguments
    leaves = () if count == 1 and sources is None else flatten(given)[0]
    if len(leaves) < 2:
        return
    found = [
        i for i, x in enumerate(leaves)
        if isinstance(x, (ndarray, Tensor)) and meet(example(x), window)
    ]  # fmt: skip
    if len(found) > 1 or (sources and any(_is_shared(sources, i) for i in found)):
        raise level.refusal(
            MutationError,
            "an array that was given twice, or as a view of another argument, cannot be written "
            "to, as the other one would not see it; pass a copy, a.copy(), for one of them",
        )


def owners_of(level: Any) -> Counter:
    """Return how many arguments of a level have the memory of an array, by its number.

    A level has the trees of the arguments of its function, the arrays of which groups of
    examples are parts, or None, and this count, which is made when it is asked for.
    """
    if level.arguments is None:
        return Counter()
    given, _, owners = level.arguments
    if owners is None:
        owners = level.arguments[2] = Counter([id(owner_of(x)) for x in flatten(given)[0]])
    return owners


def _is_shared(sources: Sequence, i: int) -> bool:
    """Return whether one of several arrays shares memory with another one."""
    if i >= len(sources):
        return False
    own = innermost(sources[i])
    return any([j != i and meet(own, innermost(x)) for j, x in enumerate(sources)])


def view_in(
    level: Any, memory: Memory, window: ndarray, whole: ndarray, form: ndarray
) -> View | None:
    """Return the view of `memory`, whose elements are those of `whole`, that shows `window`.

    None where the two share no element, as columns of one array do.
    """
    size = whole.itemsize
    bounds = [np.lib.array_utils.byte_bounds(x) for x in (whole, window)]
    low, high = min([b[0] for b in bounds]), max([b[1] for b in bounds])
    low = address(whole) - (address(whole) - low + size - 1) // size * size
    places = np.full((high - low + size - 1) // size, -1)
    steps = [s // size * 8 for s in whole.strides]
    inside = ndarray(whole.shape, int, places, (address(whole) - low) // size * 8, steps)
    inside[...] = positions_of(layout_of(form, memory.start))
    part = whole.dtype.kind == "c" and window.itemsize * 2 == size
    try:
        if not part and window.itemsize != size:
            raise ValueError
        start, rest = divmod(address(window) - low, size)
        if rest not in ((0, size // 2) if part else (0,)):
            raise ValueError
        found = ndarray(
            window.shape, int, places, start * 8, [s // size * 8 for s in window.strides]
        )
        if found.size and (found < 0).all():
            return None
        if (found < 0).any():
            raise ValueError
    except (ValueError, TypeError):
        raise level.refusal(
            MutationError,
            "an array cannot be written to while a view that overlaps part of it is in use; "
            "write y = x[...].copy() where the view is taken",
        ) from None
    if found.size:
        origin = (0,) * found.ndim
        steps = [
            int(found[(*origin[:d], 1, *origin[d + 1 :])] - found[origin]) if n > 1 else 0
            for d, n in enumerate(found.shape)
        ]
        shown = window_of(memory.flat, (int(found[origin]), found.shape, tuple(steps)))
    else:
        shown = np.empty(found.shape, memory.flat.dtype)
    shown.flags.writeable = window.flags.writeable or not whole.flags.writeable
    return PartView(memory, shown, rest > 0) if part else View(memory, shown)
