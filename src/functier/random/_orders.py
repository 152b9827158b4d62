"""Draws of orders, and of vectors whose parameters NumPy does not broadcast."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .._core.numpy_facts import Shape, Value
from ._gamma import MADE_OF_GAMMAS
from ._sampling import Draw, Size, Source, find_derivative_level, has_tensor, sample


def draw_vectors(
    source: Source, name: str, size: Size, *operands: Value, options: dict | None = None
) -> Any:
    """Draw vectors, of parameters that NumPy does not broadcast."""
    options = options or {}
    if name in MADE_OF_GAMMAS and find_derivative_level(operands):
        return MADE_OF_GAMMAS[name](source, size, *operands)
    if has_tensor(operands):
        one = Draw(name, lambda stream, *own: getattr(stream, name)(*own, **options), each=True)
        return sample(source, one, operands, size)
    draw = Draw(name, lambda stream, size: getattr(stream, name)(*operands, size, **options))
    return sample(source, draw, (), size)


def draw_orders(source: Source, name: str, shape: tuple, axis: int, array: Value) -> Value:
    """Draw an order of the indices of an axis, for each position along the others."""
    axis = normalize_axis_index(axis, len(shape))
    along = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - axis - 1))

    def draw(stream: np.random.Generator, size: Shape) -> Value:
        return stream.permuted(np.broadcast_to(along, size), axis=axis - len(shape))

    return sample(source, Draw(name, draw), (), shape, near=(array,))
