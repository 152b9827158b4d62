"""Values of a program that may share memory.

NOTE [may share]
    A program is traced with arrays of some strides and replayed with others, so that a reshape
    may copy in one and not in the other. So a function shares memory with its operands unless it
    is known that its result is always a new array.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.sharing import sharing_of
from .graph import SCALARS, Form, Graph, Node, nodes_in
from .loops import Table, every_node, is_loop

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
