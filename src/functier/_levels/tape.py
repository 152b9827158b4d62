"""Reverse mode: grad levels, their tape and the backward pass.

NOTE [a node is a tuple]
    ``(number, parent, rule, saved, fix, rest)``, where `rest` is None or the next edge,
    ``(parent, rule, saved, fix, rest)``; a leaf is ``(number, None)``. Numbers grow as
    the forward pass runs, so falling order is a topological order. The tape is what the
    output reaches through its edges: a dead branch is kept by nobody, and a tuple goes
    as soon as the backward pass drops it.

NOTE [what the backward pass owns]
    A large cotangent that an elementwise rule has just made, or a sum of cotangents, is
    held by nobody else. So its sum with another one, and the last rule that reads it, may
    write into its memory. What a rule passes on unchanged is owned only if nobody else
    got it.
"""

from collections.abc import Callable, Sequence
from itertools import count
from operator import itemgetter
from typing import Any

import numpy as np

from .._core.observers import RULES

new = object.__new__
ndarray = np.ndarray
float64 = np.float64
number = count()
Node = Sequence[Any]


def _node(edges: list) -> Node:
    rest: tuple | None = None
    for edge in reversed(edges):
        rest = (*edge, rest)
    return (next(number), None) if rest is None else (next(number), *rest)


class Roots(list):
    """The nodes that a backward pass starts from, among what a rule keeps."""


class Given(tuple):
    """Arguments of a function that runs again in the backward pass, among what a rule keeps."""


def joined(parents: list[Node], rule: Callable[..., Any], n: int, saved: tuple = ()) -> list[Node]:
    """Nodes for `n` results: their cotangents, in a tuple with None for a zero, go through
    one rule, which gives those of the parents, again with None for a zero.

    The rule gets `saved`, too: every array that it needs and that somebody could write to.
    """
    if not parents:
        return [_node([]) for _ in range(n)]
    for wrap in RULES:
        rule = wrap(rule)
    split = _node([(parent, itemgetter(i), (), None) for i, parent in enumerate(parents)])
    both = _node([(split, rule, saved, None)])
    return [_node([(both, _place(i, n), (), None)]) for i in range(n)]


def reached(nodes: list[Node], floor: int) -> dict[int, Node]:
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


def _place(i: int, n: int) -> Callable:
    """The vjp of taking output `i` of `n`: a tuple with the cotangent in its place."""
    return lambda g: (None,) * i + (g,) + (None,) * (n - i - 1)
