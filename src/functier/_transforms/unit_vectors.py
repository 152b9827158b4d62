"""Unit vectors of several values together, whose products are the columns of a Jacobian."""

from math import prod

import numpy as np

from .._core.numpy_facts import Value, dtype_of, shape_of
from .._levels.cotangents import one


def only_unit(values: list) -> list:
    """Return the unit vector of a single value of one element; it needs no batch."""
    shape = shape_of(values[0])
    return [np.ones(shape, dtype_of(values[0])) if shape else one(values[0])]


def units(values: list, sizes: list[int], start: int, stop: int) -> list:
    """Return the unit vectors `start` to `stop` of all values together.

    For each value their shape is (stop - start, *value.shape).
    """
    first, rows, parts = 0, stop - start, []
    for x, n in zip(values, sizes):
        part = np.zeros((rows, *shape_of(x)), dtype_of(x))
        low, high = max(start - first, 0), min(stop - first, n)
        if low < high:
            place = (first + low - start) * n + low
            part.reshape(-1)[place : place + (high - low - 1) * (n + 1) + 1 : n + 1] = 1
        first += n
        parts.append(part)
    return parts


def blocks(rows: Value, values: list, total: int | None) -> list:
    """Split the axis of all unit vectors into the axes of each value.

    `total` is the number of unit vectors, and None where `rows` has no axis for them.
    """
    form, start, parts = shape_of(rows), 0, []
    if total is None and values:
        shape = shape_of(values[0])
        return [rows.reshape(shape + form) if shape else rows]
    for x in values:
        shape = shape_of(x)
        stop = start + prod(shape)
        block = rows if len(values) == 1 else rows[start:stop]
        parts.append(block if len(shape) == 1 else block.reshape(shape + form[1:]))
        start = stop
    return parts


def fill_rows(rows: list, leaves: list, n: int) -> None:
    """Put `n` rows of zeros where `rows` has None: nothing depends on that leaf."""
    for i, x in enumerate(leaves):
        if rows[i] is None:
            rows[i] = np.zeros((n, *shape_of(x)), dtype_of(x))


def first_axes_last(block: Value, n: int) -> Value:
    """Return `block` with its first `n` axes moved to the end."""
    ndim = len(shape_of(block))
    return block.transpose((*range(n, ndim), *range(n))) if 0 < n < ndim else block
