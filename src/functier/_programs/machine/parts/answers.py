"""Answers of Python code: what the machine computes to the last bit, and flags for those in loops.

NOTE [answers]
    Python code has chosen by some values, and the program asks for these answers again. Machine
    code rounds some functions in another way than NumPy, so an answer could differ from that of the
    function. What an answer depends on is therefore the machine's only where that is exact. It
    calls NumPy's own loops for products and sums. NumPy computes the rest, of operands that lie in
    memory as they do in the function.

Guards in loops as flags: a loop carries for each of its guards whether an answer has changed.
The program checks the flags after the loop, as machine code does not raise in between. What follows
a changed answer is dropped. It harms nothing, as a step reads and writes at places that are known.
"""

import operator
from collections.abc import Collection
from typing import Any

import numpy as np

from ...._core.numpy_facts import UFUNC_OF, name_of
from ...._rules import indexing
from ... import stores
from ...graph import TRUTH, Form, Graph, Guard, Node, nodes_in, replace
from ...loops import Loop, Series, every_guard, every_node, is_arm, is_loop, is_result
from ...stores import gives_view
from ..compiler.targets import is_own
from ..elementary import ROUNDED
from ..lowering.exact import can_be_exact
from ..lowering.nodes import array_of, power
from ..lowering.reductions import REDUCERS
from ..lowering.steps import LARGEST, strides_out


def copy_of(node: Node, new: dict[Node, Node]) -> Node:
    """Return a node of another graph that is like this one."""
    args, kwargs = replace(node.args, new.__getitem__), replace(node.kwargs, new.__getitem__)
    found = new[node] = node.like(args, kwargs)
    return found


ndarray = np.ndarray


def listed(form: Any, values: ndarray) -> Any:
    """Return the list that an array stands for, whose elements have memory of their own."""
    if type(form) is Series:
        return [listed(form.form, part) for part in values]
    if form.kind is ndarray:
        return values.copy("K")
    return values if form.dtype is not None else values.item()


def stacked(form: Series, values: list) -> ndarray:
    """Return a list as an array that lies in memory as that of a part does."""
    target: Form = array_of(form)
    found = ndarray(target.shape, target.dtype, strides=target.strides)
    for i, value in enumerate(values):
        found[i] = stacked(form.form, value) if type(form.form) is Series else value
    return found


COPIES = frozenset({
    np.where, np.astype, np.copy, np.zeros_like, np.ones_like, np.clip, np.take_along_axis, np.take,
    np.repeat, np.roll, np.concatenate, np.stack, np.array, np.tril, np.triu, np.diagflat,
    indexing.getitem, indexing.place, stores.memory_of, stores.get, stores.put, stores.get_at,
    stores.put_at,
})  # fmt: skip
"""Functions that copy and select, besides those that give views."""

SELECTING = frozenset({np.maximum, np.minimum, np.logical_and, np.logical_or})
"""Ufuncs whose reductions do not depend on the order."""


def rounded(
    graph: Graph, before: dict[Node, list[Node]], contract: bool, lost: Collection[Node] = ()
) -> tuple[set[Node], set[Node]]:
    """Return the nodes that NumPy has to compute, and those for NumPy's loops: see NOTE [answers].

    `before` has the effects that run before another one, and `lost` what no loop is for.
    """
    found: set[Node] = set()
    by_loops: set[Node] = set()
    if is_own():
        return found, by_loops
    seen: set[Node] = set()
    looked: set[Node] = set()
    waiting = [guard.node for guard in graph.guards] + [x for x in graph.nodes if chooses(x)]

    def need(node: Node, inside: set[Node], outside: list[Node]) -> None:
        waiting.extend([*outside, *before.get(node, ())])
        for each in inside:
            if not is_exact(each, contract):
                if each not in lost and can_be_exact(each):
                    by_loops.add(each)
                else:
                    found.add(node)

    for node in filter(is_loop, graph.nodes):
        if (tests := needed_by_tests(node))[0]:
            need(node, *tests)
        if node.func.ends == "flag":  # type: ignore[union-attr]
            need(node, *needed_of(node, results_of(node, 0)))
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            if is_result(node):
                loop, index = node.args
                need(loop, *needed_of(loop, results_of(loop, index)))
            else:
                need(node, {node}, node.parents())
    waiting = [*found]
    while waiting:
        for node in waiting.pop().parents():
            alike = node.func is None or lies_alike(node.form)
            if not alike:
                found.add(node)
            if (not alike or gives_view(node.func)) and node not in looked:
                looked.add(node)
                waiting.append(node)
    return found, by_loops - found


def chooses(node: Node) -> bool:
    """Return whether Python code chooses in a loop: what goes in has to be exact."""
    return is_loop(node) and bool(every_guard(node.func.body))  # type: ignore[union-attr]


def needed_by_tests(node: Node) -> tuple[set[Node], list[Node]]:
    """Return what `needed_of` does for the values that tell which arms of a loop's steps run."""
    loop: Any = node.func
    inside: set[Node] = set()
    wanted: list[Node] = []
    for x in filter(is_loop, loop.body.nodes):
        inner: Any = x.func
        own, outside = needed_by_tests(x)
        inside |= own
        wanted += [*outside, *(nodes_in(x.args[inner.carried]) if is_arm(x) else ())]
    own, outside = needed_of(node, wanted) if wanted else (set(), [])
    return inside | own, outside


def results_of(node: Node, index: int) -> list[Node]:
    """Return the nodes in the body of a loop that a result is the value of."""
    loop: Any = node.func
    if index == len(loop.body.outputs):  # the number of steps, which the flag tells
        index = 0
    found = nodes_in(loop.body.outputs[index])
    return found + [loop.body.inputs[i] for i in (index, loop.carried) if is_arm(node)]


def needed_of(node: Node, wanted: list[Node]) -> tuple[set[Node], list[Node]]:
    """Return the nodes in the body of a loop that some of them need, and those outside."""
    loop: Any = node.func
    body = loop.body
    if any([x.memory for x in every_node(body)]):
        return set(every_node(body)), node.parents()
    places = {x: i for i, x in enumerate(body.inputs)}
    found: set[Node] = set()
    outside: list[Node] = []
    waiting = [*wanted]
    while waiting:
        x = waiting.pop()
        if x in found:
            continue
        found.add(x)
        if x in places:
            outside += nodes_in(node.args[places[x]])
            if places[x] < loop.carried:
                waiting += nodes_in(body.outputs[places[x]])
        elif is_result(x):
            inside, others = needed_of(x.args[0], results_of(*x.args))
            found |= inside
            waiting += others
        else:
            waiting += x.parents()
    return found, outside


def lies_alike(form: Any) -> bool:
    """Return whether an array that the machine makes lies in memory as NumPy's does."""
    if type(form) is not Form or form.strides is None:
        return True
    return all([
        n == 1 or a == b for n, a, b in zip(form.shape, form.strides, strides_out(form))
    ])  # fmt: skip


def is_exact(node: Node, contract: bool) -> bool:
    """Return whether the machine computes a node as NumPy does, of the same operands."""
    func: Any = node.func
    if type(func) is Loop:
        return all([is_exact(x, contract) for x in func.body.nodes])
    if func is None or func in COPIES or gives_view(func) or node.kept:
        return True
    form = node.form
    if type(form) is not Form:
        return func in (stores.put, stores.put_at)
    if form.kind in (bool, int) or (form.dtype is not None and form.dtype.kind in "biu"):
        return True  # comparisons, places and integers
    if func is np.cumsum or REDUCERS.get(func) in SELECTING:  # sums one after the other
        return True
    if getattr(func, "__self__", None) in SELECTING and func.__name__ == "reduce":
        return True
    if func is stores.add:
        return not contract
    ufunc = UFUNC_OF.get(func, func)
    if func is operator.pow and len(node.args) == 2:
        ufunc = power(node.args)[0]
    if not isinstance(ufunc, np.ufunc) or ufunc.signature:
        return False
    if name_of(ufunc).rpartition(".")[0] != "numpy":
        return False
    return ufunc not in ROUNDED and not contract


def can_flag(guard: Guard) -> bool:
    """Return whether machine code can compare an answer."""
    form = guard.node.form
    if type(form) is not Form or form.shape or form.kind in (int, complex):
        return False
    if form.dtype is not None and form.dtype.kind not in "biuf":
        return False
    if guard.how == "bool":
        return True
    return guard.how in ("int", "__index__") and not is_bool(form) and abs(guard.answer) < LARGEST


def is_bool(form: Form) -> bool:
    return form.kind is bool or (form.dtype is not None and form.dtype.kind == "b")


def has_flags(node: Node, but: Collection[Loop]) -> bool:
    """Return whether a loop has guards which machine code can look at."""
    if not is_loop(node) or node.func in but:
        return False
    guards = every_guard(node.func.body)  # type: ignore[union-attr]
    return bool(guards) and all(map(can_flag, guards))


def changed(guard: Guard) -> list[Node]:
    """Return nodes of which the last one tells that an answer has changed."""
    node, how, answer, _ = guard
    if how == "bool":
        if is_bool(node.form):
            return [call(np.logical_not, node)] if answer else [node]
        return [call(np.equal if answer else np.not_equal, node, 0)]
    if node.form.dtype is not None and node.form.dtype.kind in "iu":
        return [call(np.not_equal, node, answer)]
    whole = Node(np.trunc, (node,), {}, node.form)
    return [whole, call(np.not_equal, whole, answer)]


def call(func: Any, *args: Any) -> Node:
    """Return a node whose result is true or false."""
    return Node(func, args, {}, TRUTH)


class Flags:
    """A program while its guards in loops become flags."""

    def __init__(self, graph: Graph, but: Collection[Loop]):
        self.but = but
        self.added: dict[Node, tuple[int, int]] = {}
        new = {x: x for x in graph.inputs}
        nodes, guards = self.block(graph, new)
        outputs = [new[y] if type(y) is Node else y for y in graph.outputs]
        self.graph = Graph([*graph.inputs, *nodes], graph.inputs, outputs, guards)

    def block(self, graph: Graph, new: dict[Node, Node]) -> tuple[list[Node], list[Guard]]:
        """Return the nodes of a program, or of a step, and their guards."""
        nodes: list[Node] = []
        flags: list[Guard] = []
        for node in graph.nodes:
            if node.func is None:
                continue
            if has_flags(node, self.but):
                found, more = self.loop(node, new)
                nodes.append(found)
                nodes += [guard.node for guard in more]
                flags += more
                continue
            found = copy_of(node, new)
            nodes.append(found)
            if is_result(found) and found.args[0] in self.added:
                first, count = self.added[found.args[0]]
                if node.args[1] >= first:
                    found.args = found.args[0], node.args[1] + count
        return nodes, [*[guard._replace(node=new[guard.node]) for guard in graph.guards], *flags]

    def loop(self, node: Node, new: dict[Node, Node]) -> tuple[Node, list[Guard]]:
        """Return a loop with flags, and guards of these."""
        loop: Any = node.func
        body, first = loop.body, loop.carried
        inside = {x: Node(None, (), {}, x.form) for x in body.inputs}
        nodes, guards = self.block(body, inside)
        before = [Node(None, (), {}, TRUTH) for _ in guards]
        after = []
        for flag, guard in zip(before, guards):
            found = changed(guard)
            after.append(call(np.logical_or, flag, found[-1]))
            nodes += [x for x in (*found, after[-1]) if x is not guard.node]
        inputs = [inside[x] for x in body.inputs]
        outputs: list[Any] = [inside.get(y, y) for y in body.outputs]
        inputs[first:first], outputs[first:first] = before, after
        own = Loop(
            Graph([*inputs, *nodes], inputs, outputs), loop.count, first + len(guards),
            loop.reads, loop.lasts + len(guards), loop.ends,
        )  # fmt: skip
        made = copy_of(node, new)
        made.func, made.form, made.kept = own, own.form(), own.has_effects()
        made.args = (*made.args[:first], *[np.False_] * len(guards), *made.args[first:])
        self.added[made] = first, len(guards)
        results = [Node(operator.getitem, (made, first + i), {}, TRUTH) for i in range(len(guards))]
        pairs = zip(results, guards)
        return made, [Guard(x, "bool", False, guard.place) for x, guard in pairs]


def flagged(graph: Graph, but: Collection[Loop] = ()) -> Graph:
    """Return a program with flags for guards in loops, other than some loops."""
    if not any([has_flags(node, but) for node in graph.nodes]):
        return graph
    return Flags(graph, but).graph
