"""Contractions of two operands: one primitive on labelled axes, and its planner.

NOTE [a specification is three tuples of labels]
    ``spec = (left, right, out)``: an int for each axis of the operands and of the result,
    as in `numpy.einsum`'s list spelling. An axis of size 1 broadcasts. A label of the
    operands that the result lacks is summed over; a label that only the result has is an
    axis of size 1 there, which derivative rules spread. No operand has a label twice.

NOTE [sums are of the dtype of the result]
    Bools add up by `or` and small integers wrap around, so it matters in which dtype an
    axis is summed: in that of the product, as NumPy casts the operands of a contraction
    first, and not in that of the one operand that has the axis.

NOTE [what becomes a BLAS axis]
    An axis that one operand alone has is merged into the rows (columns) of one product
    where that is a view, and is a stack axis of `numpy.matmul` where it would be a copy:
    the copy mostly costs more than the larger product gains (measured: 1.1 to 10 times;
    the copy wins for matrices of 8 by 8 and smaller, by up to 3). Summed axes that are not
    side by side are merged by a copy or, where that is less than what would be copied, make a
    stack that is summed (measured: 1.1 to 19 times faster). An axis of both that the result
    keeps is a stack axis. Axes of size 1 take no part. Without a common summed axis it is a
    multiplication. The axes of an array that is not contiguous are planned for in the order
    of memory: a batch axis that was its axis 1 merges, too (3 to 13 times faster).

Plans depend on labels, shapes and gaps only, and are cached: to plan costs tens of
microseconds, to look a plan up a fraction of one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from ..._core.numpy_facts import Function, Value, are_known, known_array
from ..constructors import linear, primitive

Labels = tuple[int, ...]
Spec = tuple[Labels, Labels, Labels]
Shape = tuple[int, ...]

Steps = tuple[Shape | None, Shape | None, Shape | None]
"""Steps that prepare an operand: axes to sum over, an order of axes, a shape (None: as it is)."""

BATCH, ALONE = -1000, 1000
"""Labels below and above these are for batch axes, and for axes of one operand only."""

GAP: Any = None
"""The mark, in a list of labels, between two axes that merge by a copy only."""

ndarray = np.ndarray


def ensure_array(x: Value) -> Value:
    """Return `x` with a shape and a dtype: a number or a list as an array."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def conj(x: Value) -> Value:
    """Return the complex conjugate, without a copy of a real array."""
    x = ensure_array(x)
    return np.conjugate(x) if x.dtype.kind == "c" else x


# ---- the planner ----


@dataclass(slots=True)
class Plan:
    """The NumPy calls of a contraction.

    Each operand is summed over `lone`, transposed to `order` and reshaped to `shape`
    (None: as it is); `product` is `multiply`, `dot` or `matmul`; the result is reshaped
    and transposed. `swap` exchanges the operands first.
    """

    swap: bool
    left: Steps | None
    right: Steps | None
    product: Callable
    shape: Shape | None
    order: Shape | None

    def run(self, x: Value, y: Value) -> Value:
        """Contract `x` with `y`, which have the shapes of the plan."""
        if self.swap:
            x, y = y, x
        left = x if self.left is None else _prepare(x, self.left, y)
        right = y if self.right is None else _prepare(y, self.right, x)
        z = self.product(left, right)
        if self.shape is not None:
            z = z.reshape(self.shape)
        return z if self.order is None else z.transpose(self.order)


class SummedPlan:
    """A plan, and a sum over the first axes of its result."""

    def __init__(self, plan: "Plan | SummedPlan", n: int):
        self.plan, self.axes = plan, tuple(range(n))

    def run(self, x: Value, y: Value) -> Value:
        z = self.plan.run(x, y)
        return np.sum(z, axis=self.axes, dtype=z.dtype)


def _prepare(x: Value, steps: Steps, other: Value) -> Value:
    """Prepare an operand for a product with `other`."""
    lone, order, shape = steps
    if lone is not None:
        own, its = x.dtype, other.dtype
        x = np.sum(x, axis=lone, dtype=own if own is its else np.result_type(own, its))
    if order is not None:
        x = x.transpose(order)
    return x if shape is None else x.reshape(shape)


@lru_cache(maxsize=4096)
def plan(
    spec: Spec, x_shape: Shape, y_shape: Shape, gaps: tuple[Labels, Labels] = ((), ())
) -> Plan | SummedPlan:
    """Plan the contraction of operands of these shapes; see NOTE [what becomes a BLAS axis].

    An axis in `gaps` does not merge with the next one of its operand without a copy.
    """
    left, right, out = spec
    sizes: dict[int, int] = dict.fromkeys(out, 1)
    for labels, shape in ((left, x_shape), (right, y_shape)):
        for label, n in zip(labels, shape, strict=True):
            if n != 1 != sizes.get(label, 1) and sizes[label] != n:
                raise ValueError(
                    f"operands could not be contracted: sizes {sizes[label]} and {n} of an "
                    f"axis that both have (shapes {x_shape} and {y_shape})"
                )
            sizes[label] = n if n != 1 else sizes.get(label, 1)
    own = [
        [label for label, n in zip(labels, shape) if n != 1]
        for labels, shape in ((left, x_shape), (right, y_shape))
    ]
    kept = [[i for i in a if i in out or i in b] for a, b in (own, own[::-1])]
    if not any(i in kept[1] and i not in out for i in kept[0]):
        shapes = [tuple(sizes[j] if j in kept[i] else 1 for j in out) for i in (0, 1)]
        steps = [
            _plan_operand(
                spec[i], (x_shape, y_shape)[i], kept[i], [j for j in out if j in kept[i]], shape
            )
            for i, shape in enumerate(shapes)
        ]
        return Plan(False, steps[0], steps[1], _choose_multiply(*shapes), None, None)
    kept = [[j for i in k for j in ((i, GAP) if i in g else (i,))] for k, g in zip(kept, gaps)]
    over = _stacked_sums(kept, out, sizes)
    if over:
        return SummedPlan(plan((left, right, (*over, *out)), x_shape, y_shape, gaps), len(over))
    plans = [
        _plan_product(
            swap, spec, (x_shape, y_shape), kept, sizes, [i for i in out if sizes[i] != 1]
        )
        for swap in (False, True)
    ]
    return min(plans, key=_transposition_cost)


def _stacked_sums(kept: list, out: Labels, sizes: dict) -> Labels:
    """Return the summed axes for which a stack of products, added up, is faster than a merge.

    Where the axes to sum over are not adjacent in both operands, a merge copies; a stack
    makes one result for each of its products.
    """
    summed = [i for i in kept[0] if i in kept[1] and i not in out and i is not GAP]
    runs = [summed[:1]]
    for i, j in pairwise(summed):
        if all(labels.index(j) - labels.index(i) == 1 for labels in kept):
            runs[-1].append(j)
        else:
            runs.append([j])
    if len(runs) == 1:
        return ()

    def count(labels: Iterable[int]) -> int:
        return prod(sizes[i] for i in labels if i is not GAP)

    # The elements of a last axis are adjacent in memory.
    inner = max(runs, key=lambda run: (sum(labels[-1] in run for labels in kept), count(run)))
    over = tuple(i for i in summed if i not in inner)
    copied, product = 0, count(inner)
    for labels, others in (kept, kept[::-1]):
        places = [labels.index(i) for i in summed]
        if max(places) - min(places) >= len(places):
            copied += count(labels)
        free = [i for i in labels if i not in others and i is not GAP]
        product *= count(_merged_axes(labels, free, inner))
    results = count(over) * count(i for i in out if i in kept[0] or i in kept[1])
    return over if results <= copied and product > 8**3 else ()


def _choose_multiply(x_shape: Shape, y_shape: Shape) -> Callable:
    """Return the function that multiplies operands of these shapes, which broadcast.

    For large outer products einsum is 1.3 to 1.5 times as fast as `multiply`, whose inner
    loop multiplies a row by a number (measured: from 8192 elements on).
    """
    size = prod(map(max, x_shape, y_shape))
    if size < 8192 or prod(x_shape) == size or prod(y_shape) == size:
        return np.multiply
    letters = ascii_letters[: len(x_shape)]
    subscripts = f"{letters},{letters}->{letters}"

    def outer(x: Value, y: Value) -> Value:
        if are_known(x, y) and x.dtype == y.dtype and x.dtype.kind in "fc":
            return np.einsum(subscripts, x, y)
        return np.multiply(x, y)

    return outer


def _transposition_cost(plan: Plan) -> tuple:
    """Return a key that orders plans by their transpositions, that of the result first."""
    operands = [steps for steps in (plan.left, plan.right) if steps is not None]
    return plan.order is not None, sum(order is not None for _, order, _ in operands), plan.swap


def _plan_product(
    swap: bool, spec: Spec, shapes: tuple, kept: list, sizes: dict, wanted: list
) -> Plan:
    """Plan a contraction that sums over an axis of both operands."""
    a, b = (1, 0) if swap else (0, 1)
    out = spec[2]
    shared = [i for i in kept[a] if i in kept[b] and i is not GAP]
    larger = a if prod(shapes[a]) >= prod(shapes[b]) else b
    summed = [i for i in kept[larger] if i in shared and i not in out]
    rows, cols = (
        _merged_axes(kept[i], [j for j in kept[i] if j not in (*shared, GAP)], summed)
        for i in (a, b)
    )
    stack = [i for i in wanted if i not in rows and i not in cols]
    vectors = not rows and not cols
    size = {
        "rows": prod(sizes[i] for i in rows),
        "cols": prod(sizes[i] for i in cols),
        "summed": prod(sizes[i] for i in summed),
    }
    steps = []
    for i, names in ((a, ("rows", "summed")), (b, ("summed", "cols"))):
        groups = {"rows": rows, "cols": cols, "summed": summed}
        order = [j for j in stack if j in kept[i]] + [j for n in names for j in groups[n]]
        if stack:
            shape = [sizes[j] if j in kept[i] else 1 for j in stack]
            while shape and stack[len(stack) - len(shape)] not in kept[i]:
                shape.pop(0)  # matmul broadcasts missing leading axes
            shape += [size[n] for n in names if n == "summed" or not vectors]
        else:
            shape = [size[n] for n in names if groups[n]]
        steps.append(_plan_operand(spec[i], shapes[i], kept[i], order, tuple(shape)))
    natural = stack + rows + cols
    final: Shape | None = None
    if natural == wanted:
        shape = [sizes[i] for i in out]
    else:
        ones = [i for i in out if sizes[i] == 1]
        shape = [sizes[i] for i in natural] + [1] * len(ones)
        final = tuple([(natural + ones).index(i) for i in out])
    raw = [sizes[i] for i in stack]
    if stack and not vectors:
        raw += [size["rows"], size["cols"]]
    else:
        raw += [size[n] for n in ("rows", "cols") if {"rows": rows, "cols": cols}[n]]
    product: Function = np.dot if not stack else _multiply_vectors if vectors else np.matmul
    return Plan(swap, steps[0], steps[1], product, None if shape == raw else tuple(shape), final)


def _multiply_vectors(x: Value, y: Value) -> Value:
    """Multiply stacked vectors: by `vecdot`, the fastest, where it does not conjugate."""
    if are_known(x, y) and x.dtype.kind == "f" == y.dtype.kind:
        return np.vecdot(x, y)
    z = np.matmul(x.reshape((*x.shape[:-1], 1, x.shape[-1])), y.reshape((*y.shape, 1)))
    return z.reshape(z.shape[:-2])


def _merged_axes(labels: list, free: list, summed: list) -> list:
    """Return the axes of one operand alone that merge into its rows (columns)."""
    places = [labels.index(i) for i in summed]
    if places != list(range(places[0], places[0] + len(places))):
        return free  # the summed axes are merged by a copy, which merges all others, too
    runs: list[list] = [[]]
    for label in labels:
        if label in free:
            runs[-1].append(label)
        elif runs[-1]:
            runs.append([])
    if not runs[-1]:
        runs.pop()
    if not runs:
        return []
    # The last run keeps an axis contiguous, without which BLAS cannot take the matrix,
    # and the result in the order of its operand.
    return runs[-1]


def _plan_operand(
    labels: Labels, shape: Shape, kept: list, order: list, wanted: Shape
) -> Steps | None:
    """Return the steps to an operand with the axes `order`, in the shape `wanted`."""
    lone = tuple(i for i, (j, n) in enumerate(zip(labels, shape)) if n != 1 and j not in kept)
    rest = [i for i in range(len(labels)) if i not in lone]
    now = [labels[i] for i in rest if shape[i] != 1]
    if now == order:
        moves, after = None, tuple(shape[i] for i in rest)
    else:
        ones = [labels[i] for i in rest if shape[i] == 1]
        names = [labels[i] for i in rest]
        full = ones + order
        moves = tuple(names.index(j) for j in full)
        after = tuple(shape[rest[i]] for i in moves)
    steps = (lone or None, moves, None if after == wanted else wanted)
    return None if steps == (None, None, None) else steps


# ---- the primitive ----


def _contract(x: Value, y: Value, spec: Spec) -> Value:
    """Contract two operands by the labels of their axes."""
    x, y = ensure_array(x), ensure_array(y)
    a, b = known_array(x), known_array(y)
    if a is not None and b is not None and not (a.flags.c_contiguous and b.flags.c_contiguous):
        x, left, x_gaps = _order_by_memory(x, a.strides, spec[0])
        y, right, y_gaps = _order_by_memory(y, b.strides, spec[1])
        return plan((left, right, spec[2]), x.shape, y.shape, (x_gaps, y_gaps)).run(x, y)
    return plan(spec, x.shape, y.shape).run(x, y)


def _order_by_memory(x: Value, strides: Shape, labels: Labels) -> tuple[Value, Labels, Labels]:
    """Return an operand with its axes in the order of memory, and the axes before a gap."""
    order, gaps = _memory_order(x.shape, strides)
    if order is not None:
        x, labels = x.transpose(order), tuple([labels[i] for i in order])
    return x, labels, tuple([labels[i] for i in gaps])


@lru_cache(maxsize=4096)
def _memory_order(shape: Shape, strides: Shape) -> tuple[Shape | None, Shape]:
    """Return the order of axes in memory (None: their own), and the axes before a gap.

    At a gap the next axis does not continue this one, so that the two merge by a copy only.
    """
    steps: list[int] = []
    for n, step in zip(shape[::-1], strides[::-1]):
        steps.insert(0, abs(step) if n > 1 else max(steps[:1], default=0))
    order = sorted(range(len(steps)), key=lambda i: -steps[i])
    if any(step == 0 and n > 1 for n, step in zip(shape, strides)):
        order.sort()  # a broadcast axis has no place in memory
    long = [place for place, i in enumerate(order) if shape[i] > 1]
    gaps = [
        a for a, b in pairwise(long) if strides[order[a]] != shape[order[b]] * strides[order[b]]
    ]
    return None if order == [*range(len(steps))] else tuple(order), tuple(gaps)


contract = primitive(_contract, plain=True)
OUTER = ((0,), (1,), (0, 1))
"""The specification of an outer product of vectors."""


@lru_cache(maxsize=4096)
def batch_spec(spec: Spec, k: int) -> Spec:
    """Return the specification for operands with `k` leading batch axes."""
    batch = tuple(range(BATCH, BATCH + k))
    # Labels of an enclosing batch are renamed out of the way.
    left, right, out = (tuple(i - k if i < BATCH + k else i for i in s) for s in spec)
    return batch + left, batch + right, batch + out


@lru_cache(maxsize=4096)
def cotangent_spec(spec: Spec, x_shape: Shape, y_shape: Shape, position: int) -> tuple[Spec, bool]:
    """Return the specification of an operand's cotangent, a product of `g` and the other one.

    Where the operand was broadcast the product sums, since its result lacks the label. The
    second value is True where the operand alone has a summed axis, which is of size 1 in the
    product.
    """
    left, right, out = spec
    sides = (left, x_shape), (right, y_shape)
    labels, shape = sides[position]
    own = tuple(ALONE + i if n == 1 else j for i, (j, n) in enumerate(zip(labels, shape)))
    others = {j for j, n in zip(*sides[1 - position]) if n != 1}
    lone = any(n != 1 and j not in out and j not in others for j, n in zip(labels, shape))
    return ((out, right, own) if position == 0 else (left, out, own)), lone


@lru_cache(maxsize=4096)
def _batched_plan(k: int, x_shape: Shape, y_shape: Shape, spec: Spec) -> Value:
    return plan(batch_spec(spec, k), x_shape, y_shape)


def _contract_vmap(k: int, x: Value, y: Value, spec: Spec) -> Value:
    a, b = known_array(x), known_array(y)
    if a is not None and b is not None and a.flags.c_contiguous and b.flags.c_contiguous:
        return _batched_plan(k, x.shape, y.shape, spec).run(x, y)
    return contract(ensure_array(x), ensure_array(y), batch_spec(spec, k))


def pull_left(g: Value, y: Value, x_shape: Shape, spec: Spec) -> Value:
    """Return the cotangent of the left operand."""
    y = conj(y)
    back, lone = cotangent_spec(spec, x_shape, y.shape, 0)
    c = contract(g, y, back)
    return np.broadcast_to(c, x_shape) if lone else c


def pull_right(g: Value, x: Value, y_shape: Shape, spec: Spec) -> Value:
    """Return the cotangent of the right operand."""
    x = conj(x)
    back, lone = cotangent_spec(spec, x.shape, y_shape, 1)
    c = contract(x, g, back)
    return np.broadcast_to(c, y_shape) if lone else c


linear(
    contract,
    "x y spec",
    "x y",
    jvp="multilinear",
    vmap=_contract_vmap,
    vjp={"x": pull_left, "y": pull_right},
)
