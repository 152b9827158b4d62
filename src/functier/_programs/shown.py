"""The source of a program that people read: the names and lines of the user, plain NumPy."""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._mutation.layouts import window_of
from . import stores as _stores
from .graph import Form, Graph, Node, instances_in, nodes_in
from .literals import (
    array_text,
    dtype_text,
    helper_text,
    number_text,
    path_of,
    shape_text,
    weak_text,
)
from .loops import Count, Loop, Table, is_loop, times
from .memories import Memories, index_of, index_of_steps
from .sharing import Sharing
from .signature import Slot, arguments_of, parameters_of, short_names, slots, write_tree
from .source import Source
from .statements import name_of_target, names_of_nodes, statement_of_loop, user_statements

ndarray = np.ndarray
EPILOGUE = "derivatives"
NAMED = {*_stores.READS, _stores.memory_of}
INLINE = 1000
"""Regular arrays of up to so many elements, such as zeros, stand where they are used."""

REDUCERS = {np.sum, np.prod, np.max, np.min, np.mean, np.all, np.any, np.std, np.var}
SIMPLE = {
    np.add, np.subtract, np.multiply, np.divide, np.negative, np.less, np.less_equal, np.greater,
    np.greater_equal, np.equal, np.not_equal,
}  # fmt: skip
"""Ufuncs that give the same bits as Python's operator does with NumPy's numbers."""


class Shown(Source):
    """The text of a program for people: see `Source`."""

    fast = False

    def __init__(
        self, graph: Graph, name: str, paths: Sequence[str], roots: Sequence[str],
        dynamic: Sequence[bool], structure: Any, out: Any, keywords: Sequence[str],
        captured: Sequence[Any] = (),
    ):  # fmt: skip
        self.captured = captured
        self.roots, self.dynamic, self.out = list(roots), dynamic, out
        self.trees = arguments_of(structure, len(dynamic), keywords)
        own = short_names(self.trees, roots, paths, dynamic)
        super().__init__(graph, name, [*own, *[f"captured_{i}" for i in range(len(captured))]])

    def prepare(self) -> None:
        graph = self.graph
        self.stacked: dict[int, ndarray] = {}
        numbers = [i for i, on in enumerate(self.dynamic) if on]
        self.inputs = dict(zip(numbers, graph.inputs))
        pairs = zip(self.roots, self.trees)
        self.roots = [root if type(tree) is Slot else self.fresh(root) for root, tree in pairs]
        self.statements = user_statements(graph)
        self.named = names_of_nodes(graph, self.statements)
        self.memories: Any = None
        self.current: Any = None
        self.last: Any = None

    def parameters(self) -> tuple[list[str], list[str]]:
        nodes = self.graph.inputs[len(self.inputs) :]
        self.constants |= {self.names[node]: x for node, x in zip(nodes, self.captured)}
        return parameters_of(
            self.trees, self.dynamic, self.roots, lambda i: self.names[self.inputs[i]]
        )

    def returned(self, outputs: list[str]) -> str:
        found = write_tree(slots(self.out, len(outputs)), lambda i: outputs[i])
        return found if found is not None else super().returned(outputs)

    def begin(self, graph: Graph) -> Any:
        outer, inputs = self.memories, {}
        if outer is not None:
            pairs = [(x, self.outside.get(x)) for x in graph.inputs]
            inputs = {x: outer.shapes[arg] for x, arg in pairs if arg in outer.shapes}
        self.memories = Memories(graph, inputs)
        return outer

    def end(self, outer: Any) -> None:
        if outer is not None:
            outer.shapes |= self.memories.shapes
            self.memories = outer

    def ends(self, node: Node) -> list[str]:
        return []

    def name_of_counter(self, loop: Loop) -> str:
        tree = statement_of_loop(loop)
        name = name_of_target(tree) if tree is not None else ""
        return name or super().name_of_counter(loop)

    def name_of_carried(self, after: Node) -> str:
        return self.fresh(self.named[after]) if after in self.named else self.numbered()

    def takes_out(self, x: Node) -> bool:
        return False

    def element(self, x: Node, text: str, values: Any) -> list[str]:
        plain = type(values) is Table and type(values.values[0]) in (float, complex)
        self.names[x] = f"{text}.item()" if plain else text
        return []

    def sequence(self, values: Any) -> str:
        if type(values) is not Table:
            return self.expr(values)
        if any(
            [type(x) is ndarray and not (x.ndim and x.flags.c_contiguous) for x in values.values]
        ):
            return self.constant(values.values)
        found = self.stacked.get(id(values.values))
        if found is None:
            found = self.stacked[id(values.values)] = np.array(values.values)
        return self.constant(found)

    def remarks(self, node: Node, lines: list[str]) -> list[str]:
        statement = self.statements.get(node)
        if statement == self.last or not (statement or lines) or is_loop(node):
            return []
        self.last = statement
        return [f"# {statement.text if statement else EPILOGUE}"]

    def checks(self, node: Node) -> list[str]:
        lines = []
        for line in super().checks(node):
            test, _, error = line.partition(": raise ")
            lines += [f"{test.replace(', equal_nan=False', '')}:", f"    raise {error}"]
        return lines

    # ---- nodes ----

    def lines_of(self, node: Node) -> list[str]:
        self.current = node
        if node in self.memories.skipped:
            if node.func is _stores.memory_of:
                self.name(node)
            return []
        inline = self.inline(node)
        if inline:
            self.names[node] = inline
            return []
        if not node.memory or node.kept or node.func in NAMED:
            self.name(node)
        return self.statement(node)

    def name(self, node: Node) -> None:
        own = self.wanted.get(node)
        if own is None:
            own = self.fresh(self.named[node]) if node in self.named else self.numbered()
        self.names[node] = own

    def inline(self, node: Node) -> str:
        """Return the expression of a value that has no line, or ""."""
        if node.func is np.transpose and node not in self.named:
            x = node.args[0]
            axes = node.kwargs.get("axes", node.args[1] if len(node.args) > 1 else None)
            if type(x) is Node and type(x.form) is Form and x.form.kind is ndarray:
                if axes is None or axes == tuple(range(len(x.form.shape)))[::-1]:
                    return f"{self.expr(x)}.T"
        return ""

    def statement(self, node: Node) -> list[str]:
        write = EFFECTS.get(node.func)  # type: ignore[arg-type]
        found = write(self, node) if write is not None else None
        return super().statement(node) if found is None else found

    def has_array(self, node: Node) -> bool:
        return super().has_array(node) or is_simple(node)

    def call(self, node: Node) -> str:
        kwargs = node.kwargs
        if kwargs:
            given = dict(kwargs)
            if node.func in REDUCERS:
                axis = given.get("axis")
                if type(axis) is tuple and len(axis) == 1:
                    given["axis"] = axis[0]
                if given.get("keepdims") is False:
                    del given["keepdims"]
            usual = defaults_of(node.func)  # type: ignore[arg-type]
            given = {k: v for k, v in given.items() if not (k in usual and usual[k] is v)}
            parts = [self.expr(x) for x in node.args]
            parts += [f"{name}={self.expr(x)}" for name, x in given.items()]
            return f"{self.function(node.func)}({', '.join(parts)})"  # type: ignore[arg-type]
        return super().call(node)

    # ---- expressions ----

    def expr(self, value: Any) -> str:
        return dtype_text(value) if type(value).__module__ == "numpy.dtypes" and (
            value.names is None
        ) else super().expr(value)  # fmt: skip

    def number(self, value: Any) -> str:
        return number_text(value) or super().number(value)

    def scalar(self, value: np.generic) -> str:
        text = weak_text(value, self.current) if self.current is not None else ""
        return text or super().scalar(value)

    def output(self, value: Any, shared: Sharing) -> str:
        self.current = None  # no call, for which a number of Python would do
        return super().output(value, shared)

    def constant(self, value: Any, text: str = "") -> str:
        if type(value) is ndarray and not text:
            text = array_text(value)
            if text and value.size <= INLINE and not text.startswith("np.array("):
                return text
        if type(value) is ndarray or isinstance(value, np.generic):
            if value.dtype.hasobject or not text:
                return super().constant(value, text)
            name = self.known.get(text)
            if name is None:
                name = self.known[text] = super().constant(value, text)
            return name
        return super().constant(value, text)

    def function(self, func: Callable) -> str:
        path = path_of(func)
        if path is None or not path[0].startswith("functier."):
            return super().function(func)
        text = helper_text(func, path[1])
        if not text:
            return super().function(func)
        if path[1] not in self.helpers:
            if path[1] in self.taken:
                return super().function(func)
            self.taken.add(path[1])
            self.helpers[path[1]] = f"\n{text}"
        return path[1]

    def index(self, index: Any) -> str:
        if type(index) is tuple and len(index) == 1:
            return self.index_part(index[0])
        return super().index(index)

    def zeros(self, shape: tuple, dtype: np.dtype) -> str:
        kind = "" if dtype == np.float64 else f", {dtype_text(dtype)}"
        return f"np.zeros({shape_text(shape)}{kind})"

    # ---- memories ----

    def part(self, memory: Node, layout: Any, parts: Any) -> str:
        """Return the expression of a part of a memory as a view; "" where it is not simple."""
        name, shape = self.names[memory], self.memories.shapes[memory]
        if parts is not None:
            if type(layout[0]) is Count or instances_in(parts, Count) or any(nodes_in(parts)):
                return ""
            flat = np.empty(memory.form.shape, np.int8)
            view = window_of(flat, layout)[_stores.whole(parts)]
            start = view.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
            layout = (start, view.shape, view.strides)
            if not view.size:
                layout = 0, view.shape, (0,) * view.ndim
        if type(layout[0]) is Count:
            counts = [counter.count for counter in self.counters]
            index = index_of_steps(shape, layout, counts)
        else:
            index = index_of(shape, layout)
        if index is None:
            return ""
        return f"{name}[{self.index(index)}]" if index else name


def is_simple(node: Node) -> bool:
    """Return whether an operator of Python gives the bits of a ufunc of two numbers."""
    if node.func not in SIMPLE or node.kwargs:
        return False
    kinds = [
        x.form.dtype == np.float64 and x.form.kind is np.float64 if type(x) is Node
        else type(x) in (np.float64, float)
        for x in node.args
    ]  # fmt: skip
    return all(kinds) and any([type(x) is Node for x in node.args])


class Text(str):
    """A text that notebooks and the prompt of Python show as it is, line by line."""

    __slots__ = ()
    __repr__ = str.__str__


@lru_cache(1024)
def defaults_of(func: Callable) -> dict[str, Any]:
    """Return the defaults of the parameters of a function."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if p.default is not p.empty}


# ---- effects as statements: None for the usual spelling ----


def _start(source: Shown, node: Node) -> list[str] | None:
    """Return the lines that make an array with its first content."""
    memory, layout, _, value = node.args
    name, shape, dtype = source.names[memory], source.memories.shapes[memory], memory.form.dtype
    kind = "" if dtype == np.float64 else f", {source.expr(dtype)}"
    if type(value) is Node and type(value.form) is Form:
        same = value.form.dtype == dtype and value.form.shape == shape == layout[1]
        if same and value.form.kind is ndarray:
            return [f"{name} = {source.expr(value)}.copy()"]
    elif type(value) is ndarray and value.dtype == dtype and value.size == memory.form.shape[0]:
        text = array_text(value.reshape(shape))
        return [f"{name} = {text or f'{source.expr(value)}.reshape({shape}).copy()'}"]
    elif isinstance(value, (int, float)) and type(value) in (int, float, bool):
        text = array_text(np.full(shape, value, dtype)) if shape else ""
        return [f"{name} = {text or f'np.full({shape_text(shape)}, {source.expr(value)}{kind})'}"]
    target = name if layout[1] == shape else f"{name}.reshape({layout[1]})"
    return [
        f"{name} = np.empty({shape_text(shape)}{kind})",
        f"{target}[...] = {source.expr(value)}",
    ]


def _memory(source: Shown, node: Node) -> list[str]:
    shape, dtype = source.memories.shapes[node], node.form.dtype
    kind = "" if dtype == np.float64 else f", {source.expr(dtype)}"
    return [f"{source.names[node]} = np.empty({shape_text(shape)}{kind})"]


def _window(source: Shown, node: Node) -> str:
    """Return the expression of the window of an effect, as a view."""
    memory, layout = node.args[:2]
    text = source.part(memory, layout, None)
    if text:
        return text
    offset, shape, strides = layout
    name, size = source.names[memory], memory.form.dtype.itemsize
    steps = tuple([n * size for n in strides])
    kind = source.expr(memory.form.dtype)
    return f"np.ndarray({shape}, {kind}, {name}, {source.expr(times(offset, size))}, {steps})"


def _target(source: Shown, node: Node) -> tuple[str, bool]:
    """Return the expression of what an effect reads or writes, and if it has an index."""
    memory, layout, parts = node.args[:3]
    text = source.part(memory, layout, parts)
    if text:
        return text, text.endswith("]")
    window = _window(source, node)
    return (f"{window}[{source.index(parts)}]", True) if parts else (window, False)


def _get(source: Shown, node: Node) -> list[str]:
    text, _ = _target(source, node)
    own, kind = source.names[node], node.form.kind
    if kind is not ndarray:
        number = node.args[2] is not None and "..." not in text
        return [f"{own} = {text if number else f'{text}[()]'}"]
    if not node.form.shape:
        return [f"{own} = np.array({text})"]
    return [f"{own} = {text}.copy({'' if source.part(*node.args) else repr('K')})"]


def _put(source: Shown, node: Node) -> list[str] | None:
    if source.memories.starts.get(node.args[0]) is node:
        return _start(source, node)
    text, indexed = _target(source, node)
    value = source.expr(node.args[3])
    if text == value:
        return []  # the end of an addition in place
    return [f"{text if indexed else f'{text}[...]'} = {value}"]


def _add(source: Shown, node: Node) -> list[str]:
    text, indexed = _target(source, node)
    if not indexed and not text.isidentifier():
        text = f"{text}[...]"
    return [f"{text} += {source.expr(node.args[3])}"]


def _flat(source: Shown, memory: Node) -> str:
    name = source.names[memory]
    return name if len(source.memories.shapes[memory]) == 1 else f"{name}.reshape(-1)"


def _get_at(source: Shown, node: Node) -> list[str]:
    memory, places = node.args
    return [f"{source.names[node]} = {_flat(source, memory)}[{source.expr(places)}]"]


def _put_at(source: Shown, node: Node) -> list[str]:
    memory, places, value = node.args
    return [f"{_flat(source, memory)}[{source.expr(places)}] = {source.expr(value)}"]


def _add_at(source: Shown, node: Node) -> list[str]:
    memory, places, value = node.args
    where, what = source.expr(places), source.expr(value)
    spread = f"np.broadcast_to({what}, np.shape({where}))"
    return [f"np.add.at({_flat(source, memory)}, {where}, {spread})"]


EFFECTS: dict[Any, Callable] = {
    _stores.memory_of: _memory, _stores.get: _get, _stores.put: _put, _stores.add: _add,
    _stores.get_at: _get_at, _stores.put_at: _put_at, _stores.add_at: _add_at,
}  # fmt: skip
