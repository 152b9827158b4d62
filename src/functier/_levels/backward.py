"""The backward pass: cotangents from the results of a tape to its leaves.

NOTE [what the backward pass owns]
    Nobody else refers to a large cotangent that an elementwise rule has just made, or to a sum
    of cotangents. So its sum with another one, and the last rule that reads it, may write into
    its memory. The pass owns a cotangent that a rule returned unchanged only if no other rule
    has read it.

NOTE [flat operands]
    Where a rule gives an infinite cotangent, as that of ``sqrt(x * x)`` at 0, what it is
    multiplied by on its way back may be exactly zero: the operand does not move with any leaf of
    the tape. Then the function has a subgradient there, and it is zero, as `jvp` finds by its
    zero tangents. So a second pass takes positive numbers from these elements to the leaves. If
    nothing arrives, the infinite cotangents are replaced by zeros. If something does, they stay.
"""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .._core.numpy_facts import BIG, dtype_of, has_form_of, shape_of
from .._core.rule import negated, times
from .._core.sharing import is_fresh
from .._core.types import Function, Value
from .._core.unsettled import UNSETTLED, is_reported
from .cotangents import add, fit, pull
from .tape import Node

ndarray = np.ndarray
GOLDEN = 0.6180339887498949
INPLACE = {times: np.multiply, negated: np.negative}


def backward(roots: list[tuple[Node, Value]], inputs: list[Node], floor: int = -1) -> list:
    """Compute the cotangents of `inputs` from ``(node, cotangent)`` of the outputs.

    The pass visits the nodes that the roots reach in falling order of their numbers, down to
    `floor`, without recursion. It empties `roots`: where the caller does not hold a node
    either, each node is freed, with the values that it saved, as soon as it is done.
    """
    grads: dict[int, Value] = {}
    ours: set[int] = set()  # of nodes whose cotangent the pass owns: see the NOTE
    waiting: dict[int, Node] = {}  # the nodes whose cotangent is under way
    queue: list[int] = []  # their numbers, negative: the heap gives the latest first
    for root, g in roots:
        key = root[0]
        if key in grads:
            grads[key] = add(grads[key], g)
            continue
        grads[key] = g
        if root[1] is not None:
            waiting[key] = root
            heappush(queue, -key)
        del root
    roots.clear()
    while queue:
        _along_chain(waiting.pop(-heappop(queue)), grads, ours, waiting, queue, floor)
    return [grads.get(leaf[0]) for leaf in inputs]


def _without_flat(c: Value, parent: Node, floor: int) -> Value:
    """Return the cotangent of `parent` with 0 for what is infinite and does not move."""
    if c is None or type(c) is tuple or parent[1] is None or parent[0] <= floor:
        return c
    infinite = np.isinf(c)
    if type(infinite) in (np.ndarray, np.bool_) and not infinite.any():
        return c
    size = int(np.prod(shape_of(c)))
    probe = 1.0 + (GOLDEN * np.arange(1, size + 1)) % 1.0  # no two of them cancel by chance
    moves: Any = False
    probe = infinite * probe.reshape(shape_of(c)).astype(dtype_of(c))
    for arrived in _parts(_arrive(parent, probe, floor)):
        moves = np.logical_or(moves, np.any(np.not_equal(arrived, 0)))
    settled = np.where(np.logical_and(infinite, np.logical_not(moves)), dtype_of(c).type(0), c)
    return settled if shape_of(c) else settled[()]


def _parts(cotangents: Iterable) -> Iterator:
    """Go through cotangents, of which some are tuples with None."""
    for c in cotangents:
        if isinstance(c, (tuple, list)):
            yield from _parts(c)
        elif c is not None:
            yield c


def _arrive(node: Node, g: Value, floor: int) -> list:
    """Return the cotangents of the leaves that a pass from one node reaches; it frees none."""
    grads, waiting, queue = {node[0]: g}, {node[0]: node}, [-node[0]]
    while queue:
        _along_chain(waiting.pop(-heappop(queue)), grads, set(), waiting, queue, floor)
    return list(grads.values())


def _along_chain(
    node: Node | None, grads: dict[int, Value], ours: set[int], waiting: dict[int, Node],
    queue: list[int], floor: int,
) -> None:  # fmt: skip
    """Pass cotangents on from `node` to its parents, then from one of these, and so on.

    So a chain of nodes does not need the queue. The other parents wait in it. Where one of them
    is later than the next node of the chain, that node waits, too.
    """
    while node is not None:
        key, parent, rule, saved, fix, rest = node
        g = grads.pop(key)
        big = type(g) is ndarray and g.size > BIG
        mine, alone = big and key in ours, rest is None
        node = None
        while True:
            fresh = False
            if fix is None:
                n = len(saved)
                if big:
                    c, fresh = _pull_large(rule, g, saved, mine and rest is None, mine and alone)
                    mine = mine and c is not g
                elif n == 1:
                    c = rule(g, saved[0])
                elif n == 0:
                    c = rule(g)
                else:
                    c = rule(g, *saved)
            elif fix[2]:
                c = pull(rule, g, saved, fix)
            elif rule is negated:
                c = -fit(g, fix[0], fix[1])
            else:
                c = rule(g, *saved)
                if type(c) is not ndarray or c.shape != fix[0] or c.dtype is not fix[1]:
                    c = None if c is None else fit(c, fix[0], fix[1])
            if UNSETTLED and is_reported():
                c = _without_flat(c, parent, floor)
            if c is not None:
                key = parent[0]
                if key in grads:
                    if big or (type(c) is ndarray and c.size > BIG):
                        grads[key] = _add(grads[key], c, key in ours, fresh)
                        ours.add(key)
                    else:
                        grads[key] = add(grads[key], c) if type(c) is tuple else grads[key] + c
                else:
                    grads[key] = c
                    if fresh:
                        ours.add(key)
                    if parent[1] is not None and key > floor:
                        if node is None:
                            node = parent
                        else:
                            waiting[key] = parent
                            heappush(queue, -key)
            if rest is None:
                break
            parent, rule, saved, fix, rest = rest
        if queue and node is not None and -queue[0] > node[0]:
            waiting[node[0]] = node
            heappush(queue, -node[0])
            return


def _pull_large(
    rule: Function, g: ndarray, saved: tuple, last: bool, only: bool
) -> tuple[Value, bool]:
    """Compute ``rule(g, *saved)`` for a large `g`; also tell if the pass owns the result.

    `last` is true where the pass owns `g` and no rule reads it after this one, and `only` where
    no rule has read it before either.
    """
    if last and rule in INPLACE:
        return _pull_in_place(rule, g, saved), True
    c = rule(g, *saved)
    return c, only if c is g else is_fresh(rule)


def _pull_in_place(rule: Function, g: ndarray, saved: tuple) -> Value:
    """Compute ``rule(g, *saved)`` in the memory of `g`, where its form allows that."""
    ufunc = INPLACE[rule]
    if not saved:
        return ufunc(g, out=g)
    (value,) = saved
    if type(value) is float or has_form_of(value, g):
        return ufunc(g, value, out=g)
    return rule(g, value)


def _add(a: Value, b: Value, own_a: bool = False, own_b: bool = False) -> Value:
    """Add two cotangents, in the memory of one that the pass owns."""
    if (own_a or own_b) and type(a) is ndarray and has_form_of(b, a):
        return np.add(a, b, out=a if own_a else b)
    return add(a, b)
