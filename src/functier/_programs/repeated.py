"""The loop that samples of its steps stand for: its body, its first run, and its node.

NOTE [the rest runs as the program does]
    The trace needs the values that the loop makes. So its source is written and called. Where a
    guard fails in a later step, the loop ends before it, and that step may be another sample. Where
    a call raises, the trace goes on after the samples.
"""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._cpython.collector import known_containers
from .dead import drop_dead
from .graph import TRUTH, Graph, Guard, Node, form_of, mark_first, replace
from .integers import grows
from .looping import counting_of
from .loops import Count, Loop, is_arm, is_result
from .paths import Differs, Path, joined
from .replays import Changed, Replay
from .sampled import Sampled

ndarray = np.ndarray

FEWEST = 4
"""So many steps at least are a loop."""


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

    def __init__(self, samples: Sequence[Sampled], spread: Sequence[tuple[Any, int]], way: int):
        self.first = first = samples[0]
        self.level = level = first.level
        self.shared: dict[Node, Node] = {}
        self.fixed: dict[Any, tuple[Node, Any]] = {}  # constants that a step returns
        self.answers: list[Guard] = []  # to questions about what is the same in all steps
        self.nodes: list[Node] = []
        afters = [self.afters(sample, len(samples) == 1) for sample in samples]
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
        if chosen & {y for x, y in zip(self.changing(first.inputs), outputs) if x in first.plain}:
            raise Differs("plain values differ from path to path")
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
        nodes = []
        for node in sample.nodes:
            if has_effects(node):
                raise Differs("a step draws, or uses an array that is written to")
            found = grows(node, (sample.index,))
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
            raise Differs("a step returns a value that is not its own")
        if type(value) is Node:
            return value
        key = id(value) if type(value) is ndarray else (type(value), repr(value))
        return self.fixed.setdefault(key, (Node(None, (), {}, form_of(value)), value))[0]

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

    def recorded(self, count: int, last: list, made: list) -> tuple[int, list, list]:
        """Add the loop to the trace, and return what `repeat` does."""
        level, first = self.level, self.first
        self.graph.renumber()  # as nodes were left out for the run
        node = self.node(count, self.args)
        node.place = level.where_now()
        level.add(node)
        ends, rows = self.results(node)
        for own in (*ends, *rows):
            level.add(own)
        for i in self.moved:
            level.answers.append(Guard(ends[i], "bool", True, node.place))
        tensors = [level.tensor(value, own) for value, own in zip(last, ends)]
        stacks: list = [
            None if i in self.lists else same_in(count, x, axis)
            for i, (x, axis) in enumerate(first.lists)
        ]
        for value, (i, (place, axis)) in zip(made, self.lists.items()):
            own = Node(np.stack, (rows[place],), {"axis": axis} if axis else {}, form_of(value))
            own.place = node.place
            level.add(own)
            stacks[i] = value if i in self.plain else level.tensor(value, own)
        values = [
            x if i is None else last[i] if first.is_plain(y) else tensors[i]
            for i, y, x in zip(self.ends, first.after, first.originals)
        ]
        return count, values, stacks

    def node(self, count: int, args: Sequence) -> Node:
        """Return the node of the loop."""
        loop = Loop(self.graph, count, self.carried, (), self.carried)
        node = Node(loop, tuple(args), {}, loop.form())
        node.kept = loop.has_effects()
        return node

    def results(self, node: Node) -> tuple[list[Node], list[Node]]:
        """Return the nodes of the last values of a loop, and of the lists of all."""
        found = [Node(operator.getitem, (node, i), {}, form) for i, form in enumerate(node.form)]
        return found[: self.carried], found[self.carried :]


def same_in(count: int, x: Any, axis: int) -> Any:
    """Return an array of a value of some steps, which is the same in all."""
    shape = np.shape(x)
    return np.broadcast_to(np.expand_dims(x, axis), (*shape[:axis], count, *shape[axis:]))


def known_values(level: Any, nodes: Sequence[Any]) -> list | None:
    """Return the values of nodes of a trace, from the tensors that have them; None if one is lost.

    Others than nodes are themselves.
    """
    found: dict[Node, Any] = {}
    wanted = {x for x in nodes if type(x) is Node}
    for x in known_containers():
        if type(x) is level.cls:
            value, node = x.parts()
            node = level.samples.real_of(node)
            if type(node) is Node and node in wanted:
                found[node] = value
    if len(found) < len(wanted):
        return None
    return [found[x] if type(x) is Node else x for x in nodes]


def repeat(
    level: Any, samples: Sequence[Sampled], most: int, spread: Sequence[tuple[Any, int]], way: int
) -> tuple[int, list, list] | None:  # fmt: skip
    """Return how many steps are a loop, at most, the values after it, and all steps'.

    `samples` are of steps that differ in answers; the loop begins with the first one. `spread` has
    the arrays whose elements are the last that it took, each with the axis of the steps. None is
    for samples that do not stand for later steps.
    """
    first, last = samples[0], samples[-1]
    try:
        body = Body(samples, spread, way)
    except Differs as error:
        last.no_loop(*error.args)
        return None
    values = known_values(level, body.args)
    found = None if values is None else run(body, most, values)
    if found is None or not found[0]:
        last.no_loop("the next steps answer Python code in another way, or raise")
        return found
    count, ends, made = found
    arrays = {id(x) for x in values or () if type(x) is ndarray}
    if any([id(x) in arrays for x in ends]):  # a write to it may follow
        last.no_loop("a loop would return an array from outside of it")
        return None
    for sample in samples:
        for node in sample.nodes:
            level.samples.reasons.pop(node.place, None)
    level.samples.take_out(first)
    level.answers += body.answers
    return body.recorded(count, ends, made)


def run(body: Body, most: int, values: list) -> tuple[int, list, list] | None:
    """Run a loop until an answer differs; return how often, the last values, and arrays of all."""
    try:
        found: Any = call(body, most, values)
        if type(found) is int:
            most = found if found >= FEWEST else 0
            found = call(body, most, values) if most else ([], [])
    except Exception:
        return None
    return most, *found


def call(body: Body, count: int, values: list) -> tuple[list, list] | int:
    """Return the last values of a loop, and arrays of all; or after how many steps it ends."""
    inputs = [Node(None, (), {}, form_of(x)) for x in values]
    node = body.node(count, inputs)
    ends, rows = body.results(node)
    stacks = [Node(np.stack, (rows[i],), {"axis": axis}, None) for i, axis in body.lists.values()]
    nodes = [*inputs, node, *ends, *rows, *stacks]
    graph = drop_dead(Graph(nodes, inputs, [*ends, *stacks]))
    try:
        made = Replay(graph, "loop", [f"x{i}" for i in range(len(inputs))])(*values)
    except Changed as changed:
        counting = counting_of(node.func, "i")  # type: ignore[arg-type]
        return (changed.args[1] - counting.first) * counting.way
    return [*made[: body.carried]], [*made[body.carried :]]
