"""Nodes that nobody needs: those of a program, and in each step of its loops."""

import operator
from typing import Any

import numpy as np

from .graph import Form, Graph, Node
from .loops import Count, Loop, is_loop, is_result, memories_of
from .stores import READS, memory_of

ndarray = np.ndarray

UNWRITING = {*READS, memory_of}
"""The functions of a memory that write nothing to it."""


def live_in(graph: Graph) -> set[Node]:
    """Return the nodes that some result, guard or effect needs.

    A write is needed where the memory is read later.
    """
    return _live(graph, {*graph.roots(), *graph.inputs}, set())


def _live(
    graph: Graph, live: set[Node], read: set[Node], used: Any = None, further: bool = False
) -> set[Node]:
    """Add to the live nodes. `used` gets the results of each loop that somebody takes.

    In another call there may be `further` steps than in the trace.
    """
    for node in reversed(graph.nodes):
        loop = is_loop(node)
        memories = memories_of(node) if loop else ()
        if node not in live:
            writes = node.memory and node.func not in UNWRITING and node.args[0] in read
            raises = may_raise(node, further)
            if not (writes or raises) and read.isdisjoint(memories):
                continue
            live.add(node)
        if used is not None:
            if loop:
                _prune(node, used.get(node, set()), read, further)
            elif is_result(node):
                used.setdefault(node.args[0], set()).add(node.args[1])
        live.update(node.parents())
        if node.func in READS:
            read.add(node.args[0])
        read.update(memories)
    return live


def drop_dead(graph: Graph, further: bool = False) -> Graph:
    """Drop the nodes that no result, no guard and no effect needs; also from the bodies of loops.

    A write is needed where the memory is read later, and an element that an array may not have in
    a later call; or in `further` steps than have run so far.
    """
    used: dict[Node, set[int]] = {}
    live = _live(graph, {*graph.roots(), *graph.inputs}, set(), used, further)
    renumber(graph.nodes)
    nodes = [node for node in graph.nodes if node in live]
    return Graph(nodes, graph.inputs, graph.outputs, graph.guards)


def renumber(nodes: list[Node]) -> None:
    """Let the results of loops be those that are left, after `_prune`."""
    for node in nodes:
        if is_result(node):
            loop: Any = node.args[0].func
            node.args = node.args[0], loop.places.get(node.args[1])


def may_raise(node: Node, further: bool = False) -> bool:
    """Tell if the user's code takes an element that an array may not have in another call.

    In a loop there may be `further` steps than in the trace.
    """
    if is_loop(node):
        loop: Any = node.func
        return any([may_raise(x, further or goes_on(loop)) for x in loop.body.nodes])
    if node.func is not operator.getitem or not node.place or len(node.args) != 2:
        return False
    index = node.args[1]
    for part in index if type(index) is tuple else (index,):
        if type(part) is Node and type(part.form) is Form:
            form = part.form
            if form.kind is not ndarray or form.dtype.kind in "iu":
                return True
        if further and type(part) is Count:
            return True
    return False


def goes_on(loop: Loop) -> bool:
    """Tell if a loop may have more steps in another call."""
    return loop.ends in ("flag", "length")


def _prune(node: Node, used: set[int], read: set[Node], further: bool) -> None:
    """Drop what nobody needs from a loop, of whose results these are used."""
    loop: Any = node.func
    further = further or goes_on(loop)
    body, first, second = loop.body, loop.carried, loop.carried + len(loop.reads)
    places = dict(zip(body.inputs, node.args))
    inside = [x for x, arg in places.items() if type(arg) is Node and arg in read]
    inside += memories_in(body)
    steps = len(body.outputs)  # the place of their number, if that is a result
    wanted = {*used} - {steps} | {*range(loop.ends == "flag")}
    while True:
        outputs = [body.outputs[i] for i in sorted(wanted)]
        part = Graph(body.nodes, body.inputs, outputs, body.guards)
        live = _live(part, {*part.roots()}, {*inside}, None, further)
        live |= ending(loop, wanted)
        more = {j for j, x in enumerate(body.inputs[:first]) if x in live} - wanted
        if not more:
            break
        wanted |= more
    inner: dict[Node, set[int]] = {}
    live = _live(part, {*part.roots()}, {*inside}, inner, further) | ending(loop, wanted)
    renumber(body.nodes)
    carried = [j for j in range(first) if body.inputs[j] in live]
    lasts = [j for j in sorted(used) if j < loop.lasts and j not in carried]
    lists = [j for j in sorted(used) if loop.lasts <= j < steps]
    reads = [j for j in range(first, second) if body.inputs[j] in live]
    rest = [j for j in range(second, len(body.inputs)) if body.inputs[j] in live]
    order = [*carried, *lasts, *lists]
    inputs = [body.inputs[j] for j in (*carried, *reads, *rest)]
    nodes = [*inputs, *[x for x in body.nodes if x.func is not None and x in live]]
    new = Graph(nodes, inputs, [body.outputs[j] for j in order], body.guards)
    node.func = Loop(
        new, loop.count, len(carried), tuple([loop.reads[j - first] for j in reads]),
        len(carried) + len(lasts), loop.ends,
    )  # fmt: skip
    node.func.places = {j: k for k, j in enumerate((*order, steps))}
    node.args = tuple([node.args[j] for j in (*carried, *reads, *rest)])
    node.form = node.func.form()


def ending(loop: Loop, wanted: set[int]) -> set[Node]:
    """Return the inputs of a body that are needed for the number of its steps.

    Where an arm does not run, all that it carries is a result.
    """
    inputs, first = loop.body.inputs, loop.carried
    if loop.ends == "arm":
        return {*[inputs[j] for j in wanted], inputs[first]}
    return {*(inputs[:1] if loop.ends == "flag" else inputs[-1:] * bool(loop.ends))}


def memories_in(body: Graph) -> set[Node]:
    """Return the memories from outside that steps read, which what they write may be for."""
    found = set()
    for x in body.nodes:
        if x.func in READS:
            found.add(x.args[0])
        elif is_loop(x):
            found |= memories_of(x)
    return found & {*body.inputs}
