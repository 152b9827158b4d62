"""Rules of diagonals and triangles of matrices."""

from functools import lru_cache
from typing import Any

import numpy as np

from ...graph import Node
from .nodes import BOOL, Lowering, dtype_of, rule
from .places import written_to, zeros
from .products import shape_in
from .reductions import reduced
from .steps import Literal, Unknown
from .views import reshaped, viewed


def given_to(node: Node, *names: str) -> dict[str, Any]:
    """Return the arguments of a call by name; `Unknown` where there are others, or computed ones.

    The first one is the array.
    """
    found = dict(zip(names, node.args), **node.kwargs)
    if len(node.args) > len(names) or not found.keys() <= {*names}:
        raise Unknown("it has options")
    if any([type(found[name]) is Node for name in names[1:] if name in found]):
        raise Unknown("the diagonal is one that is computed")
    return found


@rule(np.diag, np.diagflat)
def _diag(low: Lowering, node: Node) -> Any:
    given = given_to(node, "v", "k")
    value, offset, rank = low.ref(given["v"]), given.get("k", 0), len(shape_in(given["v"]))
    if node.func is np.diag and rank == 2:
        return viewed(value, lambda a: np.diagonal(a, offset))
    empty = zeros(low, node.form.shape, dtype_of(node.form))
    part = viewed(empty, lambda a: np.diagonal(a, offset))
    return written_to(low, empty, part, reshaped(low, value, (value.size,)))


@rule(np.trace)
def _trace(low: Lowering, node: Node) -> Any:
    given = given_to(node, "a", "offset", "axis1", "axis2")
    value = low.ref(given.pop("a"))
    found = viewed(value, lambda a: np.diagonal(a, **given))
    return reduced(low, np.add, found, found.shape, -1, dtype_of(node.form), node.form)


@lru_cache(256)
def triangle(rows: int, columns: int, diagonal: int, upper: bool) -> np.ndarray:
    """Return where a triangle of a matrix is."""
    if upper:
        return ~triangle(rows, columns, diagonal - 1, False)
    return np.tri(rows, columns, diagonal, bool)


@rule(np.tril, np.triu)
def _triangle(low: Lowering, node: Node) -> Any:
    given = given_to(node, "m", "k")
    shape, dtype = node.form.shape, dtype_of(node.form)
    mask = low.constant(triangle(*shape[-2:], int(given.get("k", 0)), node.func is np.triu))
    values = [mask, low.value(given["m"]), Literal(0, dtype)]
    wants = (BOOL, dtype, dtype)
    return low.element(np.where, values, shape, dtype, wants, node.form.strides)
