"""Liveness: where the memory of a value is free again, and may take a later result.

NOTE [in place]
    A ufunc writes to an operand's array where nobody needs that any more, the program has made
    it, and it has the form of the result, strides included. The bits are the same.
"""

from typing import Any

import numpy as np

from .._core.sharing import sharing_of
from .graph import Form, Graph, Node, nodes_in
from .loops import is_loop
from .sharing import Sharing, gives_view, is_fresh, is_plain_ufunc
from .stores import READS

LARGE = 4096
"""From so many bytes on an array is freed early, and used again."""


class Liveness:
    """Ends of values at each node: `targets` has operands to write to, `ends` names to drop."""

    def __init__(self, graph: Graph):
        self.targets: dict[Node, Node] = {}
        self.ends: dict[Node, list[Node]] = {}
        sharing = Sharing(graph)
        members: dict[Node, list[Node]] = {}
        group: dict[Node, Node] = {}
        death: dict[Node, int] = {}
        for node in graph.nodes:
            own = group[node] = sharing.of(node)
            members.setdefault(own, []).append(node)
            death[own] = node.number
            for parent in node.parents():
                death[group[parent]] = node.number
        for node in nodes_in(graph.outputs):
            death[group[node]] = len(graph.nodes)
        theirs = sharing.inputs | sharing.constant
        for node in graph.nodes:
            if not is_plain_ufunc(node) or not is_large(node.form):
                continue
            for x in node.args:
                if type(x) is not Node or x.form != node.form:
                    continue
                own = group[x]
                if death[own] != node.number or own in theirs or is_read_only(x):
                    continue
                base = base_of(members[own])
                if base is not None and size_of(base.form) == size_of(node.form):
                    self.targets[node] = x
                    break
        for own, nodes in members.items():
            if own in theirs or death[own] >= len(graph.nodes):
                continue
            nodes = [x for x in nodes if x.func in READS or not (x.memory or is_loop(x))]
            if any([is_large(x.form) for x in nodes]):
                self.ends.setdefault(graph.nodes[death[own]], []).extend(nodes)


def is_read_only(x: Any) -> bool:
    """Return whether a value is a view that nobody may write to."""
    while type(x) is Node and x.func is not None and gives_view(x.func):
        if sharing_of(x.func) == "protected":
            return True
        x = x.args[0]
    return False


def base_of(nodes: list[Node]) -> Node | None:
    """Return the array that all others of a group are views of, if a program may write to it."""
    bases = [node for node in nodes if is_fresh(node) or not gives_view(node.func)]
    if len(bases) != 1:
        return None
    (base,) = bases
    if base.memory or not is_fresh(base) or type(base.form) is not Form:
        return None
    return base if base.form.kind is np.ndarray else None


def size_of(form: Form) -> int:
    size = 1
    for n in form.shape:
        size *= n
    return size


def is_large(form: Any) -> bool:
    if type(form) is not Form or form.kind is not np.ndarray:
        return False
    return size_of(form) * form.dtype.itemsize >= LARGE
