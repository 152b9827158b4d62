"""A stretch of the tape: the nodes that a function makes while it runs, and what they lead to."""

from typing import Any

from .._core.numpy_facts import Value
from .backward import backward
from .kept import join_edges
from .tape import Node, node_numbers


class Stretch:
    """The nodes that are made from now on.

    Only earlier ones are needed for long: `reached` finds those that some nodes depend on, `pull`
    brings a cotangent there, and `replace` makes one node for all between.
    """

    def __init__(self) -> None:
        self.start = next(node_numbers)

    def reached(self, *nodes: Node) -> dict[Any, Node]:
        """Return the earlier nodes that `nodes` lead to, or are, by number."""
        start, found, seen, waiting = self.start, {}, set(), []
        for node in nodes:
            if node[0] <= start:
                found[node[0]] = node
            else:
                waiting.append(node)
        while waiting:
            edge = waiting.pop()[1:]  # parent, rule, saved, fix, rest
            while len(edge) > 1:
                parent, *_, rest = edge
                key = parent[0]
                if key <= start:
                    found[key] = parent
                elif key not in seen:
                    seen.add(key)
                    waiting.append(parent)
                edge = rest or ()
        return found

    def pull(self, node: Node, g: Value, inputs: dict[Any, Node]) -> dict[Any, Value]:
        """Return the cotangents of earlier nodes, or of leaves, that `g`, that of `node`, makes.

        They have the keys of `inputs`; a node that gets none is left out.
        """
        if node[0] <= self.start:
            return {key: g for key, one in inputs.items() if one is node}
        found = {}
        for key, c in zip(inputs, backward([(node, g)], [*inputs.values()], self.start)):
            if c is not None:
                found[key] = c
        return found

    replace = staticmethod(join_edges)
    """Return nodes for the results of a function, which lead to earlier nodes by one rule."""
