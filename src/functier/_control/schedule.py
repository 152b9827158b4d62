"""Loops whose backward pass keeps a given number of states: binomial schedules.

NOTE [slots]
    A loop is cut in chunks, and the states between them can be kept in slots. The last chunk is
    recorded as any code. The steps before are a *segment*, a region of the tape, whose node keeps
    the first state; others are kept beside it where the schedule says. So the backward pass meets
    the last chunk first, then the segment: it runs forward from the latest state that is kept,
    keeps more in the slots that are free, records one chunk, takes that back, and gives up the
    state. (Griewank and Walther, Algorithm 799: Revolve, 2000.)

NOTE [a tape is cut]
    After each chunk the tensors of the state, and of the results, are replaced by others. In the
    forward pass these have nodes that lead to what the segment depends on so far. In the backward
    pass they are leaves, and their cotangents go on to the chunk before.
"""

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np

from .._core.blocks import block, setting
from .._core.numpy_facts import Function, PyTree, Shape, Value, shape_of
from .._core.pytree import flatten, is_value, unflatten
from .._core.tensor import Tensor
from .._levels.backward import Stretch, backward
from .._levels.cotangents import add
from .._levels.states import resume
from .._levels.tape import Node, node_numbers, node_of
from .._mutation.array import was_written
from .._transforms.chunks.streams import record_draws, replay_draws
from .regions import (
    Place,
    Rerun,
    Sample,
    different_forms,
    different_numbers,
    find_ends,
    region,
    walk,
)

# ---- which loop is run by a schedule ----


class Plan:
    """The slots and the chunk that a call of `checkpoint` gives to the loop inside."""

    def __init__(self, label: str, slots: int, chunk: int):
        self.label, self.slots, self.chunk = label, slots, chunk
        self.loop: str | None = None

    def take(self, label: str) -> None:
        """Note the loop, the first one."""
        if self.loop is not None:
            raise ValueError(
                f"{self.label}: the function calls {label} after {self.loop}, but slots are for "
                f"one loop; write a function for each, and checkpoint(f, slots=...) of it"
            )
        self.loop = label


PLAN: ContextVar[Plan | None] = ContextVar("plan", default=None)
"""The plan for the next loop that the running function calls."""


@block
def planned(plan: Plan | None) -> Iterator[None]:
    """Inside, the next loop follows `plan`."""
    yield from setting(PLAN, plan)


def is_planned() -> bool:
    """Return whether the next loop follows a plan, which needs the number of steps."""
    return PLAN.get() is not None


def refuse_plan(label: str, why: str) -> None:
    """Raise where a loop whose number of steps is not known on entry should follow a plan."""
    plan = PLAN.get()
    if plan is not None:
        raise ValueError(
            f"{plan.label}: {label} {why}, and slots need the number of steps; write scan or "
            f"fori_loop with the same number for all examples, or checkpoint(f) for the function "
            "of one step"
        )


def run_steps(
    label: str, steps: Callable, n: int, carry: PyTree, xs: Sequence = (), reverse: bool = False,
    join: Callable = lambda parts: None,
) -> tuple:  # fmt: skip
    """Return the last carry and the results of a loop of `n` steps, by the plan if there is one.

    ``steps(a, b, carry, xs)`` runs the steps from `a` to `b` with their part of the arrays `xs`,
    which is the last one for the first steps where the loop is in `reverse`. It returns the
    carry and the results of these steps; `join` makes those of all of several.
    """
    plan = PLAN.get()
    if plan is None:
        return steps(0, n, carry, xs)
    plan.take(label)
    return Loop(plan, steps, reverse, join).run(n, carry, xs)


# ---- the schedule ----


def split(n: int, slots: int) -> int:
    """Return after how many of `n` chunks a state is kept, so that the fewest run again.

    One of the slots has the first state.
    """
    if slots == 1:
        return n - 1
    r = 1
    while comb(slots + r, r) < n:
        r += 1
    return min(comb(slots + r - 1, r - 1), n - comb(slots + r - 2, r - 1))


# ---- a loop ----


class Loop:
    """A loop that follows a plan, by functions that run and that join parts of it."""

    def __init__(self, plan: Plan, steps: Callable, reverse: bool, join: Callable):
        self.label, self.slots, self.chunk = plan.label, plan.slots, plan.chunk
        self.steps, self.reverse, self.join = steps, reverse, join

    def run(self, n: int, carry: PyTree, xs: Sequence, *more: PyTree) -> tuple:
        """Return the last carry and all results: see NOTE [slots]."""
        chunks, slots, a, parts = -(-n // self.chunk), self.slots, 0, []
        points = [a]
        while chunks > 1:
            size = split(chunks, slots)
            a += size * self.chunk
            points.append(a)
            chunks, slots = chunks - size, max(slots - 1, 1)
        if a:
            segment = Segment(self, points)
            given = carry, self.part(xs, n, 0, a), *more
            carry, parts = region(self.label, segment.run, *given, pull=segment.pull)
        carry, ys = self.call(a, n, carry, self.part(xs, n, a, n), *more)
        return carry, self.joined([*parts, ys])

    def call(self, a: int, b: int, carry: PyTree, xs: Sequence, *more: PyTree) -> tuple:
        """Run the steps from `a` to `b`; loops inside them follow no plan."""
        leaves, structure = flatten(carry)
        carry = unflatten(structure, [_own(x) for x in leaves])  # a step may fill its state again
        with planned(None):
            return self.steps(a, b, carry, xs, *more)

    def joined(self, parts: list) -> PyTree:
        """Return the results of all parts, which are in the order of the steps."""
        if len(parts) < 2:
            return parts[0] if parts else None
        return self.join(parts[::-1] if self.reverse else parts)

    def place(self, size: int, a: int, b: int) -> slice:
        """Return where the steps from `a` to `b` of `size` have their slices of arrays."""
        return slice(size - b, size - a) if self.reverse else slice(a, b)

    def part(self, xs: Sequence, size: int, a: int, b: int) -> list:
        """Return the part of arrays for the steps from `a` to `b` of those that `xs` is for."""
        return [x if b - a == size else x[self.place(size, a, b)] for x in xs]


class Segment:
    """The steps up to the last chunk, which begin with the first state; `points` are after how many
    the forward pass keeps a state.

    These are for the first backward pass that comes, which gives each of them up when it has used
    it. Another one runs all steps again from the first state.
    """

    def __init__(self, loop: Loop, points: list[int]):
        self.loop, self.points, self.b = loop, points, points[-1]
        self.kept: list[tuple] = []
        self.samples: list = []  # of the results of each chunk
        self.last: list = []  # of the last carry
        self.groups: list = []  # of chunks whose results have one form: the first step, the leaves

    def run(self, carry: PyTree, xs: Sequence, *more: PyTree) -> tuple:
        """Return the carry and groups of results, with the tape cut after each chunk.

        The results of a group are tensors of the same levels, so that their cotangents are slices
        of those of all.
        """
        loop, stretch = self.loop, Stretch()
        groups: list[list] = []
        label, before = loop.label, None
        self.start = stretch.start

        def short(node: Node) -> Node:
            parents = stretch.reached(node).values()
            rule = _outside(label)
            return node_of([(parent, rule, (), None) for parent in parents])

        for a, b in pairwise(self.points):
            with record_draws() as drawn:
                if a:
                    self.keep(a, carry, drawn)
                for k in range(a, b, loop.chunk):
                    part = loop.part(xs, self.b, k, k + loop.chunk)
                    out = loop.call(k, k + loop.chunk, carry, part, *more)
                    carry, ys = cut(out, Tensor, stretch.start, short)
                    leaves = flatten(ys)[0]
                    if leaves:
                        self.samples.append(_samples(leaves))
                        levels = _levels_of(leaves)
                        if levels != before:
                            groups.append([])
                            self.groups.append((k, [len(shape_of(y)) for y in leaves]))
                        groups[-1].append(ys)
                        before = levels
        self.last = _samples(flatten(carry)[0])
        return carry, [loop.joined(parts) for parts in groups]

    def keep(self, k: int, state: PyTree, drawn: record_draws) -> None:
        """Keep the state after `k` steps, if it is on the tape of one level alone.

        That of another one would lead to its nodes, which are gone.
        """
        levels = [*find_ends(self.loop.label, state, self.start)]
        if len(levels) == 1:
            self.kept.append((levels[0], k, state, drawn))

    def take(self, cls: type[Tensor], ambient: type[Tensor]) -> list[tuple]:
        """Return the states that are kept, which are the caller's alone from now on."""
        found, self.kept = self.kept, []
        with resume(ambient):
            return [
                (k, cut(state, cls, self.start, _leaf), replay_draws(drawn))
                for own, k, state, drawn in found
                if own is cls
            ]

    def pull(self, rerun: Rerun, cotangents: tuple, given: tuple, sums: Sequence) -> list:
        """Return the cotangents of what the segment depends on, added to `sums`."""
        carry, xs, *more = given
        back = Backward(self, rerun, carry, xs, more, sums)
        for place, shape, g in zip(rerun.places, rerun.forms, cotangents):
            if g is not None:
                back.take(place, shape, g)
        kept = [(0, carry, replay_draws(rerun.drawn)), *self.take(rerun.cls, rerun.ambient)]
        free, end = self.loop.slots - len(kept), self.b
        while end > 0:
            k, state, draws = kept[-1]
            while (chunks := (end - k) // self.loop.chunk) > 1:
                to = k + split(chunks, free + 1) * self.loop.chunk
                state, draws = back.advance(k, to, state, draws)
                k = to
                if free:
                    kept.append((k, state, draws))
                    free -= 1
            back.chunk(k, end, state, draws)
            end = k
            if kept[-1][0] == end:
                kept.pop()
                free += 1
        return back.finish()


class Backward:
    """A backward pass over a segment, at one level, which has come to some chunk.

    `carry` has the cotangents of the state there by place, `results` those of the results of each
    group, with the number of axes before that of the steps. `sums` are of the nodes that the
    segment starts from, and `slices` of the arrays, from the last chunk to the first.
    """

    def __init__(
        self, segment: Segment, rerun: Rerun, carry: PyTree, xs: Sequence, more: list,
        sums: Sequence,
    ):  # fmt: skip
        self.segment, self.rerun, self.xs, self.more = segment, rerun, xs, more
        self.sums = [*sums] or [None] * len(rerun.boundary)
        self.start = next(node_numbers)
        self.width, self.expected = len(flatten(carry)[0]), segment.last
        self.carry: dict[Place, Value] = {}
        self.results: list[dict[Place, tuple[Value, int]]] = [{} for _ in segment.groups]
        self.slices: dict[Place, tuple[int, list]] = {}

    def take(self, place: Place, shape: Shape, g: Value) -> None:
        """Take the cotangent of the tensor at a place in what the segment returned."""
        i = place[0] - self.width
        if i < 0:
            self.carry[place] = g
            return
        _, dims = self.segment.groups[0]
        group, leaf = divmod(i, len(dims))
        before = len(shape) - self.segment.groups[group][1][leaf]
        self.results[group][(self.width + leaf, *place[1:])] = g, before

    def rows(self, k: int, end: int) -> dict[Place, Value]:
        """Return the cotangents of the results of the steps from `k` to `end`."""
        segment = self.segment
        firsts = [first for first, _ in segment.groups]
        group = bisect(firsts, k) - 1
        if group < 0:
            return {}
        first, after = [*firsts, segment.b][group : group + 2]
        at = segment.loop.place(after - first, k - first, end - first)
        found = self.results[group].items()
        return {place: g[(slice(None),) * before + (at,)] for place, (g, before) in found}

    def inputs(self, k: int, end: int) -> list:
        """Return the part of the arrays for the steps from `k` to `end`."""
        if not self.xs:
            return []
        with resume(self.rerun.ambient):
            return self.segment.loop.part(self.xs, self.segment.b, k, end)

    def advance(self, k: int, to: int, state: PyTree, draws: replay_draws) -> tuple:
        """Return the state after the steps from `k` to `to`, and where its draws stand."""
        size = self.segment.loop.chunk
        for here in range(k, to, size):
            state, draws = self._advance(here, here + size, state, draws)
        return state, draws

    def _advance(self, k: int, end: int, state: PyTree, draws: replay_draws) -> tuple:
        rerun, after = self.rerun, []

        def run(state: PyTree, xs: list, *more: PyTree) -> PyTree:
            with resume(rerun.ambient):
                after.append(mine := draws.copy())
                out, _ = rerun.run(mine, self.segment.loop.call, k, end, state, xs, *more)
                return cut(out, rerun.cls, self.start, _leaf)

        return region(rerun.label, run, state, self.inputs(k, end), *self.more), after[0]

    def chunk(self, k: int, end: int, state: PyTree, draws: replay_draws) -> None:
        """Record the steps from `k` to `end`, and take the cotangents back over them."""
        segment, rerun, start, cls = self.segment, self.rerun, self.start, self.rerun.cls
        loop, boundary, samples = segment.loop, rerun.boundary, segment.samples
        cotangents = {**self.carry, **self.rows(k, end)}
        expected = self.expected
        if samples:
            expected = expected + samples[k // loop.chunk]
        leaves = flatten(state)[0]
        fresh = _places(leaves, cls, start)
        slices: list[tuple] = []

        def pull(state: PyTree, xs: list, more: list, gs: list, sums: list) -> list:
            with resume(rerun.ambient):
                arrays = [cut(x, cls, start, _leaf) for x in xs]
                out = rerun.run(draws.copy(), loop.call, k, end, state, arrays, *more)
                found = flatten(out)[0]
                if not _are_close(expected, found):
                    raise different_numbers(rerun.label)
                ends = _places(found, cls)
                roots = [(node, g) for node, g in zip(boundary, sums) if g is not None]
                for place, g in zip(cotangents, gs):
                    x = ends.get(place)
                    if x is None or shape_of(g) != x.shape:
                        found = [None if x is None else x.shape]
                        raise different_forms(rerun.label, found, [shape_of(g)])
                    number = x.parts()[1][0]
                    roots.append((x.parts()[1] if number > start else (number, None), g))
                nodes = [x.parts()[1] for x in _places(flatten(state)[0], cls, start).values()]
                cuts = _places(arrays, cls, start)
                nodes += [x.parts()[1] for x in cuts.values()]
                before = [len(x.shape) - len(shape_of(arrays[p[0]])) for p, x in cuts.items()]
                slices[:] = zip(cuts, before, [(x.shape, x.dtype) for x in cuts.values()])
                del out, found, ends
            return backward(roots, [*boundary, *nodes], start)

        gs = [*cotangents.values()]
        found = region(rerun.label, pull, state, self.inputs(k, end), self.more, gs, self.sums)
        n, m = len(boundary), len(boundary) + len(fresh)
        self.sums = found[:n]
        self.carry = {place: g for place, g in zip(fresh, found[n:m]) if g is not None}
        self.expected = _samples(leaves)
        for (place, before, form), g in zip(slices, found[m:]):
            _, parts = self.slices.setdefault(place, (before, []))
            parts.append(np.zeros(*form) if g is None else g)

    def finish(self) -> list:
        """Return the sums, with the cotangents of the arrays."""
        cls, numbers = self.rerun.cls, [node[0] for node in self.rerun.boundary]
        tensors = _places(self.xs, cls)
        for place, (before, parts) in self.slices.items():
            number = tensors[place].parts()[1][0]
            if number in numbers:
                g = np.concatenate(parts if self.segment.loop.reverse else parts[::-1], before)
                i = numbers.index(number)
                self.sums[i] = add(self.sums[i], g)
        return self.sums


# ---- tensors of a state ----


def cut(tree: PyTree, cls: type[Tensor], start: int, replace: Callable[[Node], Node]) -> PyTree:
    """Return `tree` with other tensors for those of `cls`, or inside it, that have a tape.

    They have ``replace(node)`` where the node was recorded after `start`. Plain arrays are copied.
    """
    made: dict[int, Any] = {}
    leaves, structure = flatten(tree)
    leaves = [x.level.snapshot(x) if was_written(x) else x for x in leaves]
    leaves = [_renew(_own(x), cls, start, replace, made) for x in leaves]
    return unflatten(structure, leaves)


def _renew(
    x: Any, cls: type[Tensor], start: int, replace: Callable[[Node], Node], made: dict[int, Any]
) -> Any:
    """Return another tensor for `x`, if it is of `cls` or inside it; `made` has those made so far.

    (A function inside `cut` would refer to itself, and keep them until the garbage is collected.)
    """
    if not isinstance(x, Tensor) or not issubclass(type(x), cls):
        return x
    if id(x) in made:
        return made[id(x)]
    parts = x.parts()
    new = [_renew(part, cls, start, replace, made) for part in parts]
    if x.level.differentiates == "reverse" and parts[1][0] > start and parts[1][1] is not None:
        new[1] = replace(parts[1])
    changed = any(a is not b for a, b in zip(parts, new))
    made[id(x)] = y = type(x).join(*new) if changed else x
    return y


def _own(x: Value) -> Value:
    """Return a copy of a plain array, and anything else as it is."""
    return x.copy() if type(x) is np.ndarray else x


def _leaf(node: Node) -> Node:
    return next(node_numbers), None


def _outside(label: str) -> Function:
    """Return the rule of a node whose tape was cut."""

    def refuse(g: Value) -> Value:
        raise RuntimeError(
            f"{label}: a result depends on a tensor of a step that the step did not return, and "
            f"the tape of the step is gone; return the tensor, as a result of scan"
        )

    return refuse


def _places(leaves: Sequence[Value], cls: type[Tensor], start: int = -1) -> dict[Place, Tensor]:
    """Return the tensors of `cls` in leaves by place; with `start`, those with later nodes once."""
    found, seen = {}, set()
    for i, leaf in enumerate(leaves):
        for place, x in walk(leaf, i):
            if type(x) is cls:
                number = x.parts()[1][0]
                if start < 0 or (number > start and number not in seen):
                    seen.add(number)
                    found[place] = x
    return found


def _levels_of(leaves: Sequence[Value]) -> list:
    """Return the classes and the shapes of all tensors in leaves."""
    return [(place, type(x), x.shape) for i, y in enumerate(leaves) for place, x in walk(y, i)]


def _samples(leaves: Sequence[Value]) -> list[Sample | None]:
    """Return samples of the numbers that a second run has to reproduce."""
    return [Sample.of(x) if is_value(x) else None for x in leaves]


def _are_close(samples: list[Sample | None], leaves: Sequence[Value]) -> bool:
    found = _samples(leaves)
    return len(found) == len(samples) and all(
        a is None or (b is not None and a.size == b.size and a.is_close(b))
        for a, b in zip(samples, found)
    )
