"""Liveness: where the memory of a value is free again, and may take a later result.

NOTE [in place]
    A ufunc writes to an operand's array where nobody needs that any more, the program has made
    it, and it has the form of the result, strides included. The bits are the same.
"""

from typing import Any

import numpy as np

from .graph import Form, Graph, Node, nodes_in
from .passes import VIEWS

LARGE = 4096
"""From so many bytes on an array is freed early, and used again."""

FRESH = {
    np.dot, np.matmul, np.where, np.copy, np.concatenate, np.stack, np.einsum, np.add.reduce,
    np.sum, np.mean, np.max, np.min, np.prod, np.cumsum, np.take_along_axis,
}  # fmt: skip
"""Functions whose result is a new array, besides ufuncs."""


class Liveness:
    """What ends at each node: `targets` has the operand to write to, `ends` the names to drop."""

    def __init__(self, graph: Graph):
        self.targets: dict[Node, Node] = {}
        self.ends: dict[Node, list[Node]] = {}
        inputs = set(graph.inputs)
        root: dict[Node, Node] = {}
        members: dict[Node, list[Node]] = {}
        death: dict[Node, int] = {}
        for node in graph.nodes:
            first = node.args[0] if node.args else None
            if node.func in VIEWS and type(first) is Node:
                root[node] = root[first]
            else:
                root[node] = node
            members.setdefault(root[node], []).append(node)
            death.setdefault(root[node], node.number)
            for parent in node.parents():
                death[root[parent]] = node.number
        for node in nodes_in(graph.outputs):
            death[root[node]] = len(graph.nodes)
        for guard in graph.guards:
            death[root[guard.node]] = len(graph.nodes)
        taken: set[Node] = set()
        for node in graph.nodes:
            if not is_plain_ufunc(node) or not is_large(node.form):
                continue
            for x in node.args:
                if type(x) is not Node or x.form != node.form:
                    continue
                own = root[x]
                if death[own] == node.number and own not in inputs and is_fresh(own):
                    if own.form.kind is np.ndarray and size_of(own.form) == size_of(node.form):
                        self.targets[node] = x
                        taken.add(own)
                        break
        for own, nodes in members.items():
            if own in inputs or own.memory or death[own] >= len(graph.nodes):
                continue
            if any([is_large(x.form) for x in nodes]):
                self.ends.setdefault(graph.nodes[death[own]], []).extend(nodes)


def is_plain_ufunc(node: Node) -> bool:
    """Tell if a node is a ufunc of elements with one result, and without options."""
    func = node.func
    return (
        isinstance(func, np.ufunc) and func.nout == 1 and not func.signature and not node.kwargs
        and len(node.args) == func.nin
    )  # fmt: skip


def is_fresh(node: Node) -> bool:
    """Tell if the value of a node is an array that the program has made."""
    func: Any = node.func
    return func in FRESH or is_plain_ufunc(node)


def size_of(form: Form) -> int:
    size = 1
    for n in form.shape:
        size *= n
    return size


def is_large(form: Any) -> bool:
    if type(form) is not Form or form.kind is not np.ndarray:
        return False
    return size_of(form) * form.dtype.itemsize >= LARGE
