"""Complex numbers as pairs of real ones: a program, or its loops, without complex values.

Machine code has no complex numbers. So a graph in which every complex call is known becomes one of
real calls, with NumPy's formulas; NumPy takes the parts of complex arguments before it, and makes
complex results behind it. Where a call is unknown, the loops that have none become pairs alone.
"""

import operator
import sys
from collections.abc import Callable, Sequence, Set
from typing import Any, NamedTuple, cast

import numpy as np

from ...._core.numpy_facts import UFUNC_OF
from ...dead import drop_dead
from ...graph import Form, Graph, Node, replace
from ...loops import Loop, Series, Table, every_guard, every_node, is_arm, is_loop, is_result
from ..compiler.targets import is_own
from ..lowering.nodes import SAFE
from ..lowering.steps import strides_out

ndarray = np.ndarray
RULES: dict[Any, Callable] = {}
"""The calls of pairs that stand for one of complex numbers: `complex_rules` fills it."""

EXACT: set[Any] = {
    np.add, np.subtract, np.negative, np.positive, np.conjugate, np.real, np.imag, np.equal,
    np.not_equal, np.isfinite, np.isnan, np.isinf, np.where, np.astype,
}  # fmt: skip
"""The calls whose pairs have the same bits; `complex_rules` adds those that move elements."""

REAL = {np.dtype(complex): np.dtype(float), np.dtype(np.complex64): np.dtype(np.float32)}

PYTHONS = Form((), None, None, complex)
"""The form of Python's complex numbers."""

OPERATORS: dict[Any, Any] = {ufunc: own for own, ufunc in UFUNC_OF.items() if ufunc in SAFE}
"""Python's operators of numbers that do not raise."""

WITHOUT = sys.version_info < (3, 14)
"""Whether Python makes a complex number of a real one before it computes."""


class Unpaired(BaseException):
    """A call of complex numbers that is not known as one of pairs."""


class Pair(NamedTuple):
    """The real and the imaginary part of a value."""

    re: Any
    im: Any


class Same(NamedTuple):
    """A result of a loop that is what it takes."""

    own: Any


def is_complex(form: Any) -> bool:
    """Return whether a value, or one of a list, is complex."""
    if type(form) is Series:
        return is_complex(form.form)
    if type(form) is not Form:
        return isinstance(form, tuple) and any(map(is_complex, form))
    return form.kind is complex or (form.dtype is not None and form.dtype.kind == "c")


def part_of(form: Any) -> Any:
    """Return the form of the real part of a value."""
    if type(form) is Series:
        return Series(part_of(form.form), form.count)
    if form == PYTHONS:
        return PYTHONS._replace(kind=float)
    dtype = REAL.get(form.dtype) if type(form) is Form else None
    if dtype is None:
        raise Unpaired
    if form.kind is not ndarray:
        return Form((), dtype, None, dtype.type)
    found = Form(form.shape, dtype, form.strides, ndarray)
    return found._replace(strides=strides_out(found))


def real_of(x: Any) -> Any:
    """Return the real part as a new array, or a number."""
    return np.copy(x.real, "K") if type(x) is ndarray else x.real


def imag_of(x: Any) -> Any:
    """Return the imaginary part as a new array, or a number."""
    return np.copy(x.imag, "K") if type(x) is ndarray else x.imag


def complex_of(re: Any, im: Any) -> Any:
    """Return an array that lies as `re` does, or a number."""
    dtype, like = np.result_type(re, im, np.complex64), re if type(re) is ndarray else im
    if type(like) is not ndarray:
        return dtype.type(complex(re, im))
    found = np.empty_like(like, dtype)
    found.real, found.imag = re, im
    return found


class Pairing:
    """A graph whose complex values become pairs, in the order of its nodes.

    Attributes
    ----------
    nodes : list of Node
        The new nodes.
    new : dict
        What each node has become: a node, or a pair.
    results : dict
        For each loop the new one, and the places of what its results have become.
    asked : set of Node
        What answers of Python code depend on.
    """

    def __init__(self, inputs: dict[Node, Any], asked: Set[Node]):
        self.asked = asked
        self.nodes: list[Node] = []
        self.new: dict[Node, Any] = dict(inputs)
        self.results: dict[Node, tuple[Node, list[list[Any]]]] = {}
        self.whole_of: dict[Node, Node] = {}
        self.node: Any = None

    # ---- nodes ----

    def add(self, func: Callable, args: tuple, form: Any, kwargs: dict | None = None) -> Any:
        """Add a call for the node that is under way; one of numbers alone is made."""
        if not kwargs and type(form) is Form and not any([type(x) is Node for x in args]):
            if isinstance(func, np.ufunc):
                with np.errstate(all="ignore"):
                    return func(*args)
        node = Node(func, args, kwargs or {}, form, self.node.place)
        self.nodes.append(node)
        return node

    def real(self, func: Callable, *args: Any) -> Any:
        """Add a call of real numbers, of the form of a part of the node."""
        form = part_of(self.node.form)
        if form.dtype is None and not (WITHOUT and func in OPERATORS):
            raise Unpaired
        return self.add(OPERATORS[func] if form.dtype is None else func, args, form)

    def truth(self, func: Callable, *args: Any) -> Any:
        """Add a comparison for a node."""
        form = part_of(self.node.form)
        if form.kind is not ndarray:
            return self.add(func, args, Form((), np.dtype(bool), None, np.bool_))
        made = Form(form.shape, np.dtype(bool), form.strides, ndarray)
        return self.add(func, args, made._replace(strides=strides_out(made)))

    def pair(self, x: Any) -> Pair:
        """Return an operand as a pair; the imaginary part of a real one is zero."""
        x = self.new[x] if type(x) is Node else x
        if type(x) is Pair:
            return x
        if type(x) is Node:
            return Pair(x, 0.0)
        if isinstance(x, (complex, np.complexfloating, ndarray)):
            return Pair(real_of(x), imag_of(x))
        if isinstance(x, (int, float, np.generic)):
            return Pair(x, 0.0)
        raise Unpaired

    def nodes_of(self, x: Pair, form: Any) -> list[Node]:
        """Return both parts as nodes; of a number that is known there is one."""
        form = part_of(form)
        one = x.re if type(x.re) is Node else x.im
        if Node is type(x.re) is type(x.im):
            return [*x]
        if type(one) is not Node or type(form) is not Form or form.dtype is None:
            raise Unpaired

        def node(y: Any) -> Node:
            if type(y) is Node:
                return y
            zeros = self.add(np.zeros_like, (one,), form, {"dtype": form.dtype})
            is_zero = type(y) is float and y.hex() == "0x0.0p+0"  # and not -0.0
            return zeros if is_zero else self.add(np.add, (zeros, y), form)

        return [node(x.re), node(x.im)]

    def plain(self, x: Any) -> Any:
        """Return an argument without complex values."""

        def one(node: Node) -> Node:
            found = self.new[node]
            if type(found) is Pair:
                raise Unpaired
            return found  # type: ignore[no-any-return]

        return replace(x, one)

    def whole(self, x: Node) -> Node:
        """Return the complex value of a pair, which NumPy makes."""
        found = self.new[x]
        if type(found) is not Pair:
            return found  # type: ignore[no-any-return]
        if x.form.kind is complex or type(x.form) is not Form:
            raise Unpaired
        if x not in self.whole_of:
            self.node = x
            self.whole_of[x] = self.add(complex_of, tuple(found), x.form)
        return self.whole_of[x]

    def split(self, x: Node, own: Node) -> Pair:
        """Return the pair of a complex value, whose parts NumPy takes."""
        self.node, form = x, part_of(x.form)
        return Pair(self.add(real_of, (own,), form), self.add(imag_of, (own,), form))

    # ---- calls ----

    def run(self, nodes: Sequence[Node]) -> None:
        """Add all nodes behind the inputs."""
        for node in nodes:
            if node.func is None:
                continue
            self.node = node
            self.new[node] = self.made(node)

    def made(self, node: Node) -> Any:
        """Return what a node becomes."""
        if is_result(node) and node.args[0] in self.results:
            made, places = self.results[node.args[0]]
            found = [
                self.add(operator.getitem, (made, x), made.form[x]) if type(x) is int else x.own
                for x in places[node.args[1]]
            ]  # fmt: skip
            return Pair(*found) if len(found) == 2 else found[0]
        if is_loop(node):
            return self.loop(node)
        if not is_complex(node.form) and not any(type(self.new[x]) is Pair for x in node.parents()):
            if complex_in(node):
                raise Unpaired
            made = node.like(*self.plain((node.args, node.kwargs)))
            self.nodes.append(made)
            return made
        if node.memory or node.kept or node.may_raise:
            raise Unpaired
        owner = getattr(node.func, "__self__", None)
        try:
            func = ufunc_of(node)
            rule = RULES.get((owner, func.__name__) if isinstance(owner, np.ufunc) else func)
        except TypeError:
            rule = None
        if rule is None or "dtype" in node.kwargs or "out" in node.kwargs:
            raise Unpaired
        if (
            node in self.asked
            and func not in EXACT
            and (
                type(node.form) is not Form
                or node.form.kind is ndarray
                or isinstance(node.func, np.ufunc)
            )
        ):
            raise Unpaired  # NumPy's loops may round once, or add in another order
        return rule(self, node)

    def loop(self, node: Node) -> Node:
        """Add a loop of pairs."""
        loop: Any = node.func
        inputs: list[Node] = []
        args: list[Any] = []
        inside: dict[Node, Any] = {}
        sizes = []
        for x, arg in zip(loop.body.inputs, node.args):
            if not is_complex(x.form):
                inside[x] = Node(None, (), {}, x.form, x.place, x.memory, x.kept)
                inputs.append(inside[x])
                args.append(self.plain(arg))
                sizes.append(1)
                continue
            inside[x] = Pair(*[Node(None, (), {}, part_of(x.form)) for _ in range(2)])
            inputs += inside[x]
            args += self.halves(arg, x.form)
            sizes.append(2)
        args += [self.plain(arg) for arg in node.args[len(loop.body.inputs) :]]
        inner = Pairing(inside, self.asked)
        inner.run(loop.body.nodes)
        outputs: list[Any] = []
        places: list[list[Any]] = []
        for x in loop.body.outputs:
            found = inner.pair(x) if is_complex(x.form) else inner.plain(x)
            both = inner.nodes_of(found, x.form) if type(found) is Pair else [found]
            places.append([*range(len(outputs), len(outputs) + len(both))])
            outputs += both
        first, second = loop.carried, loop.carried + len(loop.reads)
        if [len(p) for p in places[:first]] != sizes[:first]:
            raise Unpaired
        guards = [guard._replace(node=inner.plain(guard.node)) for guard in loop.body.guards]
        reads = [r for r, n in zip(loop.reads, sizes[first:second]) for _ in range(n)]
        carried, lasts = sum(sizes[:first]), sum(map(len, places[: loop.lasts]))
        # A part may stay as it is, as the real part of a conjugate does: all steps take it.
        same = [i for i in range(carried) if outputs[i] is inputs[i]]
        order = [i for i in range(len(inputs)) if i not in same]
        end = len(order) - (loop.ends == "length")  # which is the last one
        order[end:end] = same
        left = {j: i for i, j in enumerate([j for j in range(len(outputs)) if j not in same])}
        places = [[left[j] if j in left else Same(args[j]) for j in both] for both in places]
        places.append([len(left)])  # that of the number of steps
        args = [*[args[i] for i in order], *args[len(inputs) :]]
        inputs = [inputs[i] for i in order]
        body = Graph([*inputs, *inner.nodes], inputs, [outputs[j] for j in left], guards)
        new = Loop(
            body, loop.count, carried - len(same), tuple(reads), lasts - len(same), loop.ends
        )
        made = Node(new, tuple(args), {}, new.form(), node.place, node.memory, node.kept)
        made.errors = node.errors
        self.nodes.append(made)
        self.results[node] = made, places
        return made

    def halves(self, arg: Any, form: Any) -> list[Any]:
        """Return the two arguments of a loop for a complex one."""
        if type(arg) is Table:
            found = [self.pair(x) for x in arg.values]
            return [Table([x.re for x in found]), Table([x.im for x in found])]
        if type(arg) is Node and type(self.new[arg]) is not Pair and is_complex(arg.form):
            return [*self.split(arg, self.new[arg])]
        if type(arg) is Node and not is_complex(arg.form):
            raise Unpaired
        return [*self.pair(arg)]


def ufunc_of(node: Node) -> Any:
    """Return the function of a call; that of an operator is a ufunc."""
    func: Any = node.func
    return UFUNC_OF.get(func, func)


def complex_in(node: Node) -> bool:
    """Return whether a call of real numbers has complex constants."""
    return any([isinstance(x, (complex, np.complexfloating)) for x in node.args])


# ---- a program ----

FEWEST = 8
"""So many calls for a number that is taken apart, or put together, are worth it."""


def in_pairs(graph: Graph) -> Graph:
    """Return a program with pairs for complex values, as far as its calls are known."""
    if not any([is_complex(node.form) for node in every_node(graph)]):
        return graph
    asked = asked_in(graph)
    try:
        return everywhere(graph, asked)
    except Unpaired:
        return in_loops(graph, asked)


def asked_in(graph: Graph) -> set[Node]:
    """Return the nodes that answers may depend on: of a loop that has one, all."""
    found: set[Node] = set()
    if is_own():  # then a program is its own measure
        return found
    waiting = [guard.node for guard in graph.guards]
    for node in filter(is_loop, graph.nodes):
        loop: Any = node.func
        inside: list[Any] = [node, *filter(is_loop, every_node(loop.body))]
        if every_guard(loop.body) or any([x.func.ends == "flag" or is_arm(x) for x in inside]):
            waiting.append(node)
    memories = [x for x in graph.nodes if x.memory]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.parents()
            if is_loop(node):
                found.update(every_node(node.func.body))  # type: ignore[union-attr]
            if node.memory:
                waiting += memories
                memories = []
    return found


def without_complex(graph: Graph) -> Graph:
    """Return a program with pairs for all complex values, or as it was."""
    found = in_pairs(graph)
    return graph if any([is_complex(node.form) for node in every_node(found)]) else found


def everywhere(graph: Graph, asked: Set[Node]) -> Graph:
    """Return a program that has complex numbers as arguments and results alone."""
    self = Pairing({x: x for x in graph.inputs}, asked)
    for x in graph.inputs:
        if is_complex(x.form):
            self.new[x] = self.split(x, x)
    before = len(self.nodes)
    self.run(graph.nodes)
    made = len(self.nodes)
    found = finished(self, graph)
    if not any(map(is_loop, graph.nodes)) and made < FEWEST * (before + len(self.nodes) - made):
        raise Unpaired  # to take numbers apart would cost what it gains
    return found


def in_loops(graph: Graph, asked: Set[Node]) -> Graph:
    """Return a program whose loops have pairs, as far as their calls are known."""
    self = Pairing({x: x for x in graph.inputs}, asked)
    for node in graph.nodes:
        if node.func is None:
            continue
        mark, func = len(self.nodes), cast(Any, node.func)
        try:
            if is_result(node) and node.args[0] in self.results:
                self.node = node
                self.new[node] = self.made(node)
                self.new[node] = self.whole(node)
                continue
            if is_loop(node) and any([is_complex(x.form) for x in every_node(func.body)]):
                lasts = func.lasts
                if any(map(is_complex, node.form[lasts:])) or PYTHONS in node.form[:lasts]:
                    raise Unpaired  # NumPy would have to make these
                self.node = node
                self.new[node] = self.loop(node)
                continue
        except Unpaired:
            del self.nodes[mark:]
            self.results.pop(node, None)
        made = node.like(*replace((node.args, node.kwargs), self.whole))
        self.new[node] = made
        self.nodes.append(made)
    return finished(self, graph) if self.results else graph


def finished(self: Pairing, graph: Graph) -> Graph:
    """Return the new graph, with complex results."""
    guards = [guard._replace(node=self.plain(guard.node)) for guard in graph.guards]
    outputs = [replace(y, self.whole) for y in graph.outputs]
    return drop_dead(Graph([*graph.inputs, *self.nodes], graph.inputs, outputs, guards))
