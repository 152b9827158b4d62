"""Contractions of several operands: einsum's notations, and pairs in a good order."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..._core.hooks import note_layout
from ..._core.numpy_facts import Value
from .contract import Labels, Shape, contract, ensure_array

Path = tuple[tuple[int, ...], ...]
PAIR: Path = ((0, 1),)
"""The path of two operands that have no label twice: a contraction as it stands."""

# ---- the notations ----


def _labels_of(term: Any, ndim: int) -> Labels:
    """Return the labels of one operand; those of its ellipsis are -1, -2, ... from the right."""
    marks: list[Any]
    if isinstance(term, str):
        marks = [... if c == "." else ord(c) for c in term.replace(" ", "").replace("...", ".")]
    else:
        marks = list(term)
    if ... not in marks:
        return tuple(marks)
    at, hidden = marks.index(...), ndim - (len(marks) - 1)
    return (*marks[:at], *range(-hidden, 0), *marks[at + 1 :])


@lru_cache(maxsize=4096)
def _parse(terms: Any, out: Value | None, shapes: tuple, optimize: Any, kind: str) -> tuple:
    """Return the labels of operands and result, the order of contraction, and whether NumPy's
    result lies in rows as the operands do.

    `numpy.einsum_path` finds the order of contraction, and refuses what does not fit.
    """
    call = terms, out, optimize, kind
    dummies = [np.broadcast_to(0.0, shape) for shape in shapes]
    optimize = list(optimize) if isinstance(optimize, tuple) else optimize or "greedy"
    if isinstance(terms, str):
        path = np.einsum_path(terms, *dummies, optimize=optimize)[0]
        inputs, arrow, given = terms.partition("->")
        spelled: Any = inputs.split(",")
        out = given if arrow else None
    else:
        pairs = [part for pair in zip(dummies, map(list, terms)) for part in pair]
        extra = () if out is None else (list(out),)
        path = np.einsum_path(*pairs, *extra, optimize=optimize)[0]
        spelled = terms
    labels = [_labels_of(term, len(shape)) for term, shape in zip(spelled, shapes)]
    hidden = max([-i for own in labels for i in own if i < 0], default=0)
    if out is None:
        every = [i for own in labels for i in own]
        once = sorted(i for i in set(every) if i >= 0 and every.count(i) == 1)
        result = (*range(-hidden, 0), *once)
    else:
        marks = sum(c != "." for c in out.replace(" ", "")) if isinstance(out, str) else None
        count = len([m for m in out if m is not ...]) if marks is None else marks
        result = _labels_of(out, count + hidden)
    pair = len(labels) == 2 and all(len(set(own)) == len(own) for own in labels)
    forms = tuple([(shape, np.empty(shape, bool).strides) for shape in shapes])
    order = _order(*call, forms) if len(result) > 1 else ()
    return tuple(labels), result, PAIR if pair else tuple(path[1:]), list(order) == sorted(order)


@lru_cache(maxsize=4096)
def _order(terms: Any, out: Value | None, optimize: Any, kind: str, forms: tuple) -> Shape:
    """Return the axes of NumPy's result in the order in which they lie in memory.

    That is the same for operands with two elements along each axis, with strides in this order.
    """
    small, dummies = [], [np.broadcast_to(0.0, shape) for shape, _ in forms]
    for shape, steps in forms:
        sizes = sorted({abs(s) for s, n in zip(steps, shape) if n > 1 and s})
        steps = [8 << sizes.index(abs(s)) if n > 1 and s else 0 for s, n in zip(steps, shape)]
        flat = np.zeros(1 << len(sizes))
        small.append(np.ndarray([min(n, 2) for n in shape], float, flat, 0, steps))

    def spelled(arrays: list) -> list:
        if isinstance(terms, str):
            return [terms, *arrays]
        pairs = [part for pair in zip(arrays, map(list, terms)) for part in pair]
        return pairs if out is None else [*pairs, list(out)]

    if optimize is not False:
        optimize = list(optimize) if isinstance(optimize, tuple) else optimize
        optimize = np.einsum_path(*spelled(dummies), optimize=optimize)[0]
    steps = np.einsum(*spelled(small), optimize=optimize, order=kind).strides  # type: ignore[call-overload]
    return tuple(sorted(range(len(steps)), key=lambda axis: -steps[axis]))


def einsum(
    *operands: Value, out: Value | None = None, optimize: Any = False, **params: Any
) -> Value:
    """Compute `numpy.einsum`, in both of its spellings."""
    terms: Any
    if isinstance(operands[0], str):
        terms, wanted, arrays = operands[0], None, operands[1:]
    else:
        arrays, terms = operands[: len(operands) // 2 * 2 : 2], tuple(map(tuple, operands[1::2]))
        wanted = tuple(operands[-1]) if len(operands) % 2 else None
    arrays = tuple(ensure_array(x) for x in arrays)
    if params.get("dtype") is not None:
        arrays = _cast(arrays, np.dtype(params["dtype"]), params.get("casting", "safe"))
    if not isinstance(optimize, (str, bool)):
        optimize = tuple(p if isinstance(p, (str, int, float)) else tuple(p) for p in optimize)
    shapes = tuple([x.shape for x in arrays])
    given = terms, wanted, optimize, params.get("order", "K")
    labels, result, path, rows = _parse(*given[:2], shapes, *given[2:])
    if path is PAIR:
        made = contract(*arrays, (*labels, result))
    else:
        made = contract_path(arrays, labels, result, path)
    if len(result) > 1 and hasattr(made, "level"):
        note_layout(made, arrays, labels, rows, _order, given)
    return made


def _cast(arrays: tuple, dtype: np.dtype, casting: Any) -> tuple:
    for x in arrays:
        if not np.can_cast(x.dtype, dtype, casting):
            raise TypeError(
                f"einsum: an operand of dtype {x.dtype} cannot be cast to dtype={dtype} with "
                f"casting={casting!r}; cast it by x.astype, or pass casting='unsafe'"
            )
    return tuple([np.astype(x, dtype) for x in arrays])


# ---- several operands, two at a time ----


def _promote(arrays: tuple) -> tuple:
    """Return operands in the precision of their product, since they are contracted in pairs.

    `numpy.einsum` casts all of them first; it does so without ``optimize=`` only, where its
    value does not depend on the order of contraction. Reals stay real beside complex numbers.
    """
    dtypes = [x.dtype for x in arrays]
    if dtypes.count(dtypes[0]) == len(dtypes):
        return arrays
    dtype = np.result_type(*dtypes)
    real = np.finfo(dtype).dtype if dtype.kind == "c" else dtype
    wanted = [dtype if own.kind == "c" else real for own in dtypes]
    return tuple(
        [x if own == to else np.astype(x, to) for x, own, to in zip(arrays, dtypes, wanted)]
    )


def contract_path(arrays: tuple, labels: Sequence[Labels], out: Labels, path: Path) -> Value:
    """Contract operands in the order of an einsum path."""
    pool = [_take_diagonals(x, own) for x, own in zip(_promote(arrays), labels)]
    for places in path:
        chosen = [pool.pop(i) for i in sorted(places, reverse=True)][::-1]
        while len(chosen) > 1:
            (x, left), (y, right) = chosen.pop(0), chosen.pop(0)
            rest = [i for _, own in chosen + pool for i in own]
            kept = out if not rest else _kept_labels(left, right, {*rest, *out})
            chosen.insert(0, (contract(x, y, (left, right, kept)), kept))
        pool += chosen
    ((x, own),) = pool
    return _arrange(x, own, out)


def _kept_labels(left: Labels, right: Labels, needed: set) -> Labels:
    return tuple(i for i in dict.fromkeys(left + right) if i in needed)


def _take_diagonals(x: Value, labels: Labels) -> tuple[Value, Labels]:
    """Return an operand with each label once: the diagonal of axes that share a label."""
    while len(set(labels)) < len(labels):
        twice = next(i for i in labels if labels.count(i) > 1)
        first, second = [i for i, label in enumerate(labels) if label == twice][:2]
        if x.shape[first] != x.shape[second]:
            raise ValueError(
                f"einsum: a repeated label has sizes {x.shape[first]} and {x.shape[second]}"
            )
        x = np.diagonal(x, 0, first, second)
        labels = (*(j for i, j in enumerate(labels) if i not in (first, second)), twice)
    return x, labels


def _arrange(x: Value, labels: Labels, out: Labels) -> Value:
    """Sum one operand over the labels that the result lacks, and order its axes as there.

    The operand has the dtype of the result; see NOTE [sums are of the dtype of the result]
    in `contract`.
    """
    if labels == out:
        return x if out else x[()]  # type: ignore[index]  # NumPy has a number
    lone = tuple(i for i, label in enumerate(labels) if label not in out)
    if lone:
        x = np.sum(x, axis=lone, dtype=x.dtype)
        labels = tuple(i for i in labels if i in out)
    return x if labels == out else np.transpose(x, tuple(labels.index(i) for i in out))
