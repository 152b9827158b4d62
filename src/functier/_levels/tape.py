"""The tape of reverse mode: nodes, and the edges from each to its parents.

NOTE [a node is a tuple]
    ``(number, parent, rule, saved, fix, rest)``, where `rest` is None or the next edge,
    ``(parent, rule, saved, fix, rest)``; a leaf is ``(number, None)``. Numbers grow as
    the forward pass runs, so falling order is a topological order. The tape consists of the
    nodes that the output reaches through edges: nobody keeps a dead branch, and a node is freed
    as soon as the backward pass drops it.

    `fix` is what `fix_for` tells of the result of the rule, False where it has the form of the
    node's cotangent. None: it has that of the parent, which may be another one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

node_numbers = count()
Node = Sequence[Any]


class Roots(list):
    """The nodes that a backward pass starts from, among the values that a rule keeps."""


class Given(tuple):
    """Arguments of a function that runs again in the backward pass, among those values."""


class Continued(partial):
    """A rule of a function that runs again, which adds to the cotangents that there are so far.

    It keeps two values, of which the second one stands for no such sums. Its results belong to the
    nodes whose numbers `parents` has.
    """

    parents: list[int]


def node_of(edges: Sequence[tuple]) -> Node:
    """Return a new node with these edges; a leaf where there are none."""
    rest: tuple | None = None
    for edge in reversed(edges):
        rest = (*edge, rest)
    return (next(node_numbers), None) if rest is None else (next(node_numbers), *rest)


def output_rule(i: int, n: int) -> Callable[[Any], tuple]:
    """Return the vjp of taking output `i` of `n`: a tuple of None and one cotangent."""
    return lambda g: (None,) * i + (g,) + (None,) * (n - i - 1)
