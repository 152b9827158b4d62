"""Passes: each takes a graph and returns one that computes the same with fewer steps.

NOTE [to the last bit]
    A pass keeps every bit of the results. So it uses identities that are exact for all numbers,
    as ``x * 1``, and none like ``x + 0``, which is not exact for -0.

NOTE [whole writes]
    What is read right after a whole memory was written is the value that was written, where that
    has the form of what is read. And a write that another one of the whole memory follows, with no
    read in between, is for nobody. Code such as ``np.multiply(z, z, z)`` makes such writes.
"""

import operator
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from .._cpython.collector import resting
from .bodies import rolled
from .dead import drop_dead
from .graph import CONTAINERS, Form, Graph, Guard, Node, exact, nodes_in, replace
from .invariant import hoisted
from .looping import is_whole
from .loops import is_loop, memories_of
from .statements import ITEMS
from .stores import READS, Sharing, get, get_at, memory_of, put
from .sums import sum_early

ndarray = np.ndarray


def rebuilt(graph: Graph, new: dict[Node, Node]) -> Graph:
    """Return a graph without the nodes in `new`, of which its nodes have taken the others."""
    if not new:
        return graph
    nodes = [node for node in graph.nodes if node not in new]
    guards = [Guard(new.get(guard.node, guard.node), *guard[1:]) for guard in graph.guards]
    outputs = replace(graph.outputs, lambda node: new.get(node, node))
    return Graph(nodes, graph.inputs, outputs, guards)


def take(node: Node, new: dict[Node, Node]) -> None:
    """Give a node ``new[other]`` for each other node among its arguments."""
    taken = new.keys()
    for x in node.args:
        kind = type(x)
        if x in new if kind is Node else kind in CONTAINERS and not taken.isdisjoint(nodes_in(x)):
            node.args = replace(node.args, lambda other: new.get(other, other))
            break
    if node.kwargs:
        node.kwargs = replace(node.kwargs, lambda other: new.get(other, other))


def share(graph: Graph, apart: Container[Any] = ()) -> Graph:
    """Compute once what several nodes compute alike, but for functions that are kept `apart`.

    Results keep separate memory: of two that are returned neither stands for the other.
    """
    returned = Sharing(graph).returned(graph)
    seen: dict[Any, Node] = {}
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        if new:
            take(node, new)
        if node.func is None or node.memory or node.func in apart:
            continue
        named = exact(tuple(node.kwargs.items())) if node.kwargs else None
        key = node.func, node.errors, exact(node.args), named
        found = seen.setdefault(key, node)
        if found is not node and not (returned(node) and returned(found)):
            new[node] = found
    return rebuilt(graph, new)


def share_in_loops(graph: Graph) -> Graph:
    """Compute once what several nodes compute alike, before loops are found.

    Elements that several steps read stay apart: they are read at the steps' own places.
    """
    return share(graph, ITEMS)


def simplify(graph: Graph) -> Graph:
    """Drop the steps that change nothing: ``x * 1``, ``-(-x)``, a reshape to the same shape.

    What a result may share memory with stays, as eager mode has made a new array there.
    """
    new: dict[Node, Node] = {}
    returned = Sharing(graph).returned(graph)
    for node in graph.nodes:
        if new:
            take(node, new)
        rule = IDENTITIES.get(node.func)
        if rule is None or node.memory or returned(node):
            continue
        if node.func is np.reshape:
            _join_reshapes(node)
        found = rule(node, node.args)
        if type(found) is Node and found.form == node.form:
            new[node] = found
    return rebuilt(graph, new)


def _join_reshapes(node: Node) -> None:
    """Reshape what a reshape has reshaped, where both are in C order."""
    while not node.kwargs:
        x = node.args[0]
        if type(x) is not Node or x.func is not np.reshape or x.kwargs or len(x.args) != 2:
            return
        if type(x.args[0]) is not Node or len(node.args) != 2:
            return
        node.args = (x.args[0], node.args[1])


def settle(graph: Graph) -> Graph:
    """Take values from writes, and drop writes, of whole memories: see NOTE [whole writes]."""
    returned = Sharing(graph).returned(graph)
    written: dict[Node, Node] = {}
    seen: set[Node] = set()
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        if new:
            take(node, new)
        for memory in memories_of(node) if is_loop(node) else ():
            written.pop(memory, None)
        if not node.memory or node.func is memory_of:
            continue
        memory = node.args[0]
        before = written.get(memory)
        if node.func not in READS:
            written.pop(memory, None)
            if node.func is put and is_whole(node) and not node.kept:
                if before is not None and before not in seen:
                    new[before] = memory  # nobody takes a write
                written[memory] = node
        elif before is not None:
            value = before.args[3]
            if type(value) is Node and reads_all(node, before) and not returned(node):
                new[node] = value
            elif type(value) is Node and node.func is get_at and value.form == memory.form:
                node.func, node.args, node.memory = operator.getitem, (value, node.args[1]), False
            else:
                seen.add(before)
    return rebuilt(graph, new)


def reads_all(node: Node, write: Node) -> bool:
    """Return whether a read gives what was written, in its form."""
    same = node.func is get and node.args[1:3] == write.args[1:3]
    return same and node.form == write.args[3].form


def uniform(value: Any) -> Any:
    """Return the one number that a constant has everywhere, else None."""
    if type(value) is ndarray:
        if not value.size or value.dtype.kind not in "fiu":
            return None
        first = value.flat[0]
        if any(value.strides) and value.size > 1 and not (value == first).all():
            return None
        if not first and value.dtype.kind == "f" and np.ptp(np.signbit(value).astype(int)):
            return None  # zeros of both signs
        return first
    return value if isinstance(value, (int, float, np.floating)) else None


def _times(node: Node, args: Sequence) -> Any:
    if len(args) == 2:
        for x, y in (args, args[::-1]):
            if type(y) is not Node and type(x) is Node and uniform(y) == 1:
                return x if is_real(node) and not node.kwargs else None
    return None


def _over(node: Node, args: Sequence) -> Any:
    if len(args) == 2 and type(args[1]) is not Node and uniform(args[1]) == 1:
        return args[0] if is_real(node) and not node.kwargs else None
    return None


def is_real(node: Node) -> bool:
    """Tell if a result is real: a complex 1 has a zero, which makes NaN of an infinite factor."""
    form = node.form
    if type(form) is not Form:
        return False
    return form.kind is not complex if form.dtype is None else form.dtype.kind != "c"


def _negative(node: Node, args: Sequence) -> Any:
    x = args[0]
    if type(x) is Node and x.func is node.func and not node.kwargs and not x.kwargs:
        return x.args[0]
    return None


def _same(node: Node, args: Sequence) -> Any:
    """A function of shapes and dtypes, whose result has the form of its argument."""
    return args[0] if type(args[0]) is Node else None


def _transposed(node: Node, args: Sequence) -> Any:
    x = args[0]
    if type(x) is Node and x.func is np.transpose and len(args) == 1 == len(x.args):
        return x.args[0] if not node.kwargs and not x.kwargs else None
    return None


IDENTITIES: dict[Any, Callable[[Node, Sequence], Any]] = {
    np.multiply: _times, np.divide: _over, np.negative: _negative, np.positive: _same,
    operator.mul: _times, operator.truediv: _over, operator.neg: _negative,
    np.reshape: _same, np.astype: _same, np.broadcast_to: _same, np.transpose: _transposed,
}  # fmt: skip
"""Rules that return the node a node is equal to, in form and value, or None."""


def spread_once(graph: Graph) -> Graph:
    """Multiply by a number instead of an array that has it everywhere, where the form is the same.

    That is a constant, such as the ones that a sum's derivative begins with.
    """
    for node in graph.nodes:
        if len(node.args) != 2 or ndarray not in map(type, node.args) or node.kwargs:
            continue
        func = node.func
        if not isinstance(func, np.ufunc) or func.signature:
            continue
        for i in (0, 1):
            other, constant = node.args[1 - i], node.args[i]
            if type(constant) is not ndarray or type(other) is not Node or constant.ndim == 0:
                continue
            value = uniform(constant)
            if value is None or type(other.form) is not Form or other.form.kind is not ndarray:
                continue
            if type(node.form) is not Form:  # of several results
                continue
            if other.form.dtype != constant.dtype or other.form.shape != node.form.shape:
                continue
            # Another layout of the result would sum in another order later.
            if constant.ndim == 1 or other.form.strides == node.form.strides:
                args = [*node.args]
                args[i] = value
                node.args = tuple(args)
                break
    return graph


def everywhere(run: Callable[[Graph], Graph]) -> Callable[[Graph], Graph]:
    """Return a pass that changes the bodies of loops, too."""

    def whole(graph: Graph) -> Graph:
        graph = run(graph)
        for node in graph.nodes:
            if is_loop(node):
                loop: Any = node.func
                loop.body = whole(loop.body)
        return graph

    return whole


PASSES: dict[str, Callable[[Graph], Graph]] = {
    "share": share_in_loops, "sum_early": sum_early, "roll": rolled,
    "settle": everywhere(settle), "drop_dead": drop_dead, "spread_once": everywhere(spread_once),
    "simplify": everywhere(simplify), "hoist": hoisted, "share again": everywhere(share),
    "drop_dead again": drop_dead,
}  # fmt: skip
"""The passes in their order.

Loops are found before the identities are used, which drop nodes of single steps.
"""


def optimized(graph: Graph) -> Graph:
    """Return a graph after all passes."""
    reasons: dict[Any, str] = {}
    given = graph.reasons
    with resting():
        for run in PASSES.values():
            graph = run(graph)
            reasons |= graph.reasons
    graph.reasons = reasons | given
    return graph
