"""Copies of nodes for another graph."""

from ...graph import Node, replace


def copy_of(node: Node, new: dict[Node, Node]) -> Node:
    """Return a node of another graph that is like this one."""
    args, kwargs = replace(node.args, new.__getitem__), replace(node.kwargs, new.__getitem__)
    found = new[node] = node.like(args, kwargs)
    return found
