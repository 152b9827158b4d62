"""The graph of a program with its loops: runs of steps become the bodies of loops."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

from .graph import Graph, Guard, Node, exact, form_of, replace
from .loops import Count, Loop, Series, Table, parts_of_count
from .rolling import Finder
from .steps import Always, Carried, Grows, Inside, Joined, Listed, Made, Run, filled, grown


class Rolled:
    """A graph with a node for each run."""

    def __init__(self, finder: Finder):
        self.homes, graph, self.all_of = finder.homes, finder.graph, finder.all_of
        self.making: dict[int, Making] = {}
        starts = {run.start: run for run in finder.runs}
        order: list[Any] = []
        i, total = 0, len(graph.nodes)
        while i < total:
            run = starts.get(i)
            if run is None:
                node = graph.nodes[i]
                node.args, node.kwargs = self.argument(node.args), self.argument(node.kwargs)
                order.append(node)
                i += 1
            else:
                making = self.making[id(run)] = Making(self, finder, run)
                order.append(making)
                i = run.stop
        outputs = [self.argument(y) for y in graph.outputs]
        guards = [guard for guard in graph.guards if guard.node not in finder.homes]
        nodes: list[Node] = []
        for item in order:
            nodes += [item] if type(item) is Node else item.nodes()
        self.graph = Graph(nodes, graph.inputs, outputs, guards)

    def argument(self, value: Any) -> Any:
        """Return an argument of a node outside of the runs."""
        return replace(value, self.outside, self.whole_list)

    def whole_list(self, values: list) -> Any:
        """Return the list that a loop makes, if these are its values."""
        found = self.all_of(values)
        return None if found is None else self.making[id(found[0])].result(found[1], True)

    def outside(self, node: Node) -> Node:
        """Return the node that has the value of a node after the loops before."""
        home = self.homes.get(node)
        if home is None:
            return node
        run, place, step = home
        return self.making[id(run)].value(place, step)


class Making:
    """A loop while it is made."""

    def __init__(self, whole: Rolled, finder: Finder, run: Run):
        self.whole, self.run = whole, run
        self.carried: dict[Any, tuple[Node, Any, Any]] = {}  # the input, first and next values
        self.delays: dict[tuple[int, int], Node] = {}
        self.elements: dict[Any, tuple[Node, Any, Count]] = {}
        self.shared: dict[Node, Node] = {}
        self.body: list[Node] = []
        self.results: dict[Any, Node] = {}  # the nodes of last values and of lists
        self.single: dict[tuple[int, int], Node] = {}
        start = run.start + run.period  # the first step may begin with constants
        waiting: list[tuple[Node, list, list]] = []
        for q in range(run.period):
            old = finder.nodes[start + q]
            self.body.append(old.like())
            waiting.append((old, finder.leaves[start + q], run.columns[q]))
        for new, (old, _, hows) in zip(self.body, waiting):
            following = iter(hows)

            def leaf(x: Any, following: Iterator = following) -> Any:
                return self.leaf(x, next(following), 0, self.element)

            new.args, new.kwargs = filled(old.args, leaf), filled(old.kwargs, leaf)
            if type(old.func) is Loop:
                inner = Inner(self, old, new, following, 1, self.element)
                new.func, new.args = inner.loop, (*new.args, *inner.extra)
        copies = dict(zip([old for old, _, _ in waiting], self.body))
        self.guards = [
            guard._replace(node=copies[node])
            for node in copies for guard in finder.guards.get(node, ())
        ]  # fmt: skip
        self.node = Node(Loop, (), {}, ())

    def leaf(self, x: Any, how: Any, depth: int, listed: Callable[[Any, Any, Count], Any]) -> Any:
        """Return what stands in the body for an argument of its nodes."""
        kind = type(how)
        if kind is Inside:
            return self.body[how.place]
        if kind is Carried:
            return self.variable(how.place, how.first[::-1])
        if kind is Always:
            return self.constant(how.value)
        if kind is Grows:
            return grown(x, how.by, depth)
        if kind is Listed:
            return listed(id(how), Table(how.values), Count(0, 1))
        if kind is Joined:
            return how.table
        assert kind is Made
        made = self.whole.making[id(how.run)]
        which = how.place
        if type(which) is tuple:
            which = made.variable(which[0], which[1:])
        return listed((id(how.run), which, how.read), made.result(which, True), how.read)

    def variable(self, place: int, first: tuple) -> Node:
        """Return the value that a node had some steps before: `first` are those before the loop,
        the latest one first.
        """
        key = (place, *[exact(x) for x in first])
        found = self.carried.get(key)
        if found is None:
            step = self.body[place] if len(first) == 1 else self.variable(place, first[:-1])
            node = Node(None, (), {}, self.body[place].form)
            found = self.carried[key] = node, self.whole.argument(first[-1]), step
            self.delays[place, len(first)] = node
        return found[0]

    def element(self, key: Any, values: Any, read: Count) -> Node:
        """Return the element of a sequence that a step reads."""
        found = self.elements.get(key)
        if found is None:
            form = values.form.form if type(values) is Node else form_of(values.values[0])
            found = self.elements[key] = Node(None, (), {}, form), values, read
        return found[0]

    def constant(self, value: Any) -> Any:
        """Return what is the same in all steps."""
        if type(value) is not Node:
            return value
        value = self.whole.outside(value)
        found = self.shared.get(value)
        if found is None:
            found = self.shared[value] = Node(None, (), {}, value.form)
        return found

    # ---- results ----

    def value(self, place: int, step: int) -> Node:
        """Return the node of the value that a step has made."""
        before = self.run.count - step
        if before == 1:
            return self.result(place, False)
        delayed = self.delays.get((place, before))
        if delayed is not None:
            return self.result(delayed, False)
        found = self.single.get((place, step))
        if found is None:
            values = self.result(place, True)
            form = self.body[place].form
            found = self.single[place, step] = Node(operator.getitem, (values, step), {}, form)
        return found

    def result(self, which: Any, whole: bool) -> Node:
        """Return the node of a last value, or of the list of all."""
        found = self.results.get((which, whole))
        if found is None:
            form = which.form if type(which) is Node else self.body[which].form
            form = Series(form, self.run.count) if whole else form
            found = self.results[which, whole] = Node(operator.getitem, (), {}, form)
        return found

    def nodes(self) -> list[Node]:
        """Return the loop, and the nodes of its results."""
        carried, elements = [*self.carried.values()], [*self.elements.values()]
        inputs = [x for x, _, _ in carried] + [x for x, _, _ in elements] + [*self.shared.values()]
        outputs: list[Any] = [after for _, _, after in carried]
        places = {node: i for i, (node, _, _) in enumerate(carried)}
        indices: dict[Any, int] = {}
        for which, whole in sorted(self.results, key=lambda key: key[1]):
            if not whole and type(which) is Node:
                indices[which, whole] = places[which]
                continue
            own = which if type(which) is Node else self.body[which]
            if not whole and own in outputs[: len(carried)]:
                indices[which, whole] = outputs.index(own)
                continue
            indices[which, whole] = len(outputs)
            outputs.append(own)
        lasts = len(outputs) - sum([whole for _, whole in self.results])
        body = Graph([*inputs, *self.body], inputs, outputs, self.guards)
        reads = tuple([read for _, _, read in elements])
        loop = Loop(body, self.run.count, len(carried), reads, lasts)
        self.node.func, self.node.form = loop, loop.form()
        self.node.args = (
            *[first for _, first, _ in carried], *[x for _, x, _ in elements], *self.shared,
        )  # fmt: skip
        self.node.kept = loop.has_effects()
        for key, node in self.results.items():
            node.args = self.node, indices[key]
        return [self.node, *self.results.values(), *self.single.values()]


class Inner:
    """A loop in the body of a loop that is made: `extra` are its new arguments.

    `old` is its node in one step, and `new_one` that in the body, which has other arguments so far.
    """

    def __init__(
        self, making: Making, old: Node, new_one: Node, hows: Iterator, depth: int, outer: Callable
    ):
        loop: Any = old.func
        self.loop: Loop
        self.extra: list[Node] = []
        self.inputs: list[Node] = []
        known: dict[Any, Node] = {}

        def listed(key: Any, values: Any, read: Count) -> Node:
            found = known.get(key)
            if found is None:
                arg = outer(key, values, read)
                found = known[key] = Node(None, (), {}, arg.form)
                self.extra.append(arg)
                self.inputs.append(found)
            return found

        def leaf(x: Any) -> Any:
            if type(x) is Node:
                return new[x]
            return making.leaf(x, next(hows), depth, listed)

        def reading(read: Count, how: Any, before: Any, after: Any) -> Count:
            """Return the index of an element, also of a table that has been joined with others."""
            if type(before) is not Table or len(after.values) == len(before.values):
                return making.leaf(read, how, depth, listed)
            by = how.by if type(how) is Grows else Count(parts_of_count(read)[0], 0)
            return grown(read, Count(by.start, by.step + len(before.values)), depth)

        first = loop.carried
        reads = tuple([
            reading(read, next(hows), before, after)
            for read, before, after in zip(loop.reads, old.args[first:], new_one.args[first:])
        ])  # fmt: skip
        new: dict[Node, Node] = {}
        nodes = []
        for node in loop.body.nodes:
            made = new[node] = node.like()
            if node.func is None:
                continue
            made.args, made.kwargs = filled(node.args, leaf), filled(node.kwargs, leaf)
            if type(node.func) is Loop:
                inner = Inner(making, node, made, hows, depth + 1, listed)
                made.func, made.args = inner.loop, (*made.args, *inner.extra)
            nodes.append(made)
        body = loop.body
        outputs = [leaf(y) for y in body.outputs]
        inputs = [*[new[x] for x in body.inputs], *self.inputs]
        guards = [Guard(new[guard.node], *guard[1:]) for guard in body.guards]
        graph = Graph([*inputs, *nodes], inputs, outputs, guards)
        self.loop = Loop(graph, loop.count, loop.carried, reads, loop.lasts, loop.ends)


def rolled(graph: Graph) -> Graph:
    """Return a program whose repeated steps are loops, from the innermost ones on."""
    while True:
        finder = Finder(graph)
        if not finder.runs:
            graph.reasons = finder.reasons
            return graph
        graph = Rolled(finder).graph
