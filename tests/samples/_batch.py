"""Batches of a row's operands, and which of the operands to batch along which axis."""

import itertools
from typing import Any

import numpy as np

from ._row import Row


def examples(row: Row, i: int, n: int) -> np.ndarray:
    """`n` examples like operand `i`: the same elements in another order, or `row.like`."""
    if (i, n) not in row.drawn:
        row.drawn[i, n] = draw(row, i, n)
    return row.drawn[i, n].copy()


def draw(row: Row, i: int, n: int) -> np.ndarray:
    """Draw the examples."""
    x = row.leaves[i]
    rng = np.random.default_rng(x.size + 7 * n)

    def another(j: int) -> Any:
        if j == 0:
            return x
        if row.like is not None:
            return row.like(i, x, rng)
        if x.size == 1 and x.dtype.kind in "fc":
            return (x * (1 - 0.03 * j)).astype(x.dtype)
        return rng.permutation(x.ravel()).reshape(x.shape)

    return np.stack([another(j) for j in range(n)]) if n else np.empty((0, *x.shape), x.dtype)


def strided(x: np.ndarray) -> np.ndarray:
    """The values of `x` in memory that is neither contiguous nor in order."""
    view = np.empty([2 * n for n in x.shape], x.dtype)[(..., *[slice(None, None, -2)] * x.ndim)]
    view[...] = x
    return view


def data_axes(row: Row) -> list[int]:
    """The lengths of the row's axes: batch sizes that hide a misplaced axis."""
    return sorted({n for x in row.leaves for n in x.shape if n > 1})


def unlike(row: Row) -> int:
    """A batch size that no axis of the row has."""
    return next(n for n in (3, 4, 5, 6, 7, 8, 9) if n not in data_axes(row))


def free(row: Row) -> list[int]:
    return [i for i in range(len(row.leaves)) if i not in row.shared]


def choices(n: int, options: tuple) -> list[tuple]:
    """One of `options` or None for each of `n` operands, not None for all.

    Every combination for up to 3 operands; else each alone, all but each, and all.
    """
    if n <= 3:
        every = itertools.product((*options, None), repeat=n)
        return [c for c in every if any(o is not None for o in c)]
    chosen = []
    for j, option in enumerate(options):
        whole = [options[(i + j) % len(options)] for i in range(n)]
        chosen.append(tuple(whole))
        for i in range(n):
            chosen.append(tuple(None if k == i else o for k, o in enumerate(whole)))
            chosen.append(tuple(option if k == i else None for k in range(n)))
    return list(dict.fromkeys(chosen))


def placed(row: Row, choice: tuple) -> list:
    """A choice for the operands that may vary, as one entry for every operand."""
    whole: list = [None] * len(row.leaves)
    for i, option in zip(free(row), choice):
        whole[i] = option
    return whole


def stacked(loop: list) -> list:
    return [np.stack(column) for column in zip(*loop)]
