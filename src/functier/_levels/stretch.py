"""A stretch of the tape: the nodes that a function makes while it runs, and what they lead to."""

from .._core.types import Function, Value
from .backward import backward
from .kept import join_edges
from .tape import Node, find_reached, node_numbers


class Stretch:
    """The nodes that are made from now on.

    Only earlier ones are needed for long: `reached` finds those that a node depends on, `pull`
    brings a cotangent there, and `replace` makes one node for all of the stretch.
    """

    def __init__(self) -> None:
        self.start = next(node_numbers)

    def reached(self, node: Node) -> dict[int, Node]:
        """Return the earlier nodes that a node depends on, by number."""
        if node[0] <= self.start:
            return {node[0]: node}
        return find_reached([node], self.start)

    def pull(self, node: Node, g: Value, inputs: list[Node]) -> list:
        """Return the cotangents of nodes, of earlier ones or leaves, from that of `node`."""
        if node[0] <= self.start:
            return [g if one is node else None for one in inputs]
        return backward([(node, g)], inputs, self.start)

    @staticmethod
    def replace(parents: list[Node], rule: Function, saved: tuple = ()) -> Node:
        """Return a node right after earlier ones; `rule` and `saved` as of `join_edges`."""
        (node,) = join_edges(parents, rule, 1, saved)
        return node
