"""Costs of a program: operations and bytes of its steps, and their table."""

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.numpy_facts import name_of
from .graph import Form, Graph, Node, nodes_in
from .loops import Series, is_loop, is_result
from .stores import gives_view


class Cost(NamedTuple):
    """The cost of a step: estimates of its operations and bytes, and of all that is alive then.

    A call in a loop stands for all of them: it is made so many `times`.
    """

    name: str
    flops: int
    bytes: int
    alive: int
    times: int = 1


def size_of(form: Any) -> int:
    """Return the number of elements of a form."""
    if type(form) is Form:
        return math.prod(form.shape)
    if type(form) is Series:
        return form.count * size_of(form.form)
    return sum(map(size_of, form)) if isinstance(form, tuple) else 0


def bytes_of(form: Any) -> int:
    """Return the bytes of a form; a view of it has none."""
    if type(form) is Form:
        return math.prod(form.shape) * form.dtype.itemsize if form.kind is np.ndarray else 0
    if type(form) is Series:
        return form.count * bytes_of(form.form)
    return sum(map(bytes_of, form)) if isinstance(form, tuple) else 0


PRODUCTS = {np.matmul, np.dot}
COPIES = {np.copy, np.astype, np.concatenate, np.stack}


def flops_of(node: Node) -> int:
    """Return an estimate of the operations of a step."""
    func = node.func
    sizes = [size_of(x.form) for x in node.parents()]
    if func in PRODUCTS and sizes:
        shapes = [x.form.shape for x in nodes_in(node.args)] or [()]
        return 2 * size_of(node.form) * (shapes[0][-1] if shapes[0] else 1)
    if not isinstance(func, np.ufunc):
        moves = func in COPIES or node.memory or gives_view(func)
        return 0 if moves else max([*sizes, 0])
    return size_of(node.form)


def costs_of(graph: Graph, times: int = 1, around: int = 0) -> list[Cost]:
    """Return the cost of each step, made so many `times` while `around` bytes are alive."""
    last = {}
    for node in graph.nodes:
        for parent in node.parents():
            last[parent] = node.number
    for node in graph.roots():
        last[node] = len(graph.nodes)
    ends: dict[int, int] = {}
    alive, found = around, []
    for node in graph.nodes:
        if node.func is None:
            continue
        is_view = gives_view(node.func) and node.func is not operator.getitem
        is_view = is_view or (is_result(node))
        own = 0 if is_view else bytes_of(node.form)
        alive += own
        end = last.get(node, node.number)
        ends[end] = ends.get(end, 0) + own
        if is_loop(node):
            loop: Any = node.func
            found += costs_of(loop.body, times * loop.count, alive)
            alive -= ends.pop(node.number, 0)
            continue
        name = name_of(node.func)
        if name.startswith(("_operator.", "functier.")):
            name = name.rpartition(".")[2]
        found.append(Cost(name, flops_of(node) * times, own * times, alive, times))
        alive -= ends.pop(node.number, 0)
    return found


class Table(list):
    """Rows of (function, calls, operations, bytes), which print as a table."""

    def __init__(self, costs: Sequence[Cost]):
        found: dict[str, list[int]] = {}
        for cost in costs:
            row = found.setdefault(cost.name, [0, 0, 0])
            row[0] += cost.times
            row[1] += cost.flops
            row[2] += cost.bytes
        rows: list[Any] = [(name, *row) for name, row in found.items()]
        super().__init__(sorted(rows, key=lambda row: (-row[2], row[0])))

    def __repr__(self) -> str:
        total = "all", *[sum(row[i] for row in self) for i in (1, 2, 3)]
        cells = [("function", "calls", "operations", "bytes")]
        cells += [(name, *[f"{n:,}" for n in numbers]) for name, *numbers in [*self, total]]
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        lines = []
        for name, *numbers in cells:
            right = [text.rjust(n) for text, n in zip(numbers, widths[1:])]
            lines.append("  ".join([name.ljust(widths[0]), *right]))
        return "\n".join(lines)

    __str__ = __repr__
