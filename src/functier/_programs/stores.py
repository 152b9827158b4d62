"""The memory of a program: writes, which values may share it, and where it is free again.

The functions here are those of the nodes. They are plain NumPy; `source` writes them out.

NOTE [may share]
    A program is traced with arrays of some strides and replayed with others, so that a reshape
    may copy in one and not in the other. So a function shares memory with its operands unless it
    is known that its result is always a new array.

NOTE [in place]
    A ufunc writes to an operand's array where nobody needs that any more, the program has made
    it, and it has the form of the result, strides included. The bits are the same.
"""

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._core.numpy_facts import Value
from .._core.sharing import sharing_of
from .._core.tensor import Tensor
from .._levels.stores import LevelStore
from .._mutation.stores import window_of
from .graph import SCALARS, Form, Graph, Node, form_of, nodes_in
from .loops import Table, every_node, is_loop


def memory_of(size: int, dtype: np.dtype) -> np.ndarray:
    """Return a new memory, flat."""
    return np.empty(size, dtype)


def get(flat: np.ndarray, layout: Any, parts: tuple | None) -> Value:
    """Return a copy of what stands in a layout, or at a basic index in it."""
    window = window_of(flat, layout)
    found = window if parts is None else window[parts]
    return found.copy("K") if type(found) is np.ndarray else found


def put(flat: np.ndarray, layout: Any, parts: tuple | None, value: Value) -> None:
    window_of(flat, layout)[... if parts is None else parts] = value


def add(flat: np.ndarray, layout: Any, parts: tuple | None, value: Value) -> None:
    window = window_of(flat, layout)
    target = window[... if parts is None else whole(parts)]
    np.add(target, value, out=target, casting="same_kind")


def whole(parts: tuple) -> tuple:
    """Return an index that gives an array, also of one element."""
    return parts if any([part is ... for part in parts]) else (*parts, ...)


def get_at(flat: np.ndarray, places: Value) -> Value:
    return flat[places]


def put_at(flat: np.ndarray, places: Value, value: Value) -> None:
    flat[places] = value


def add_at(flat: np.ndarray, places: Value, value: Value) -> None:
    np.add.at(flat, places, np.broadcast_to(value, np.shape(places)))


class ProgramStore(LevelStore):
    """A memory of a program: `inner` has its values now, and `node` is its making.

    What it had before a tensor was written to it is the first effect.
    """

    __slots__ = ("node",)

    def __init__(self, level: Any, inner: Any):
        super().__init__(level, inner)
        whole = 0, (inner.size,), (1,)
        form = form_of(inner.flat)
        given = inner.size, inner.dtype
        self.node = level.add(Node(memory_of, given, {}, form, level.where_now(), memory=True))
        self.effect(put, whole, None, inner.flat.copy())

    def effect(self, func: Any, *args: Any) -> Node:
        level = self.level
        form = form_of(None)
        node = Node(func, (self.node, *args), {}, form, level.where_now(), memory=True)
        return level.add(node)

    def read(self, value: Value, func: Any, *args: Any) -> Value:
        node = self.effect(func, *args)
        node.form = form_of(value)
        return self.level.tensor(value, node)

    def both(self, x: Value) -> tuple[Any, Any]:
        """Return the node and the value of `x`."""
        if isinstance(x, Tensor):
            return self.level.symbol(x), self.level.lower(x)
        return (x.copy() if type(x) is np.ndarray else x), x

    @contextmanager
    def noted(self, places: Value) -> Iterator[None]:
        """Guard places outside of the memory: Python code may catch the error."""
        try:
            yield
        except Exception:
            if isinstance(places, Tensor):
                self.level.guard(places, "an index that is out of bounds")
            raise

    def get(self, layout: Any, parts: tuple | None) -> Value:
        parts = self.level.plain(parts)
        return self.read(np.copy(self.inner.get(layout, parts))[()], get, layout, parts)

    def put(self, layout: Any, parts: tuple | None, value: Value) -> None:
        node, value = self.both(value)
        parts = self.level.plain(parts)
        self.inner.put(layout, parts, value)
        self.effect(put, layout, parts, node)

    def add(self, layout: Any, parts: tuple | None, value: Value) -> None:
        node, value = self.both(value)
        parts = self.level.plain(parts)
        self.inner.add(layout, parts, value)
        self.effect(add, layout, parts, node)

    def get_at(self, places: Value) -> Value:
        where, inside = self.both(places)
        with self.noted(places):
            value = self.inner.get_at(inside)
        return self.read(value, get_at, where)

    def put_at(self, places: Value, value: Value) -> None:
        (where, inside), (node, value) = self.both(places), self.both(value)
        with self.noted(places):
            self.inner.put_at(inside, value)
        self.effect(put_at, where, node)

    def add_at(self, places: Value, value: Value) -> None:
        (where, inside), (node, value) = self.both(places), self.both(value)
        with self.noted(places):
            self.inner.add_at(inside, value)
        self.effect(add_at, where, node)


READS = {get, get_at}
"""The effects that read a memory."""


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
    if kind is Table:
        return any(map(arrays_in, value.values))
    return isinstance(value, ndarray)


def arrays_in_loop(node: Node) -> bool:
    """Return whether the results of a loop may share memory with a constant."""
    loop: Any = node.func
    return arrays_in([x for x in node.args if type(x) is Table]) or any([
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
