"""Answers that all examples of a batch share.

NOTE [an answer for all]
    Python's ``if``, ``range`` and indices ask for one answer. The examples of a batch have one
    where their answers are equal, over all levels of the value that hold examples: that is the
    answer of each of them, so it is right by the meaning of vmap. What differs has none.
"""

from collections.abc import Callable
from operator import index as as_index
from typing import Any, NamedTuple

import numpy as np

from .numpy_facts import Index
from .pytree import SNAPSHOTS
from .tensor import Tensor

ndarray = np.ndarray


class Split(BaseException):
    """The examples of one level answer differently: its transform runs the groups apart.

    `token` is that of the transform, and `groups` has the numbers of the examples of each group.
    `error` is what would be raised without such a transform. As a `BaseException` it passes
    ``except Exception`` in the user's function.
    """

    def __init__(self, token: object, groups: list[ndarray], error: Exception):
        super().__init__("vmap(..., branches='split') runs groups of examples separately")
        self.token, self.groups, self.error = token, groups, error


class Varying(NamedTuple):
    """A level along whose examples an answer varies, and the answers: a row for each example."""

    level: Any
    rows: ndarray

    def groups(self) -> list[ndarray]:
        """Return the numbers of the examples with equal answers, by the first of each group."""
        found: dict[bytes, list[int]] = {}
        for i, row in enumerate(self.rows):
            found.setdefault(row.tobytes(), []).append(i)
        return [np.array(group) for group in found.values()]


def varying_levels(x: Tensor, how: str | Callable) -> list[Varying]:
    """Return the levels along whose examples the answer of `x` varies, the innermost first."""
    values = examples_of(x)
    if values is None:
        return []
    if how is bool:
        values = values.astype(bool)
    elif values.dtype.kind == "f" and how is not float and how is not complex:
        values = np.trunc(values) + 0.0  # whose zeros have one sign
    found: list[Varying] = []
    for axis, level in enumerate(_levels_of_axes(x)):
        rows = np.moveaxis(values, axis, 0)
        if len(rows) < 2 or not rows.size:
            continue
        rows = rows.reshape(len(rows), -1)
        if any(row.tobytes() != rows[0].tobytes() for row in rows[1:]):
            found.append(Varying(level, rows))
    return found[::-1]


def splits(x: Tensor) -> bool:
    """Return whether a level of the examples of `x` runs groups of them apart."""
    return any([level.branches is not None for level in _levels_of_axes(x)])


def _levels_of_axes(x: Tensor) -> list[Any]:
    """Return the level of each axis that `examples_of` has in front."""
    axes: list[Any] = []
    for level in _unwrapped(x)[0]:
        if level.kind.batches:
            axes = [*level.group(), *axes]
    return axes


def _unwrapped(x: Tensor) -> tuple[list[Any], Any]:
    """Return the levels of a value, the innermost first, and the plain value."""
    value: Any = x
    levels: list[Any] = []
    while isinstance(value, Tensor):
        if type(value) in SNAPSHOTS:  # of an array that was written to
            value = SNAPSHOTS[type(value)](value)
            continue
        level: Any = type(value).level
        if level.depth:
            levels.append(level)
        value = value._value
    return levels, value


def examples_of(x: Tensor, differentiated: bool = True, noted: bool = True) -> ndarray | None:
    """Return the plain values of all examples, whose axes are in front.

    None where a level has not computed them yet or, without `differentiated`, where a level has
    a derivative of them. A program holds for these values alone if they are `noted`.
    """
    levels, value = _unwrapped(x)
    for level in levels:
        if level.kind.records or not level.live:
            return None
        if level.kind.differentiates and not differentiated:
            return None
    if noted and levels and levels[-1].kind.guards:
        levels[-1].guard_inside(x)
    return np.asarray(value)


def agreed(x: Tensor, exact: bool = False, noted: bool = True) -> ndarray | None:
    """Return the value that all examples of `x` have; None where they differ or there are none.

    An `exact` value has the same bits, as two NaNs may have, and a zero and its negative have not.
    """
    values = examples_of(x, noted=noted)
    if values is None:
        return None
    lead = values.ndim - x.ndim
    if 0 in values.shape[:lead]:
        return None
    first = values[(0,) * lead]
    if exact and first.size:
        rows = np.ascontiguousarray(values).reshape(-1, first.size).view(np.uint8)
        return first if (rows == rows[:1]).all() else None
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
    alike = (kept == kept[0]) | ((kept != kept) & (kept[0] != kept[0]))
    return (_convert(flat[0].reshape(x.shape), how),) if alike.all() else ()


def _convert(value: Any, how: str | Callable) -> Any:
    return as_index(value) if how == "__index__" else how(value)  # type: ignore[operator]
