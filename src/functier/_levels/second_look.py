"""The second look of reverse mode at cotangents that are not finite, with where they move."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from threading import get_ident
from typing import Any

import numpy as np

from .._core.numpy_facts import SCALARS, Function, Value, dtype_of, is_lazy
from .._core.rule import kind_of
from .._core.unsettled import are_settled
from .cotangents import add, fit, pull
from .kept import compare
from .moves import (
    GOLDEN,
    Looked,
    Moves,
    as_ones,
    both,
    either,
    follow,
    is_root,
    probe,
)
from .tape import Node

ndarray = np.ndarray

WITHOUT_ARRAY: set[Any] = {*SCALARS}
"""The types of cotangents without an array; `grad_store` adds its own."""

NOTED: dict[int, dict[int, Moves]] = {}
"""By threads, the cotangents of the rules that second looks run, by identity: where they move. A
pass that runs in such a rule starts from them."""


def look_again(
    roots: list[tuple[Node, Value]], inputs: list[Node], floor: int, given: bool
) -> list:
    """Compute what `backward` does, with zeros that win where nothing moves.

    `given`: the zeros of the cotangents were given by a caller.
    """
    noted = NOTED.get(get_ident(), {})
    start = []
    for node, g in roots:
        moves = noted.get(id(g))
        if given and not isinstance(g, tuple):
            moves = np.not_equal(g, 0)
        start.append((node, (g, moves)))
    found = _walk(start, inputs, floor, _pull)
    return [None if c is None else c[0] for c in found]


def _walk(roots: list, inputs: list[Node] | None, floor: int, pull_edge: Any) -> list:
    """Pass pairs of a cotangent and where it moves to `inputs`, or to all leaves; keep the tape."""
    grads: dict[int, Looked] = {}
    waiting: dict[int, Node] = {}
    queue: list[int] = []

    def arrive(node: Node, c: Looked) -> None:
        key = node[0]
        if key in grads:
            (g, d), (h, e) = grads[key], c
            grads[key] = add(g, h), either(d, e)
            return
        grads[key] = c
        if node[1] is not None and key > floor:
            waiting[key] = node
            heappush(queue, -key)

    for node, c in roots:
        arrive(node, c)
    while queue:
        node = waiting.pop(-heappop(queue))
        c, edge = grads.pop(node[0]), node[1:]
        while edge[1] is compare:
            compare(c[0], *edge[2])
            edge = edge[-1]
        alone = edge[-1] is None
        while edge is not None:
            parent, rule, saved, fix, edge = edge
            pulled = pull_edge(rule, c, saved, fix, alone, parent, floor)
            if pulled[0] is not None:
                arrive(parent, pulled)
    if inputs is None:
        return list(grads.values())
    return [grads.get(leaf[0]) for leaf in inputs]


def _pull(
    rule: Function, given: Looked, saved: tuple, fix: Any, alone: bool, parent: Node, floor: int
) -> Looked:
    """Pass a cotangent and where it moves along an edge of the tape."""
    g, moves = given
    if moves is not None and type(moves) is not tuple and are_settled(np.logical_not(moves)):
        return None, None  # the rule need not run
    around = fix and fix[2]  # see `pull`
    if kind_of(rule) and not isinstance(g, tuple):
        c, moves = follow(rule, np.conjugate(g) if around else g, moves, saved, alone)
        c = np.conjugate(c) if around and c is not None else c
        if hasattr(rule, "look"):  # of an observer
            rule.look(g, c, saved)
        if c is not None and is_root(rule, saved):
            c, moves = _settle_root(g, c, moves, saved, fix, parent, floor)
    elif around:
        return pull(rule, g, saved, fix), None
    else:
        c, moves = _pull_unknown(rule, g, moves, saved)
    return _fit(c, moves, fix)


def _pull_unknown(rule: Function, g: Any, moves: Any, saved: tuple) -> Looked:
    """Pass a cotangent, or a tuple of them, through a rule of which nothing is known."""
    parts = (
        list(zip(g, moves)) if type(moves) is tuple else [] if type(g) is tuple else [(g, moves)]
    )
    thread = get_ident()
    before = NOTED.get(thread)
    try:
        NOTED[thread] = {**(before or {}), **{id(part): moved for part, moved in parts}}
        c = rule(g, *saved)
    finally:
        if before is None:
            NOTED.pop(thread, None)
        else:
            NOTED[thread] = before
    if isinstance(c, tuple):  # of cotangents of one value that has several
        return c, tuple([False if part is None else moves if part is g else None for part in c])
    if type(g) is tuple or moves is None or c is None or isinstance(c, list):
        return c, None
    if _is_of_memory(c):  # from a part of it
        return rule(np.where(moves, g, 0)[()], *saved), None
    moves = np.any(moves)
    return np.where(moves, c, 0)[()], moves


def _is_of_memory(c: Any) -> bool:
    """Return whether a cotangent is that of a memory."""
    return type(c) in WITHOUT_ARRAY and type(c) not in SCALARS


def _settle_root(
    g: Value, c: Value, moves: Moves, saved: tuple, fix: Any, parent: Node, floor: int
) -> Looked:
    """Return the cotangent of the operand of a square root, with 0 where that is flat.

    Its root is that of a sum of squares at 0: a norm, which has the subgradient 0.
    """
    at_zero = np.logical_and(np.logical_not(np.isfinite(c)), np.equal(saved[0], 0))
    at_zero = np.logical_and(at_zero, np.isfinite(g))
    if parent[1] is None or parent[0] <= floor or are_settled(np.logical_not(at_zero)):
        return c, moves
    start = _fit(probe(c, at_zero), at_zero, fix)
    arrived: Any = False
    for part, _ in _walk([(parent, start)], None, floor, _probing()):
        for x in part if isinstance(part, (tuple, list)) else (part,):
            if x is not None and not _is_of_memory(x):  # which began with constants
                arrived = np.logical_or(arrived, np.any(np.not_equal(x, 0)))
    flat = np.logical_and(at_zero, np.logical_not(arrived))
    still = np.logical_not(flat)
    return np.where(flat, 0, c)[()], both(moves, still)


def _probing() -> Callable:
    """Return how to pass positive numbers on, of which none arrives where an operand is flat."""
    numbers = count(1)

    def pull_probe(
        rule: Function, given: Looked, saved: tuple, fix: Any, alone: bool, parent: Node, floor: int
    ) -> Looked:
        g, moves = given
        kind = kind_of(rule) if not isinstance(g, tuple) and dtype_of(g).kind == "f" else None
        if fix and fix[2]:
            return pull(rule, g, saved, fix), None
        if kind == "kink":  # zero there, and yet not flat
            saved = as_ones(saved)
        if kind is None:
            c, moves = rule(g, *saved), None
        else:
            c, moves = follow(rule, g, moves, saved, alone)
        if kind == "power":  # x**1.5 is not flat enough
            rough = np.logical_and(np.greater(saved[1], 1), np.not_equal(np.mod(saved[1], 1), 0))
            c = np.where(rough, g, c)
        elif kind == "choice":  # ties are kinks: their shares must not cancel
            c = c * probe(c, None) * (1 + (GOLDEN * next(numbers)) % 1)
        return _fit(c, moves, fix)

    return pull_probe


def _fit(c: Value, moves: Moves, fix: Any) -> Looked:
    """Give a cotangent, and where it moves, the form of the operand."""
    if not fix or c is None:
        return c, moves
    if is_lazy(c):  # to tell where each of its terms moves would take a pass over all chunks
        moves = None
    elif moves is not None:
        moves = np.not_equal(fit(moves * 1.0, fix[0], np.dtype(float)), 0)
    return fit(c, fix[0], fix[1]), moves
