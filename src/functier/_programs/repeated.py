"""The loop that samples of its steps stand for: its body, and its node.

NOTE [the rest runs as the program does]
    The trace needs the values that the loop makes. So its source is written and called. Where a
    guard fails in a later step, the loop ends before it, and that step may be another sample. Where
    a call raises, the trace goes on after the samples.
"""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import TRUTH, Graph, Guard, Node, exact, form_of, mark_first, replace
from .integers import grows
from .loops import Count, Loop, is_arm, is_result, stacked
from .paths import Differs, Path, joined
from .sampled import FEWEST, Sampled, known_values, run, same_in

ndarray = np.ndarray


def only_moves(after: dict[Node, Any]) -> bool:
    """Return whether a value that a step takes may still be in another place after several steps.

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
    """The body of the loop that some samples stand for.

    Attributes
    ----------
    args : list
        The first values of what is carried, then what is the same in all steps.
    ends : list
        For each value that the samples have made its place among what is carried, or None for one
        that stays as it is.
    rows : list of Node
        The values of which all steps' are kept.
    lists : dict of int to (int, int)
        For the number of each array of such values their place in `rows`, and its axis. Values that
        are the same in all steps have none.
    moved : range
        The places of those that are carried to tell if a step has made a new array. Else Python has
        the one from before the loop after it.
    """

    def __init__(
        self, samples: Sequence[Sampled], spread: Sequence[tuple[Any, int]], way: int,
        ending: str, length: Any,
    ):  # fmt: skip
        self.first, self.ending = samples[0], ending
        first = self.first
        self.level = level = first.level
        self.shared: dict[Node, Node] = {}
        self.fixed: dict[Any, tuple[Node, Any]] = {}  # constants that a step returns
        self.answers: list[Guard] = []  # to questions about what is the same in all steps
        self.nodes: list[Node] = []
        afters = [self.afters(sample, len(samples) == 1) for sample in samples]
        if ending == "flag" and any(
            [type(x[0]) is not Node or x[0] in y.inputs for x, y in zip(afters, samples)]
        ):
            raise Differs("its condition is the same in all steps")
        makes = [*zip(*[[own is not node for node, own in zip(x.inputs, after)]
                        for x, after in zip(samples, afters)])]  # fmt: skip
        size = sum(map(any, makes))
        arrays = [x.form.kind is ndarray for x in first.inputs]
        sometimes = dict.fromkeys(
            [made for made, on in zip(makes, arrays) if on and any(made) and not all(made)]
        )
        carried = [Node(None, (), {}, x.form) for x, made in zip(first.inputs, makes) if any(made)]
        carried += [Node(None, (), {}, TRUTH) for _ in sometimes]
        self.carried, self.moved = len(carried), range(size, len(carried))
        places = iter(range(size))
        self.ends = [next(places) if any(made) else None for made in makes]
        reals = [level.samples.real_of(first.real[x]) for x in first.inputs]
        self.args: list[Any] = self.changing(reals)
        self.args += [np.False_] * len(sometimes)
        given = [
            carried[place] if place is not None
            else self.outside(real) if type(real) is Node else real
            for real, place in zip(reals, self.ends)
        ]  # fmt: skip
        for node, (x, axis) in zip(first.inputs[len(first.after) :], spread):
            given.append(self.element(node, x, axis))
        start = 0 if first.counter is None else first.counter.parts()[0]
        paths = []
        for k, (sample, after) in enumerate(zip(samples, afters)):
            self.new: dict[Any, Any] = dict(zip(sample.inputs, given))
            nodes, asked = self.path(sample, start, way)
            outputs = [self.of(own) for own in self.changing(after)]
            outputs += [np.True_ if made[k] else x for made, x in zip(sometimes, carried[size:])]
            outputs += [self.of(level.symbol(x)) for x, _ in sample.lists]
            paths.append(Path(nodes, asked, [*map(self.output, outputs)]))
        nodes, guards, outputs = joined(paths, [*carried, *[None] * len(first.lists)])
        self.nodes += nodes
        chosen = {y for y in outputs if is_result(y) and is_arm(y.args[0])}
        ends = zip(self.changing(first.inputs), outputs)
        turned = {x for x, y in ends if y in chosen and x in first.plain}
        if turned and not first.hidden:
            raise Differs("plain values differ from path to path")
        first.turn(turned)
        outside = {*self.shared.values(), *[x for x, _ in self.fixed.values()]}
        self.rows: list[Node] = []
        self.lists: dict[int, tuple[int, int]] = {}
        self.plain: set[int] = set()
        for i, (own, (x, axis)) in enumerate(zip(outputs[self.carried :], first.lists)):
            if own not in outside:
                if own not in self.rows:
                    self.rows.append(own)
                self.lists[i] = self.rows.index(own), axis
                if first.is_plain(x) and own not in chosen:
                    self.plain.add(i)
        inputs = [*carried, *self.shared.values(), *[x for x, _ in self.fixed.values()]]
        self.args += [*self.shared, *[x for _, x in self.fixed.values()]]
        if ending == "length":
            inputs.append(Node(None, (), {}, form_of(0)))
            self.args.append(level.symbol(length))
        outputs = [*outputs[: self.carried], *self.rows]
        self.graph = Graph([*inputs, *self.nodes], inputs, outputs, guards)

    def changing(self, values: Sequence) -> list:
        """Return those of some values that are carried."""
        return [x for x, place in zip(values, self.ends) if place is not None]

    def afters(self, sample: "Sampled", alone: bool) -> list[Any]:
        """Return what a sample has made of the first values that it took."""
        level, inputs = self.level, sample.inputs
        found = [level.symbol(x) for x in sample.after]
        if only_moves(dict(zip(inputs, found))):
            raise Differs("values of the carry change places, and stay the same arrays")
        for node, x, own in zip(inputs, sample.after, found):
            if form_of(level.concrete(x)) != node.form or (type(own) is not Node and alone):
                raise Differs("the forms of values differ from step to step")
            if node.form.kind is not ndarray or own is node:
                continue
            moves = own in inputs
            if moves and not alone:
                raise Differs("values of the carry change places in some steps")
            if not (moves or (type(own) is Node and sample.memory_of(own)[1])):
                raise Differs("a step returns a view of an array that it has not made")
        return found

    def element(self, node: Node, x: Any, axis: int) -> Node:
        """Return the node of the element of an array that a step takes."""
        index: Any = Count(0, 1)
        if form_of(self.level.concrete(x)[(slice(None),) * axis + (0,)]) != node.form:
            raise Differs("the forms of values differ from step to step")
        index = (*(slice(None),) * axis, index) if axis else index
        source = self.level.samples.real_of(self.level.symbol(x))
        source = self.outside(source) if type(source) is Node else source
        self.nodes.append(Node(operator.getitem, (source, index), {}, node.form))
        return self.nodes[-1]

    def path(self, sample: "Sampled", start: int, way: int) -> tuple[list[Node], list[Guard]]:
        """Return the nodes and the guards of a sample, in the order of asking."""
        if sample.index is not None:
            self.new[sample.index] = Count(start, way)
        nodes: list[Node] = []
        known: dict = {}
        for node in sample.nodes:
            found = grows(node, (sample.index,), known)
            if found is not None and found[0]:
                factor, summand = found
                self.new[node] = Count(factor * start + summand, factor * way)
                continue
            self.new[node] = node.like(self.argument(node.args), self.argument(node.kwargs))
            nodes.append(self.new[node])
        mark_first(nodes)
        guards = []
        asked = [self.of(guard.node) for guard in sample.guards]
        outside = {x: real for real, x in self.shared.items()}
        for guard, own in zip(sample.guards, asked):
            if type(own) is Count:
                raise Differs("the number of a step is asked for itself")
            if own in outside:  # it holds for all steps
                self.answers.append(guard._replace(node=outside[own]))
            elif type(own) is Node:
                guards.append(Guard(own, *guard[1:]))
        return nodes, guards

    def output(self, value: Any) -> Node:
        """Return the node of a value that a step returns, which may be a constant."""
        if type(value) is Count:
            raise Differs("a step returns a value that it has not computed")
        if type(value) is Node:
            return value
        return self.fixed.setdefault(exact(value), (Node(None, (), {}, form_of(value)), value))[0]

    def outside(self, node: Node) -> Node:
        """Return what stands for a value from before the sample."""
        found = self.shared.get(node)
        if found is None:
            found = self.shared[node] = Node(None, (), {}, node.form)
        return found

    def argument(self, value: Any) -> Any:
        return replace(value, self.of)

    def of(self, node: Any) -> Any:
        """Return what the body has for a value of the sample, or from before it."""
        node = self.level.samples.real_of(node, self.new)
        if type(node) is not Node:
            return node
        return self.new[node] if node in self.new else self.outside(node)

    def recorded(self, count: int, last: list, made: list, length: Any) -> tuple:
        """Add the loop to the trace, and return what `repeat` does."""
        level, first, ending = self.level, self.first, self.ending
        self.graph.renumber()  # as nodes were left out for the run
        node = self.node(count, self.args)
        node.place = level.where_now()
        level.add(node)
        ends, rows, steps = self.results(node)
        for own in (*ends, *rows, *steps):
            level.add(own)
        if steps:
            length = level.tensor(count, steps[0])
        for i in self.moved:
            level.answers.append(Guard(ends[i], "bool", True, node.place))
        tensors = [level.tensor(value, own) for value, own in zip(last, ends)]
        following = iter(made)
        stacks: list = []
        for i, (x, axis) in enumerate(first.lists):
            if i not in self.lists:
                wide = level.samples.spread if ending else same_in
                stacks.append(wide(x, count, axis, length))
                continue
            own, value = self.stack(rows[self.lists[i][0]], axis), next(following)
            own.form, own.place = form_of(value), node.place
            level.add(own)
            stacks.append(value if i in self.plain and not ending else level.tensor(value, own))
        values = [
            x if i is None else last[i] if first.is_plain(y) and not ending else tensors[i]
            for i, y, x in zip(self.ends, first.after, first.originals)
        ]
        return count, values, stacks, length if ending else None

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


def repeat(
    level: Any, samples: Sequence[Sampled], most: int, spread: Sequence[tuple[Any, int]], way: int,
    ending: str, length: Any,
) -> tuple | None:  # fmt: skip
    """Return how many steps are a loop, at most, the values after it, and all steps'.

    `samples` are of steps that differ in answers; the loop begins with the first one. `spread` has
    the arrays whose elements are the last that it took, each with the axis of the steps. None is
    for samples that do not stand for later steps, and 0 steps are too few.

    With `ending` the loop has another length in other calls: the first value tells if a step
    follows, or `length` is the number of steps. The last result is that number.
    """
    first, last = samples[0], samples[-1]
    try:
        body = Body(samples, spread, way, ending, length)
    except Differs as error:
        last.no_loop(*error.args)
        return None
    values = known_values(level.samples, body.args)
    found = None if values is None else run(body, most, values)
    if found is None or not found[0]:
        last.no_loop("the next steps answer Python code in another way, or raise")
        return found
    count, ends, made = found
    arrays = {id(x) for x in values or () if type(x) is ndarray}
    if any([id(x) in arrays for x in ends]):  # a write to it may follow
        last.no_loop("a loop would return an array from outside of it")
        return None
    if ending == "flag" and first.is_plain(first.after[0]):  # it ends alike in all calls
        body.ending = ""
        if count < FEWEST:
            return None
    for sample in samples:
        for node in sample.nodes:
            level.samples.reasons.pop(node.place, None)
    level.samples.take_out(first, body.args)
    level.answers += body.answers
    return body.recorded(count, ends, made, length)
