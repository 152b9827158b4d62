"""What a backward loop computes again, and the loop before it keeps instead.

NOTE [dear and small]
    The derivative of a given loop runs each step again, from what the loop has carried. So what a
    step computes is in the program twice. Where that is dear, and the values of all steps are
    small, they are a list of the first loop, and the second one reads it. A function that calls
    `checkpoint` has said that memory is dearer: its program keeps nothing more.
"""

import operator
from collections import Counter
from typing import Any, cast

import numpy as np

from .costs import PRODUCTS, flops_of, size_of
from .graph import Form, Graph, Node, changed, exact, form_of, nodes_in, replace
from .invariant import invariants, is_pure
from .loops import Count, Loop, Series, is_loop, is_result, plus, times
from .stores import gives_view

ndarray = np.ndarray

DEAR = 8
"""So many operations for each element of a result are dearer than to keep it, and to read it."""

SMALL = 1 << 21
"""The most elements that a loop keeps for another one."""

WEIGHTS = {
    **dict.fromkeys((
        np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute, np.maximum,
        np.minimum, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
        operator.add, operator.sub, operator.mul, operator.neg,
    ), 1),
    **dict.fromkeys((np.divide, np.sqrt, np.reciprocal, operator.truediv), 4),
}  # fmt: skip
"""How dear an element is of functions that are not so dear as a power."""


def weight_of(node: Node) -> int:
    """Return an estimate of how long a call takes, in additions."""
    func: Any = node.func
    if gives_view(func):
        return 0
    if isinstance(func, np.ufunc) or func in WEIGHTS or func is operator.pow:
        return size_of(node.form) * (1 if func in PRODUCTS else WEIGHTS.get(func, 10))
    plain = getattr(func, "__module__", "") == "numpy"
    return flops_of(node) * (1 if plain else 10)


def kept(graph: Graph) -> Graph:
    """Read from a list what a loop computes as one before has done: see NOTE [dear and small]."""
    loops = [*filter(is_loop, graph.nodes)]
    alike: dict[Node, Any] = {}
    made: dict[Any, Node] = {}
    for x in graph.nodes if len(loops) > 1 else ():
        if x.func is not None and is_pure(x):
            alike[x] = made.setdefault(key_of(x, alike), x)
    for node in loops[1:]:
        for maker, first, way in makers_of(node):
            found = Again(node, maker, first, way, alike)
            if found.dear:
                found.write(graph)
    graph.renumber()
    return graph


def key_of(x: Node, same: dict[Node, Any], moved: Any = None) -> Any:
    """Return what is equal for calls that give the same, with what is the `same` as operands."""
    given = x.args, tuple(x.kwargs.items())
    given = given if moved is None else changed(given, Count, moved)
    given = replace(given, lambda y: same.get(y, y))
    return x.func, x.errors, exact(changed(given, ndarray, contents))


def along(index: Any) -> tuple[int, Any]:
    """Return the axis that an index is for, and its part there; -1 if it is for several."""
    *before, last = index if type(index) is tuple else (index,)
    whole = all([type(x) is slice and x == slice(None) for x in before])
    return (len(before) if whole else -1), last


def source_of(values: Any, axis: int, place: Any) -> tuple[Any, int, Any]:
    """Return of what an element was one before that was stacked and sliced, and which."""
    while type(values) is Node and type(values.form) is Form and values.args:
        inner, index = values.args[0], values.args[-1]
        if values.func is np.stack and len(values.args) == 1:
            if type(inner) is not Node or {"axis": 0} | values.kwargs != {"axis": axis}:
                break
            return inner, 0, place
        own, part = along(index)
        sliced = values.func is operator.getitem and own == axis and type(part) is slice
        if not sliced or nodes_in(part):
            break
        start, _, step = part.indices(inner.form.shape[axis])
        values, place = inner, plus(times(place, step), start)
    return values, axis, place


def elements_of(node: Node) -> dict[Node, tuple[Any, int, Any]]:
    """Return the nodes of a step that are elements of what is outside, with `source_of` these."""
    loop: Any = node.func
    outer, found = invariants(node), {}
    for x, values, place in zip(loop.parts()[1], node.args[loop.carried :], loop.reads):
        found[x] = source_of(values, 0, place)
    for x in loop.body.nodes:
        if x.func is operator.getitem:
            values, (axis, place) = x.args[0], along(x.args[1])
            if type(place) is Count and axis >= 0 and (type(values) is not Node or values in outer):
                found[x] = source_of(replace(values, outer.get), axis, place)
    return found


def makers_of(node: Node) -> list[tuple[Node, int, int]]:
    """Return the loops whose lists a loop reads: the first step that it reads of, and the way."""
    found: dict[Any, None] = {}
    for values, _, place in elements_of(node).values() if not node.func.ends else ():  # type: ignore[union-attr]
        if type(values) is Node and is_result(values) and type(values.form) is Series:
            maker = values.args[0]
            if not maker.func.ends and type(place.start) is int and place.step in (1, -1):
                found[maker, *place] = None
    return [*found]


class Again:
    """What a loop computes again that another one, the maker, has computed.

    Step `i` runs step ``first + way * i`` of the maker again.

    Attributes
    ----------
    dear : dict of Node to Node
        For nodes that are worth it those of the maker.
    """

    def __init__(self, node: Node, maker: Node, first: int, way: int, alike: dict[Node, Any]):
        self.node, self.maker, self.read, self.alike = node, maker, Count(first, way), alike
        self.made: dict[Any, Node] = {}
        self.table(maker, False)
        self.twins = self.table(node, True)
        self.dear = self.chosen()

    def moved(self, count: Count) -> Any:
        """Return a number that grows with the steps as one that grows with those of the maker."""
        first, way = self.read
        return Count(plus(count.start, -count.step * way * first), count.step * way)

    def table(self, node: Node, again: bool) -> dict[Node, Node]:
        """Return for the nodes of a step those that compute the same in the maker.

        They are found by what they are made of, which the maker has put into `made`.
        """
        body: Any = node.func.body  # type: ignore[union-attr]
        maker: Any = self.maker.func
        same: dict[Node, Any] = replace(invariants(node), lambda y: self.alike.get(y, y))
        elements, found = elements_of(node), {}
        for x in body.nodes:
            if x in elements:
                values, axis, place = elements[x]
                place = self.moved(place) if again else place
                lists = again and place == Count(0, 1) and type(values) is Node
                if lists and is_result(values) and values.args[0] is self.maker:
                    same[x] = maker.body.outputs[values.args[1]]
                    continue
                values = replace(values, lambda y: self.alike.get(y, y))
                key: Any = "element", exact(values), axis, exact(place)
            elif x.func is None or not is_pure(x):
                continue
            else:
                key = key_of(x, same, self.moved if again else None)
            if not again:
                self.made.setdefault(key, x)
            twin = self.made.get(key)
            if twin is not None and twin.form == x.form:
                same[x] = twin
                if x.func is not None:
                    found[x] = twin
        return found

    def chosen(self) -> dict[Node, Node]:
        """Return what is to be kept: what is needed, and dear with what only it needs."""
        body, twins = self.node.func.body, self.twins  # type: ignore[union-attr]
        users = Counter(nodes_in(body.outputs))
        for x in body.nodes:
            users.update({*x.parents()})
        weights: dict[Node, int] = {}
        for x in twins:
            own = [weights[y] for y in {*x.parents()} if y in weights and users[y] == 1]
            weights[x] = weight_of(x) + sum(own)
        found: dict[Node, Node] = {}
        needed, asked = {*body.roots()}, {guard.node for guard in body.guards}
        room = SMALL
        for x in reversed(body.nodes):
            if x not in needed:
                continue
            size = size_of(x.form) * self.maker.func.count  # type: ignore[union-attr]
            may_be = x in twins and x not in asked and not gives_view(x.func)
            if may_be and size <= room and weights[x] >= DEAR * size_of(x.form):
                found[x] = twins[x]
                room -= size
            else:
                needed.update(x.parents())
        return found

    def write(self, graph: Graph) -> None:
        """Let the maker keep what is dear, and the loop read it."""
        node, loop = self.node, cast(Loop, self.node.func)
        values = [self.listed(graph, twin) for twin in self.dear.values()]
        inside = {x: Node(None, (), {}, x.form) for x in self.dear}
        body, end = loop.body, loop.carried + len(loop.reads)
        nodes = [x for x in body.nodes if x not in inside]
        for x in nodes:
            x.args, x.kwargs = replace((x.args, x.kwargs), lambda y: inside.get(y, y))
        outputs = replace(body.outputs, lambda y: inside.get(y, y))
        inputs = [*body.inputs[:end], *inside.values(), *body.inputs[end:]]
        loop.body = Graph([*inside.values(), *nodes], inputs, outputs, body.guards)
        loop.reads = (*loop.reads, *[self.read] * len(values))
        node.args = *node.args[:end], *values, *node.args[end:]

    def listed(self, graph: Graph, made: Node) -> Node:
        """Return the node of the list of what the maker has made in all steps."""
        maker, loop = self.maker, cast(Loop, self.maker.func)
        outputs = loop.body.outputs
        if made not in outputs[loop.lasts :]:
            outputs.append(made)
            maker.form = loop.form()
        which = outputs.index(made, loop.lasts)
        for x in graph.nodes:
            if is_result(x) and x.args == (maker, which):
                return x
        found = Node(operator.getitem, (maker, which), {}, maker.form[which])
        graph.nodes.insert(graph.nodes.index(maker) + 1, found)
        return found


def contents(x: ndarray) -> Any:
    """Return what is equal for constants with the same contents, if these are not large."""
    return (form_of(x), x.tobytes()) if x.nbytes <= 1 << 20 and not x.dtype.hasobject else x
