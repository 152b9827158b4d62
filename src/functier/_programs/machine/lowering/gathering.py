"""Sums that a loop carries, of zeros around a value: each step adds its value where it belongs.

NOTE [signs of zeros]
    A sum with zeros changes an element in one way: -0.0 becomes 0.0. So the sum begins with its
    first value and 0.0, and steps add where their values are. An element that some step does not
    reach has no other bits then: what it is there is 0.0 or another number, and sums of these are
    never -0.0.
"""

import operator
from typing import Any

import numpy as np

from ...._rules import indexing
from ...graph import Node, nodes_in
from ...loops import Loop
from .effects import MANY, bits_at
from .moving import Moving
from .steps import Ref
from .views import at, is_basic

SUMS = np.add, operator.add


def sums_of(loop: Loop) -> dict[int, list[tuple[Node, Node]]]:
    """Return the carried values that grow so: the sums in order, each with its second summand."""
    body = loop.body
    uses: dict[Node, int] = {}
    for node in body.nodes:
        for x in node.parents():
            uses[x] = uses.get(x, 0) + 1
    for x in nodes_in(body.outputs):
        uses[x] = uses.get(x, 0) + 1
    found: dict[int, list[tuple[Node, Node]]] = {}
    for i, (x, y) in enumerate(zip(loop.parts()[0], body.outputs)):
        pairs: list[tuple[Node, Node]] = []
        while y is not x and y.func in SUMS and uses[y] == 1 and y.form == x.form:
            terms = [k for k in (1, 0) if is_term(y.args[k], x, uses)]
            if not terms or y.kwargs:
                break
            pairs.append((y, y.args[terms[0]]))
            y = y.args[1 - terms[0]]
            if type(y) is not Node:
                break
        if y is x and uses[x] == 1 and pairs and x.form.dtype.kind == "f":
            found[i] = pairs[::-1]
    return found


def is_term(term: Any, x: Node, uses: dict[Node, int]) -> bool:
    """Tell if a node is zeros around a value, for this sum alone."""
    if type(term) is not Node or term.func is not indexing.place or term.kwargs:
        return False
    return uses[term] == 1 and term.form == x.form and len(term.args) == 3


def part_of(whole: Ref, value: Any, index: Any, steps: int) -> Ref | None:
    """Return where a sum gets a value; None if the last step may add where the first one does."""
    part = at(whole, index) if is_basic(index) else None
    if part is None or type(part.place.offset) is not Moving or not part.size:
        return None
    if type(value) is not Node or (value.form.shape, value.form.dtype) != (part.shape, part.dtype):
        return None
    far, size = part.place.offset.by[-1] * (steps - 1), part.dtype.itemsize
    axes = [*zip(part.shape, part.place.strides)]
    reach = sum([(n - 1) * abs(step) for n, step in axes])
    if abs(far) <= reach:
        if part.size > MANY:
            return None
        first, last = [bits_at((x + reach + abs(far)) // size, axes, size) for x in (0, far)]
        if first & last:
            return None
    return part
