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
from collections.abc import Callable, Iterator, Sequence
from types import CellType
from typing import Any

import numpy as np

from .._core.ambient import AMBIENT
from .._core.numpy_facts import PyTree, Value
from .._core.pytree import flatten, same_structure, unflatten
from .._core.rule import unchanged
from .._core.tensor import Tensor
from .._levels.backward import Stretch, backward
from .._levels.cotangents import Pieces, add
from .._levels.kept import join_edges
from .._levels.lineage import levels_of
from .._levels.memory import is_read_only
from .._levels.states import resume
from .._levels.tape import Continued, Given, Node, node_numbers, node_of
from .effects import Effects
from .masks import AMONG, Mask
from .parts import Parts, Unfit, apart, form_of
from .rows import Piece, Rows, holds_tensors, moved

ndarray = np.ndarray
Step = Callable[[Any, PyTree, list], tuple[PyTree, PyTree] | None]

LEAST = 8
"""Loops of fewer steps run one by one."""

MOST = 12
"""The most samples that are taken for one loop."""

TRIES = 6
"""The number of times that a loop is begun."""

ENDLESS = 1 << 40
"""More steps than a loop has that ends with a condition."""


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
    facts : function
        Returns what has to be the same in all steps, after each.
    length : tensor, optional
        The number of steps, where it is a value of the program; `n` is then that of the trace.
    flagged : bool
        Whether the first leaf of the carry tells if a step follows. Then `n` is not known.
    hidden : bool
        Whether the carry is cotangents, which Python code does not ask for plain numbers.

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
        reverse: bool = False, facts: Callable[[], Any] = lambda: None, length: Any = None,
        flagged: bool = False, hidden: bool = False,
    ):  # fmt: skip
        self.facts, self.hidden = facts, hidden
        self.step, self.n, self.xs, self.roots = step, n, xs, roots
        self.numbers, self.reverse = numbers, reverse
        self.length, self.flagged, self.ended = length, flagged, False
        self.level: Any = recorder() if n >= LEAST or length is not None else None
        self.kinds: Any = None
        self.tries = TRIES
        self.since = self.level.watch.again() if self.level else 0
        self.waiting: list[Any] = []  # what steps have made, or the error of the last one
        self.stops = False  # as soon as nothing waits

    def number(self, position: int) -> int | None:
        return None if self.numbers is None else self.numbers[position]

    def rest(self, position: int, carry: PyTree) -> tuple | None:
        """Return what some steps from `position` on make, or None if the next one runs by itself.

        That is how many, the carry after them, the results of the first one, and arrays of the
        results of all; None for these where only one has run.
        """
        if self.waiting:
            return self.next_one()
        level = self.level
        if level is None or (self.n - position < LEAST - 1 and self.length is None):
            return None
        try:
            if (self.flagged or self.length is not None) and self.changes(carry):
                return None
            return self.looked_at(position, carry)
        except Unfit:
            self.level = None
            return None

    def changes(self, carry: PyTree) -> bool:
        """Return whether a carry is of another kind than that of the step before."""
        leaves, structure = flatten(carry)
        level, before = self.level, self.kinds
        found = apart(leaves, level.cls)
        forms = [(form_of(level.concrete(x)), type(x) is level.cls) for x in found.values]
        self.kinds = structure, found.kinds, found.axes, forms
        return bool(self.kinds != before)

    def goes_on(self, position: int) -> bool:
        """Return whether a step follows, which is an answer where the length is a value."""
        if self.length is None or self.ended:
            return position < self.n and not self.ended
        return bool(self.length > position)

    def looked_at(self, position: int, carry: PyTree) -> tuple | None:
        """Return what `rest` does for a step that is a sample, and for those that it stands for.

        Steps that answer Python code in another way are samples, too.
        """
        samples: list[Sample] = []
        done: list[Any] = []
        self.tries -= 1
        while True:
            try:
                sample = Sample(self, position, carry)
                with AMBIENT.get().level.forgotten():
                    found = sample.run()
            except Exception as error:
                if not samples:
                    raise
                done.append(error)
                break
            if found is None:
                break
            samples.append(sample)
            steps = samples[0].repeat(samples) if sample.fits() else None
            if steps is None or not steps[0]:
                done.append(found)
            else:
                position, done = samples[0].position, [steps]
            position, carry = position + done[-1][0], done[-1][1]
            if steps is None or len(samples) == MOST or not self.goes_on(position):
                break
            if self.flagged and not Mask(flatten(carry)[0][0]).some:
                break
            self.level.samples.forget(samples[0].taken.first)
        if not samples:  # the first steps may run other code, so the next one is asked again
            self.since = self.level.watch.again()
            return None
        single = done[0][3] is None and samples[0].position and not samples[-1].changes
        self.stops = not self.flagged and (single or not self.tries)
        self.waiting = done
        return self.next_one()

    def next_one(self) -> tuple:
        """Return what the next steps have made that have run already."""
        found = self.waiting.pop(0)
        if not self.waiting:
            self.level = None if self.stops else self.level
            self.flagged = self.flagged and self.ended  # the next sample has the flag's answer
        if isinstance(found, Exception):
            raise found
        return found

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


class Sample:
    """A step that is recorded for later ones.

    Attributes
    ----------
    taken : Sampled or None
        What the level of the program has recorded.
    changes : bool
        True where the step returns a carry of another kind than it has taken.
    """

    def __init__(self, whole: Repeats, position: int, carry: PyTree):
        self.whole, self.position = whole, position
        self.level: Any = whole.level
        self.step, self.roots, self.since = whole.step, whole.roots, whole.since
        self.length = None if whole.length is None else whole.length - position
        self.numbers = whole.numbers and whole.numbers[position:]
        self.count = self.most = whole.n - position
        leaves, self.structure = flatten(carry)
        self.size = len(leaves)
        xs = [x[::-1] for x in whole.xs] if whole.reverse else whole.xs
        self.ahead = [x[position:] for x in xs]
        self.leaves = [*leaves, *[x[position] for x in xs]]
        self.ambient = AMBIENT.get()
        self.taken: Any = None
        self.changes = False
        self.outputs: list[Parts] = []

    def run(self) -> tuple | None:
        """Run the step with stand-ins, and return what it makes as `rest` does.

        None is for a step that has to run without stand-ins.
        """
        given = apart(self.leaves, self.level.cls)
        number = None if self.numbers is None else self.numbers[0]
        taken = self.level.sample(given.values, number, Effects(self.roots), self.since)
        if taken is None:
            return None
        try:
            return self.run_with(given, taken)
        finally:
            taken.end()

    def run_with(self, given: Parts, taken: Any) -> tuple | None:
        level, size = self.level, self.size
        self.given = given
        self.starts = [node_of([(node, unchanged, (), None)]) for _, node, _ in given.nodes]
        leaves = given.together(taken.values, self.starts)
        self.stretch = Stretch()
        start = unflatten(self.structure, leaves[:size])
        out = self.step(taken.counter, start, leaves[size:])
        if not taken.check(leaves):
            return None
        if out is None:
            return 0, None, None, None
        (carry, structure), (made, form) = map(flatten, out)
        self.row = unflatten(form, taken.without(made))
        # What a step returns as it is stays the same object, as a write to it may follow.
        originals = dict(zip(map(id, leaves), self.leaves))
        kept = [originals.get(id(x), x) for x in taken.without(carry)]
        single = 1, unflatten(structure, kept), self.row, None
        self.same = [x is y for x, y in zip(carry, leaves)]
        self.form = form, self.whole.facts()
        self.changes = structure != self.structure and not same_structure(out[0], start)
        if self.changes:
            return single
        try:
            before, after = apart(leaves[:size], level.cls), apart(carry, level.cls)
            results = apart(made, level.cls)
            taken.check_views(after.values)
            self.changes = (before.kinds, before.axes) != (after.kinds, after.axes)
            if self.changes:
                return single
            self.outputs = [after, results]
            self.classes = self.reverse_levels()
            self.kept = {cls: apart(leaves[:size], cls.level.outer) for cls in self.classes}
            self.outputs += [apart(x.values, level.cls) for x in self.kept.values()]
        except Unfit:
            self.outputs = []
            return single
        lists = [pair for x in self.outputs[1:] for pair in zip(x.values, x.axes)]
        taken.close(after.values, lists, self.whole.hidden)
        self.taken = taken
        return single

    def fits(self) -> bool:
        """Return whether the step may stand for others."""
        return self.taken is not None and self.taken.fits

    def repeat(self, samples: "list[Sample]") -> tuple | None:
        """Return what the steps from this one on make, if `samples`, of which it is the first,
        stand for them; (0,) if these are too few, and None if they do not.
        """
        last, level = samples[-1], self.level
        kinds = [[(x.kinds, x.axes) for x in one.outputs] for one in (self, last)]
        if kinds[0] != kinds[1] or self.form != last.form:
            return None
        spread = apart(self.ahead, level.cls)
        if [*self.given.kinds[: self.size], *spread.kinds] != self.given.kinds:
            return None
        ending = "flag" if self.whole.flagged else "" if self.length is None else "length"
        if ending and (len(self.classes) > 1 or self.outputs[1].values):
            return None  # the rules of another grad level would know the length of arrays
        found = level.repeat(
            [one.taken for one in samples], self.most, [*zip(spread.values, spread.axes)],
            self.numbers and self.numbers.step, ending, self.length,
        )  # fmt: skip
        if found is None or not found[0]:
            return found
        self.count, last_values, stacks, self.length = found
        self.whole.ended = bool(ending)
        values = [last_values]
        for x in self.outputs[1:]:
            values.append(stacks[: len(x.values)])
            stacks = stacks[len(x.values) :]
        values[1] = [np.copy(x, "C") if is_read_only(x) else x for x in values[1]]
        ends, rows = self.connected(values, samples)
        same = [all(column) for column in zip(*[one.same for one in samples])]
        ends = [old if one else end for one, old, end in zip(same, self.leaves, ends)]
        return self.count, unflatten(self.structure, ends), self.row, unflatten(self.form[0], rows)

    def reached(self, places: list[tuple[int, int]]) -> list[Node]:
        """Return the nodes of what a step closes over, to which some of the outputs lead."""
        starts = {node[0] for node in self.starts}
        found = self.stretch.reached(*[self.outputs[k].nodes[j][1] for k, j in places])
        return [node for number, node in found.items() if number not in starts]

    def reverse_levels(self) -> list[Any]:
        """Return the classes of the grad levels of which there are results, outermost first."""
        found = {cls for parts in self.outputs for cls, _, _ in parts.nodes}
        return sorted(found, key=lambda cls: cls.level.depth)

    def connected(self, values: list[list], samples: "list[Sample]") -> tuple[list, list]:
        """Return the last carry and all results as leaves, with nodes on the tapes of all levels.

        `values` are those of each of the `outputs`.
        """
        whole = self.count == self.most
        self.xs = self.ahead if whole else [x[: self.count] for x in self.ahead]
        nodes: list[list] = [[None] * len(parts.nodes) for parts in self.outputs]
        for i, cls in enumerate(self.classes):
            kept = self.outputs[2 + i].together(values[2 + i], nodes[2 + i])
            pull = Pull(self, cls, samples)
            xs = apart(self.xs, cls.level.outer).rows()
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

    def __init__(self, sample: Sample, cls: Any, samples: list[Sample]):
        self.cls, self.level = cls, sample.level
        self.step, self.roots, self.size = sample.step, sample.roots, sample.size
        self.structure = sample.structure
        self.numbers = sample.numbers and sample.numbers[: sample.count][::-1]
        self.count, self.length, self.ambient = sample.count, sample.length, sample.ambient
        self.classes, self.effects = sample.classes, sample.taken.effects
        places = [
            (k, j, axes)
            for k, parts in enumerate(sample.outputs)
            for j, (own, _, axes) in enumerate(parts.nodes) if own is cls
        ]  # fmt: skip
        self.places = [(k, j) for k, j, _ in places]
        self.axes = [axes for _, _, axes in places]
        self.given = apart(sample.leaves, cls.level.outer)
        first = apart(sample.leaves[: sample.size], self.level.cls).of(cls)
        spread = apart(sample.xs, self.level.cls)
        self.carried = len(first)
        self.spread = [axes for own, _, axes in spread.nodes if own is cls]
        shared = [*{node[0]: node for one in samples for node in one.reached(self.places)}.values()]
        # A value may be several of these, and each has a sum.
        own = [node_of([(node, unchanged, (), None)]) for node in (*first, *spread.of(cls))]
        self.parents = [*own, *shared]
        self.shared = [(node[0], None) for node in shared]  # the numbers suffice
        self.pieces: list[Piece] = []  # those of the last sample

    def _refuse(self, what: str) -> None:
        reads = self.level.reads
        reads.unwatched("an object that a step of a loop uses has changed since the loop")

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
        loop = Repeats(
            step, self.count, xs, self.roots, self.numbers, facts=self.facts, length=self.length,
            hidden=True,
        )  # fmt: skip
        found: list[tuple] = []
        results, size = Rows(), len(self.spread)
        carry: list = [*last, *sums[own:]]
        numbers: Any = self.numbers
        with self.effects.undone(self._refuse, (CellType,)):
            for position, steps, carry, made, rest in loop.steps(carry):  # noqa: B007, B020
                results.add(made[:size], rest and rest[:size], steps)
                for j, piece in enumerate(self.pieces if len(made) > size else ()):
                    values = rest[size + j] if rest else np.stack(made[size + j :][:1])
                    found.append((piece, values, numbers[position : position + steps]))
        carry = carry[:]
        for piece, values, at in found:
            k = self.carried + piece.place
            carry[k] = add(carry[k], piece.total(values, at))
        ends = [
            None if c is None else moved(c[::-1], 0, a)
            for c, a in zip(map(results.column, range(size)), self.spread)
        ]
        return [*carry[: self.carried], *ends, *carry[self.carried :]]

    def facts(self) -> Any:
        """Return where the pieces are that a step makes."""
        return [(*piece[:4], repr(piece.others)) for piece in self.pieces]

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
                outputs.append(apart(apart(leaves[: self.size], cls.level.outer).values, outer))
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
