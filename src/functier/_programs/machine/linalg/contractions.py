"""Contractions: the products of two arrays with a sum over some axes.

NOTE [axes of a contraction]
    Each function of this kind is a set of axes. An axis has a size, and a stride in bytes in both
    operands and in the result; 0 where it is missing or broadcast. It is summed if the result
    does not have it. Axes that lie in memory like one are joined. So ten functions, transposed
    operands and stacks of matrices are one case.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph import Node
from ..text.routines import Operand


class Labels(NamedTuple):
    """The axes of two operands and of the result, by numbers: equal numbers are one axis."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    out: tuple[int, ...]


class Axis(NamedTuple):
    """An axis of a contraction: its size, its strides in bytes, and if it is summed."""

    size: int
    a: int
    b: int
    out: int
    summed: bool


def contraction_of(node: Node) -> tuple[Labels, Any, Any] | None:
    """Return the labels of a node and its two operands; None if it is another function."""
    find, names = FUNCTIONS.get(node.func, (None, ()))  # type: ignore[arg-type]
    if find is None or not set(node.kwargs) <= set(names):
        return None
    args = node.args
    if find is einsum_labels:
        if len(args) != 3 or type(args[0]) is not str:
            return None
        a, b = args[1:]
        labels = einsum_labels(args[0], len(shape_of(a)), len(shape_of(b)))
        if labels is not None and sums_alone(labels, shape_of(a), shape_of(b)):
            return None
    else:
        if len(args) != 2 + (len(args) == 3 and find is tensordot_labels):
            return None
        a, b = args[:2]
        extra = [*args[2:], *node.kwargs.values()]
        labels = find(len(shape_of(a)), len(shape_of(b)), *extra)
    return None if labels is None else (labels, a, b)


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an argument."""
    return value.form.shape if type(value) is Node else np.shape(value)


def matmul_labels(a: int, b: int) -> Labels | None:
    """Return the labels of ``a @ b``."""
    if not a or not b:
        return None
    return stacked(a, b, (0, 1) if a > 1 else (1,), (1, 2) if b > 1 else (1,))


def stacked(a: int, b: int, left: tuple[int, ...], right: tuple[int, ...]) -> Labels | None:
    """Return the labels of stacks of operands with some last axes each; label 1 is summed."""
    if a < len(left) or b < len(right):
        return None
    many = max(a - len(left), b - len(right))
    stack = tuple(range(3, 3 + many))
    out = tuple([label for label in (0, 2) if label in left or label in right])
    return Labels(
        (*stack[many - a + len(left) :], *left),
        (*stack[many - b + len(right) :], *right),
        (*stack, *out),
    )


def dot_labels(a: int, b: int) -> Labels | None:
    """Return the labels of `numpy.dot`."""
    if not a or not b:
        return None
    left, right = list(range(a)), list(range(a, a + b))
    right[-2 if b > 1 else -1] = left[-1]
    return summed_pairs(left, right)


def inner_labels(a: int, b: int) -> Labels | None:
    """Return the labels of `numpy.inner`."""
    if not a or not b:
        return None
    left, right = list(range(a)), list(range(a, a + b))
    right[-1] = left[-1]
    return summed_pairs(left, right)


def tensordot_labels(a: int, b: int, axes: Any = 2) -> Labels | None:
    """Return the labels of `numpy.tensordot`."""
    left, right = list(range(a)), list(range(a, a + b))
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        first, second = list(range(a - count, a)), list(range(count))
    else:
        try:
            first, second = [[int(x) for x in np.ravel(part)] for part in axes]
        except (TypeError, ValueError):
            return None
    try:
        for i, j in zip(first, second, strict=True):
            right[j] = left[i]
    except (IndexError, ValueError):
        return None
    return summed_pairs(left, right)


def summed_pairs(left: list[int], right: list[int]) -> Labels | None:
    """Return labels that sum what two operands share."""
    if len(set(left)) < len(left) or len(set(right)) < len(right):
        return None
    out = [x for x in left if x not in right] + [x for x in right if x not in left]
    return Labels(tuple(left), tuple(right), tuple(out))


def einsum_labels(text: str, a: int, b: int) -> Labels | None:
    """Return the labels of `numpy.einsum` with two operands."""
    text = text.replace(" ", "")
    given, arrow, result = text.partition("->")
    parts = given.split(",")
    if len(parts) != 2:
        return None
    hidden = [ndim - len(part.replace("...", "")) for part, ndim in zip(parts, (a, b))]
    if any([n and "..." not in part for part, n in zip(parts, hidden)]) or min(hidden) < 0:
        return None
    letters = given.replace(".", "").replace(",", "")
    if not arrow:
        result = "".join([x for x in sorted(set(letters)) if letters.count(x) == 1])
        result = "..." + result if "..." in given else result
    # the axes of an ellipsis are numbered from the right
    left, right = [expanded(part, n) for part, n in zip(parts, hidden)]
    out = expanded(result, max(hidden))
    repeated = any([len(set(part)) < len(part) for part in (left, right, out)])
    if repeated or not set(out) <= {*left, *right}:
        return None
    number = {x: k for k, x in enumerate(sorted({*left, *right}, key=str))}
    la, lb, lo = [tuple([number[x] for x in part]) for part in (left, right, out)]
    return Labels(la, lb, lo)


def sums_alone(labels: Labels, a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether an axis of one operand alone is summed; the other may have one of length 1.

    NumPy adds it up before the product at times, which differs where 0 meets infinity.
    """
    first, second = dict(zip(labels.a, a)), dict(zip(labels.b, b))
    return any(
        [
            size != 1 and label not in labels.out and other.get(label, 1) == 1
            for own, other in ((first, second), (second, first))
            for label, size in own.items()
        ]
    )


def expanded(part: str, hidden: int) -> list[Any]:
    """Return the labels of an operand, with numbers for the axes of an ellipsis."""
    before, dots, after = part.partition("...")
    return [*before, *(range(hidden, 0, -1) if dots else ()), *after]


def only_vectors(a: int, b: int) -> Labels | None:
    """Return the labels of a product of two vectors."""
    return Labels((0,), (0,), ()) if a == b == 1 else None


def outer_labels(a: int, b: int) -> Labels | None:
    """Return the labels of `numpy.outer`."""
    return Labels((0,), (1,), (0, 1)) if a == b == 1 else None


FUNCTIONS: dict[Any, tuple[Any, tuple[str, ...]]] = {
    np.matmul: (matmul_labels, ()),
    np.dot: (dot_labels, ()),
    np.inner: (inner_labels, ()),
    np.outer: (outer_labels, ()),
    np.vdot: (only_vectors, ()),
    np.tensordot: (tensordot_labels, ("axes",)),
    np.einsum: (einsum_labels, ("optimize",)),
    np.vecdot: (lambda a, b: stacked(a, b, (1,), (1,)), ()),
}
for _name, _left, _right in (("matvec", (0, 1), (1,)), ("vecmat", (1,), (1, 2))):
    if hasattr(np, _name):

        def _labels(a: int, b: int, left: Any = _left, right: Any = _right) -> Labels | None:
            return stacked(a, b, left, right)

        FUNCTIONS[getattr(np, _name)] = (_labels, ())
"""For each function, the one that finds its labels, and the keywords that it may have."""


def is_product(labels: Labels, a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether nothing is summed: an elementwise product of broadcast operands."""
    sizes = dict(zip((*labels.a, *labels.b), (*a, *b)))
    return all([label in labels.out or size == 1 for label, size in sizes.items()])


def axes_of(labels: Labels, a: Operand, b: Operand, out: Operand) -> list[Axis] | None:
    """Return the axes of a contraction; None if the shapes do not fit."""
    places: dict[int, list[tuple[int, int]]] = {}
    for part, operand in enumerate((a, b, out)):
        if len(labels[part]) != len(operand.shape):
            return None
        for label, size, stride in zip(labels[part], operand.shape, operand.strides):
            found = places.setdefault(label, [(1, 0)] * 3)
            found[part] = (size, stride)
    axes = []
    for label, found in places.items():
        sizes = {size for size, _ in found} - {1}
        size = sizes.pop() if sizes else 1
        summed = label not in labels.out
        if sizes or (not summed and found[2][0] != size):
            return None
        if size != 1:
            x, y, z = [0 if length == 1 else stride for length, stride in found]
            axes.append(Axis(size, x, y, z, summed))
    return axes


def joined(axes: list[Axis]) -> list[Axis]:
    """Join axes that lie in memory like one, in both operands and the result."""
    axes = list(axes)
    for first in axes:
        for second in axes:
            if first is not second and first.summed == second.summed and follows(first, second):
                rest = [axis for axis in axes if axis is not first and axis is not second]
                return joined([*rest, second._replace(size=first.size * second.size)])
    return axes


def follows(first: Axis, second: Axis) -> bool:
    """Return whether a step along one axis is a walk along all of another."""
    return all([x == y * second.size for x, y in zip(first[1:4], second[1:4])])
