"""Aliases: the views of one memory that tensors become, from the places of their elements."""

import math
import sys
from typing import Any

import numpy as np

from .._core.errors import MutationError
from .._core.tensor import Tensor
from .._mutation.layouts import address, layout_of, positions_of
from .._mutation.memory import Memory, PartView, View
from .views import example

ndarray = np.ndarray


def model(window: ndarray) -> ndarray:
    """Return a view of a new flat array whose elements lie as those of `window` do.

    Whether NumPy reshapes by a view depends on that. Large gaps become small ones.
    """
    size = window.itemsize
    steps = [s // size if n > 1 else 0 for s, n in zip(window.strides, window.shape)]
    gap = math.gcd(*steps) if steps else 1
    if gap > 2:
        steps = [step // gap * 2 for step in steps]
    reach = [step * (n - 1) for step, n in zip(steps, window.shape)]
    total = 1 + sum(map(abs, reach))
    if not window.size or total > 8 * window.size:
        form = np.empty_like(window, dtype=bool)
        flat = form.ravel(order="K")
        return ndarray(form.shape, bool, flat, 0, form.strides)
    flat = np.empty(total, bool)
    return ndarray(window.shape, bool, flat, -sum(min(0, r) for r in reach), steps)


def rank(window: ndarray) -> tuple:
    """Order windows: that from which the others were taken comes last."""
    low, high = np.lib.array_utils.byte_bounds(window)
    return high - low, window.itemsize, window.size, window.flags.forc, -_reversed(window)


def _reversed(window: ndarray) -> int:
    return sum(stride < 0 for stride in window.strides)


def check_arguments(level: Any, tensors: list[Any], base: int) -> None:
    """Raise where two arguments of the transform are the same memory."""
    if level.kind.differentiates is None or len(tensors) == 1:
        return
    if level.kind.differentiates == "reverse":  # where an argument is a leaf of the tape
        twice = len({t._extra[0] for t in tensors if t._extra[1] is None}) > 1
    else:
        whole = example(tensors[base])
        twice = sum(np.may_share_memory(example(x), whole) for x in _arguments(level)) > 1
    if twice:
        raise level.refusal(
            MutationError,
            "an array that was given twice, or as a view of another argument, cannot be written "
            "to, as its derivative would be that of both; pass a copy, a.copy(), for one of them",
        )


def _arguments(level: Any) -> list[Any]:
    """Return the arguments that a level was made for, from the frame that runs it."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        names = frame.f_locals
        if names.get("level") is level and isinstance(names.get("leaves"), (list, tuple)):
            return [x for x in names["leaves"] if isinstance(x, (ndarray, Tensor))]
        frame = frame.f_back
    return []


def view_in(level: Any, memory: Memory, window: ndarray, whole: ndarray, form: ndarray) -> View:
    """Return the view of `memory`, whose elements are those of `whole`, that shows `window`."""
    size = whole.itemsize
    low, high = np.lib.array_utils.byte_bounds(whole)
    places = np.full((high - low) // size, -1)
    steps = [s // size * 8 for s in whole.strides]
    inside = ndarray(whole.shape, int, places, (address(whole) - low) // size * 8, steps)
    inside[...] = positions_of(layout_of(form, memory.start))
    offset = address(window) - low
    part = whole.dtype.kind == "c" and window.itemsize * 2 == size
    try:
        if not part and window.itemsize != size:
            raise ValueError
        start, rest = divmod(offset, size)
        if rest not in ((0, size // 2) if part else (0,)) or offset < 0:
            raise ValueError
        found = ndarray(
            window.shape, int, places, start * 8, [s // size * 8 for s in window.strides]
        )
        if (found < 0).any():
            raise ValueError
    except (ValueError, TypeError):
        raise level.refusal(
            MutationError,
            "an array of which a view is alive that overlaps it in part cannot be written to; "
            "copy the view where it is taken, y = x[...].copy()",
        ) from None
    if found.size:
        origin = (0,) * found.ndim
        steps = [
            int(found[(*origin[:d], 1, *origin[d + 1 :])] - found[origin]) if n > 1 else 0
            for d, n in enumerate(found.shape)
        ]
        shown = ndarray(found.shape, bool, memory.flat, int(found[origin]), steps)
    else:
        shown = np.empty(found.shape, bool)
    shown.flags.writeable = window.flags.writeable or not whole.flags.writeable
    return PartView(memory, shown, rest > 0) if part else View(memory, shown)
