"""Loops that a function says are loops, in a program: one step is recorded for all.

NOTE [one step for all]
    The first steps run one by one, until the carry has the kinds of tensors that it keeps. Then one
    more, the *sample*, runs with stand-ins for what it takes. If its calls depend on nothing else,
    and it has changed no object, then all later steps make the same calls: they are one node of the
    program, a loop. In any other case they run one by one.

NOTE [levels between]
    A level of `vmap` or `jvp` keeps several values in one tensor. So the carry is taken apart into
    the values of the level that records, and the sample puts the tensors together again. A level of
    `grad` gets a node on its tape for the whole loop. Its backward pass is a loop as well, whose
    step runs the step again, from the carry that the forward loop has kept. So the orders of
    derivatives nest, as those of `checkpoint` do.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.ambient import AMBIENT
from .._core.pytree import flatten, same_structure, unflatten
from .._core.rule import unchanged
from .._core.tensor import Tensor
from .._core.types import PyTree, Shape, Structure, Value
from .._levels.backward import backward
from .._levels.cotangents import Pieces, add
from .._levels.kept import join_edges
from .._levels.lineage import levels_of
from .._levels.states import resume
from .._levels.stretch import Stretch
from .._levels.tape import Continued, Given, Node, node_numbers, node_of
from .effects import Effects
from .masks import AMONG
from .parts import Parts, Unfit, apart

ndarray = np.ndarray
Step = Callable[[Any, PyTree, list], tuple[PyTree, PyTree] | None]

LEAST = 8
"""Loops of fewer steps run one by one."""

FEWEST = 2
"""A sample that has run with later steps has made at least so many."""

TRIES = 4
"""So many samples are taken, where a step answers Python code in another way than those before."""

ENDLESS = 1 << 40
"""More steps than a loop has that ends with a condition."""


def holds_tensors(index: Iterable) -> bool:
    """Tell if there is a tensor among the parts of an index."""
    parts = [(x.start, x.stop, x.step) if type(x) is slice else (x,) for x in index]
    return any([isinstance(x, Tensor) for part in parts for x in part])


def form_of(x: Any) -> tuple:
    """Return what a value keeps in all steps of a loop."""
    return type(x), np.shape(x), getattr(x, "dtype", None), getattr(x, "strides", None)


def recorder() -> Any:
    """Return the level of the program that is recorded here, if it can repeat a step."""
    if AMONG.get() is None:
        for level in levels_of(AMBIENT.get()):
            if level.guards and level.repeats:
                return level
    return None


class Repeats:
    """The steps of a loop.

    Parameters
    ----------
    step : function
        Takes a number, the carry and an element of each array in `xs`, and returns the next carry
        and the results; None where the loop has ended.
    n : int
        How many steps there are at most.
    xs : list
        Arrays with one element for each step.
    roots : tuple
        The functions of the user that a step calls.
    numbers : range or None
        The number that each step takes, if it takes any.
    reverse : bool
        Whether the first step takes the last elements.
    length : tensor, optional
        The number of steps, where it is a value of the program; `n` is then that of the trace.
    flagged : bool
        Whether the first leaf of the carry tells if a step follows. Then `n` is not known.

    Attributes
    ----------
    level : Level or None
        That of the program, as long as a step may be recorded for all.
    flagged : bool
        False once a step has been recorded with the answer of the flag.
    ended : bool
        Whether all steps have run, which nobody may ask again.
    """

    def __init__(
        self, step: Step, n: int, xs: Sequence, roots: tuple, numbers: range | None = None,
        reverse: bool = False, length: Any = None, flagged: bool = False,
    ):  # fmt: skip
        self.step, self.n, self.xs, self.roots = step, n, xs, roots
        self.numbers, self.reverse = numbers, reverse
        self.length, self.flagged, self.ended = length, flagged, False
        self.level = recorder() if n >= LEAST or length is not None else None
        self.kinds: Any = None
        self.tries = TRIES
        self.since = self.level.watch.again() if self.level else 0

    def number(self, position: int) -> int | None:
        return None if self.numbers is None else self.numbers[position]

    def rest(self, position: int, carry: PyTree) -> tuple | None:
        """Return what some steps from `position` on make, or None if the next one runs by itself.

        That is how many, the carry after them, the results of the first one, and arrays of those
        of the others; None for these where only the first has run.
        """
        level = self.level
        if level is None or (self.n - position < LEAST - 1 and self.length is None):
            return None
        leaves, structure = flatten(carry)
        try:
            found = apart(leaves, level.cls)
        except Unfit:
            self.level = None
            return None
        forms = [(form_of(level.concrete(x)), type(x) is level.cls) for x in found.values]
        kinds = structure, found.kinds, found.axes, forms
        if kinds != self.kinds:
            self.kinds = kinds
            return None
        sample = Sample(self, level, position, leaves, structure).run()
        self.tries -= 1
        if sample is None:  # the first steps may run other code, so the next one is asked again
            self.since = level.watch.again()
        elif sample[0] < FEWEST and not self.flagged:
            self.level = None
        if not (self.tries or self.flagged):
            self.level = None
        if sample is not None and not self.ended:
            self.flagged = False  # the next sample has the flag's answer
        return sample

    def goes_on(self, position: int) -> bool:
        """Tell if a step follows, which is an answer where the length is a value."""
        if self.length is None or self.ended:
            return position < self.n and not self.ended
        return bool(self.length > position)

    def steps(self, carry: PyTree) -> Iterator[tuple]:
        """Run all steps, and yield after some the position of the first and what `rest` returns."""
        position = 0
        while self.goes_on(position):
            found = self.rest(position, carry)
            if found is None:
                elements = [x[position] for x in self.xs]
                found = 1, *self.step(self.number(position), carry, elements), None  # type: ignore[misc]
            yield position, *found
            position, carry = position + found[0], found[1]


class Rows:
    """The results of steps, some of them as arrays of those of several steps."""

    def __init__(self) -> None:
        self.singles: list[list] = []
        self.stacks: dict[int, tuple[list, int]] = {}  # the arrays after so many single results
        self.width = 0

    def add(self, made: list, rest: list | None, steps: int) -> None:
        """Add the results of a step, and arrays of those of some steps after it."""
        self.singles.append(made)
        self.width = len(made)
        if rest is not None:
            self.stacks[len(self.singles)] = rest, steps

    def column(self, i: int) -> Value | None:
        """Return the array of one result of all steps; None is a zero."""
        column = [made[i] for made in self.singles]
        some = [rest[i][0] for rest, _ in self.stacks.values() if rest[i] is not None]
        first = next((x for x in (*column, *some) if x is not None), None)
        if first is None:
            return None
        zero = np.zeros(np.shape(first), getattr(first, "dtype", None))
        stacks = {
            end: np.zeros((steps, *zero.shape), zero.dtype) if rest[i] is None else rest[i]
            for end, (rest, steps) in self.stacks.items()
        }
        return joined([zero if x is None else x for x in column], stacks)


def joined(singles: list, stacks: dict[int, Value], reverse: bool = False) -> Value:
    """Return one array of single results and of the arrays that come after some of them."""
    parts, start = [], 0
    for end in (*stacks, len(singles)):
        if start < end:
            parts.append(np.stack(singles[start:end][::-1] if reverse else singles[start:end]))
            if end in stacks:
                stack: Any = stacks[end]
                parts.append(stack[::-1] if reverse else stack)
        start = end
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts[::-1] if reverse else parts)


class Sample:
    """The step that is recorded for all later ones."""

    def __init__(
        self, whole: Repeats, level: Any, position: int, carry: list, structure: Structure
    ):  # fmt: skip
        self.whole = whole
        self.step, self.roots, self.level = whole.step, whole.roots, level
        self.since = whole.since
        self.length: Any = None
        if whole.length is not None:
            self.length = whole.length - (position + 1)
        self.numbers = whole.numbers and whole.numbers[position:]
        self.count = self.most = whole.n - position - 1
        self.size, self.structure = len(carry), structure
        xs = [x[::-1] for x in whole.xs] if whole.reverse else whole.xs
        self.xs = [x[position + 1 :] for x in xs]
        self.leaves = [*carry, *[x[position] for x in xs]]
        self.ambient = AMBIENT.get()

    def run(self) -> tuple | None:
        given = apart(self.leaves, self.level.cls)
        number = None if self.numbers is None else self.numbers[0]
        taken = self.level.sample(given.values, number, Effects(self.roots), self.since)
        if taken is None:
            return None
        try:
            return self.run_with(given, taken)
        finally:
            taken.end()

    def run_with(self, given: Parts, taken: Any) -> tuple:
        """Run the step with stand-ins, and then, if it stands for them, the steps after it."""
        level, size = self.level, self.size
        self.starts = [node_of([(node, unchanged, (), None)]) for _, node, _ in given.nodes]
        leaves = given.together(taken.values, self.starts)
        self.stretch = Stretch()
        start = unflatten(self.structure, leaves[:size])
        out = self.step(taken.counter, start, leaves[size:])
        taken.check(leaves)
        if out is None:
            return 0, None, None, None
        (carry, structure), (made, form) = map(flatten, out)
        row = unflatten(form, taken.without(made))
        # What a step returns as it is stays the same object, as a write to it may follow.
        originals = dict(zip(map(id, leaves), self.leaves))
        kept = [originals.get(id(x), x) for x in taken.without(carry)]
        single = 1, unflatten(structure, kept), row, None
        if structure != self.structure and not same_structure(out[0], start):
            return single
        try:
            before, spread = apart(leaves[:size], level.cls), apart(self.xs, level.cls)
            after, results = apart(carry, level.cls), apart(made, level.cls)
            taken.check_views(after.values)
            if (before.kinds, before.axes) != (after.kinds, after.axes):
                return single
            if [*before.kinds, *spread.kinds] != given.kinds:
                return single
            self.outputs = [after, results]
            self.classes = self.reverse_levels()
            self.kept = {cls: apart(leaves[:size], cls.level.outer) for cls in self.classes}
            self.outputs += [apart(x.values, level.cls) for x in self.kept.values()]
        except Unfit:
            return single
        lists = [pair for x in self.outputs[1:] for pair in zip(x.values, x.axes)]
        ending = "flag" if self.whole.flagged else "" if self.length is None else "length"
        if ending and (len(self.classes) > 1 or results.values):
            return single  # the rules of another grad level would know the length of arrays
        found = level.repeat(
            taken, self.count, after.values, lists, [*zip(spread.values, spread.axes)],
            self.numbers and self.numbers.step, ending, self.length,
        )  # fmt: skip
        if found is None:
            return single
        self.count, last, stacks, self.length = found
        self.whole.ended = bool(ending)
        values = [last]
        for x in self.outputs[1:]:
            values.append(stacks[: len(x.values)])
            stacks = stacks[len(x.values) :]
        ends, rows = self.connected(values)
        ends = [
            old if x is stand_in else end
            for x, stand_in, old, end in zip(carry, leaves, self.leaves, ends)
        ]
        return 1 + self.count, unflatten(structure, ends), row, unflatten(form, rows)

    def reverse_levels(self) -> list[Any]:
        """Return the classes of the grad levels of which there are results, outermost first."""
        found = {cls for parts in self.outputs for cls, _, _ in parts.nodes}
        return sorted(found, key=lambda cls: cls.level.depth)

    def connected(self, values: list[list]) -> tuple[list, list]:
        """Return the last carry and all results as leaves, with nodes on the tapes of all levels.

        `values` are those of each of the `outputs`.
        """
        if self.xs and self.count < self.most:
            self.xs = [x[: self.count] for x in self.xs]
        nodes: list[list] = [[None] * len(parts.nodes) for parts in self.outputs]
        for i, cls in enumerate(self.classes):
            kept = self.outputs[2 + i].together(values[2 + i], nodes[2 + i])
            pull = Pull(self, cls)
            xs = pull.first_axis(apart(self.xs, cls.level.outer))
            rule = Continued(pull)
            rule.parents = [node[0] for node in pull.parents]
            saved = Given([*kept, *xs]), ()
            made = join_edges(pull.parents, rule, len(pull.places), saved, cls.level, "a loop")
            for (k, j), node in zip(pull.places, made):
                nodes[k][j] = node
        ends, rows = [
            parts.together(found, own) for parts, found, own in zip(self.outputs[:2], values, nodes)
        ]
        return ends, rows


class Pull:
    """The rule of a loop at one grad level: the backward loop, which runs each step again.

    Attributes
    ----------
    places : list
        The outputs that are tensors of the level: which of `outputs`, and which of its nodes.
    parents : list
        The nodes that cotangents go to: those of the first carry, of `xs`, and of the tensors that
        a step closes over.
    """

    def __init__(self, sample: Sample, cls: Any):
        self.cls, self.level = cls, sample.level
        self.step, self.roots, self.size = sample.step, sample.roots, sample.size
        self.structure = sample.structure
        self.numbers = sample.numbers and sample.numbers[sample.count : 0 : -1]
        self.count, self.length, self.ambient = sample.count, sample.length, sample.ambient
        self.classes = sample.classes
        places = [
            (k, j, axes)
            for k, parts in enumerate(sample.outputs)
            for j, (own, _, axes) in enumerate(parts.nodes) if own is cls
        ]  # fmt: skip
        self.places = [(k, j) for k, j, _ in places]
        self.axes = [axes for _, _, axes in places]
        self.given = apart(sample.leaves, cls.level.outer)
        first, spread = sample.outputs[0].of(cls), apart(sample.xs, self.level.cls)
        self.carried = len(first)
        self.spread = [axes for own, _, axes in spread.nodes if own is cls]
        ends = [sample.outputs[k].nodes[j][1] for k, j in self.places]
        starts = {node[0] for node in sample.starts}
        reached = sample.stretch.reached(*ends)
        shared = [node for number, node in reached.items() if number not in starts]
        self.parents = [*first, *spread.of(cls), *shared]
        self.shared = [(node[0], None) for node in shared]  # the numbers suffice
        self.pieces: list[Piece] = []  # those of the last sample

    @staticmethod
    def first_axis(parts: Parts) -> list:
        """Return values with the axis of the steps first."""
        return [moved(x, a, 0) for x, a in zip(parts.values, parts.axes)]

    def __call__(self, cotangents: tuple, given: Sequence, sums: Sequence) -> list:
        """Return the cotangents of the parents, each added to what there is so far in `sums`."""
        own = self.carried + len(self.spread)
        sums = sums or [None] * len(self.parents)
        last, rows = cotangents[: self.carried], cotangents[self.carried :]
        wanted = [
            None if c is None else moved(c, a, 0) for c, a in zip(rows, self.axes[self.carried :])
        ]
        on = [c is not None for c in wanted]
        xs = [x[::-1] for x in (*given, *[c for c in wanted if c is not None])]
        step = functools.partial(self.back, on)
        loop = Repeats(step, self.count, xs, self.roots, self.numbers, length=self.length)
        found: list[tuple] = []
        results, size = Rows(), len(self.spread)
        carry: list = [*last, *sums[own:]]
        numbers: Any = self.numbers
        for position, steps, carry, made, rest in loop.steps(carry):  # noqa: B007, B020
            results.add(made[:size], rest and rest[:size], steps - 1)
            for j, piece in enumerate(self.pieces if len(made) > size else ()):
                values = [made[size + j]], {1: rest[size + j]} if rest else {}
                found.append((piece, joined(*values), numbers[position : position + steps]))
        carry = carry[:]
        for piece, values, at in found:
            k = self.carried + piece.place
            carry[k] = add(carry[k], piece.total(values, at))
        ends = [
            None if c is None else moved(c[::-1], 0, a)
            for c, a in zip(map(results.column, range(size)), self.spread)
        ]
        first = map(add, sums, [*carry[: self.carried], *ends])
        return [*first, *carry[self.carried :]]

    def back(self, on: list[bool], number: Any, carry: list, elements: list) -> tuple:
        """Run a step again, and return the cotangents of what it has taken."""
        size = len(self.given.values)
        rows = iter(elements[size:])
        cotangents = [*carry[: self.carried], *[next(rows) if one else None for one in on]]
        with resume(self.ambient):
            starts: list[Node] = [(next(node_numbers), None) for _ in self.given.nodes]
            leaves = self.given.together(elements[:size], starts)
            start = next(node_numbers)
            before = unflatten(self.structure, leaves[: self.size])
            out: Any = self.step(number, before, leaves[self.size :])
            outer = self.level.cls
            outputs = [apart(flatten(part)[0], outer) for part in out]
            for cls in self.classes:
                kept = apart(leaves[: self.size], cls.level.outer)
                outputs.append(apart(kept.values, outer))
            ends = [outputs[k].nodes[j][1] for k, j in self.places]
            del out, outputs
        ends = [node if node[0] > start else (node[0], None) for node in ends]
        totals = zip(self.shared, carry[self.carried :])  # to which each cotangent is added at once
        roots = [(node, c) for node, c in (*totals, *zip(ends, cotangents)) if c is not None]
        del ends
        own = [node for node, (cls, _, _) in zip(starts, self.given.nodes) if cls is self.cls]
        found = backward(roots, [*own, *self.shared], start, whole=False)
        made, self.pieces = [], []
        for place, c in enumerate(found):
            if type(c) is Pieces and place >= len(own) and isinstance(number, Tensor):
                made += self.apart_from(c, place - len(own))
            if type(c) is Pieces:
                found[place] = c.sum() if c.values else None
        shared, left = found[len(own) :], found[self.carried : len(own)]
        return [*found[: self.carried], *shared], [*left, *made]

    def apart_from(self, c: Pieces, place: int) -> list[Value]:
        """Take the pieces of a cotangent out whose places grow with the number of the step."""
        taken, left = [], []
        for index, value in zip(c.places, c.values):
            first, *others = index if type(index) is tuple else (index,)
            growth = self.level.samples.growth(first)
            if growth is None or holds_tensors(others):
                left.append((index, value))
            else:
                taken.append(value)
                self.pieces.append(Piece(place, c.rule, c.shape, growth, tuple(others)))
        c.places, c.values = [[pair[i] for pair in left] for i in (0, 1)]
        return taken


def moved(x: Value, source: int, destination: int) -> Value:
    """Return an array with the axis of the steps at another place, if it is one."""
    return x if source == destination else np.moveaxis(x, source, destination)


class Piece(NamedTuple):
    """A piece of the cotangent of what a step closes over: one at the number of each step."""

    place: int
    rule: Callable
    shape: Shape
    growth: tuple[int, int]
    others: tuple

    def total(self, values: Value, numbers: range) -> Value:
        """Return the sum of the pieces of some steps."""
        factor, summand = self.growth
        at = np.array([factor * number + summand for number in numbers])
        return self.rule(values, self.shape, (at, *self.others))
