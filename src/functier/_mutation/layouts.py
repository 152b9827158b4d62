"""Layouts: which elements of a memory a view shows, and in which order.

A memory is flat. A layout is ``(offset, shape, strides)``, counted in elements.
"""

import math
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from .._core.numpy_facts import BASIC_PARTS, Index, Shape

ndarray = np.ndarray
Layout: TypeAlias = tuple[int, Shape, tuple[int, ...]]


def address(array: ndarray) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]


def layout_of(window: ndarray, start: int) -> Layout:
    """Return the layout of a NumPy view of the memory that begins at the address `start`."""
    if not window.size:
        return 0, window.shape, (0,) * window.ndim
    size = window.itemsize
    strides = tuple([stride // size for stride in window.strides])
    return (address(window) - start) // size, window.shape, strides


def window_of(flat: ndarray, layout: Layout) -> ndarray:
    """Return the NumPy view that a layout describes of a flat array."""
    offset, shape, strides = layout
    size, start = flat.itemsize, offset * bool(flat.size)  # of no elements NumPy takes no offset
    return ndarray(shape, flat.dtype, flat, start * size, [stride * size for stride in strides])


def contiguous(shape: Shape) -> Layout:
    """Return the layout of a whole memory, in C order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return 0, shape, tuple(reversed(strides))


def model_layout(window: ndarray, dtype: Any = bool) -> ndarray:
    """Return a view of a new flat array whose elements lie as those of `window` do.

    Whether NumPy reshapes by a view depends on that. Large gaps become small ones.
    """
    size, own = window.itemsize, np.dtype(dtype).itemsize
    steps = [s // size if n > 1 else 0 for s, n in zip(window.strides, window.shape)]
    gap = math.gcd(*steps) if steps else 1
    if gap > 2:
        steps = [step // gap * 2 for step in steps]
    reach = [step * (n - 1) for step, n in zip(steps, window.shape)]
    total = 1 + sum(map(abs, reach))
    if not window.size or total > 8 * window.size:
        form = np.empty_like(window, dtype)
        flat = form.ravel(order="K")
        return ndarray(form.shape, dtype, flat, 0, form.strides)
    flat, start = np.empty(total, dtype), -sum([min(0, r) for r in reach])
    return ndarray(window.shape, dtype, flat, start * own, [step * own for step in steps])


def laid_as(window: ndarray, value: ndarray) -> ndarray:
    """Return a copy of `value` whose elements lie in memory as those of `window` do."""
    made = model_layout(window, value.dtype)
    made[...] = value
    return made


@lru_cache(4096)
def may_meet(shape: Shape, strides: tuple[int, ...], size: int) -> bool:
    """Return whether two elements of a view may share a place, as those of windows that overlap.

    The strides and the `size` of an element are in the same unit.
    """
    extent = size
    for step, n in sorted([(abs(step), n) for step, n in zip(strides, shape) if n > 1]):
        if step < extent:
            return True
        extent += step * (n - 1)
    return False


def positions_of(layout: Layout) -> ndarray:
    """Return the places in the memory of the elements that a layout shows, in its shape."""
    offset, shape, strides = layout
    places = np.full(shape, offset)
    for axis, (n, stride) in enumerate(zip(shape, strides)):
        places += (np.arange(n) * stride).reshape((n,) + (1,) * (len(shape) - axis - 1))
    return places


def parts_of(index: Index) -> tuple | None:
    """Return the parts of a basic index; None for one that holds arrays, lists or tensors."""
    if type(index) is int:
        return (index,)
    parts = index if type(index) is tuple else (index,)
    for part in parts:
        kind = type(part)
        if kind not in BASIC_PARTS:
            if not issubclass(kind, np.integer):
                return None
    return parts


def rank_at(ndim: int, parts: tuple) -> int:
    """Return how many axes the elements at a basic index have."""
    for part in parts:
        if part is None:
            ndim += 1
        elif part is not Ellipsis and type(part) is not slice:
            ndim -= 1
    return ndim
