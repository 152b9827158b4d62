"""Captured arrays: those from outside of a trace, and how a view of one is made of it again."""

from collections.abc import Callable
from operator import getitem
from typing import Any

import numpy as np

from .looping import index_of

ndarray = np.ndarray


def root_of(x: ndarray) -> ndarray:
    """Return the array that owns the memory, as far as arrays tell."""
    while type(x.base) is ndarray:
        x = x.base
    return x


def gives_view(x: ndarray, name: str) -> bool:
    """Return whether a method of an array always gives a view of it."""
    return name in ("transpose", "swapaxes", "squeeze") or (
        name in ("reshape", "ravel") and x.flags.c_contiguous
    )


def is_view(x: ndarray, key: Any) -> bool:
    """Return whether an array has a view of it at an index of plain numbers and slices."""
    parts: list[Any] = []
    for part in key if type(key) is tuple else (key,):
        parts += (part.start, part.stop, part.step) if type(part) is slice else (part,)
    if not all([part is None or part is ... or type(part) is int for part in parts]):
        return False
    try:
        return type(x[key]) is ndarray
    except IndexError:
        return False


def way_to(x: ndarray, base: ndarray) -> list[tuple[Callable, Any]] | None:
    """Return functions, and what each gets besides an array, that give a view of an array.

    None is for a view that it does not know, and for an array that is none.
    """
    order = sorted(range(x.ndim), key=lambda i: -x.strides[i])
    steps, plain = [], np.transpose(x, order)
    if not base.flags.c_contiguous:
        axes = sorted(range(base.ndim), key=lambda i: -base.strides[i])
        steps, base = [(np.transpose, tuple(axes))], np.transpose(base, axes)
    found = index_to(plain, base)
    if found is None:
        return None
    steps += found
    if order != [*range(x.ndim)]:
        steps.append((np.transpose, tuple([order.index(i) for i in range(x.ndim)])))
    return steps


def index_to(x: ndarray, base: ndarray) -> list[tuple[Callable, Any]] | None:
    """Return the same for arrays whose strides do not increase."""
    if x.dtype != base.dtype:
        return None
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    if not start and (x.shape, x.strides) == (base.shape, base.strides):
        return []
    size = x.itemsize
    if not base.flags.c_contiguous or not x.size:
        return None
    if not 0 <= start < base.nbytes or start % size or any([step % size for step in x.strides]):
        return None
    start //= size
    layout = start, x.shape, tuple([step // size for step in x.strides])
    index = index_of(base.shape, layout)
    if index is not None:
        return [(getitem, index)]
    if x.flags.c_contiguous and start + x.size <= base.size:
        row = getitem, slice(start, start + x.size)
        return [(np.reshape, (-1,)), *[row] * (x.size < base.size), (np.reshape, x.shape)]
    return None


LARGE = 16_384
"""Arrays of more bytes are compared by single elements where the function reads few of them."""


def element(x: np.ndarray, key: Any) -> Any:
    """Return the number that whole numbers select of a large array; None for anything else."""
    single = type(key) is int or (type(key) is tuple and all([type(k) is int for k in key]))
    if not single or x.nbytes <= LARGE or x.dtype.kind not in "biufc":
        return None
    try:
        value = x[key]
    except IndexError:
        return None
    return None if type(value) is np.ndarray else value
