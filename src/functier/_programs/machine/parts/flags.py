"""Guards in loops as flags: a loop carries for each of its guards whether an answer has changed.

The program checks the flags after the loop, as machine code does not raise in between. What follows
a changed answer is dropped. It harms nothing, as a step reads and writes at places that are known.
"""

import operator
from collections.abc import Collection
from typing import Any

import numpy as np

from ...graph import TRUTH, Form, Graph, Guard, Node
from ...loops import Loop, every_guard, is_loop, is_result
from ..lowering.steps import LARGEST
from .exactness import copy_of


def can_flag(guard: Guard) -> bool:
    """Return whether machine code can compare an answer."""
    form = guard.node.form
    if type(form) is not Form or form.shape or form.kind in (int, complex):
        return False
    if form.dtype is not None and form.dtype.kind not in "biuf":
        return False
    if guard.how == "bool":
        return True
    return guard.how in ("int", "__index__") and not is_bool(form) and abs(guard.answer) < LARGEST


def is_bool(form: Form) -> bool:
    return form.kind is bool or (form.dtype is not None and form.dtype.kind == "b")


def has_flags(node: Node, but: Collection[Loop]) -> bool:
    """Return whether a loop has guards which machine code can look at."""
    if not is_loop(node) or node.func in but:
        return False
    guards = every_guard(node.func.body)  # type: ignore[union-attr]
    return bool(guards) and all(map(can_flag, guards))


def changed(guard: Guard) -> list[Node]:
    """Return nodes of which the last one tells that an answer has changed."""
    node, how, answer, _ = guard
    if how == "bool":
        if is_bool(node.form):
            return [call(np.logical_not, node)] if answer else [node]
        return [call(np.equal if answer else np.not_equal, node, 0)]
    if node.form.dtype is not None and node.form.dtype.kind in "iu":
        return [call(np.not_equal, node, answer)]
    whole = Node(np.trunc, (node,), {}, node.form)
    return [whole, call(np.not_equal, whole, answer)]


def call(func: Any, *args: Any) -> Node:
    """Return a node whose result is true or false."""
    return Node(func, args, {}, TRUTH)


class Flags:
    """A program while its guards in loops become flags."""

    def __init__(self, graph: Graph, but: Collection[Loop]):
        self.but = but
        self.added: dict[Node, tuple[int, int]] = {}
        new = {x: x for x in graph.inputs}
        nodes, guards = self.block(graph, new)
        outputs = [new[y] if type(y) is Node else y for y in graph.outputs]
        self.graph = Graph([*graph.inputs, *nodes], graph.inputs, outputs, guards)

    def block(self, graph: Graph, new: dict[Node, Node]) -> tuple[list[Node], list[Guard]]:
        """Return the nodes of a program, or of a step, and their guards."""
        nodes: list[Node] = []
        flags: list[Guard] = []
        for node in graph.nodes:
            if node.func is None:
                continue
            if has_flags(node, self.but):
                found, more = self.loop(node, new)
                nodes.append(found)
                nodes += [guard.node for guard in more]
                flags += more
                continue
            found = copy_of(node, new)
            nodes.append(found)
            if is_result(found) and found.args[0] in self.added:
                first, count = self.added[found.args[0]]
                if node.args[1] >= first:
                    found.args = found.args[0], node.args[1] + count
        return nodes, [*[guard._replace(node=new[guard.node]) for guard in graph.guards], *flags]

    def loop(self, node: Node, new: dict[Node, Node]) -> tuple[Node, list[Guard]]:
        """Return a loop with flags, and guards of these."""
        loop: Any = node.func
        body, first = loop.body, loop.carried
        inside = {x: Node(None, (), {}, x.form) for x in body.inputs}
        nodes, guards = self.block(body, inside)
        before = [Node(None, (), {}, TRUTH) for _ in guards]
        after = []
        for flag, guard in zip(before, guards):
            found = changed(guard)
            after.append(call(np.logical_or, flag, found[-1]))
            nodes += [x for x in (*found, after[-1]) if x is not guard.node]
        inputs = [inside[x] for x in body.inputs]
        outputs: list[Any] = [inside.get(y, y) for y in body.outputs]
        inputs[first:first], outputs[first:first] = before, after
        own = Loop(
            Graph([*inputs, *nodes], inputs, outputs), loop.count, first + len(guards),
            loop.reads, loop.lasts + len(guards), loop.ends,
        )  # fmt: skip
        made = copy_of(node, new)
        made.func, made.form, made.kept = own, own.form(), own.has_effects()
        made.args = (*made.args[:first], *[np.False_] * len(guards), *made.args[first:])
        self.added[made] = first, len(guards)
        results = [Node(operator.getitem, (made, first + i), {}, TRUTH) for i in range(len(guards))]
        pairs = zip(results, guards)
        return made, [Guard(x, "bool", False, guard.place) for x, guard in pairs]


def flagged(graph: Graph, but: Collection[Loop] = ()) -> Graph:
    """Return a program with flags for guards in loops, other than some loops."""
    if not any([has_flags(node, but) for node in graph.nodes]):
        return graph
    return Flags(graph, but).graph
