"""Values that a program trusts to be finite, as they were in the trace: see `_core.unsettled`.

NOTE [where it shows]
    The derivative of finite numbers takes no second look (`_levels.second_look`), and nor does a
    program. Where what the trace was asked for is infinite or NaN later, another program has to
    run. A value that is not finite shows in all that is linear in it, so the results are looked at.
    If it goes into anything else, such as ``np.isnan(g)`` or a division by it, a flag is one more
    result. It is not a guard: machine code need not round as NumPy for it.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from .._core.numpy_facts import UFUNC_OF
from .._core.table import find
from .._core.unsettled import is_finite
from .graph import Form, Graph, Node, form_of, nodes_in

ndarray = np.ndarray
vdot = getattr(np.vdot, "__wrapped__", np.vdot)  # without a search for other classes

SHOWING: dict[Any, int] = {
    np.add: 0, np.subtract: 0, np.multiply: 0, np.negative: 0, np.positive: 0, np.conjugate: 0,
    np.square: 0, np.absolute: 0, np.fabs: 0, np.divide: 1, np.where: -1, np.matmul: 0,
}  # fmt: skip
"""Functions in whose result a value shows that is not finite; for 1 in the first place alone, and
for -1 in all but that."""


LONG = 10_000
"""Results of so many elements are looked at by the program, in which that is a part of a loop."""


FEW = 8
"""So many elements Python adds sooner than NumPy."""


def shows_in(node: Node, x: Node) -> bool:
    """Return whether an operand shows in the result of a node, or is left out there."""
    func: Any = node.func
    func = UFUNC_OF.get(func, func)
    if node.memory:
        return True
    way = SHOWING.get(func)
    if way is None:
        op = find(func)
        return op is not None and op.family == "linear" and x not in nodes_in(list(node.args[1:]))
    inside = x in nodes_in(list(node.args[1:] if way > 0 else node.args[:1]))
    return not way or not inside


def settle_trust(graph: Graph, trusted: Sequence[Node], values: Sequence[Any], flags: bool) -> str:
    """Return the source of the question if what was trusted is not finite in the results ``r``.

    Where it does not show, the program gets more results: flags. They cost machine code little, so
    that it may have `flags` alone. `values` are the results.
    """
    own, reached, size = set(graph.nodes), set(trusted), len(values)
    if not own.issuperset(trusted):  # in the body of a loop, where nobody asks
        places = [k for k, x in enumerate(values) if is_inexact(x) and is_finite(x)]
        return " or ".join([test_of(f"r[{k}]", values[k]) for k in places])
    hidden = flags
    for node in graph.nodes if trusted else ():
        taken = reached.intersection(node.parents())
        if taken:
            hidden = hidden or not all([shows_in(node, x) for x in taken])
            reached.update((node, *node.args[:1]) if node.memory else (node,))
    places = [
        k for k, y in enumerate(graph.outputs)
        if type(y) is Node and y in reached and is_inexact(values[k])
    ]  # fmt: skip
    hidden = hidden or not all([is_finite(values[k]) for k in places])
    places = [] if hidden else [k for k in places if np.size(values[k]) < LONG]
    shown = {graph.outputs[k] for k in places}
    for node in reversed(graph.nodes if shown else ()):
        if node in shown:
            shown.update(node.parents())
    asked = [x for x in dict.fromkeys(trusted) if x not in shown and type(x.form) is Form]
    graph.outputs += [flag_of(graph, x, flags) for x in asked]
    graph.renumber()
    tests = [
        f"not r[{k}]" if x.form.dtype == bool else f"not isfinite(r[{k}])"
        for k, x in enumerate(graph.outputs[size:], size)
    ]
    return " or ".join([*tests, *[test_of(f"r[{k}]", values[k]) for k in places]])


def test_of(own: str, value: Any) -> str:
    """Return the source of the question if a result is not finite."""
    if type(value) is not ndarray:
        return f"not isfinite({own})" if type(value) in FLOATS else f"not is_finite({own})"
    first = ""
    if value.dtype.char in "fd" and value.ndim == 1 and value.size <= FEW:
        first = f"not isfinite(sum({own}.tolist())) and "
    elif value.dtype.char in "fdFD":
        first = f"not isfinite(vdot({own}, {own})) and "
    return f"{first}not is_finite({own})"


SPACE = {"isfinite": isfinite, "is_finite": is_finite, "vdot": vdot}
"""The names of such a source."""

FLOATS = float, np.float64


def flag_of(graph: Graph, x: Node, machine: bool) -> Node:
    """Return a node that tells if a value is finite, or a number that is finite if it is.

    A number that overflows does no harm: another program runs.
    """
    if not machine and x.form.kind in FLOATS:
        return x
    if not machine and x.form.dtype == float and np.prod(x.form.shape) < LONG:
        return called(graph, np.vdot, x, x)
    found = called(graph, np.isfinite, x)
    return called(graph, np.all, found) if found.form.kind is ndarray else found


def called(graph: Graph, func: Any, *args: Node) -> Node:
    """Return the node of a new call at the end of a graph."""
    given = [np.ones(x.form.shape, x.form.dtype)[()] for x in args]
    node = Node(func, args, {}, form_of(func(*given)), args[0].place)
    graph.nodes.append(node)
    return node


def is_inexact(x: Any) -> bool:
    return type(x) in (float, complex) or (
        isinstance(x, (ndarray, np.inexact)) and x.dtype.kind in "fc"
    )
