"""The unit vectors of several values together, whole or in chunks, and what becomes of the
rows that a Jacobian has for each.
"""

from math import prod
from typing import Any

import numpy as np

from ._core.numpy_facts import dtype_of, shape_of
from ._levels.cotangents import one


def only_unit(values: list) -> list:
    """The only unit vector of a single value of one element; it needs no batch."""
    shape = shape_of(values[0])
    return [np.ones(shape, dtype_of(values[0])) if shape else one(values[0])]


def units(values: list, sizes: list[int], total: int) -> list:
    """For each value, unit vectors of all values together, shape (total, *value.shape)."""
    start, parts = 0, []
    for x, n in zip(values, sizes):
        part = np.zeros((total, *shape_of(x)), dtype_of(x))
        part.reshape(-1)[start * n : (start + n) * n : n + 1] = 1
        parts.append(part)
        start += n
    return parts


def some_units(values: list, sizes: list[int], start: int, stop: int) -> list:
    """The rows `start` to `stop` of `units`, made without the others."""
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


def blocks(rows: Any, values: list, total: int | None) -> list:
    """Split the axis of all unit vectors into the axes of each value."""
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
