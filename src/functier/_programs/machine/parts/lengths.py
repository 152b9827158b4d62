"""Lengths that are values: loops that the machine runs for any length, and for that of the trace.

NOTE [any length]
    A loop that ends by a flag may run for any length if its lists are read from the last step on,
    by elements and by loops of that length. The routine has memory for the lists of so many steps
    as a *bound* says. After the last step it moves what a list has to the end of its memory: the
    values of the last step are then at a place that is known, whatever the length is. What is
    before them nobody reads, as the program asks if there are as many steps. Where there were more
    steps than the bound, the flag is still true after the loop, and the program has a guard of it.
    All other loops have the length of the trace, and guards that tell if it holds.
"""

import operator
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...dead import goes_on
from ...graph import TRUTH, Form, Graph, Guard, Node, instances_in, nodes_in, replace
from ...loops import Count, Loop, Series, every_node, is_loop, is_result, stacked
from .answers import is_bool

ENDLESS = 1 << 40
"""More steps than a loop makes: the bound of loops without lists."""

ROOM = 4
"""There is memory for so many times the steps of the trace."""

LENGTH = Form((), np.dtype(np.int64), None, np.int64)
"""The form of a number of steps."""

BACKWARD, EACH = slice(None, None, -1), Count(0, 1)


class Free(NamedTuple):
    """The loops of a program that run for any length, and what depends on their lengths.

    Attributes
    ----------
    fewer : dict of Node to int
        How many elements, or steps, each has less than the loop whose length it takes. This is for
        the loops, their lists, arrays of these, and numbers of steps.
    traced : dict of Node to int
        How many steps that loop had in the trace; 0 if it has no lists.
    questions : set of Node
        Comparisons of the numbers of steps.
    """

    fewer: dict[Node, int]
    traced: dict[Node, int]
    questions: set[Node]

    def bound(self, node: Node, room: int) -> int:
        """Return how many elements, or steps, one of them has at most."""
        return (room * self.traced[node] or ENDLESS) - self.fewer[node]

    def form(self, node: Node, room: int) -> Any:
        """Return the form for that bound."""
        form = node.form
        if node in self.questions:
            return TRUTH
        if type(form) is Series:
            return form._replace(count=self.bound(node, room))
        return (
            form._replace(shape=(self.bound(node, room), *form.shape[1:])) if form.shape else LENGTH
        )


NONE = Free({}, {}, set())


class Changes(BaseException):
    """The use of a value that depends on a length is one that the machine does not know."""


def free_loops(graph: Graph) -> Free:
    """Return the loops that may have any length."""
    ending = [node for node in graph.nodes if ends_by_flag(node)]
    if not ending:
        return NONE
    users: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for x in dict.fromkeys(node.parents()):
            users.setdefault(x, []).append(node)
    asked = {guard.node for guard in graph.guards}
    kept = {*nodes_in(graph.outputs)}
    found = Free({}, {}, set())
    for node in ending:
        if may_go_on(node.func):  # type: ignore[arg-type]
            own = Free({node: 0}, {}, set())
            try:
                follow(node, own, users, kept, asked)
            except Changes:
                continue
            found.fewer.update(own.fewer)
            found.traced.update(own.traced)
            found.questions.update(own.questions)
    return found


def may_go_on(loop: Loop, elements: Collection[Node] = ()) -> bool:
    """Return whether nothing in the steps of a loop but some elements depends on their number."""
    body, nodes = loop.body, every_node(loop.body)
    counts = [*loop.reads]
    counts += [x for y in body.nodes if y not in elements for x in counts_in(y)]
    inner = [x for y in nodes for x in counts_in(y)]
    inner += [x for y in filter(is_loop, nodes) for x in y.func.reads]  # type: ignore[union-attr]
    around = [x for x in inner if type(x.start) is Count]
    return not counts and not around


def counts_in(node: Node) -> list[Count]:
    return instances_in((node.args, node.kwargs), Count)


def ends_by_flag(node: Node) -> bool:
    """Return whether a node is a loop that ends by a flag which the machine can look at."""
    if not is_loop(node) or node.func.ends != "flag":  # type: ignore[union-attr]
        return False
    form = node.func.body.inputs[0].form  # type: ignore[union-attr]
    return is_bool(form) and not form.shape


def tells_if_longer(node: Node) -> bool:
    """Return whether a node is the flag of a loop that was to end within its bound."""
    first = node.func is operator.getitem and node.args[1] == 0
    return first and ends_by_flag(node.args[0])


def follow(
    loop: Node, found: Free, users: Mapping[Node, list[Node]], outputs: set[Node], asked: set[Node]
) -> None:
    """Note all that depends on the length of a loop, or raise `Changes`."""
    whole: Any = loop.func
    fewer = found.fewer
    waiting = [x for x in users.get(loop, ()) if x.args[1] >= whole.lasts]
    fewer.update(dict.fromkeys(waiting, 0))
    loops: dict[Node, None] = {}
    while waiting:
        node = waiting.pop()
        if node in outputs or node in asked:
            raise Changes
        for user in users.get(node, ()):
            if is_loop(user):
                loops[user] = None
            elif is_question(user):
                if user in users or user in outputs or user not in asked:
                    raise Changes
                found.questions.add(user)
            elif not is_element(node, user):
                less = left_out(node, user)
                fewer[user] = fewer[node] + less
                waiting.append(user)
    for node in loops:
        fewer[node] = whole.count - node.func.count  # type: ignore[union-attr]
        check_length(node, fewer)
    steps = whole.count if len(whole.body.outputs) > whole.lasts else 0
    found.traced.update(dict.fromkeys(fewer, steps))


def is_question(node: Node) -> bool:
    """Return whether a node compares a number of steps with another one."""
    return node.func is operator.gt and type(node.args[1]) is int


def is_element(node: Node, user: Node) -> bool:
    """Return whether `user` is an element of an array that is read from its end on."""
    return (
        user.func is operator.getitem and node.func is operator.getitem
        and type(node.form) is Form and bool(node.form.shape)
        and type(user.args[1]) is int and user.args[1] >= 0
    )  # fmt: skip


def left_out(node: Node, user: Node) -> int:
    """Return how many elements, or steps, `user` has less than `node`."""
    func, second = user.func, user.args[1]
    if user.args[0] is not node or user.kwargs or nodes_in(second):
        raise Changes
    if type(node.form) is Series:
        if func is stacked and second == 0:
            return 0
    elif not node.form.shape:
        if func is operator.sub and type(second) is int:
            return second
    elif func is operator.getitem and type(second) is slice:
        if node.func is stacked and second == BACKWARD:
            return 0
        start = second.start
        if node.func is not stacked and second == slice(start, None) and type(start) is int:
            if start >= 0:
                return start
    raise Changes


def check_length(node: Node, fewer: Mapping[Node, int]) -> None:
    """Raise `Changes` if a loop does not take one element of each array in each of its steps."""
    loop: Any = node.func
    *args, length = node.args
    body, count = loop.body, fewer[node]
    arrays = {x for x, arg in zip(body.inputs, args) if any([y in fewer for y in nodes_in(arg)])}
    taken = {x for x in body.nodes if not arrays.isdisjoint(x.parents())}
    if (
        loop.ends != "length" or fewer.get(length) != count or not may_go_on(loop, taken)
        or len(body.outputs) > loop.carried or not arrays.isdisjoint(body.outputs)
        or not arrays.isdisjoint(body.inputs[: loop.carried])
        or any([fewer.get(arg, count) != count for arg in args if type(arg) is Node])
        or not all([x.func is operator.getitem and x.args[1:] == (EACH,) for x in taken])
    ):  # fmt: skip
        raise Changes


def fixed(graph: Graph, free: Free = NONE, room: int = ROOM) -> Graph:
    """Return the program with guards that tell if its lengths are those of the trace.

    Those of some loops are free, up to `room` times as many steps.
    """
    if not any([is_loop(x) and goes_on(x.func) for x in every_node(graph)]):  # type: ignore[arg-type]
        return graph
    new: dict[Node, Any] = {x: x for x in graph.inputs}
    nodes, guards = _fixed(graph, new, free, room)
    outputs = replace(graph.outputs, new.__getitem__)
    return Graph([*graph.inputs, *nodes], graph.inputs, outputs, guards)


def _fixed(
    graph: Graph, new: dict[Node, Any], free: Free = NONE, room: int = 0
) -> tuple[list[Node], list[Guard]]:
    """Return the nodes and the guards of a program, or of a step."""
    nodes: list[Node] = []
    guards: list[Guard] = []
    for node in graph.nodes:
        if node.func is None:
            continue
        args, kwargs = replace((node.args, node.kwargs), new.__getitem__)
        loop = args[0].func if is_result(node) else None
        is_free = node in free.fewer
        if loop is not None and args[1] == len(loop.body.outputs) and not is_free:
            new[node] = loop.count
        elif not nodes_in((args, kwargs)) and nodes_in(node.args) and not is_loop(node):
            new[node] = node.func(*args, **kwargs)
        else:
            own = new[node] = node.like(args, kwargs)
            nodes.append(own)
            if is_loop(node):
                found = _fix(node.func, own, free.bound(node, room) if is_free else 0)
                guards += found
                nodes += [guard.node for guard in found if guard.node not in new.values()]
            elif is_free or node in free.questions:
                own.form = free.form(node, room)
            elif node.func is stacked:
                own.func, own.args, own.kwargs = np.stack, args[:1], {"axis": args[1]}
    for guard in graph.guards:
        if type(new[guard.node]) is Node:
            guards.append(guard._replace(node=new[guard.node]))
    return nodes, guards


def _fix(loop: Any, node: Node, bound: int) -> list[Guard]:
    """Let a loop have the length of the trace, or any one up to a bound that is not 0.

    Return the guards of that.
    """
    new: dict[Node, Any] = {x: Node(None, (), {}, x.form) for x in loop.body.inputs}
    nodes, guards = _fixed(loop.body, new)
    inputs, outputs = replace([loop.body.inputs, loop.body.outputs], new.__getitem__)
    found: list[Guard] = []
    if loop.ends == "flag":
        last = Node(operator.getitem, (node, 0), {}, inputs[0].form, node.place)
        found = [Guard(last, "bool", False, node.place)] if bound < ENDLESS else []
        if not bound:
            guards = [Guard(inputs[0], "bool", True, node.place), *guards]
    elif loop.ends == "length" and not bound:
        *node_args, length = node.args
        node.args, inputs = tuple(node_args), inputs[:-1]
        if type(length) is Node:
            found = [Guard(length, "int", loop.count, node.place)]
    body = Graph([*inputs, *nodes], inputs, outputs, guards)
    ends = loop.ends if bound or loop.ends == "arm" else ""
    node.func = Loop(body, bound or loop.count, loop.carried, loop.reads, loop.lasts, ends)
    node.form = node.func.form()  # type: ignore[attr-defined]
    if ends == "flag":
        node.form = (*node.form[:-1], LENGTH)
    node.kept = node.func.has_effects()  # type: ignore[attr-defined]
    return found
