"""Bounds of the difference between machine code and NumPy, for the answers of a program.

NOTE [doubts]
    Where an answer depends on rounded values, the program gets more nodes: for each such value a
    bound of its difference to NumPy's value, and for each comparison of two a *doubt*, which is
    true where they are nearer than their bounds. A doubt ends the run, as an answer that has
    changed does, and NumPy's program runs. Bounds are generous: the error of a sum of ``n`` numbers
    counts as ``n`` roundings of the sum of their magnitudes. Where an answer needs a value that
    no rule is for, `exactness` leaves to NumPy what answers depend on.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...._core.numpy_facts import UFUNC_OF, name_of
from ...graph import Form, Graph, Guard, Node
from ...sharing import gives_view
from .exactness import chooses, is_exact

EPS = float(np.finfo(float).eps)
ONE, FEW = 1.25 * EPS, 8 * EPS
"""The relative errors of one operation, and of a function."""

TINY = 1e-300
"""The loss of numbers that are nearly too small."""

LARGE = 64**3
"""Products of so many multiplications are NumPy's: bounds would cost as much again."""

COMPARISONS = frozenset({
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
})  # fmt: skip
LOGICAL = frozenset({
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.invert, np.any, np.all,
})  # fmt: skip
FORMS = frozenset({np.zeros_like, np.ones_like})
SUMS = frozenset({np.sum, np.mean})
EXTREMA = frozenset({np.max, np.min, np.amax, np.amin})


class Unbounded(BaseException):
    """No rule is for a node."""


def shape_of(x: Any) -> tuple[int, ...]:
    return x.form.shape if type(x) is Node else np.shape(x)


class Bounds:
    """The bounds of the values that answers depend on.

    Attributes
    ----------
    new : list of Node
        What the program computes besides.
    errors : dict of Node to Node
        The bound of each value that is rounded.
    doubts : dict of Node to set of Node
        The doubts of the comparisons that a value depends on.
    unbounded : set of Node
    """

    def __init__(self, graph: Graph, contract: bool):
        self.contract = contract
        self.new: list[Node] = []
        self.errors: dict[Node, Node] = {}
        self.doubts: dict[Node, frozenset[Node]] = {}
        self.unbounded: set[Node] = set()
        needed: set[Node] = set()
        waiting = [guard.node for guard in graph.guards]
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed.add(node)
                waiting += node.parents()
        for node in graph.nodes:
            if node in needed and node.func is not None:
                self.visit(node)

    def visit(self, node: Node) -> None:
        """Find the bound of a node, whose parents have theirs."""
        parents = node.parents()
        try:
            if node.memory or not self.unbounded.isdisjoint(parents):
                raise Unbounded
            doubts = frozenset().union(*[self.doubts.get(x, ()) for x in parents])
            inexact = any([x in self.errors for x in parents])
            if node.func not in FORMS and (inexact or not is_exact(node, self.contract)):
                doubts |= self.rule(node)
            if doubts:
                self.doubts[node] = doubts
        except Unbounded:
            self.unbounded.add(node)

    # ---- nodes of bounds ----

    def call(self, func: Callable, *args: Any, dtype: Any = float, **kwargs: Any) -> Node:
        """Add a node of elements."""
        return self.add(func, args, kwargs, np.broadcast_shapes(*map(shape_of, args)), dtype)

    def add(self, func: Callable, args: tuple, kwargs: dict, shape: tuple, dtype: Any) -> Node:
        found = np.dtype(dtype)
        form = Form((), found, None, found.type)
        if shape:
            strides = np.empty(shape, found).strides if 0 in shape else packed(shape, found)
            form = Form(shape, found, strides, np.ndarray)
        node = Node(func, args, kwargs, form)
        self.new.append(node)
        return node

    def magnitude(self, x: Any) -> Any:
        if type(x) is not Node:
            return abs(x)
        form = x.form
        dtype = form.dtype if form.dtype is not None else form.kind
        if np.dtype(dtype).kind == "b":
            raise Unbounded
        return self.call(np.absolute, x, dtype=dtype)

    def error(self, x: Any) -> Any:
        """Return the bound of an operand: a node, or 0.0 where it is exact."""
        return self.errors.get(x, 0.0) if type(x) is Node else 0.0

    def plus(self, *terms: Any) -> Any:
        """Return a sum of bounds."""
        found: Any = 0.0
        for x in terms:
            if not is_zero(x):
                found = x if is_zero(found) else self.call(np.add, found, x)
        return found

    def times(self, a: Any, b: Any) -> Any:
        return 0.0 if is_zero(a) or is_zero(b) else self.call(np.multiply, a, b)

    # ---- rules ----

    def rule(self, node: Node) -> frozenset[Node]:
        """Add the bound of a node that is rounded, and return its doubts."""
        func: Any = node.func
        if type(node.form) is not Form:
            raise Unbounded
        ufunc = UFUNC_OF.get(func, func)
        if ufunc in COMPARISONS and len(node.args) == 2 and not node.kwargs:
            return frozenset({self.near(*node.args)})
        dtype = node.form.dtype if node.form.dtype is not None else np.dtype(node.form.kind)
        if ufunc in LOGICAL and dtype.kind == "b":
            return frozenset().union(*map(self.truth, node.parents()))
        if dtype != np.dtype(float):
            raise Unbounded
        self.errors[node] = self.whole(self.bound(node, ufunc), node.form.shape)
        return frozenset()

    def truth(self, x: Any) -> frozenset[Node]:
        """Return the doubts of the truth of a value."""
        return frozenset({self.near(x, 0.0)}) if x in self.errors else frozenset()

    def near(self, a: Any, b: Any) -> Node:
        """Return a node that is true where two values are nearer than their bounds."""
        if self.is_bool(a) or self.is_bool(b):
            raise Unbounded
        distance = self.call(np.absolute, self.call(np.subtract, a, b))
        error = self.plus(self.error(a), self.error(b))
        far = self.call(np.greater, distance, error, dtype=bool)
        return self.call(np.logical_not, far, dtype=bool)

    def is_bool(self, x: Any) -> bool:
        if type(x) is Node:
            return x.form.kind is bool or (x.form.dtype is not None and x.form.dtype.kind == "b")
        return np.asarray(x).dtype.kind == "b"

    def whole(self, bound: Any, shape: tuple) -> Node:
        """Return a bound as a node of a shape."""
        if type(bound) is not Node or bound.form.shape != shape:
            bound = self.call(np.add, bound, np.zeros(shape))
        return bound

    def bound(self, node: Node, func: Any) -> Any:
        """Return the bound of a value: see the formulas of each function."""
        args = node.args
        if gives_view(func) or func in (
            np.copy,
            np.repeat,
            np.roll,
            np.take,
            np.concatenate,
            np.stack,
        ):
            return self.same(node)
        if func in SUMS or func in EXTREMA:
            return self.reduction(node)
        if func in (np.matmul, np.dot):
            return self.product(node)
        if node.kwargs:
            raise Unbounded
        if func is np.linalg.norm and len(args) == 1:
            error = self.error(args[0])
            total = error if type(error) is not Node else self.add(np.sum, (error,), {}, (), float)
            count = EPS * (int(np.prod(shape_of(args[0]))) + 4)
            return self.plus(total, self.times(count, node), TINY)
        if func is np.power or func is operator.pow:
            return self.power(node)
        if func is np.where and len(args) == 3 and args[0] not in self.errors:
            return self.larger(self.error(args[1]), self.error(args[2]))
        if not isinstance(func, np.ufunc) or func.nin != len(args):
            raise Unbounded
        errors = [self.error(x) for x in args]
        rule = RULES.get(func) or RULES.get(name_of(func))
        if rule is None:
            raise Unbounded
        return rule(self, node, *args, *errors)

    def same(self, node: Node) -> Any:
        """Return the bound of a copy or a selection, which is the same one of bounds."""
        first, *rest = node.args
        others = Node(None, tuple(rest), node.kwargs, None).parents()
        if any([x in self.errors or x in self.doubts for x in others]):
            raise Unbounded
        if type(first) is Node:
            bounds: Any = self.error(first)
        elif type(first) in (list, tuple):
            bounds = type(first)([self.whole(self.error(x), shape_of(x)) for x in first])
        else:
            raise Unbounded
        func: Any = node.func
        return self.add(func, (bounds, *rest), node.kwargs, node.form.shape, float)

    def larger(self, a: Any, b: Any) -> Any:
        return self.call(np.maximum, a, b) if type(a) is Node or type(b) is Node else max(a, b)

    def reduction(self, node: Node) -> Any:
        x, *rest = node.args
        if type(x) is not Node or len(rest) > 1 or not {*node.kwargs} <= {"axis", "keepdims"}:
            raise Unbounded
        shape, error = x.form.shape, self.error(x)
        if node.func in SUMS:
            count = int(np.prod(shape, dtype=float)) + 2
            error = self.plus(error, self.times(EPS * count, self.magnitude(x)), TINY)
        error = self.whole(error, shape)
        func: Any = node.func
        return self.add(func, (error, *rest), node.kwargs, node.form.shape, float)

    def product(self, node: Node) -> Any:
        a, b = node.args[:2]
        if node.kwargs or len(node.args) != 2 or not {*map(len, map(shape_of, (a, b)))} <= {1, 2}:
            raise Unbounded
        count = shape_of(a)[-1]
        if np.prod([*shape_of(a), *shape_of(b)[1:]], dtype=float) > LARGE:
            raise Unbounded
        left, right = self.magnitude(a), self.magnitude(b)
        terms = [self.plus(self.times(EPS * (count + 2), right), self.error(b), TINY)]
        pairs = [(left, self.whole(terms[0], shape_of(b)))]
        if type(self.error(a)) is Node:
            pairs.append((self.error(a), self.plus(right, self.error(b))))
        return self.plus(*[self.add(np.matmul, pair, {}, node.form.shape, float) for pair in pairs])

    def power(self, node: Node) -> Any:
        base, n = node.args
        if type(base) in (int, float) and base > 0:
            return self.grown(node, self.times(abs(math.log(base)), self.error(n)))
        if type(n) not in (int, float):
            raise Unbounded
        error = self.error(base)
        if type(error) is not Node:
            return self.grown(node, error)
        if n != int(n) or not 1 <= n <= 64:
            return self.grown(node, self.times(float(abs(n)), over(self, error, base, error)))
        most = self.plus(self.magnitude(base), error)
        slope = self.times(float(n), self.call(np.power, most, int(n) - 1)) if n > 1 else 1.0
        return self.grown(node, 0.0, self.times(slope, error))

    def grown(self, node: Node, error: Any, *terms: Any) -> Any:
        """Return the bound of a value whose logarithm has an error."""
        if type(error) is Node:
            terms = (*terms, self.times(self.magnitude(node), self.call(np.expm1, error)))
        return rounding(self, node, *terms, part=FEW)


def is_zero(x: Any) -> bool:
    return type(x) is float and x == 0.0


def packed(shape: tuple, dtype: np.dtype) -> tuple[int, ...]:
    """Return the strides of an array of rows."""
    return tuple([dtype.itemsize * int(np.prod(shape[k + 1 :])) for k in range(len(shape))])


RULES: dict[np.ufunc | str, Callable] = {}
"""A function of the bounds, a node, its operands and their bounds, for each ufunc, or its name."""


def rule(*funcs: np.ufunc | str) -> Callable:
    def register(write: Callable) -> Callable:
        RULES.update(dict.fromkeys(funcs, write))
        return write

    return register


def rounding(own: Bounds, node: Node, *terms: Any, part: float = ONE) -> Any:
    """Return a sum of terms, and the rounding of the result."""
    return own.plus(*terms, own.times(part, own.magnitude(node)), TINY)


@rule(np.add, np.subtract)
def _add(own: Bounds, node: Node, a: Any, b: Any, ea: Any, eb: Any) -> Any:
    return rounding(own, node, ea, eb)


@rule(np.multiply)
def _multiply(own: Bounds, node: Node, a: Any, b: Any, ea: Any, eb: Any) -> Any:
    first = own.times(own.plus(own.magnitude(b), eb), ea)
    return rounding(own, node, first, own.times(own.magnitude(a), eb))


def over(own: Bounds, error: Any, x: Any, ex: Any) -> Any:
    """Return a bound divided by the least magnitude that a value can have."""
    least = own.magnitude(x)
    if type(ex) is Node:
        least = own.call(np.maximum, own.call(np.subtract, least, ex), 0.0)
    return own.call(np.divide, error, least)


@rule(np.divide)
def _divide(own: Bounds, node: Node, a: Any, b: Any, ea: Any, eb: Any) -> Any:
    error = own.plus(ea, own.times(own.magnitude(node), eb))
    error = over(own, error, b, eb) if type(error) is Node else 0.0
    return rounding(own, node, error)


@rule(np.square)
def _square(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    return rounding(own, node, own.times(own.plus(own.magnitude(a), own.magnitude(a), ea), ea))


@rule(np.negative, np.absolute, np.fabs, np.positive)
def _exact(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    return ea


@rule(np.maximum, np.minimum)
def _extremum(own: Bounds, node: Node, a: Any, b: Any, ea: Any, eb: Any) -> Any:
    return own.larger(ea, eb)


@rule(np.sqrt, np.cbrt)
def _root(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    moved = own.times(own.magnitude(node), over(own, ea, a, ea)) if type(ea) is Node else 0.0
    return rounding(own, node, moved, part=ONE if node.func is np.sqrt else FEW)


@rule(np.exp, np.exp2)
def _exp(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    return own.grown(node, ea)


@rule(np.expm1, np.sinh, np.cosh)
def _hyperbolic(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    grown = own.call(np.expm1, ea) if type(ea) is Node else 0.0
    moved = own.times(own.plus(own.magnitude(node), 1.0), grown)
    return rounding(own, node, moved, part=FEW)


@rule(np.log, np.log2, np.log10, np.log1p)
def _log(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    if type(ea) is not Node:
        return rounding(own, node, part=FEW)
    a = own.call(np.add, a, 1.0) if node.func is np.log1p else a
    return rounding(own, node, own.times(2.0, over(own, ea, a, ea)), part=FEW)


@rule(np.sin, np.cos, np.tanh, np.arctan, np.arcsinh)
def _slow(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    return rounding(own, node, ea, part=FEW)


@rule(np.hypot)
def _hypot(own: Bounds, node: Node, a: Any, b: Any, ea: Any, eb: Any) -> Any:
    return rounding(own, node, ea, eb, part=FEW)


@rule("scipy.special.erf", "scipy.special.erfc")
def _erf(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    return rounding(own, node, own.times(1.2, ea), part=FEW)  # the slope at 0 is 2 / sqrt(pi)


@rule(np.tan)
def _tan(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    """Bound (1 + y^2) tan e / (1 - y tan e), with 2 e for tan e where that is below 1."""
    if type(ea) is not Node:
        return rounding(own, node, part=FEW)
    size, twice = own.magnitude(node), own.times(2.0, ea)
    left = own.call(np.subtract, 1.0, own.times(own.plus(size, 1.0), twice))
    moved = own.times(own.plus(own.times(size, size), 1.0), twice)
    slope = own.call(np.divide, moved, own.call(np.maximum, left, 0.0))
    return rounding(own, node, slope, part=FEW)


@rule(np.arcsin, np.arccos, np.arctanh, np.arccosh)
def _steep(own: Bounds, node: Node, a: Any, ea: Any) -> Any:
    """Bound by the slope at the nearest place to an end; beyond it, NaN is in doubt."""
    if type(ea) is not Node:
        return rounding(own, node, part=FEW)
    nearest: Any = own.plus(own.magnitude(a), ea)
    left: Any = own.call(np.subtract, 1.0, own.times(nearest, nearest))
    if node.func is np.arccosh:
        nearest = own.call(np.subtract, a, ea)
        left = own.call(np.subtract, own.times(nearest, nearest), 1.0)
    slope = own.call(np.maximum, left, 0.0) if node.func is np.arctanh else own.call(np.sqrt, left)
    return rounding(own, node, own.call(np.divide, ea, slope), part=FEW)


@rule(np.arctan2)
def _arctan2(own: Bounds, node: Node, a: Any, b: Any, ea: Any, eb: Any) -> Any:
    """Bound the turn by the part of the distance that moves, and the jump at the negative axis."""
    error = own.plus(ea, eb)
    if type(error) is not Node:
        return rounding(own, node, part=FEW)
    terms = [own.times(2.0, over(own, error, own.call(np.hypot, a, b), error))]
    if type(ea) is Node:
        low = own.call(np.less_equal, own.magnitude(a), ea, dtype=bool)
        left = own.call(np.less_equal, b, eb, dtype=bool)
        jumps = own.call(np.logical_and, low, left, dtype=bool)
        terms.append(own.call(np.where, jumps, 7.0, 0.0))
    return rounding(own, node, *terms, part=FEW)


def doubted(graph: Graph, contract: bool) -> Graph | None:
    """Return a program that ends where an answer is in doubt; None where a value has no bound,
    where Python code chooses in a loop, or where all answers are exact.
    """
    if any(map(chooses, graph.nodes)):
        return None
    own = Bounds(graph, contract)
    doubts: dict[Node, Any] = {}
    for node, how, _, place in graph.guards:
        if node in own.unbounded or (node in own.errors and how != "bool"):
            return None
        for doubt in own.doubts.get(node, frozenset()) | own.truth(node):
            doubts.setdefault(doubt, place)
    if not doubts:
        return None
    guards = [*graph.guards]
    for doubt, place in doubts.items():
        if doubt.form.shape:
            doubt = own.add(np.any, (doubt,), {}, (), bool)
        guards.append(Guard(doubt, "bool", False, place))
    return Graph([*graph.nodes, *own.new], graph.inputs, graph.outputs, guards)
