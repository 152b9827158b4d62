"""Calls that give the same in each step of a loop, and leave the loop.

NOTE [sums that leave a loop]
    The derivative of what is invariant adds up terms that are linear, with invariant factors, in a
    value of the step, such as ``-(g / y) * z``. The sum of the values is enough: the factors come
    behind the loop. That rounds in another way, so only machine code does this, and only in
    programs without answers.
"""

import operator
from collections import Counter
from typing import Any

import numpy as np

from .dead import may_raise
from .graph import Form, Graph, Node, form_of, instances_in, nodes_in, replace
from .loops import Count, Loop, every_guard, is_loop, is_result
from .stores import Sharing

ndarray = np.ndarray


def hoisted(graph: Graph) -> Graph:
    """Compute before a loop what is the same in all of its steps."""
    if not any(map(is_loop, graph.nodes)):
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += taken_out(node) if is_loop(node) else ()
        nodes.append(node)
    return Graph(nodes, graph.inputs, graph.outputs, graph.guards)


def taken_out(node: Node) -> list[Node]:
    """Take the nodes out of a loop that depend on invariant values alone, and return them.

    They stay in a loop that may have no step, and one with guards: nothing crosses a guard.
    """
    loop: Any = node.func
    body = loop.body = hoisted(loop.body)
    if loop.ends or every_guard(body):
        return []
    outer = invariants(node)
    returned = Sharing(body).returned(body)
    found: dict[Node, Node] = {}
    for x in body.nodes:
        parents = x.parents()
        if parents and outer.keys() >= {*parents} and is_pure(x) and not returned(x):
            outer[x] = found[x] = x.like(*replace((x.args, x.kwargs), outer.__getitem__))
    if found:
        inside = {x: Node(None, (), {}, x.form) for x in found}
        nodes = [x for x in body.nodes if x not in found]
        for x in nodes:
            x.args, x.kwargs = replace((x.args, x.kwargs), lambda y: inside.get(y, y))
        inputs = [*body.inputs, *inside.values()]
        loop.body = Graph([*inside.values(), *nodes], inputs, body.outputs)
        node.args = *node.args, *found.values()
    return [*found.values()]


def invariants(node: Node) -> dict[Node, Any]:
    """Return the inputs of a step that are the same in all, with their values outside."""
    loop: Any = node.func
    rest = loop.parts()[2]
    return dict(zip(rest, node.args[len(node.args) - len(rest) :]))


def is_pure(node: Node) -> bool:
    """Return whether a call gives one value whenever it is made, and does nothing else."""
    effect = node.memory or node.kept or node.may_raise or is_loop(node) or may_raise(node)
    return not effect and type(node.form) is Form and not instances_in(node.args, Count)


# ---- sums ----


def summed(graph: Graph) -> Graph:
    """Return a graph whose loops add up values, and not what is made of them: see the NOTE."""
    if every_guard(graph) or not any(map(is_loop, graph.nodes)):
        return graph
    new: dict[Node, Any] = {x: x for x in graph.inputs}
    nodes: list[Node] = [*graph.inputs]
    sums: dict[Node, Sums] = {}
    for node in graph.nodes:
        if node.func is None:
            continue
        own = sums.get(node.args[0]) if is_result(node) else None
        if own is not None:
            new[node] = own.result(node.args[1], node.form, nodes)
            continue
        made = new[node] = node.like(*replace((node.args, node.kwargs), new.__getitem__))
        if is_loop(node):
            found = Sums(made)
            if found.terms:
                sums[node] = found
        nodes.append(made)
    if not sums:
        return graph
    return Graph(nodes, graph.inputs, replace(graph.outputs, new.__getitem__))


class Sums:
    """A loop whose sums leave it.

    Attributes
    ----------
    node : Node
        The node of the loop, which becomes one with other values.
    terms : dict of int to list
        For the number of a carried value its terms: the number of a sum, and the calls that follow,
        each with the place of its argument.
    """

    def __init__(self, node: Node):
        loop: Any = node.func
        self.node, self.size, self.first = node, loop.carried, node.args[: loop.carried]
        self.outer, self.users = invariants(node), Counter(nodes_in(loop.body.outputs))
        self.terms: dict[int, list] = {}
        if loop.ends:
            return
        for x in loop.body.nodes:
            self.users.update(x.parents())
        values: list[Node] = []
        dropped: set[Node] = set()
        for j, before in enumerate(loop.body.inputs[: self.size]):
            found = self.added(before, loop.body.outputs[j])
            if found is None or self.users[before] != 1:
                continue
            terms = [self.peeled(x) for x in found[0]]
            good = [type(x) is Node and x.form == before.form for x, _ in terms]
            if (
                any([calls for _, calls in terms])
                and all(good)
                and zeros_of(before.form) is not None
            ):
                values += [x for x in dict.fromkeys([x for x, _ in terms]) if x not in values]
                self.terms[j] = [(values.index(x), calls) for x, calls in terms]
                dropped |= {before, *found[1], *[x for _, calls in terms for x, _ in calls]}
        if self.terms:
            self.write(loop, values, dropped)

    def added(self, before: Node, after: Any, depth: int = 0) -> tuple[list, list] | None:
        """Return what is added to a carried value, and the additions, if that is all."""
        if after is before:
            return [], []
        if not is_ufunc(after, np.add) or self.users[after] != 1 or depth == DEEP:
            return None
        for x, other in (after.args, after.args[::-1]):
            found = self.added(before, x, depth + 1)
            if found is not None:
                return [*found[0], other], [*found[1], after]
        return None

    def peeled(self, x: Any) -> tuple[Any, list[tuple[Node, int]]]:
        """Return the value that a term is a multiple of, and the calls that make the term of it."""
        calls: list[tuple[Node, int]] = []
        while is_ufunc(x, np.negative, np.multiply, np.divide) and self.users[x] == 1:
            moving = [i for i, y in enumerate(x.args) if type(y) is Node and y not in self.outer]
            if len(moving) != 1 or (x.func is np.divide and moving != [0]):
                break
            inner = x.args[moving[0]]
            if inner.form != x.form:
                break
            calls.append((x, moving[0]))
            x = inner
        return x, calls[::-1]

    def write(self, loop: Any, values: list[Node], dropped: set[Node]) -> None:
        """Let the loop carry the sums of values."""
        body, size = loop.body, self.size
        new = {x: x.like() for x in body.nodes if x not in dropped}
        for x, own in new.items():
            own.args, own.kwargs = replace((x.args, x.kwargs), new.__getitem__)
        sums = [Node(None, (), {}, x.form) for x in values]
        adds = [Node(np.add, (x, new[y]), {}, x.form) for x, y in zip(sums, values)]
        kept = [j for j in range(size) if j not in self.terms]
        self.places = {j: i for i, j in enumerate(kept)}
        self.zero, more = len(kept), len(kept) + len(sums) - size
        self.places |= {k: k + more for k in range(size, len(body.outputs))}
        rest = [new[x] for x in body.inputs[size:]]
        inputs = [*[new[body.inputs[j]] for j in kept], *sums, *rest]
        outputs = replace([body.outputs[j] for j in kept], new.__getitem__)
        outputs += [*adds, *replace(body.outputs[size:], new.__getitem__)]
        nodes = [*inputs, *[y for x, y in new.items() if x.func is not None], *adds]
        self.node.func = Loop(
            Graph(nodes, inputs, outputs), loop.count, size + more, loop.reads, loop.lasts + more
        )
        zeros = [zeros_of(x.form) for x in values]
        self.node.args = *[self.first[j] for j in kept], *zeros, *self.node.args[size:]
        self.node.form = self.node.func.form()

    def result(self, which: int, form: Any, nodes: list[Node]) -> Node:
        """Return the node of a result that was one of the loop before, with those that it needs."""

        def call(func: Any, *args: Any) -> Node:
            nodes.append(Node(func, args, {}, form))
            return nodes[-1]

        if which not in self.terms:
            return call(operator.getitem, self.node, self.places[which])
        total = self.first[which]
        for place, calls in self.terms[which]:
            x = call(operator.getitem, self.node, self.zero + place)
            for own, i in calls:
                x = call(own.func, *[
                    x if k == i else self.outer[y] if type(y) is Node else y
                    for k, y in enumerate(own.args)
                ])  # fmt: skip
            total = call(np.add, total, x)
        return total


DEEP = 50
"""So many additions in a step are looked at."""


def is_ufunc(x: Any, *funcs: np.ufunc) -> bool:
    """Return whether a value is made by one of some ufuncs, and nothing else was asked of it."""
    return type(x) is Node and x.func in funcs and not (x.kwargs or x.errors) and len(x.args) < 3


def zeros_of(form: Any) -> Any:
    """Return zeros of a form, if it is one of floats in C order, or of a number of NumPy's."""
    if type(form) is not Form or form.dtype is None or form.dtype.kind != "f":
        return None
    zeros = np.zeros(form.shape, form.dtype) if form.kind is ndarray else form.dtype.type(0)
    return zeros if form_of(zeros) == form else None
