"""Nodes that are alike: arguments without their leaves, which may differ from step to step."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .graph import Node
from .loops import Count, Loop

ndarray = np.ndarray

FLAT = object()
LEAVES = frozenset({Node, int, float, ndarray, Count})


def flatten(value: Any, leaves: list, inner: bool = False) -> Any:
    """Add the leaves of an argument to a list, and return what is around them.

    The nodes of the body of a loop are known by their numbers, and not leaves.
    """
    kind = type(value)
    if kind is Node and inner:
        return Node, value.number
    if kind in LEAVES:
        leaves.append(value)
        return FLAT
    if kind is tuple or kind is list:
        return (kind, *[flatten(part, leaves, inner) for part in value])
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return (slice, *[flatten(part, leaves, inner) for part in parts])
    if kind is dict:
        return (dict, *[(name, flatten(part, leaves, inner)) for name, part in value.items()])
    if kind is complex or isinstance(value, np.generic):
        leaves.append(value)
        return FLAT
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value


def facts_of_node(node: Node) -> tuple:
    """Return what is the same in nodes that are alike, besides functions and arguments."""
    window: Any = ()
    if node.memory and len(node.args) > 1 and type(node.args[1]) is tuple:
        window = node.args[1][1:]  # only the place of an effect may move
    return node.form, node.place, node.errors, node.memory, node.kept, window


def kind_of_loop(loop: Loop, leaves: list) -> Any:
    """Add the constants in a loop to a list of leaves, and return what is around them."""
    leaves += loop.reads
    found = []
    for node in loop.body.nodes:
        if node.func is None:
            found.append(node.form)
            continue
        func: Any = node.func
        around = flatten((node.args, node.kwargs), leaves, True)
        if type(func) is Loop:
            func = kind_of_loop(func, leaves)
        found.append((func, around, *facts_of_node(node)))
    asked = [(guard.node.number, guard.how, repr(guard.answer)) for guard in loop.body.guards]
    outputs = flatten(tuple(loop.body.outputs), leaves, True)
    facts = loop.count, loop.ends, loop.carried, loop.lasts
    return Loop, facts, tuple(found), tuple(asked), outputs


def filled(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return an argument with ``leaf(x)`` for each leaf, in the order of `flatten`."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([filled(part, leaf) for part in value])
    if kind is slice:
        return slice(*[filled(part, leaf) for part in (value.start, value.stop, value.step)])
    if kind is dict:
        return {name: filled(part, leaf) for name, part in value.items()}
    if kind in LEAVES or kind is complex or isinstance(value, np.generic):
        return leaf(value)
    return value
