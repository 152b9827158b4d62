"""Loops of a program: a body that runs a number of times, as the function of one node.

NOTE [a loop is a call]
    The arguments of the node of a loop are the first values of what it carries from step to step,
    the sequences of which each step reads one element, and the values that all steps take. Its
    result is a tuple: values of the last step, then lists with the values of all steps. A body is
    a graph; no node of it refers to a node outside.

NOTE [lengths that are values]
    The number of steps of a loop may be a value of the program. Either the first value that is
    carried tells if a step follows; the last result is then the number of steps. Or that number is
    the last argument. The forms of lists, and of arrays of them, are then those of the trace.
"""

import operator
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph import Graph, Guard, Node, changed, form_of, replace


class Count(NamedTuple):
    """An integer that grows from step to step: ``start + step * i``.

    `i` counts the steps of the loop that the number is in, from 0. The start is a `Count` of the
    loop around, or a number.
    """

    start: Any
    step: int


def plus(x: Any, n: int) -> Any:
    """Return an integer, which may grow with steps, and `n`."""
    return Count(plus(x.start, n), x.step) if type(x) is Count else x + n


def times(x: Any, n: int) -> Any:
    """Return an integer, which may grow with steps, times `n`."""
    return Count(times(x.start, n), x.step * n) if type(x) is Count else x * n


def parts_of_count(x: Any) -> tuple[int, tuple[int, ...]]:
    """Return a number at the beginning of all loops that it is in, and its steps there."""
    steps = []
    while type(x) is Count:
        steps.append(x.step)
        x = x.start
    return x, tuple(steps)


class Series(NamedTuple):
    """The form of a list with the values of all steps of a loop."""

    form: Any
    count: int  # type: ignore[assignment]

    @property
    def kind(self) -> type:
        """The class of the value, as the forms of arrays and numbers have it."""
        return list


class Table:
    """Constants, one for each step of a loop."""

    __slots__ = ("values",)

    def __init__(self, values: list):
        self.values = values


class Loop:
    """The function of the node of a loop.

    Attributes
    ----------
    body : Graph
        One step. Its inputs are the values that are carried, then the elements of sequences, then
        what is the same in all steps. Its outputs are the next values of what is carried, then
        others that somebody needs.
    count : int
        The number of steps.
    carried : int
        The number of values that are carried.
    reads : tuple of Count
        The index of the element that a step reads, for each sequence.
    lasts : int
        The number of outputs, from the first on, of which the last values are results; lists of
        the others are.
    ends : {"", "flag", "length", "arm"}
        Whether `count` is that of the trace alone: see NOTE [lengths that are values]. An arm has
        one step, which runs where the first input behind what is carried is true.
    """

    __slots__ = ("body", "carried", "count", "ends", "lasts", "places", "reads")
    __name__ = "loop"

    def __init__(
        self, body: Graph, count: int, carried: int, reads: tuple[Count, ...], lasts: int,
        ends: str = "",
    ):  # fmt: skip
        self.body, self.count, self.carried = body, count, carried
        self.reads, self.lasts, self.ends = reads, lasts, ends
        self.places: dict[int, int] = {}  # of results, when some have been dropped

    def __call__(self, *args: Any) -> tuple:
        raise NotImplementedError("a loop is written out in the source of a program")

    def parts(self) -> tuple[list[Node], list[Node], list[Node]]:
        """Return the inputs of the body: what is carried, elements of sequences, and the rest."""
        inputs, first = self.body.inputs, self.carried
        second = first + len(self.reads)
        return inputs[:first], inputs[first:second], inputs[second:]

    def form(self) -> tuple:
        """Return the form of the result."""
        forms = [y.form for y in self.body.outputs]
        lists = [Series(form, self.count) for form in forms[self.lasts :]]
        return (*forms[: self.lasts], *lists, *[form_of(self.count)] * (self.ends == "flag"))

    def has_effects(self) -> bool:
        """Return whether the loop has to run, whoever needs its results."""
        body = self.body
        return bool(body.guards) or any([x.kept or x.may_raise for x in body.nodes])


def is_arm(node: Node) -> bool:
    """Return whether a node is an arm, which runs in some steps only."""
    return type(node.func) is Loop and node.func.ends == "arm"


def is_loop(node: Any) -> bool:
    return type(node) is Node and type(node.func) is Loop


def is_result(node: Node) -> bool:
    """Return whether a node is a result of a loop."""
    return node.func is operator.getitem and is_loop(node.args[0])


def is_element(node: Node) -> bool:
    """Return whether a node is one of the values in a list that a loop makes."""
    values = node.args[0] if node.func is operator.getitem else None
    return type(values) is Node and type(values.form) is Series


def memories_of(node: Node) -> set[Node]:
    """Return the memories to whose contents the steps of a loop have access."""
    loop: Any = node.func
    taken = {x.args[0] for x in loop.body.nodes if x.memory and x.args}
    for inner in filter(is_loop, loop.body.nodes):
        taken |= memories_of(inner)
    return {arg for x, arg in zip(loop.body.inputs, node.args) if x in taken}


def every_guard(graph: Graph) -> list[Guard]:
    """Return the guards of a program, then those of its loops in order."""
    return [guard for each in every_graph(graph) for guard in each.guards]


def every_answer(graph: Graph) -> list[Any]:
    """Return the answers to these guards; those in loops with the numbers of the steps."""
    found = [guard.answer for guard in graph.guards]
    for node in graph.nodes:
        if is_loop(node):
            loop: Any = node.func
            found += [(answer, loop.count) for answer in every_answer(loop.body)]
    return found


def every_graph(graph: Graph) -> Iterator[Graph]:
    """Return the graph of a program, and the bodies of its loops."""
    yield graph
    for node in graph.nodes:
        if is_loop(node):
            yield from every_graph(node.func.body)  # type: ignore[union-attr]


def every_node(graph: Graph) -> Iterator[Node]:
    """Return the nodes of a program, and those of its loops."""
    for each in every_graph(graph):
        yield from each.nodes


def count_calls(graph: Graph) -> int:
    """Return how many calls a program makes, in all steps of its loops."""
    return sum([
        node.func.count * count_calls(node.func.body) if is_loop(node) else node.func is not None  # type: ignore[union-attr]
        for node in graph.nodes
    ])  # fmt: skip


# ---- lengths that are values ----


def stacked(values: Sequence, axis: int, shape: tuple, dtype: Any) -> np.ndarray:
    """Return the values of all steps as one array, also where there are none."""
    if values:
        return np.stack(values, axis)
    return np.zeros((*shape[:axis], 0, *shape[axis:]), dtype)


stacked.makes_new_arrays = True  # type: ignore[attr-defined]


# ---- loops as single steps again ----


def at(count: Any, counters: tuple[int, ...]) -> int:
    """Return a number of a step; the counters are those of the loops around, innermost last."""
    if type(count) is int:
        return count
    return at(count.start, counters[:-1]) + count.step * counters[-1]


def unrolled(graph: Graph, loops: Collection[Loop] | None = None) -> Graph:
    """Return the program without loops, or without some."""
    if not any(map(is_loop, graph.nodes)):
        return graph
    return _Unrolling(graph, loops).graph


class _Unrolling:
    """The nodes of a graph while its loops are written out."""

    def __init__(self, graph: Graph, loops: Collection[Loop] | None):
        self.loops = loops
        self.nodes: list[Node] = []
        self.guards: list[Guard] = []
        new: dict[Node, Any] = {}
        for node in graph.inputs:
            new[node] = node
        self.nodes += graph.inputs
        self.block(graph, new, ())
        outputs = [argument(y, new, ()) for y in graph.outputs]
        self.graph = Graph(self.nodes, graph.inputs, outputs, self.guards)

    def block(self, graph: Graph, new: dict[Node, Any], counters: tuple[int, ...]) -> None:
        """Add the nodes of one step."""
        guards: dict[Node, list[Guard]] = {}
        for guard in graph.guards:
            guards.setdefault(guard.node, []).append(guard)
        for node in graph.nodes:
            if node.func is None:
                pass
            elif is_loop(node) and (counters or self.loops is None or node.func in self.loops):
                new[node] = self.loop(node, new, counters)
            else:
                args = argument(node.args, new, counters)
                x = node.args[0] if node.func is operator.getitem else None
                if type(x) is Node and type(new.get(x)) is list:
                    new[node] = args[0][args[1]]  # of the results of a loop
                else:
                    new[node] = self.add(node.like(args, argument(node.kwargs, new, counters)))
            for guard in guards.get(node, ()):
                if type(new[node]) is Node:
                    self.guards.append(guard._replace(node=new[node]))

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def element(self, x: Node, values: Any, i: int) -> Any:
        """Return an element of a list, which may be that of a loop that stays."""
        if type(values) is not Node:
            return values[i]
        return self.add(Node(operator.getitem, (values, i), {}, x.form))

    def loop(self, node: Node, new: dict[Node, Any], counters: tuple[int, ...]) -> list:
        """Add the steps of a loop, and return its results."""
        loop: Any = node.func
        carried, elements, rest = loop.parts()
        given = [argument(x, new, counters) for x in node.args]
        state, sequences = given[: len(carried)], given[len(carried) :][: len(elements)]
        others = dict(zip(rest, given[len(carried) + len(elements) :]))
        lists: list[list] = [[] for _ in loop.body.outputs[loop.lasts :]]
        last: list = []
        for i in range(loop.count):
            now = (*counters, i)
            inner = {**others, **dict(zip(carried, state))}
            for x, sequence, read in zip(elements, sequences, loop.reads):
                values = sequence.values if type(sequence) is Table else sequence
                inner[x] = self.element(x, values, at(read, now))
            self.block(loop.body, inner, now)
            last = [argument(y, inner, now) for y in loop.body.outputs]
            state = last[: len(carried)]
            for made, value in zip(lists, last[loop.lasts :]):
                made.append(value)
        return [*last[: loop.lasts], *lists]


def argument(value: Any, new: dict[Node, Any], counters: tuple[int, ...]) -> Any:
    """Return an argument with new nodes, and numbers for counts."""
    if counters:
        value = changed(value, Count, lambda count: at(count, counters))
    return replace(value, new.__getitem__)
