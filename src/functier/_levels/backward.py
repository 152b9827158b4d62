"""The backward pass: cotangents from the results of a tape, or of a stretch of it, to its leaves.

NOTE [what the backward pass owns]
    Nobody else refers to a large cotangent that an elementwise rule has just made, or to a sum
    of cotangents. So its sum with another one, and the last rule that reads it, may write into
    its memory. The pass owns a cotangent that a rule returned unchanged only if no other rule
    has read it.
"""

from heapq import heappop, heappush
from math import isfinite
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.numpy_facts import BIG, Function, Value, has_form_of, is_lazy
from .._core.rule import negated, times, times_ans
from .._core.sharing import is_fresh
from .._core.table import PIECES
from .._core.unsettled import are_trusted
from .._cpython.frames import current_frame, is_inside
from .cotangents import Pieces, add, fit, go_on, pull, take_piece
from .kept import join_edges
from .second_look import MEMORIES, look_again
from .tape import Continued, Node, node_numbers

ndarray = np.ndarray
float64 = np.float64
MEMORIES.add(Pieces)
INPLACE = {times: np.multiply, times_ans: np.multiply, negated: np.negative}


def backward(
    roots: list[tuple[Node, Value]], inputs: list[Node], floor: int = -1, given: bool = False,
    whole: bool = True,
) -> list:  # fmt: skip
    """Compute the cotangents of `inputs` from ``(node, cotangent)`` of the outputs.

    The pass visits the nodes that the roots reach in falling order of their numbers, down to
    `floor`, without recursion. Where a cotangent of the inputs is not finite, a second pass looks
    for zeros that win: see `second_look`. Of cotangents that are computed later this is not known,
    and that pass is the only one. `given`: the zeros of the outputs' were given. `Pieces`
    of cotangents are arrays only if they are wanted `whole`.
    It empties `roots`: where the caller does not hold a node either, the tape is freed.
    """
    quiet = AMBIENT.get().level.quiet
    heard = None if quiet is None else quiet.begin(roots)
    grads: dict[int, Value] = {}
    ours: set[int] = set()  # of nodes whose cotangent the pass owns: see the NOTE
    waiting: dict[int, Node] = {}  # the nodes whose cotangent is under way
    queue: list[int] = []  # their numbers, negative: the heap gives the latest first
    finite = not roots or type(roots[0][1]) is float64 or not is_lazy(roots[0][1])
    try:
        if finite and len(roots) == 1:  # most passes: no queue is needed to begin with
            grads[roots[0][0][0]] = roots[0][1]
            if roots[0][0][1] is not None:
                _along_chain(roots[0][0], grads, ours, waiting, queue, floor)
        elif finite:
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
        while queue:
            _along_chain(waiting.pop(-heappop(queue)), grads, ours, waiting, queue, floor)
        found, asked = [], []
        for leaf in inputs:
            c = grads.get(leaf[0])
            if type(c) is Pieces and whole:
                grads[leaf[0]] = c = c.sum()
            found.append(c)
            if type(c) is Pieces:
                asked += c.values
            elif type(c) is float64:
                finite = finite and isfinite(c)
            elif c is not None:
                asked.append(c)
        if not finite or (asked and not are_trusted(asked)):
            found = look_again(
                roots, inputs, floor, given and not is_inside(backward, current_frame(1))
            )
        roots.clear()
        return found
    finally:
        if heard is not None:
            quiet.end(heard)


def _along_chain(
    node: Node | None, grads: dict[int, Value], ours: set[int], waiting: dict[int, Node],
    queue: list[int], floor: int,
) -> None:  # fmt: skip
    """Pass cotangents on from `node` to its parents, then from one of these, and so on.

    So a chain of nodes does not need the queue. The other parents wait in it. Where one of them
    is later than the next node of the chain, that node waits, too.
    """
    while node is not None:
        here, parent, rule, saved, fix, rest = node
        g = grads.pop(here)
        if type(g) is Pieces:
            g = g.sum()
            ours.add(here)
        big = type(g) is ndarray and g.size > BIG
        mine, alone = big and here in ours, rest is None
        node = None
        while True:
            fresh = False
            if not fix:
                if big and rule not in PIECES:
                    c, fresh = _pull_large(rule, g, saved, mine and rest is None, mine and alone)
                    mine = mine and c is not g
                elif not saved:
                    c = rule(g)
                elif len(saved) == 1:
                    c = rule(g, saved[0])
                else:
                    c = _pull_several(rule, g, saved, grads, ours, parent[0])
            elif fix[2]:
                c = pull(rule, g, saved, fix)
            elif rule is negated:
                c = -fit(g, fix[0], fix[1])
            else:
                c = rule(g, *saved)
                if type(c) is not ndarray or c.shape != fix[0] or c.dtype is not fix[1]:
                    c = None if c is None else fit(c, fix[0], fix[1])
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


def _pull_several(
    rule: Function, g: Value, saved: tuple, grads: dict[int, Value], ours: set[int], key: int
) -> Value | None:
    """Compute ``rule(g, *saved)`` for the parent `key`, whose cotangent may come in pieces."""
    if rule in PIECES:
        return take_piece(grads, key, rule, g, saved)
    if type(rule) is Continued:
        return go_on(rule, g, saved[0], grads, ours)
    return rule(g, *saved)


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


class Stretch:
    """The nodes that are made from now on.

    Only earlier ones are needed for long: `reached` finds those that some nodes depend on, `pull`
    brings a cotangent there, and `replace` makes one node for all between.
    """

    def __init__(self) -> None:
        self.start = next(node_numbers)

    def reached(self, *nodes: Node) -> dict[Any, Node]:
        """Return the earlier nodes that `nodes` lead to, or are, by number."""
        start, found, seen, waiting = self.start, {}, set(), []
        for node in nodes:
            if node[0] <= start:
                found[node[0]] = node
            else:
                waiting.append(node)
        while waiting:
            edge = waiting.pop()[1:]  # parent, rule, saved, fix, rest
            while len(edge) > 1:
                parent, *_, rest = edge
                key = parent[0]
                if key <= start:
                    found[key] = parent
                elif key not in seen:
                    seen.add(key)
                    waiting.append(parent)
                edge = rest or ()
        return found

    def pull(self, node: Node, g: Value, inputs: dict[Any, Node]) -> dict[Any, Value]:
        """Return the cotangents of earlier nodes, or of leaves, that `g`, that of `node`, makes.

        They have the keys of `inputs`; a node that gets none is left out.
        """
        if node[0] <= self.start:
            return {key: g for key, one in inputs.items() if one is node}
        found = {}
        for key, c in zip(inputs, backward([(node, g)], [*inputs.values()], self.start)):
            if c is not None:
                found[key] = c
        return found

    replace = staticmethod(join_edges)
    """Return nodes for the results of a function, which lead to earlier nodes by one rule."""
