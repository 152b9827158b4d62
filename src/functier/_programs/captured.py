"""Captured arrays: those from outside of a trace, and how a view of one is made of it again."""

from collections.abc import Callable
from operator import getitem
from typing import Any

import numpy as np

from .memories import index_of

ndarray = np.ndarray


def root_of(x: ndarray) -> ndarray:
    """Return the array that owns the memory, as far as arrays tell."""
    while type(x.base) is ndarray:
        x = x.base
    return x


def gives_view(x: ndarray, name: str) -> bool:
    """Tell if a method of an array always gives a view of it."""
    return name in ("transpose", "swapaxes", "squeeze") or (
        name in ("reshape", "ravel") and x.flags.c_contiguous
    )


def is_view(x: ndarray, key: Any) -> bool:
    """Tell if an array has a view of it at an index of plain numbers and slices."""
    parts = []
    for part in key if type(key) is tuple else (key,):
        parts += (part.start, part.stop, part.step) if type(part) is slice else (part,)
    if not all([part is None or part is ... or type(part) is int for part in parts]):
        return False
    try:
        return type(x[key]) is ndarray
    except IndexError:
        return False


def way_to(x: ndarray, base: ndarray) -> tuple[Callable, Any] | None:
    """Return a function, and what it gets besides an array, that give a view of it.

    None is for views that it does not know, and for arrays that are none.
    """
    if x.dtype != base.dtype or not base.size or not x.size:
        return None
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    size = x.itemsize
    if not start and x.size == base.size:
        if x.flags.c_contiguous and base.flags.c_contiguous:
            return np.reshape, x.shape
        axes = sorted(range(base.ndim), key=lambda i: -base.strides[i])
        back = sorted(range(x.ndim), key=lambda i: -x.strides[i])
        if len(axes) == len(back):
            order = tuple([axes[back.index(i)] for i in range(x.ndim)])
            probe = np.transpose(base, order)
            if (probe.shape, probe.strides) == (x.shape, x.strides):
                return np.transpose, order
    if not base.flags.c_contiguous or start % size or any([step % size for step in x.strides]):
        return None
    layout = start // size, x.shape, tuple([step // size for step in x.strides])
    index = index_of(base.shape, layout) if start >= 0 else None
    return None if index is None else (getitem, index)
