"""Values of a program that may share memory, and where that is free again.

NOTE [may share]
    A program is traced with arrays of some strides and replayed with others, so that a reshape
    may copy in one and not in the other. So a function shares memory with its operands unless it
    is known that its result is always a new array.

NOTE [in place]
    A ufunc writes to an operand's array where nobody needs that any more, the program has made
    it, and it has the form of the result, strides included. The bits are the same.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.sharing import sharing_of
from .graph import SCALARS, Form, Graph, Node, nodes_in
from .loops import Table, every_node, is_loop
from .stores import READS

ndarray = np.ndarray
NUMBERS = SCALARS - {np.void}
"""Types whose values share no memory."""


def gives_view(func: Any) -> bool:
    """Return whether a result may be a view of the first argument, which can be written to."""
    return func is operator.getitem or sharing_of(func) in ("view", "protected", "either")


def is_plain_ufunc(node: Node) -> bool:
    """Return whether a node is a ufunc of elements with one result, and without options."""
    func = node.func
    return (
        isinstance(func, np.ufunc) and func.nout == 1 and not func.signature and not node.kwargs
        and len(node.args) == func.nin
    )  # fmt: skip


def is_fresh(node: Node) -> bool:
    """Return whether the value of a node is an array that the program has made for it alone."""
    func: Any = node.func
    if func is np.einsum:
        return len(node.args) > 2  # of one operand it may be a view
    if func is operator.getitem:
        index = node.args[1]
        return any(map(is_array, index if type(index) is tuple else (index,)))
    return node.memory or sharing_of(func) == "fresh" or hasattr(func, "makes_new_arrays")


def is_array(x: Any) -> bool:
    """Return whether an argument is an array with axes."""
    if type(x) is Node:
        return type(x.form) is Form and x.form.kind is ndarray and bool(x.form.shape)
    return type(x) is ndarray and x.ndim > 0


def arrays_in(value: Any) -> bool:
    """Return whether there is an array among the constants of an argument."""
    kind = type(value)
    if kind is tuple or kind is list:
        return any(map(arrays_in, value))
    if kind is dict:
        return any(map(arrays_in, value.values()))
    return isinstance(value, ndarray)


def arrays_in_loop(node: Node) -> bool:
    """Return whether the results of a loop may share memory with a constant."""
    tables = [x.values for x in node.args if type(x) is Table]
    loop: Any = node.func
    return arrays_in(tables) or any([
        arrays_in((x.args, x.kwargs)) for x in every_node(loop.body) if not is_fresh(x)
    ])  # fmt: skip


class Sharing:
    """The groups of nodes whose values may share memory; each is named by one node of it.

    Attributes
    ----------
    constant : set of Node
        The groups that may share memory with a constant.
    inputs : set of Node
        The groups that may share memory with an input.
    """

    def __init__(self, graph: Graph):
        self._up: dict[Node, Node] = {}
        tied = []
        for node in graph.nodes:
            if node.func is None or isinstance(node.func, np.ufunc) or is_fresh(node):
                continue
            if type(node.form) is Form and node.form.kind in NUMBERS:
                continue
            for parent in node.parents():
                self._join(node, parent)
            if arrays_in((node.args, node.kwargs)) or (is_loop(node) and arrays_in_loop(node)):
                tied.append(node)
        self.constant = {self.of(node) for node in tied}
        self.inputs = {self.of(node) for node in graph.inputs}

    def of(self, node: Node) -> Node:
        """Return the node that names the group of a node."""
        up = self._up
        while (above := up.get(node)) is not None:
            up[node] = up.get(above, above)  # so that later ways are shorter
            node = above
        return node

    def _join(self, a: Node, b: Node) -> None:
        a, b = self.of(a), self.of(b)
        if a is not b:
            self._up[a] = b

    def returned(self, graph: Graph) -> Callable[[Node], bool]:
        """Return a function that tells if a node may share memory with an output."""
        groups = {self.of(node) for node in nodes_in(graph.outputs)}
        return lambda node: self.of(node) in groups


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
