"""The second look at (co)tangents that are not finite: with each, where it moves.

A (co)tangent moves where the element depends on what is differentiated, also where its derivative
is zero at this point. Where it does not move, zero wins over infinity: see `_core.rule`. All
functions work on values of any level. `moves` is an array of booleans; None: all of it moves.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from threading import get_ident
from typing import Any

import numpy as np

from .._core.hooks import lazy_positions, slope
from .._core.numpy_facts import Function, Value, dtype_of, is_lazy, shape_of
from .._core.rule import kind_of, zeros_of
from .._core.tensor import Tensor
from .._core.unsettled import are_settled
from .cotangents import add, fit, pull
from .kept import compare
from .operands import is_anywhere
from .tape import Node

GOLDEN = 0.6180339887498949
DEPTH = 8
SPREADING = "linear", "sum", "selection", "choice"
MEMORIES: set[type] = set()
"""The types of cotangents of a memory, to which `grad_store` adds its own. Where one moves is told
by another one, of positive numbers."""

Moves = Value | None
Looked = tuple[Value, Moves]


def follow(rule: Function, g: Value, moves: Moves, saved: tuple, alone: bool) -> Looked:
    """Return the result of a rule, with zero where it does not move, and where it does.

    `alone`: no other operand is differentiated, so a value of it is constant.
    """
    facts = zeros_of(rule)
    c = rule(g, *saved)
    if facts is None or c is None or type(c) is tuple or dtype_of(c).kind not in "fc":
        return c, None
    kind, masked = facts
    if kind == "sum" and moves is None and saved[-1] is True and 0 not in shape_of(g):
        return c, None
    if kind in SPREADING:
        moves = np.not_equal(rule(probe(g, moves), *saved), 0)
    elif kind == "product":
        c, moves = follow_product(rule, c, g, moves, saved, alone)
    elif kind == "kink" and moves is not None:
        moves = np.not_equal(rule(probe(g, moves), *as_ones(saved)), 0)
    elif kind == "factor" and alone:
        moves = both(moves, np.not_equal(saved[0], 0))
    if masked and saved[-2] is not True:
        moves = both(moves, saved[-2])
    if moves is None or (kind == "factor" and is_lazy(g)):  # a mask would keep chunks alive
        return c, moves
    return np.where(moves, c, 0)[()], moves


def follow_product(
    rule: Function, plain: Value, g: Value, moves: Moves, saved: tuple, alone: bool
) -> Looked:
    """Do so for a sum of products, `plain`: infinite ones count where both of their factors do.

    Of those that are computed later, all moves.
    """
    factor, *rest = saved
    if is_lazy(g) or is_lazy(factor):
        return plain, None
    factors = (np.not_equal(factor, 0) if alone else np.ones_like(factor)) * 1.0
    moved = np.not_equal(rule(probe(g, moves), factors, *rest), 0)
    if are_settled(np.isfinite(plain)):
        return plain, moved
    bad, spoilt = [np.logical_not(np.isfinite(v)) for v in (g, factor)]
    c = rule(np.where(bad, 0, g), np.where(spoilt, 0, factor), *rest)
    infinite: Any = False
    for x, y in ((probe(g, both(moves, bad)), factors), (probe(g, moves), spoilt * factors)):
        infinite = np.logical_or(infinite, np.not_equal(rule(x, y, *rest), 0))
    return np.where(infinite, np.where(np.isinf(plain), plain, plain * np.nan), c), moved


def as_ones(saved: tuple) -> tuple:
    """Return what a rule has saved, with 1 for each number."""
    return tuple([np.ones_like(v) if hasattr(v, "dtype") or type(v) is float else v for v in saved])


def probe(g: Value, moves: Moves) -> Value:
    """Return positive numbers where `g` moves, else 0; no two of them cancel by chance.

    Those of a complex `g` have an imaginary part, too, as a factor may exchange the parts.
    """
    if is_lazy(g):
        numbers = 1.0 + (GOLDEN * lazy_positions(shape_of(g))) % 1.0
        return numbers if moves is None else np.where(moves, numbers, 0)
    shape = shape_of(g)
    numbers = GOLDEN * np.arange(1, 1 + int(np.prod(shape)))
    numbers += 1.0 - np.floor(numbers)  # a third of the time of a remainder
    numbers = numbers.reshape(shape)
    if dtype_of(g).kind == "c":
        numbers = numbers * (1 + GOLDEN * 1j)
    numbers = numbers.astype(dtype_of(g))
    return numbers[()] if moves is None else np.where(moves, numbers, 0).astype(numbers.dtype)[()]


def both(a: Moves, b: Moves) -> Moves:
    """Return where both move."""
    return b if a is None else a if b is None else np.logical_and(a, b)


def either(a: Moves, b: Moves) -> Moves:
    """Return where one of two moves; of tuples, for each of their parts."""
    if type(a) is tuple and type(b) is tuple:
        return tuple([either(x, y) for x, y in zip(a, b)])
    if a is None or b is None:
        return None
    return a + b if type(a) in MEMORIES else np.logical_or(a, b)


# ---- forward mode ----


Kinks = tuple[tuple[Value, Value], ...]


class Later:
    """The question ``find(*args)`` where a tangent moves, asked when one is not finite.

    It keeps few values alive: after a chain of `DEPTH` questions all of a tangent moves. A zero
    tangent may come from one of the `kinks`, where two values are equal, as that of a norm at 0.
    That of a norm has as its `norm` the value, and the rules that gave it with their operands.
    Results of the norm may have the same question.
    """

    __slots__ = ("args", "depth", "find", "kinks", "norm")

    find: Callable[..., Moves]
    args: tuple
    depth: int
    kinks: Kinks
    norm: tuple[Value, list[tuple[Function, Value, tuple]]] | None


def question(find: Callable[..., Moves], args: tuple, depth: int = 1, kinks: Kinks = ()) -> Later:
    """Return the question ``find(*args)``; a constructor of the class costs twice as much."""
    made = Later()
    made.find, made.args, made.depth, made.kinks, made.norm = find, args, depth, kinks, None
    return made


def now(moves: Any) -> Moves:
    """Return the answer to a question."""
    return moves.find(*moves.args) if type(moves) is Later else moves


def kinks_of(*moves: Any) -> Kinks:
    """Return the kinks of all; of many, one that is everywhere."""
    found: Kinks = ()
    for m in moves:
        if type(m) is Later and m.kinks:
            found += m.kinks
    return found if len(found) < DEPTH else ((0, 0),)


def with_kinks(moves: Any, kinks: Kinks) -> Any:
    """Return `moves` with these kinks."""
    return question(now, (moves,), depth_of(moves), kinks) if kinks else moves


def rough(*moves: Any) -> Any:
    """Return the kinks alone, for a result of which all moves."""
    for m in moves:
        if type(m) is Later and m.kinks:
            return with_kinks(None, kinks_of(*moves))
    return None


def kinked(moves: Any, x: Value, y: Value = 0, norm: tuple | None = None) -> Later:
    """Return `moves` with one more kink, where two values are equal."""
    if moves is None:
        made = question(now, (None,), 0, ((x, y),))
    else:
        made = question(now, (moves,), depth_of(moves), (*kinks_of(moves), (x, y)))
    made.norm = norm
    return made


def depth_of(moves: Any) -> int:
    """Return the number of questions in a chain."""
    return moves.depth if type(moves) is Later else 0


def later(find: Callable[..., Moves], given: Sequence, *args: Any) -> Later | None:
    """Return the question ``find(given, *args)`` where the answers to questions are `given`."""
    depth, kinks = 1, kinks_of(*given)
    for moves in given:
        if type(moves) is Later and moves.depth >= depth:
            depth = moves.depth + 1
    if depth > DEPTH:
        return with_kinks(None, kinks)
    return question(find, (given, *args), depth, kinks)


def either_later(a: Any, b: Any) -> Any:
    """Return the question where one of two tangents moves."""
    if a is b:
        return a
    if type(a) is Later is type(b) and not a.kinks and not b.kinks:
        depth = a.depth if a.depth > b.depth else b.depth  # as `later` does, with less work
        if depth >= DEPTH:
            return None
        made = Later()
        made.find, made.args, made.depth, made.kinks = _either_now, ((a, b),), depth + 1, ()
        made.norm = None
        return made
    if a is None or b is None:
        return rough(a, b)
    return later(_either_now, (a, b))


def _either_now(given: Sequence) -> Moves:
    return either(*map(now, given))


def chosen(moves: Any, x: Value, ans: Value) -> Any:
    """Return where the operand `x` of a choice moves its result."""
    equal = np.equal(x, ans)
    if moves is None:
        return equal
    return later(_both_now, (moves, equal)) if type(moves) is Later else moves & equal


def _both_now(given: Sequence) -> Moves:
    return both(*map(now, given))


def through(rule: Function, t: Value, saved: tuple, moves: Any) -> Later | None:
    """Return the question for the result of a linear rule; `t` has the form of its operand."""
    depth, kinks = (moves.depth + 1, moves.kinks) if type(moves) is Later else (1, ())
    if depth > DEPTH:
        return with_kinks(None, kinks)
    if type(t) is np.ndarray:
        shape, dtype = t.shape, t.dtype
    else:
        shape, dtype = (t, None) if is_lazy(t) else (shape_of(t), dtype_of(t))
    return question(_through_now, (moves, rule, shape, dtype, saved), depth, kinks)


def _through_now(
    moves: Any, rule: Function, shape: Any, dtype: np.dtype | None, saved: tuple
) -> Value:
    form = shape if dtype is None else np.broadcast_to(np.zeros((), dtype), shape)
    return np.not_equal(rule(probe(form, now(moves)), *saved), 0)


def is_root(rule: Function, saved: tuple) -> bool:
    """Return whether a rule is that of a square root; that of a power is, for 0.5."""
    kind = kind_of(rule)
    return kind == "root" or (kind == "power" and are_settled(np.equal(saved[1], 0.5)))


ndarray = np.ndarray

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
    return list(grads.values()) if inputs is None else [grads.get(leaf[0]) for leaf in inputs]


def _pull(
    rule: Function, given: Looked, saved: tuple, fix: Any, alone: bool, parent: Node, floor: int
) -> Looked:
    """Pass a cotangent and where it moves along an edge of the tape."""
    g, moves = given
    alike = type(moves) is not tuple and type(moves) not in MEMORIES
    if moves is not None and alike and are_settled(np.logical_not(moves)):
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
    """Pass a cotangent, or a tuple of them, through a rule of which nothing is known.

    With the cotangent of a memory goes another one, of positive numbers where it moves.
    """
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
    if type(g) is tuple or c is None or isinstance(c, list):
        return c, None
    if type(c) in MEMORIES and type(g) not in MEMORIES:  # from a part of it
        kept = g if moves is None else np.where(moves, g, 0)[()]
        return rule(kept, *saved), rule(probe(g, moves), *saved)
    if moves is None:
        return c, None
    if type(g) in MEMORIES:
        found = rule(moves, *saved)
        return c, found if type(found) in MEMORIES else np.not_equal(found, 0)
    moves = np.any(moves)
    return np.where(moves, c, 0)[()], moves


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
    chosen: Any = None
    for part, _ in _walk([(parent, start)], None, floor, _probing()):
        for x in part if isinstance(part, (tuple, list)) else (part,):
            if x is not None and type(x) not in MEMORIES:  # which began with constants
                arrived = np.logical_or(arrived, np.any(np.not_equal(x, 0)))
                chosen = add(chosen, chosen_zero(x))
    flat = np.logical_and(at_zero, np.logical_not(arrived))
    if chosen is not None:  # it moves by its derivatives
        return np.where(flat, chosen, c), moves
    return np.where(flat, 0, c)[()], both(moves, np.logical_not(flat))


def moves_leaves(node: Node, value: Value) -> bool:
    """Return whether a positive cotangent of a node arrives at a leaf."""
    start = probe(np.ones_like(value), None), None
    found = [part for part, _ in _walk([(node, start)], None, -1, _probing())]
    return any([
        x is None or type(x) in MEMORIES or is_anywhere(np.not_equal(x, 0), True) for x in found
    ])  # fmt: skip


def chosen_zero(x: Value) -> Value | None:
    """Return a zero whose derivative is NaN where that of zeros in `x` is not zero.

    None: no level around differentiates.
    """
    inner = x
    while isinstance(inner, Tensor):
        if type(inner).level.differentiates:
            zeros = np.where(np.equal(x, 0), x, 0)
            return np.real(np.sum(slope(zeros, 0.0)))
        inner = inner._value
    return None


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
        c, moves = (rule(g, *saved), None) if kind is None else follow(rule, g, moves, saved, alone)
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
    if is_lazy(c):  # finding where each of its terms moves would take a pass over all chunks
        moves = None
    elif moves is not None:
        moves = np.not_equal(fit(moves * 1.0, fix[0], np.dtype(float)), 0)
    return fit(c, fix[0], fix[1]), moves
