"""Answers that all examples of a batch share.

NOTE [an answer for all]
    Python's ``if``, ``range`` and indices ask for one answer. The examples of a batch have one
    where their answers are equal, over all levels of the value that hold examples: that is the
    answer of each of them, so it is right by the meaning of vmap. What differs has none.
"""

from collections.abc import Callable
from operator import index as as_index
from typing import Any

import numpy as np

from .pytree import SNAPSHOTS
from .tensor import Tensor
from .types import Index

ndarray = np.ndarray


def examples_of(x: Tensor, differentiated: bool = True) -> ndarray | None:
    """Return the plain values of all examples, whose axes are in front.

    None where a level has not computed them yet or, without `differentiated`, where a level has
    a derivative of them.
    """
    value: Any = x
    while isinstance(value, Tensor):
        if type(value) in SNAPSHOTS:  # of an array that was written to
            value = SNAPSHOTS[type(value)](value)
            continue
        level = type(value).level
        if level.depth and (level.kind.records or not level.live):
            return None
        if level.depth and level.kind.differentiates and not differentiated:
            return None
        value = value._value
    return np.asarray(value)


def agreed(x: Tensor) -> ndarray | None:
    """Return the value that all examples of `x` have; None where they differ or there are none."""
    values = examples_of(x)
    if values is None:
        return None
    lead = values.ndim - x.ndim
    if 0 in values.shape[:lead]:
        return None
    first = values[(0,) * lead]
    return first if (values == first).all() else None


def settle_masks(index: Index) -> Index:
    """Return an index with a plain array for each mask that all examples share."""
    if type(index) is tuple:
        return tuple([settle_masks(part) for part in index])  # type: ignore[misc]
    if isinstance(index, Tensor) and index.level.depth and index.dtype.kind == "b":
        shared = agreed(index)
        return index if shared is None else shared
    return index


def answer(x: Tensor, how: str | Callable) -> Any:
    """Return the answer to ``bool``, ``int``, ``__index__``, ``float`` or ``complex``, in a tuple.

    The tuple is empty where the examples differ. A conversion that NumPy refuses for one
    example raises NumPy's error.
    """
    exact = how is float or how is complex
    values = examples_of(x, differentiated=not exact)
    if values is None or not values.size:
        return ()
    if x.size != 1:
        return (_convert(values.reshape(-1, x.size)[0].reshape(x.shape), how),)  # raises
    flat = np.ascontiguousarray(values).reshape(-1)
    if exact:
        whole = flat.view(np.uint8).reshape(flat.size, -1)
        return (_convert(flat[0].reshape(x.shape), how),) if (whole == whole[0]).all() else ()
    if how is bool:
        truths = flat.astype(bool)
        return (bool(truths[0]),) if (truths == truths[0]).all() else ()
    kept = np.trunc(flat) if flat.dtype.kind == "f" else flat
    if (
        not ((kept == kept[0]) | (kept != kept)).all()
        or (kept != kept).any() != (kept != kept).all()
    ):
        return ()
    return (_convert(flat[0].reshape(x.shape), how),)


def _convert(value: Any, how: str | Callable) -> Any:
    return as_index(value) if how == "__index__" else how(value)  # type: ignore[operator]
