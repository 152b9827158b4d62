"""A step that is recorded for all later ones of a loop, and the loop of the program that it makes.

NOTE [a step depends on what it takes]
    The sample gets stand-ins: new inputs for the values that change from step to step, and for the
    counter. So each of its calls tells if it depends on them. Python code that asks for a
    value has its answer as a guard of every step, and nothing may ask for the counter. All else
    that the step reads stays as it is, if the sample leaves no trace: each object that the user's
    functions reach refers to what it referred to before, and arrays have their contents.

NOTE [the rest runs as the program does]
    The trace needs the values that the loop makes. So its source is written and called. Where a
    guard fails in a later step, the loop ends before it, and the trace goes on from there. Where a
    call raises, it goes on after the sample.
"""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._mutation.array import was_written
from .graph import Graph, Guard, Node, form_of, mark_first, replace
from .integers import AFFINE, asks_for_type, grows
from .loops import Count, Loop, stacked
from .sampled_run import FEWEST, known_values, run, same_in
from .sharing import gives_view

ndarray = np.ndarray

WEAK = {bool, int, float, complex}


class Samples:
    """The samples of a trace.

    Attributes
    ----------
    open : list
        Those that are recorded, the innermost last.
    counters : set
        The nodes that stand for the numbers of steps.
    """

    def __init__(self, level: Any):
        self.level = level
        self.open: list[Sampled] = []
        self.counters: set[Node] = set()
        self.real: dict[Node, Any] = {}  # what the stand-ins of others stand for
        self.reasons: dict[Any, str] = {}  # why steps at places of the user's code are no loop

    def begin(self, values: list, number: Any, effects: Any, since: int) -> "Sampled | None":
        """Begin a sample, unless its code may ask for the type of a plain value that it takes."""
        plain = number is not None or any([type(x) is not self.level.cls for x in values])
        if plain and asks_for_type(self.level.watch, since):
            return None
        if WEAK.intersection(map(type, values)) and any(map(self.is_small, values)):
            return None  # the numbers that a loop keeps are NumPy's, which are not weak
        return Sampled(self.level, values, number, effects, since)

    def is_small(self, x: Any) -> bool:
        """Tell if a value has a dtype that a Python number has not, but takes."""
        dtype = getattr(self.level.concrete(x), "dtype", None)
        return dtype is not None and dtype.kind in "fc" and dtype.char not in "dD"

    def real_of(self, node: Any) -> Any:
        """Return what a node stands for, which is mostly itself."""
        while type(node) is Node and node in self.real:
            node = self.real[node]
        return node

    def growth(self, x: Any) -> tuple[int, int] | None:
        """Return factor and summand of a number that grows with that of a step."""
        return grows(x.parts()[1], self.counters) if type(x) is self.level.cls else None

    def grows(self, index: Any) -> bool:
        """Tell if a number in an index grows with that of a step."""
        parts = index if type(index) is tuple else (index,)
        if any([type(x) is self.level.cls and is_listed(x.parts()[1]) for x in parts]):
            return True
        return bool(self.open) and any([self.is_moving(part) for part in parts])

    def is_moving(self, x: Any, carried: bool = True) -> bool:
        """Tell if a number grows with that of a step, or with a whole number that is `carried`."""
        moving = self.counters.union(*[sample.wholes for sample in self.open if carried])
        return type(x) is self.level.cls and grows(x.parts()[1], moving) is not None

    def spread(self, x: Any, count: int, axis: int, length: Any) -> Any:
        """Return an array of a value that is the same in all steps, whose number is a value."""
        level, shape = self.level, np.shape(x)
        one, whole = [same_in(level.concrete(x), n, axis) for n in (1, count)]
        own = level.add(Node(np.expand_dims, (level.symbol(x), axis), {}, form_of(one)))
        shape = (*shape[:axis], level.symbol(length), *shape[axis:])
        node = level.add(Node(np.broadcast_to, (own, shape), {}, form_of(whole)))
        return level.tensor(whole, node)

    def have_plain(self, x: Any) -> bool:
        """Tell if a value is plain but for a sample."""
        return any([sample.is_plain(x) for sample in self.open])

    def answer(self, value: Any, how: Any, *args: Any) -> Any:
        """Convert such a value; later steps may have another answer."""
        for sample in self.open:
            sample.asked = True
        if how == "numpy.asarray":
            return np.asarray(value, *args[:1])
        if not callable(how):
            self.level.reads.unwatched(f"a step of a loop asks for {how} of a plain value")
        return how(value, *args)

    def settle(self, nodes: list[Node], answers: list[Guard], outputs: list) -> tuple[list, list]:
        """Put what stand-ins stand for in their places, and return answers and outputs."""
        if not self.real:
            return answers, outputs
        for node in nodes:
            node.args = replace(node.args, self.real_of)
            node.kwargs = replace(node.kwargs, self.real_of)
            if self.counters and node.func in AFFINE and {*map(type, node.args)} == {int}:
                self.real[node] = node.func(*node.args)  # type: ignore[misc]
        found = [guard._replace(node=self.real_of(guard.node)) for guard in answers]
        found = [guard for guard in found if type(guard.node) is Node]
        return found, replace(outputs, self.real_of)


class Sampled:
    """The sample of a loop, which is recorded from now on.

    Attributes
    ----------
    values : list
        The stand-ins for the values that it takes.
    counter : tensor or None
        The stand-in for its number, if it has one.
    made : set of Node
        The nodes of the step, once it has run.
    wholes : set of Node
        The stand-ins for whole numbers.
    """

    def __init__(self, level: Any, values: Sequence, number: int | None, effects: Any, since: int):
        self.level, self.effects, self.since = level, effects, since
        self.originals = values
        self.asked = False  # for a value of a stand-in for a plain one
        self.real: dict[Node, Any] = {}
        self.inputs = [self.stand_in(x, level.symbol(x)) for x in values]
        self.values = [level.tensor(level.concrete(x), n) for x, n in zip(values, self.inputs)]
        self.plain = {n for x, n in zip(values, self.inputs) if type(x) is not level.cls}
        self.wholes = {n for x, n in zip(values, self.inputs) if is_whole(level.concrete(x))}
        self.index: Node | None = None
        self.counter: Any = None
        if number is not None:
            self.index = self.stand_in(number, number)
            self.counter = level.tensor(number, self.index)
            level.samples.counters.add(self.index)
            self.plain.add(self.index)
        level.samples.open.append(self)
        self.first, self.answers = len(level.nodes), len(level.answers)
        self.seen = self.first  # up to which node it is known which ones are plain
        self.made: set[Node] = set()

    def stand_in(self, x: Any, real: Any) -> Node:
        node = Node(None, (), {}, form_of(self.level.concrete(x)))
        self.real[node] = real
        return node

    def end(self) -> None:
        """Let the stand-ins be what they stand for: nothing more is recorded with them."""
        self.level.samples.open.remove(self)
        self.level.samples.real.update(self.real)

    def is_plain(self, x: Any) -> bool:
        """Tell if a value of the sample depends on no value of the program."""
        nodes = self.level.nodes
        for node in nodes[self.seen :]:
            if not (node.memory or node.kept) and self.plain.issuperset(node.parents()):
                self.plain.add(node)
        self.seen = len(nodes)
        return type(x) is self.level.cls and x.parts()[1] in self.plain

    def without(self, values: Sequence) -> list:
        """Return values, those that are plain without the level."""
        return [x.parts()[0] if self.is_plain(x) else x for x in values]

    def check(self, leaves: Sequence) -> None:
        """Leave the program where the step has done to its stand-ins what nobody would see."""
        reads, self.made = self.level.reads, {*self.level.nodes[self.first :]}
        if any(map(was_written, (*leaves, *self.values))):
            reads.unwatched("a step of a loop writes to a value that it takes")
        if self.plain and asks_for_type(self.level.watch, self.since):
            reads.unwatched("a step of a loop may ask for the type of a number that it takes")

    def memory_of(self, node: Any) -> tuple[Any, bool]:
        """Return the node of the array that a value is a view of, and if the step has made that."""
        own = self.made
        while node in own and node.args and type(node.args[0]) is Node and gives_view(node.func):
            if getattr(node.form, "kind", None) is not ndarray:
                return node, True  # a number, which has no memory
            node = node.args[0]
        return node, node in own

    def check_views(self, values: Sequence) -> None:
        """Leave the program where a step returns a view of what it takes, as a write may follow."""
        for x in values:
            node = self.level.symbol(x)
            if type(node) is Node and node not in self.inputs:
                if self.memory_of(node)[0] in self.inputs:
                    self.level.reads.unwatched("a step of a loop returns a view of what it takes")

    def repeat(
        self, most: int, after: Sequence, lists: Sequence[tuple[Any, int]],
        spread: Sequence[tuple[Any, int]], way: int, ending: str = "", length: Any = None,
    ) -> tuple[int, list, list, Any] | None:  # fmt: skip
        """Return how many more steps are a loop, at most, the values after it, and all steps'.

        With `ending` the loop has another length in other calls: the first value tells if a step
        follows, or `length` is the number of steps. The last result is that number.

        `after` are the values that the sample has made of the first that it took. `lists` are
        values that it has taken or made, each with the new axis of the array of all; `spread` has
        the arrays whose elements are the last that it took, each with the axis of the steps. None
        is for a sample that does not stand for later steps.
        """
        level = self.level
        if self.asked or self.is_asked():
            self.no_loop("the number of a step, or another plain value, is asked for itself")
            return None
        if any([(n in self.plain) != self.is_plain(x) for n, x in zip(self.inputs, after)]):
            self.no_loop("plain values change places with others")
            return None
        if self.effects.happened():
            self.no_loop("a step changes an object, or may")
            return None
        try:
            body = Body(self, after, lists, spread, way, ending, length)
        except Differs as error:
            self.no_loop(*error.args)
            return None
        values = known_values(level, body.args)
        found = None if values is None else run(body, most, values)
        if found is None:
            self.no_loop("the next steps answer Python code in another way, or raise")
            return None
        count, last, made = found
        arrays = {id(x) for x in values or () if type(x) is ndarray}
        if any([id(x) in arrays for x in last]):  # a write to it may follow
            self.no_loop("a loop would return an array from outside of it")
            return None
        if ending == "flag" and self.is_plain(after[0]):  # it ends alike in all calls
            body.ending, ending = "", ""
            if count < FEWEST:
                return None
        body.graph.renumber()  # as nodes were left out for the run
        node = body.node(count, body.args)
        node.place = level.where_now()
        level.add(node)
        ends, rows, steps = body.results(node)
        for own in (*ends, *rows, *steps):
            level.add(own)
        if steps:
            length = level.tensor(count, steps[0])
        ends = [level.tensor(value, own) for value, own in zip(last, ends)]
        following = iter(made)
        stacks: list = []
        for i, (x, axis) in enumerate(lists):
            if i not in body.lists:
                wide = level.samples.spread if ending else same_in
                stacks.append(wide(x, count, axis, length))
                continue
            own, value = body.stack(rows[body.lists[i][0]], axis), next(following)
            own.form, own.place = form_of(value), node.place
            level.add(own)
            plain = self.is_plain(x) and not ending
            stacks.append(value if plain else level.tensor(value, own))
        ends = [
            x if i is None else last[i] if self.is_plain(y) and not ending else ends[i]
            for i, y, x in zip(body.ends, after, self.originals)
        ]
        return count, ends, stacks, length if ending else None

    def no_loop(self, reason: str) -> None:
        """Note why the sample does not stand for later steps."""
        for node in self.level.nodes[self.first :]:
            self.level.samples.reasons[node.place] = reason

    def is_asked(self) -> bool:
        """Tell if something has asked for the counter."""
        return any([guard.node is self.index for guard in self.level.answers[self.answers :]])


def is_listed(node: Any) -> bool:
    """Tell if a value is that of a step, from an array of those of all, whose number is a value."""
    while node.func is operator.getitem:
        node = node.args[0]
    return node.func is stacked


def is_whole(x: Any) -> bool:
    """Tell if a value is a whole number, of Python or NumPy."""
    return type(x) is int or (isinstance(x, np.integer) and not isinstance(x, np.timedelta64))


class Differs(BaseException):
    """A later step may make other calls than the sample."""


def has_effects(node: Node) -> bool:
    """Tell if a node draws, or uses a memory; also in the steps of a loop."""
    if type(node.func) is Loop:
        return any(map(has_effects, node.func.body.nodes))
    return node.memory or node.kept


def only_moves(after: dict[Node, Any]) -> bool:
    """Tell if a value that a step takes may still be in another place after several steps.

    `after` has for each value that a step takes what stands there behind it. After the loop Python
    has the array from before it, which may be written to.
    """
    for node, own in after.items():
        steps = 0
        while own is not node and type(own) is Node and own in after:
            node, own, steps = own, after[own], steps + 1
            if steps >= FEWEST:
                return True
        if steps and own is node:
            return True
    return False


class Body:
    """The body of the loop that a sample stands for.

    Attributes
    ----------
    args : list
        The first values of what is carried, then what is the same in all steps.
    ends : list
        For each value that the sample has made its place among what is carried, or None for one
        that stays as it is.
    rows : list of Node
        The values of which all steps' are kept.
    lists : dict of int to (int, int)
        For the number of each array of such values their place in `rows`, and its axis. Values that
        are the same in all steps have none.
    """

    def __init__(
        self, sample: Sampled, after: Sequence, lists: Sequence, spread: Sequence, way: int,
        ending: str, length: Any,
    ):  # fmt: skip
        level = sample.level
        self.level, self.ending = level, ending
        self.shared: dict[Node, Node] = {}
        self.new: dict[Node, Any] = {}
        self.nodes: list[Node] = []
        self.args: list[Any] = []
        carried: list[Node] = []
        outputs: list[Node] = []
        self.ends: list[int | None] = []
        afters = [level.symbol(x) for x in after]
        if ending == "flag" and (type(afters[0]) is not Node or afters[0] in sample.inputs):
            raise Differs("its condition is the same in all steps")
        if only_moves(dict(zip(sample.inputs, afters))):
            raise Differs("values of the carry change places, and stay the same arrays")
        views = [x for x in afters if type(x) is Node and x not in sample.inputs]
        if not all([sample.memory_of(x)[1] for x in views]):
            raise Differs("a step returns a view of an array that it has not made")
        for node, x, own in zip(sample.inputs, after, afters):
            if type(own) is not Node or form_of(level.concrete(x)) != node.form:
                raise Differs("the forms of values differ from step to step")
            if own is node:
                self.ends.append(None)
                real = level.samples.real_of(sample.real[node])
                self.new[node] = self.outside(real) if type(real) is Node else real
                continue
            self.ends.append(len(carried))
            self.new[node] = Node(None, (), {}, node.form)
            carried.append(self.new[node])
            self.args.append(level.samples.real_of(own))
            outputs.append(own)
        self.carried = len(carried)
        if sample.index is not None:
            second = sample.counter.parts()[0] + way
            self.new[sample.index] = Count(second, way)
        for node, (x, axis) in zip(sample.inputs[len(after) :], spread):
            index: Any = Count(0, 1)
            part = level.concrete(x)[(slice(None),) * axis + (0,)]
            if form_of(part) != node.form:
                raise Differs("the forms of values differ from step to step")
            index = (*(slice(None),) * axis, index) if axis else index
            source = level.symbol(x)
            source = level.samples.real_of(source)
            source = self.outside(source) if type(source) is Node else source
            self.new[node] = self.add(Node(operator.getitem, (source, index), {}, node.form))
        for node in level.nodes[sample.first :]:
            if has_effects(node):
                raise Differs("a step draws, or uses an array that is written to")
            found = grows(node, (sample.index,))
            if found is not None and found[0]:
                factor, summand = found
                self.new[node] = Count(factor * second + summand, factor * way)
                continue
            copied = node.like(self.argument(node.args), self.argument(node.kwargs))
            self.new[node] = self.add(copied)
        mark_first(self.nodes)
        guards = []
        for guard in level.answers[sample.answers :]:
            own = self.of(guard.node)
            if type(own) is Count:
                raise Differs("the number of a step is asked for itself")
            if type(own) is not Node or own in self.shared.values():
                continue  # it holds for all steps, and is that of the sample
            guards.append(Guard(own, *guard[1:]))
        self.outputs = [self.own(y) for y in outputs]
        self.rows: list[Node] = []
        self.lists: dict[int, tuple[int, int]] = {}
        for i, (x, axis) in enumerate(lists):
            node = level.symbol(x)
            own = self.of(node) if type(node) is Node else node
            if type(own) is not Node or own in self.shared.values():
                continue
            if own not in self.rows:
                self.rows.append(own)
            self.lists[i] = self.rows.index(own), axis
        inputs = [*carried, *self.shared.values()]
        self.args += self.shared
        if ending == "length":
            inputs.append(Node(None, (), {}, form_of(0)))
            self.args.append(level.symbol(length))
        self.graph = Graph([*inputs, *self.nodes], inputs, [*self.outputs, *self.rows], guards)

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def own(self, node: Any) -> Node:
        """Return the node of the body for a value of the sample."""
        found = self.of(node) if type(node) is Node else None
        if type(found) is not Node:
            raise Differs("a step returns a value that is not its own")
        return found

    def outside(self, node: Node) -> Node:
        """Return what stands for a value from before the sample."""
        found = self.shared.get(node)
        if found is None:
            found = self.shared[node] = Node(None, (), {}, node.form)
        return found

    def argument(self, value: Any) -> Any:
        return replace(value, self.of)

    def of(self, node: Node) -> Any:
        """Return what the body has for a value of the sample, or from before it."""
        node = self.level.samples.real_of(node)
        found = self.new.get(node) if type(node) is Node else node
        return self.outside(node) if found is None else found

    def node(self, count: int, args: Sequence) -> Node:
        """Return the node of the loop."""
        loop = Loop(self.graph, count, self.carried, (), self.carried, self.ending)
        node = Node(loop, tuple(args), {}, loop.form())
        node.kept = loop.has_effects()
        return node

    def results(self, node: Node) -> tuple[list[Node], list[Node], list[Node]]:
        """Return the nodes of the last values of a loop, of the lists of all, and of its length.

        There is none of a length that is known.
        """
        found = [Node(operator.getitem, (node, i), {}, form) for i, form in enumerate(node.form)]
        end = len(self.graph.outputs)
        return found[: self.carried], found[self.carried : end], found[end:]

    def stack(self, row: Node, axis: int) -> Node:
        """Return the node of an array of all that a list has."""
        if not self.ending:
            return Node(np.stack, (row,), {"axis": axis} if axis else {}, None)
        form = row.form.form
        dtype = np.dtype(form.dtype or form.kind)
        return Node(stacked, (row, axis, form.shape, dtype), {}, None)
