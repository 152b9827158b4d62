"""The source of a program that people read: the names and lines of the user, plain NumPy."""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._core.cards import folded
from . import stores as _stores
from .graph import Form, Graph, Node
from .literals import (
    array_text,
    dtype_text,
    helper_text,
    number_text,
    path_of,
    shape_text,
    weak_text,
)
from .loops import Loop, Table, is_loop
from .signature import Slot, arguments_of, parameters_of, short_names, slots, write_tree
from .source import Source
from .statements import (
    name_of_target,
    names_of_nodes,
    statement_of_loop,
    text_of,
    user_statements,
)
from .stores import Sharing

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
        captured: Sequence[Any] = (), size: int | None = None,
    ):  # fmt: skip
        self.captured, self.size = captured, size  # of the outputs; flags may follow
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
        self.current: Any = None
        self.last: Any = None

    def parameters(self) -> tuple[list[str], list[str]]:
        nodes = self.graph.inputs[len(self.inputs) :]
        self.constants |= {self.names[node]: x for node, x in zip(nodes, self.captured)}
        return parameters_of(
            self.trees, self.dynamic, self.roots, lambda i: self.names[self.inputs[i]]
        )

    def returned(self, outputs: list[str]) -> str:
        outputs = outputs[: self.size]
        found = write_tree(slots(self.out, len(outputs)), lambda i: outputs[i])
        return found if found is not None else super().returned(outputs)

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
        return [f"# {text_of(statement) if statement else EPILOGUE}"]

    def checks(self, node: Node) -> list[str]:
        lines = []
        for line in super().checks(node):
            test, _, error = line.partition(": raise ")
            lines += [f"{test.replace(', equal_nan=False', '')}:", f"    raise {error}"]
        return lines

    # ---- nodes ----

    def lines_of(self, node: Node) -> list[str]:
        self.current = node
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
                if axes is None or np.array_equal(axes, range(len(x.form.shape))[::-1]):
                    return f"{self.expr(x)}.T"
        return ""

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


def card_of(compiled: Any) -> str:
    """Return a text of HTML: what a compiled function depends on, and its programs' sources."""
    said = folded(repr(compiled), compiled.explain())
    return said + "".join([program._repr_html_() for program in compiled.programs])


@lru_cache(1024)
def defaults_of(func: Callable) -> dict[str, Any]:
    """Return the defaults of the parameters of a function."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if p.default is not p.empty}
