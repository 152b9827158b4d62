"""Operands that do not move, under a derivative that is infinite.

NOTE [flat operands]
    Where a rule gives an infinite cotangent, as that of ``sqrt(x * x)`` at 0, what it is
    multiplied by on its way back may be exactly zero: the operand does not move with any leaf of
    the tape. Then the function has a subgradient there, and it is zero, as `jvp` finds by its
    zero tangents. So a second pass takes positive numbers from these elements to the leaves. If
    nothing arrives, the infinite cotangents are replaced by zeros. If something does, they stay.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.numpy_facts import dtype_of, shape_of
from .._core.types import Value
from .tape import Node

GOLDEN = 0.6180339887498949


def without_flat(c: Value, parent: Node, floor: int, arrive: Callable[..., Any]) -> Value:
    """Return the cotangent of `parent` with 0 for what is infinite and does not move.

    `arrive`: returns the cotangents that a pass from a node leaves at the leaves.
    """
    if c is None or type(c) is tuple or parent[1] is None or parent[0] <= floor:
        return c
    infinite = np.isinf(c)
    if type(infinite) in (np.ndarray, np.bool_) and not infinite.any():
        return c
    size = int(np.prod(shape_of(c)))
    probe = 1.0 + (GOLDEN * np.arange(1, size + 1)) % 1.0  # no two of them cancel by chance
    moves: Any = False
    probe = infinite * probe.reshape(shape_of(c)).astype(dtype_of(c))
    for arrived in _parts(arrive(parent, probe, floor)):
        moves = np.logical_or(moves, np.any(np.not_equal(arrived, 0)))
    settled = np.where(np.logical_and(infinite, np.logical_not(moves)), dtype_of(c).type(0), c)
    return settled if shape_of(c) else settled[()]


def _parts(cotangents: Any) -> Any:
    """Go through cotangents, of which some are tuples with None."""
    for c in cotangents:
        if isinstance(c, (tuple, list)):
            yield from _parts(c)
        elif c is not None:
            yield c
