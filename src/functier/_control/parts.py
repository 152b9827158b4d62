"""Tensors taken apart into values of a level around, and put together again."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.numpy_facts import SCALARS
from .._core.tensor import Tensor
from .._levels.tape import Node
from .._mutation.array import settle, was_written
from .rows import moved

ndarray = np.ndarray


def form_of(x: Any) -> tuple:
    """Return what a value keeps in all steps of a loop."""
    return type(x), np.shape(x), getattr(x, "dtype", None), getattr(x, "strides", None)


class Unfit(BaseException):
    """A leaf is of a kind that a loop of a program does not carry."""


class Parts(NamedTuple):
    """Some leaves, taken apart into values of a level around.

    Attributes
    ----------
    kinds : list
        How each leaf is put together: None is a value, and a tuple begins with a class.
    values : list
        The values of all leaves.
    axes : list of int
        For each value the number of batch axes before the first axis of its leaf.
    nodes : list
        The grad levels in the leaves: the class, the node on its tape, and the number of batch axes
        before the first axis of the leaf.
    """

    kinds: list
    values: list
    axes: list[int]
    nodes: list[tuple[Any, Node, int]]

    def together(self, values: Iterable, nodes: Iterable[Node]) -> list:
        """Return leaves of these kinds with other values and nodes."""
        values, nodes = iter(values), iter(nodes)
        return [_together(kind, values, nodes) for kind in self.kinds]

    def rows(self) -> list:
        """Return the values with the first axes of the leaves first."""
        return [moved(x, a, 0) for x, a in zip(self.values, self.axes)]

    def of(self, cls: type) -> list[Node]:
        """Return the nodes of a level."""
        return [node for own, node, _ in self.nodes if own is cls]


def apart(leaves: Iterable, outer: type) -> Parts:
    """Take leaves apart into values of the level of `outer`, or of levels around it."""
    parts = Parts([], [], [], [])
    for x in leaves:
        parts.kinds.append(_apart(settle(x), outer, 0, parts))
    return parts


def _apart(x: Any, outer: type, axes: int, parts: Parts) -> Any:
    cls: Any = type(x)
    if cls is outer or not (isinstance(x, Tensor) and issubclass(cls, outer)):
        if not isinstance(x, (Tensor, ndarray)) and cls not in SCALARS:
            raise Unfit
        if was_written(x):
            raise Unfit
        parts.values.append(x)
        parts.axes.append(axes)
        return None
    value, *extra = x.parts()
    if cls.level.batches:
        return cls, _apart(value, outer, axes + np.ndim(value) - x.ndim, parts)
    if cls.level.differentiates == "forward":
        return cls, _apart(value, outer, axes, parts), _apart(extra[0], outer, axes, parts)
    if cls.level.differentiates == "reverse":
        parts.nodes.append((cls, extra[0], axes))
        return cls, _apart(value, outer, axes, parts), "node"
    raise Unfit


def _together(kind: Any, values: Iterator, nodes: Iterator[Node]) -> Any:
    if kind is None:
        return next(values)
    cls, inner, *extra = kind
    if extra == ["node"]:
        node = next(nodes)
        return cls.join(_together(inner, values, nodes), node)
    value = _together(inner, values, nodes)
    return cls.join(value, *[_together(part, values, nodes) for part in extra])
