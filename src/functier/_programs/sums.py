"""Sums in memories: each summand is added where it is made.

NOTE [late sums]
    A backward pass keeps the pieces of a cotangent and adds them to zeros later, at the end or when
    they are many. A loop would end at such a sum, and keep the pieces of all its steps. Nobody else
    has the memory, so each piece is added right behind the call that made it, in the same order.
    And zeros to which a whole sum is added first go on in the memory of that sum. Bits are the
    same: what begins with 0.0 is never -0.0, so 0.0 and such a sum make the sum.
"""

from collections import Counter
from typing import Any

import numpy as np

from .graph import Graph, Node, nodes_in
from .looping import is_whole
from .stores import READS, add, add_at, get, put

ndarray = np.ndarray
ADDS = {add, add_at}


class Sum:
    """A memory of zeros to which values are added before it is read."""

    def __init__(self, memory: Node, effects: list[Node]):
        size = next((i for i, x in enumerate(effects) if x.func in READS), len(effects))
        self.memory, self.fill = memory, effects[0]
        self.adds, self.reads = effects[1:size], effects[size:]

    def fits(self) -> bool:
        """Return whether its summands may be added early."""
        fill = self.fill.args[-1]
        return (
            bool(self.adds) and self.fill.func is put and is_whole(self.fill)
            and self.memory.form.dtype.kind in "fc" and type(fill) is ndarray
            and not fill.view(np.uint8).any()  # 0.0, and not -0.0
            and all([x.func in ADDS and not nodes_in(x.args[1:-1]) for x in self.adds])
            and all([x.func in READS for x in self.reads])
            and not any([x.may_raise for x in (self.fill, *self.adds)])
        )  # fmt: skip

    def goes_on(self, read: Node, uses: Counter[Node]) -> bool:
        """Return whether the first summand is another sum, which `read` takes for that alone."""
        first = self.adds[0]
        return (
            first.func is add and first.args[2] == (...,) and first.args[3] is read
            and read.func is get and read.args[1:] == (first.args[1], None) and is_whole(read)
            and uses[read] == 1 and read.args[0].form == self.memory.form
        )  # fmt: skip


def sum_early(graph: Graph) -> Graph:
    """Add to a memory of zeros as soon as there is something to add: see NOTE [late sums]."""
    effects: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if node.memory and type(node.args[0]) is Node:
            effects.setdefault(node.args[0], []).append(node)
    if not effects:
        return graph
    uses = Counter([x for node in graph.nodes for x in node.parents()])
    uses.update(graph.roots())
    sums: dict[Node, Sum] = {}  # by the only read of each
    found: list[Sum] = []
    dropped: set[Node] = set()
    for memory, own in effects.items():
        one = Sum(memory, own)
        if len(own) != uses[memory] or not one.fits():
            continue
        read = one.adds[0].args[-1]
        before = sums.get(read) if type(read) is Node else None
        if before is not None and one.goes_on(read, uses):
            dropped |= {memory, one.fill, one.adds[0], read}
            for node in (*one.adds[1:], *one.reads):
                node.args = before.memory, *node.args[1:]
            before.adds += one.adds[1:]
            before.reads = one.reads
            one = before
        else:
            found.append(one)
        if len(one.reads) == 1:
            sums[one.reads[0]] = one
    places: dict[Node, int] = {}
    for one in found:
        at = len(graph.inputs) - 1
        for node in one.adds:
            at = max([at, *[x.number for x in node.parents() if x is not one.memory]])
            places[node] = at
        places[one.memory] = places[one.fill] = places[one.adds[0]]
    if not places:
        return graph
    nodes = [node for node in graph.nodes if node not in dropped]
    nodes.sort(key=lambda x: (places.get(x, x.number), x.number))
    return Graph(nodes, graph.inputs, graph.outputs, graph.guards)
