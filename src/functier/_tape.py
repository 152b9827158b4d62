"""Reverse mode: grad levels, their tape and the backward pass.

NOTE [a node is a tuple]
    ``(number, parent, rule, saved, fix, rest)``, where `rest` is None or the next edge,
    ``(parent, rule, saved, fix, rest)``; a leaf is ``(number, None)``. Numbers grow as
    the forward pass runs, so falling order is a topological order. The tape is what the
    output reaches through its edges: a dead branch is kept by nobody, and a tuple goes
    as soon as the backward pass drops it.

NOTE [what the backward pass owns]
    A large cotangent that an elementwise rule has just made, or a sum of cotangents, is
    held by nobody else. So its sum with another one, and the last rule that reads it, may
    write into its memory. What a rule passes on unchanged is owned only if nobody else
    got it.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from operator import getitem, itemgetter
from typing import Any

import numpy as np

from ._core.border import check_leaf, one_array, unexpected
from ._core.numpy_facts import BIG, FLOAT, INDEX_PARTS, PLAIN, dtype_of, shape_of
from ._core.observers import RULES
from ._core.op import Call, Op
from ._core.pytree import describe, flatten, is_value, like, unflatten
from ._core.rule import negated, over, times
from ._core.table import FRESH, PARTIALS, no_rule
from ._core.tensor import Tensor
from ._diff import (
    REAL_RESULT,
    add,
    check_inputs,
    complex_derivatives,
    filled,
    fit,
    fix_for,
    is_inexact,
    owned,
    pull,
)
from ._fast_calls import FastCalls
from ._level import Level, has_methods

new = object.__new__
ndarray = np.ndarray
float64 = np.float64
ONE = float64(1.0)
number = count()
Node = Sequence[Any]


class GradLevel(Level):
    """A level of grad, value_and_grad or vjp: each tensor has a value and a node."""

    batches, differentiates, records = False, "reverse", False

    holomorphic = False  # whether `gradient` is the complex derivative

    def track(self, leaves: list) -> list:
        """Tensors to differentiate by: leaves of the tape."""
        cls, tracked = self.cls, []
        for leaf in leaves:
            x = new(cls)
            x._value = leaf if type(leaf) in PLAIN else self.lower(leaf)
            x._extra = next(number), None
            tracked.append(x)
        return tracked

    # ---- operations ----

    @classmethod
    def fast_calls(kind) -> dict[Callable, Callable]:
        fast = FastCalls(
            kind, number=number, fix_for=fix_for, shape_of=shape_of,
            ndarray=ndarray, float64=float64, FLOAT=FLOAT,
        )  # fmt: skip
        one, two = "func, rule, pick, holomorphic", "rule2, pick2, holomorphic2"
        makers = {  # by the number of facts, of which each operand has three
            3: fast.unary(one, UNARY),
            6: fast.binary(f"{one}, {two}", BINARY),
        }
        calls = {
            func: makers[len(row)](func, *row)
            for func, row in PARTIALS.items()
            if len(row) in makers and func is not getitem
        }
        calls[getitem] = fast.getitem("rule, *_", INDEX_PARTS, GETITEM)(*PARTIALS[getitem])
        return calls

    def apply(self, op: Op, call: Call) -> Any:
        values = [self.lower(x) for x in call.operands]
        return self.record(op, call, values, call.run(values))

    def record(self, op: Op, call: Call, values: list, ans: Any) -> Any:
        """The tensor, or tensors, of a result, with the node that leads to it."""
        if op.constant:
            return ans
        cls, edges = self.cls, []
        mine = [i for i, x in enumerate(call.operands) if type(x) is cls and is_inexact(values[i])]
        if not mine:
            return ans
        joint = op.joint if len(mine) > 1 else None
        for i in mine:
            rule = op.vjp.get(call.names[i])
            if rule is None:
                raise no_rule(str(self), op, call.names[i])
            fix = fix_for(ans, values[i], rule.holomorphic)
            if fix is None and "dtype" in call.given:  # the other operands may be wider
                fix = (shape_of(values[i]), dtype_of(values[i]), False)
            if joint is None:
                fn, saved = rule.fn, rule.save(ans, call, values, i)
            else:
                fn, saved = itemgetter(i), ()
            edges.append((call.operands[i]._extra, fn, saved, fix))
        if joint is not None:
            edges = [(_node(edges), joint.fn, joint.save(ans, call, values, 0), None)]
        if isinstance(ans, (tuple, list)):
            return self.several(ans, edges)
        if not is_inexact(ans):
            return ans
        y = new(cls)
        y._value, y._extra = ans, _node(edges)
        return y

    def apply_single(self, op: Op, x: Any, given: dict) -> Any:
        rule = op.vjp.get(op.lead[0])
        value = x._value
        if rule is None or rule._direct is None:
            return Level.apply_single(self, op, x, given)
        if isinstance(value, Tensor) and (below := value.level).depth:
            ans = below.function(op.func, (value,), given)  # where NumPy would come to
        else:
            ans = op.kernel(value, **given)
        kind = type(ans)
        if kind is float64 or (kind is ndarray and ans.dtype is FLOAT):
            plain = type(value) is ndarray and value.dtype is FLOAT
        elif isinstance(ans, (tuple, list)) or not is_inexact(ans):
            return self.record(op, Call(op, given, op.lead, [x], True), [value], ans)
        else:
            plain = False
        y = new(self.cls)
        y._value = ans
        fix = (value.shape, FLOAT, False) if plain else fix_for(ans, value, rule.holomorphic)
        saved = rule.save_direct(ans, given, (value,))
        y._extra = next(number), x._extra, rule.fn, saved, fix, None
        return y

    def several(self, ans: Any, edges: list) -> Any:
        """Tensors for the results of an operation that has more than one."""
        edges = [(p, _with_zeros(rule, ans), saved, fix) for p, rule, saved, fix in edges]
        node = _node(edges)
        outputs = []
        for i, value in enumerate(ans):
            if is_value(value) and is_inexact(value):
                y = new(self.cls)
                y._value, y._extra = value, _node([(node, _place(i, len(ans)), (), None)])
                value = y
            outputs.append(value)
        return like(ans, outputs)

    # ---- the imperative style ----

    def make(self, cls: type, data: Any, *more: Any, **options: Any) -> Any:
        if more or options:
            raise unexpected(self, "G(x)", more, options)
        if not is_value(data):
            data = one_array(self, data)
        elif has_methods(data):
            self.forward()
        check_inputs(self, [data], lambda: [f"{cls.__name__}(x)"])
        return self.track([data])[0]

    def gradient(self, output: Any, inputs: Any) -> Any:
        """The gradient of the scalar `output` for `inputs`, a tensor or a pytree."""
        leaves, structure = flatten(inputs)
        for leaf in leaves:
            if type(leaf) is not self.cls:
                raise ValueError(
                    f"{self}: gradient(y, x) needs inputs made by {self.cls.__name__}(x); "
                    f"got {type(leaf).__name__}"
                )
        value, node = self.scalar(output, self.holomorphic)
        grads = backward([(node, one(value))], [x._extra for x in leaves])
        if self.holomorphic:
            grads = complex_derivatives(grads)
        return unflatten(structure, owned(filled(grads, [x._value for x in leaves])))

    def scalar(self, output: Any, holomorphic: bool) -> tuple[Any, Any]:
        """The value and node of a differentiated output, checked to be a real scalar, or
        a complex one.
        """
        if not is_value(output):
            raise TypeError(
                f"{self}: the function returned {describe(output)}; return one scalar, or "
                f"(scalar, aux) with has_aux=True"
            )
        mine = type(output) is self.cls
        if not mine:
            check_leaf(self, "the result", output)
        value = output._value if mine else self.lower(output)
        if holomorphic or (type(value) is not float64 and type(value) is not float):
            if shape_of(value) != ():
                raise ValueError(
                    f"{self}: the function returned shape {np.shape(value)}; the gradient is "
                    f"of a scalar: return numpy.sum(y) or numpy.mean(y), or use vjp"
                )
            if dtype_of(value).kind != ("c" if holomorphic else "f"):
                raise TypeError(
                    f"{self}: the function returned dtype {dtype_of(value)}; "
                    f"{_remedy(dtype_of(value).kind, holomorphic)}"
                )
        return value, output._extra if mine else (next(number), None)


def _remedy(kind: str, holomorphic: bool) -> str:
    """What a message says of an output whose dtype is of the wrong kind."""
    if holomorphic:
        return REAL_RESULT
    if kind == "c":
        return (
            "the gradient is of a real floating-point scalar: return numpy.real(y) or "
            "numpy.abs(y), or pass holomorphic=True for the complex derivative"
        )
    return "the gradient is of a real floating-point scalar: return y.astype(float)"


def _node(edges: list) -> Node:
    rest: tuple | None = None
    for edge in reversed(edges):
        rest = (*edge, rest)
    return (next(number), None) if rest is None else (next(number), *rest)


class Roots(list):
    """The nodes that a backward pass starts from, among what a rule keeps."""


class Given(tuple):
    """Arguments of a function that runs again in the backward pass, among what a rule keeps."""


def joined(parents: list[Node], rule: Callable[..., Any], n: int, saved: tuple = ()) -> list[Node]:
    """Nodes for `n` results: their cotangents, in a tuple with None for a zero, go through
    one rule, which gives those of the parents, again with None for a zero.

    The rule gets `saved`, too: every array that it needs and that somebody could write to.
    """
    if not parents:
        return [_node([]) for _ in range(n)]
    for wrap in RULES:
        rule = wrap(rule)
    split = _node([(parent, itemgetter(i), (), None) for i, parent in enumerate(parents)])
    both = _node([(split, rule, saved, None)])
    return [_node([(both, _place(i, n), (), None)]) for i in range(n)]


def reached(nodes: list[Node], floor: int) -> dict[int, Node]:
    """The nodes that `nodes` lead to and that are not above `floor`, by their numbers."""
    found, seen, waiting = {}, set(), list(nodes)
    while waiting:
        edge = waiting.pop()[1:]  # parent, rule, saved, fix, rest
        while len(edge) > 1:
            parent, *_, rest = edge
            key = parent[0]
            if key <= floor:
                found[key] = parent
            elif key not in seen:
                seen.add(key)
                waiting.append(parent)
            edge = rest or ()
    return found


# ---- the hot path ----

UNARY = """
value = x._value
ans = func(value)
kind = type(ans)
if kind is type(value) and (kind is float64 or (kind is ndarray and ans.dtype is FLOAT)):
    fix = None
else:
    fix = fix_for(ans, value, holomorphic)
y._value = ans
saved = pick(ans, value) if pick else ()
y._extra = next(number), x._extra, rule, saved, fix, None
"""

BINARY = {
    "both": """
        x, y = a._value, b._value
        ans = func(x, y)
        saved = pick2(ans, x, y) if pick2 else ()
        fix = None if type(ans) is float64 is type(y) else fix_for(ans, y, holomorphic2)
        rest = b._extra, rule2, saved, fix, None
        saved = pick(ans, x, y) if pick else ()
        fix = None if type(ans) is float64 is type(x) else fix_for(ans, x, holomorphic)
        node = next(number), a._extra, rule, saved, fix, rest
    """,
    "left": """
        x = a._value
        ans = func(x, b)
        saved = pick(ans, x, b) if pick else ()
        fix = None if type(ans) is float64 is type(x) else fix_for(ans, x, holomorphic)
        node = next(number), a._extra, rule, saved, fix, None
    """,
    "right": """
        y = b._value
        ans = func(a, y)
        saved = pick2(ans, a, y) if pick2 else ()
        fix = None if type(ans) is float64 is type(y) else fix_for(ans, y, holomorphic2)
        node = next(number), b._extra, rule2, saved, fix, None
    """,
    "result": "z._value, z._extra = ans, node",
}

GETITEM = """
value = x._value
if type(value) is float or type(value) is complex:
    return level.getitem(x, index)
y._value = value[index]
y._extra = next(number), x._extra, rule, (shape_of(value), index), None, None
"""


# ---- the backward pass ----


def backward(roots: list[tuple[Node, Any]], inputs: list[Node], floor: int = -1) -> list:
    """The cotangents of `inputs`, given (node, cotangent) of the outputs.

    Visits the nodes that the roots reach in falling order of their numbers, down to
    `floor`, without recursion. `roots` is emptied: where the caller holds no node either,
    each node goes, with what it saved, as soon as it is done.
    """
    grads: dict[int, Any] = {}
    ours: set[int] = set()  # whose cotangent is: see NOTE [what the backward pass owns]
    waiting: dict[int, Node] = {}  # the nodes whose cotangent is under way
    queue: list[int] = []  # their numbers, negative: the heap gives the latest first
    for root, g in roots:
        key = root[0]
        if key in grads:
            grads[key] = add(grads[key], g)
            continue
        grads[key] = g
        if root[1] is not None:
            waiting[key] = root
            heappush(queue, -key)
        del root
    roots.clear()
    while queue:
        _along_chain(waiting.pop(-heappop(queue)), grads, ours, waiting, queue, floor)
    return [grads.get(leaf[0]) for leaf in inputs]


def _along_chain(
    node: Node | None, grads: dict[int, Any], ours: set[int], waiting: dict[int, Node],
    queue: list[int], floor: int,
) -> None:  # fmt: skip
    """Pass cotangents on from `node` to its parents, then from one of these, and so on.

    So a chain of nodes needs no queue. The other parents wait in it; where one that waits
    is later than the next of the chain, that one waits too.
    """
    while node is not None:
        key, parent, rule, saved, fix, rest = node
        g = grads.pop(key)
        big = type(g) is ndarray and g.size > BIG
        mine, alone = big and key in ours, rest is None
        node = None
        while True:
            fresh = False
            if fix is None:
                n = len(saved)
                if big:
                    c, fresh = _of_large(rule, g, saved, mine and rest is None, mine and alone)
                    mine = mine and c is not g
                elif n == 1:
                    c = rule(g, saved[0])
                elif n == 0:
                    c = rule(g)
                else:
                    c = rule(g, *saved)
            elif fix[2]:
                c = pull(rule, g, saved, fix)
            elif rule is negated:
                c = -fit(g, fix[0], fix[1])
            else:
                c = rule(g, *saved)
                if type(c) is not ndarray or c.shape != fix[0] or c.dtype is not fix[1]:
                    c = None if c is None else fit(c, fix[0], fix[1])
            if c is not None:
                key = parent[0]
                if key in grads:
                    if big or (type(c) is ndarray and c.size > BIG):
                        grads[key] = _add(grads[key], c, key in ours, fresh)
                        ours.add(key)
                    else:
                        grads[key] = add(grads[key], c) if type(c) is tuple else grads[key] + c
                else:
                    grads[key] = c
                    if fresh:
                        ours.add(key)
                    if parent[1] is not None and key > floor:
                        if node is None:
                            node = parent
                        else:
                            waiting[key] = parent
                            heappush(queue, -key)
            if rest is None:
                break
            parent, rule, saved, fix, rest = rest
        if queue and node is not None and -queue[0] > node[0]:
            waiting[node[0]] = node
            heappush(queue, -node[0])
            return


def _of_large(rule: Callable, g: Any, saved: tuple, last: bool, only: bool) -> tuple[Any, bool]:
    """``rule(g, *saved)`` for a large `g`, and whether the pass owns the result.

    `last`: the pass owns `g`, which nobody reads after this rule. `only`: nor has before.
    """
    if last and rule in INPLACE:
        return _in_place(rule, g, saved), True
    c = rule(g, *saved)
    return c, only if c is g else rule in FRESH


INPLACE = {times: np.multiply, over: np.divide, negated: np.negative}


def _in_place(rule: Callable, g: Any, saved: tuple) -> Any:
    """``rule(g, *saved)`` in the memory of `g`, where its form allows that."""
    ufunc = INPLACE[rule]
    if not saved:
        return ufunc(g, out=g)
    (value,) = saved
    same = type(value) is ndarray and value.shape == g.shape and value.dtype == g.dtype
    if same or type(value) is float:
        return ufunc(g, value, out=g)
    return rule(g, value)


def _add(a: Any, b: Any, own_a: bool = False, own_b: bool = False) -> Any:
    """The sum of two cotangents, in the memory of one that is owned."""
    if (own_a or own_b) and type(a) is ndarray is type(b):
        if a.shape == b.shape and a.dtype == b.dtype:
            return np.add(a, b, out=a if own_a else b)
    return add(a, b)


def _place(i: int, n: int) -> Callable:
    """The vjp of taking output `i` of `n`: a tuple with the cotangent in its place."""
    return lambda g: (None,) * i + (g,) + (None,) * (n - i - 1)


def _with_zeros(rule: Callable, ans: Any) -> Callable:
    """A rule for several outputs that sees zeros for the outputs that were not used."""
    forms = [(np.shape(v), dtype_of(v)) for v in ans]

    def filled(g: tuple, *saved: Any) -> Any:
        full = [np.zeros(*form) if c is None else c for c, form in zip(g, forms)]
        return rule(tuple(full), *saved)

    return filled


def one(value: Any) -> Any:
    """The cotangent that a scalar output starts with."""
    return ONE if type(value) is float64 or type(value) is float else dtype_of(value).type(1)
