"""Runs of a loop while it is recorded: the trace needs what all of its steps make."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dead import drop_dead
from .graph import Graph, Node, form_of
from .looping import counting_of
from .replays import Changed, Replay

FEWEST = 4
"""The least number of steps that make a loop."""


def same_in(x: Any, count: int, axis: int, length: Any = None) -> Any:
    """Return an array of a value of some steps, which is the same in all."""
    shape = np.shape(x)
    return np.broadcast_to(np.expand_dims(x, axis), (*shape[:axis], count, *shape[axis:]))


def known_values(samples: Any, nodes: Sequence[Any]) -> list | None:
    """Return the values of nodes of a trace, from the tensors that have them; None if one is lost.

    Others than nodes are themselves.
    """
    found: dict[Node, Any] = {}
    wanted = {x for x in nodes if type(x) is Node}
    for names in (wanted, samples.real):  # a stand-in may be alive where what it stands for is not
        for node in names if len(found) < len(wanted) else ():
            real = samples.real_of(node)
            tensor = samples.operands[node]() if node in samples.operands else None
            if tensor is not None and type(real) is Node:
                found[real] = tensor.parts()[0]
    if not wanted.issubset(found):
        return None
    return [found[x] if type(x) is Node else x for x in nodes]


def run(body: Any, most: int, values: list) -> tuple[int, list, list] | None:
    """Run a loop until an answer differs; return how often, the last values, and arrays of all.

    None is for a call that raises. Too few steps are none, and those of a loop whose length is a
    value, where an answer differs.
    """
    try:
        found = call(body, most, values)
        if type(found) is int and found >= FEWEST and not body.ending:
            found = call(body, found, values)
    except Exception:
        return None
    return (0, [], []) if type(found) is int else found  # type: ignore[return-value]


def call(body: Any, count: int, values: list) -> tuple[int, list, list] | int:
    """Return what `run` does; or after how many steps an answer differs."""
    inputs = [Node(None, (), {}, form_of(x)) for x in values]
    node = body.node(count, inputs)
    ends, rows, steps = body.results(node)
    stacks = [body.stack(rows[i], axis) for i, axis in body.lists.values()]
    nodes = [*inputs, node, *ends, *rows, *steps, *stacks]
    graph = drop_dead(Graph(nodes, inputs, [*ends, *stacks, *steps]), further=True)
    try:
        made = Replay(graph, "loop", [f"x{i}" for i in range(len(inputs))])(*values)
    except Changed as changed:
        counting = counting_of(node.func, "i")  # type: ignore[arg-type]
        return (changed.args[1] - counting.first) * counting.way
    last, arrays = made[: body.carried], made[body.carried :][: len(stacks)]
    return made[-1] if steps else count, [*last], [*arrays]
