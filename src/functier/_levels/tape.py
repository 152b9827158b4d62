"""The tape of reverse mode: nodes, and what leads from one to its parents.

NOTE [a node is a tuple]
    ``(number, parent, rule, saved, fix, rest)``, where `rest` is None or the next edge,
    ``(parent, rule, saved, fix, rest)``; a leaf is ``(number, None)``. Numbers grow as
    the forward pass runs, so falling order is a topological order. The tape is what the
    output reaches through its edges: a dead branch is kept by nobody, and a tuple goes
    as soon as the backward pass drops it.
"""

from collections.abc import Callable, Sequence
from itertools import count
from operator import itemgetter
from typing import Any

from .._core.observers import RULES

node_numbers = count()
Node = Sequence[Any]


class Roots(list):
    """The nodes that a backward pass starts from, among what a rule keeps."""


class Given(tuple):
    """Arguments of a function that runs again in the backward pass, among what a rule keeps."""


def node_of(edges: list) -> Node:
    """A new node with these edges; a leaf where there are none."""
    rest: tuple | None = None
    for edge in reversed(edges):
        rest = (*edge, rest)
    return (next(node_numbers), None) if rest is None else (next(node_numbers), *rest)


def output_rule(i: int, n: int) -> Callable:
    """The vjp of taking output `i` of `n`: a tuple with the cotangent in its place."""
    return lambda g: (None,) * i + (g,) + (None,) * (n - i - 1)


def join_edges(
    parents: list[Node], rule: Callable[..., Any], n: int, saved: tuple = ()
) -> list[Node]:
    """Nodes for `n` results: their cotangents, in a tuple with None for a zero, go through
    one rule, which gives those of the parents, again with None for a zero.

    The rule gets `saved`, too: every array that it needs and that somebody could write to.
    """
    if not parents:
        return [node_of([]) for _ in range(n)]
    for wrap in RULES:
        rule = wrap(rule)
    split = node_of([(parent, itemgetter(i), (), None) for i, parent in enumerate(parents)])
    both = node_of([(split, rule, saved, None)])
    return [node_of([(both, output_rule(i, n), (), None)]) for i in range(n)]


def find_reached(nodes: list[Node], floor: int) -> dict[int, Node]:
    """The nodes that `nodes` lead to and that are not above `floor`, by their numbers."""
    found, seen, waiting = {}, set(), list(nodes)
    while waiting:
        edge = waiting.pop()[1:]  # parent, rule, saved, fix, rest
        while len(edge) > 1:
            parent, *_, rest = edge
            key = parent[0]
            if key <= floor:
                found[key] = parent
            elif key not in seen:
                seen.add(key)
                waiting.append(parent)
            edge = rest or ()
    return found
