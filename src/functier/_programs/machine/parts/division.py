"""Parts: the nodes of a program that the machine computes, and NumPy calls between them.

NOTE [stages]
    A node that the machine knows is in the part of its stage; NumPy's nodes of that stage run
    after the part, in their order. So a node's stage is the latest one of its operands, and one
    more where NumPy computes an operand and the machine the node. What depends on inputs alone
    and is NumPy's runs before the first part.

NOTE [what has no steps]
    A view of an input needs no machine: where it is a result, or NumPy takes it, NumPy makes it.
"""

import operator
from collections import Counter
from collections.abc import Callable, Collection, Set
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...graph import Form, Graph, Guard, Node, nodes_in, replace
from ...loops import Series, every_node, is_loop
from ...stores import READS, gives_view, memory_of
from ..compiler.targets import TARGET
from ..lowering.exact import exact
from ..lowering.nodes import Lowering, array_of
from ..lowering.steps import Ref, Step, Unknown, strides_out
from .answers import copy_of, listed, rounded, stacked

BEFORE = -1


class Output(NamedTuple):
    """A result of a part."""

    node: Node
    form: Form


class Stage(Lowering):
    """The part of a stage."""

    def __init__(self, division: "Division", number: int):
        super().__init__()
        self.division, self.number = division, number
        self.nodes: list[Node] = []
        self.outputs: list[Output] = []
        self.writers: list[Step] = []

    def stays(self, node: Node) -> bool:
        return node in self.division.staying

    def rule_for(self, node: Node) -> Callable:
        return exact if node in self.division.by_loops else super().rule_for(node)

    def input(self, node: Node) -> Ref:
        found = super().input(node)
        if self.division.is_inside(node):  # another part makes it, in the form that it has then
            strides = strides_out(array_of(node.form))
            return found._replace(place=found.place._replace(strides=strides))
        return found

    def output(self, node: Node) -> None:
        """Make a result of the value of a node; a list is an array."""
        value, form = self.values[node], array_of(node.form)
        strides = strides_out(form if TARGET.get() is None else form._replace(strides=None))
        if not self.is_whole(value, strides):
            value = self.copied(value, form.shape, strides)
        buffer = value.place.buffer
        buffer.kind, buffer.index = "output", len(self.outputs)
        self.writers += value.steps
        if form.kind is np.ndarray:
            form = form._replace(strides=strides)
        self.outputs.append(Output(node, form))

    def closure(self, results: list[Node], inside: set[Node]) -> list[Node]:
        """Add the nodes of the part that results need, and return what these take from outside."""
        known = self.division.known
        outside: dict[Node, None] = {}
        waiting = list(results)
        while waiting:
            node = waiting.pop()
            if known.get(node) != self.number:
                outside[node] = None
            elif node not in inside:
                inside.add(node)
                waiting += node.parents()
                waiting += self.division.effects_before(node)
        return sorted(outside, key=lambda node: node.number)

    def finish(self) -> None:
        """Note the inputs: the nodes from outside, of which the steps may take fewer."""
        results = [output.node for output in self.outputs]
        self.inside: set[Node] = set()
        self.taken = self.closure(results, self.inside)

    def program(self) -> Graph:
        """Return the part as a graph that NumPy can run."""
        new: dict[Node, Node] = {}
        inputs: list[Node] = []
        nodes: list[Node] = []
        for node in self.taken:
            x = new[node] = Node(None, (), {}, input_form(node.form))
            inputs.append(x)
            if type(node.form) is Series:
                new[node] = added(nodes, listed, x, node.form, node.form)
        nodes += [copy_of(node, new) for node in self.nodes if node in self.inside]
        results = []
        for node, form in self.outputs:
            y = new[node]
            if type(node.form) is Series:
                y = added(nodes, stacked, y, node.form, form)
            results.append(y)
        return Graph([*inputs, *nodes], inputs, results)


def input_form(form: Any) -> Any:
    """Return the form of an input of a part: lists are arrays."""
    return array_of(form) if type(form) is Series else form


def added(nodes: list[Node], make: Callable, x: Node, series: Series, form: Any) -> Node:
    """Add a node that makes a list of an array, or an array of a list."""
    nodes.append(Node(partial(make, series), (x,), {}, form))
    return nodes[-1]


class Spread(BaseException):
    """Memories have effects that no one part can have: they are NumPy's."""


def affected(node: Node) -> list[Node]:
    """Return the memories of the program that a node writes to, or reads."""
    if is_loop(node):
        return [x for x in node.args if type(x) is Node and x.func is memory_of]
    if not node.memory or not node.args:
        return []
    return [x for x in node.args[:1] if type(x) is Node and x.func is memory_of]


def staying(graph: Graph) -> set[Node]:
    """Return the reads of memories that no write follows."""
    found: set[Node] = set()
    written: set[Node] = set()
    for node in reversed(graph.nodes):
        memories = affected(node)
        if is_loop(node) or node.func not in READS:
            written.update(memories)
        elif written.isdisjoint(memories):
            found.add(node)
    return found


EFFECTS = 2_000
"""With more effects on one memory, to order them would take long: the time is their square."""


def after(graph: Graph, nodes: Collection[Node]) -> set[Node]:
    """Return nodes with all that depends on them, by values or by memories."""
    found, count = set(nodes), -1
    while len(found) > count:
        count = len(found)
        memories = {memory for node in found for memory in affected(node)}
        for node in graph.nodes if found else ():
            if not (found.isdisjoint(node.parents()) and memories.isdisjoint(affected(node))):
                found.add(node)
    return found


def with_many_effects(graph: Graph) -> set[Node]:
    """Return the nodes that depend on memories with many effects."""
    counts = Counter([memory for node in graph.nodes for memory in affected(node)])
    return after(graph, [memory for memory, n in counts.items() if n > EFFECTS])


class Division:
    """The parts of a graph.

    Attributes
    ----------
    stages : dict of int to Stage
    known : dict of Node to int
        The stage of each node that the machine computes.
    reasons : dict of Node to str
        Why NumPy computes the others.
    """

    def __init__(self, graph: Graph, contract: bool = False, beyond: Set[Node] = frozenset()):
        self.graph = graph
        self.beyond = beyond  # what is left to NumPy, as it would take long to compile
        self.before: dict[Node, list[Node]] = {}
        latest: dict[Node, Node] = {}
        for node in graph.nodes:
            memories = affected(node)
            if memories:
                self.before[node] = [latest[x] for x in memories if x in latest]
            if is_loop(node) or node.func not in READS:
                latest.update(dict.fromkeys(memories, node))
        self.staying = staying(graph)
        lost: set[Node] = set()
        self.rounded, self.by_loops = rounded(graph, self.before, contract)
        # The memories that are NumPy's.
        self.numpys: set[Node] = set()
        while True:
            numpys = self.rounded.union(beyond)
            self.numpys |= {memory for node in numpys for memory in affected(node)}
            try:
                self.divide()
            except Spread as spread:
                self.numpys.update(spread.args)
                continue
            lost |= (
                self.by_loops - self.known.keys() - self.inside_loops
            )  # operands lie in another order
            if self.by_loops.isdisjoint(lost):
                break
            self.rounded, self.by_loops = rounded(graph, self.before, contract, lost)
        self.part_views()
        self.choose()

    def part_views(self) -> None:
        """Let NumPy make views of a result, where several results share its memory."""
        shared: dict[Node, list[Node]] = {}
        for node in dict.fromkeys(nodes_in(self.graph.outputs)):
            if self.is_inside(node):
                shared.setdefault(self.base(node), []).append(node)
        for base, nodes in shared.items():
            for node in nodes if len(nodes) > 1 else ():
                while node is not base and node not in self.outer:
                    self.outer[node] = self.known[node]
                    node = node.args[0]

    def base(self, node: Node) -> Node:
        """Return the node that a node is a view of, in its part."""
        while gives_view(node.func) and type(node.args[0]) is Node and self.is_inside(node.args[0]):
            before = node.args[0]
            if type(before.form) is Series:  # whose elements are values by themselves
                break
            if self.known[before] != self.known[node]:
                break
            values = self.stages[self.known[node]].values
            pair = values[node], values[before]
            if not all([type(x) is Ref for x in pair]) or pair[0].steps != pair[1].steps:
                break
            node = before
        return node

    def divide(self) -> None:
        """Find the stage of each node."""
        graph = self.graph
        self.homes: dict[Node, int] = {}
        self.stages: dict[int, Stage] = {}
        self.known: dict[Node, int] = {}
        self.inside_loops: set[Node] = set()
        self.reasons: dict[Node, str] = {}
        self.outer: dict[Node, int] = {node: BEFORE for node in graph.inputs}
        last = BEFORE
        for node in graph.nodes:
            if node.func is None:
                continue
            if not self.take(node):
                stage = max([self.stage_outside(x) for x in node.parents()], default=BEFORE)
                if node.memory or affected(node) or node.kept or node.may_raise:
                    last = stage = max(stage, last)
                self.outer[node] = stage

    def take(self, node: Node) -> bool:
        """Let the machine compute a node, if it knows how."""
        memories = affected(node)
        if node in self.rounded:
            self.reasons[node] = (
                "Python code has made a choice with it, and it is rounded differently"
            )
            return False
        if node in self.beyond:
            return False
        if node.func is memory_of and node not in self.numpys:
            self.homes[node] = BEFORE
            return True
        if (node.memory and not memories) or not self.homes.keys() >= {*memories}:
            self.reasons[node] = "it writes, or reads what is written to"
            return False
        stage = 0
        for x in node.parents():
            if x in self.homes:
                stage = max(stage, self.homes[x])
            else:
                stage = max(stage, self.known[x] if x in self.known else self.outer[x] + 1)
        for memory in memories:
            if self.homes[memory] == BEFORE:
                self.known[memory] = self.homes[memory] = stage
                self.stages.setdefault(stage, Stage(self, stage)).nodes.append(memory)
            elif self.homes[memory] != stage:
                raise Spread(memory)
        part = self.stages.get(stage)
        if part is None:
            part = self.stages[stage] = Stage(self, stage)
        try:
            part.lower(node)
        except Unknown as reason:
            if memories:
                raise Spread(*memories) from None
            self.reasons[node] = str(reason)
            return False
        self.known[node] = stage
        if is_loop(node):
            self.inside_loops.update(every_node(node.func.body))  # type: ignore[union-attr]
        part.nodes.append(node)
        value = part.values[node]
        if type(value) is Ref and not value.steps and not memories:  # see NOTE [what has no steps]
            self.outer[node] = max([self.stage_outside(x) for x in node.parents()], default=BEFORE)
        return True

    def stage_outside(self, node: Node) -> int:
        """Return the stage after whose part a node is there."""
        return self.outer[node] if node in self.outer else self.known[node]

    def effects_before(self, node: Node) -> list[Node]:
        """Return the effects that run before another one: the last writes to its memories."""
        return self.before.get(node, [])

    def is_inside(self, node: Node) -> bool:
        return node in self.known and node not in self.outer

    def choose(self) -> None:
        """Find what each part returns, and which nodes run outside."""
        graph = self.graph
        outside: set[Node] = set()
        self.listed: set[Node] = set()  # what NumPy's nodes take
        results: dict[Node, None] = {}
        # What a loop in a part does to memories is seen by those who read them.
        waiting = [x for x in graph.roots() if not (is_loop(x) and self.is_inside(x))]
        seen: set[Node] = set()
        needed: set[Node] = set()  # in parts
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if not self.is_inside(node):
                outside.add(node)
                self.listed.update(node.parents())
                waiting += node.parents()
                waiting += self.effects_before(node)
                continue
            results[node] = None
            waiting += self.stages[self.known[node]].closure([node], needed)
        self.outside = outside
        places = {id(y): i for i, y in reversed([*enumerate(graph.outputs)])}
        end = len(places)
        for node in sorted(results, key=lambda node: (places.get(id(node), end), node.number)):
            self.stages[self.known[node]].output(node)
        for part in self.stages.values():
            part.finish()

    def direct(self) -> Stage | None:
        """Return the part that is the whole program, if one is."""
        graph = self.graph
        parts = [part for part in self.stages.values() if part.outputs]
        if len(parts) != 1 or graph.guards or not self.outside <= set(graph.inputs):
            return None
        (part,) = parts
        return part if [output.node for output in part.outputs] == graph.outputs else None

    def rest(self) -> Graph:
        """Return the program with a node for each part, which has its number as function."""
        graph = self.graph
        new: dict[Node, Node] = {}
        arrays: dict[Node, Node] = {}  # of lists
        nodes: list[Node] = []
        for node in graph.inputs:
            nodes.append(copy_of(node, new))
        by_stage: dict[int, list[Node]] = {}
        for node in graph.nodes:
            if node in self.outside and node.func is not None:
                by_stage.setdefault(self.outer[node], []).append(node)
        for stage in sorted({*by_stage, *self.stages}):
            part = self.stages.get(stage)
            if part is not None and part.outputs:
                forms = tuple([output.form for output in part.outputs])
                for x in part.taken:
                    if type(x.form) is Series and x not in arrays:
                        arrays[x] = added(nodes, stacked, new[x], x.form, array_of(x.form))
                args = tuple([arrays.get(x, new[x]) for x in part.taken])
                whole = Node(part, args, {}, forms)  # type: ignore[arg-type]
                nodes.append(whole)
                for i, output in enumerate(part.outputs):
                    found = Node(operator.getitem, (whole, i), {}, output.form)
                    nodes.append(found)
                    form = output.node.form
                    if type(form) is Series:
                        arrays[output.node] = found
                        if output.node in self.listed:
                            found = added(nodes, listed, found, form, form)
                    new[output.node] = found
            nodes += [copy_of(node, new) for node in by_stage.get(stage, ())]
        outputs = replace(graph.outputs, new.__getitem__)
        guards = [Guard(new[guard.node], *guard[1:]) for guard in graph.guards]
        return Graph(nodes, [new[node] for node in graph.inputs], outputs, guards)
