"""Operands of kernels: where an array lies, and how. Imports nothing."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Operand(NamedTuple):
    """An array in memory, as a kernel sees it.

    Attributes
    ----------
    pointer : str
        The text of the pointer in the code, such as ``%in0``.
    dtype : numpy.dtype
        The type of its elements.
    shape, strides : tuple of int
        Sizes and steps, the steps in bytes.
    offset : int
        The bytes from the pointer to the first element.
    """

    pointer: str
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def size(self) -> int:
        """Return the number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def contiguous(self) -> bool:
        """Return whether it lies in memory in the order of its elements."""
        return steps(self.shape, self.strides) == steps(
            self.shape, packed_strides(self.shape, self.dtype.itemsize)
        )

    def transposed(self, axes: Sequence[int]) -> "Operand":
        """Return the operand with its axes in another order."""
        shape = tuple([self.shape[axis] for axis in axes])
        strides = tuple([self.strides[axis] for axis in axes])
        return self._replace(shape=shape, strides=strides)

    def broadcast(self, shape: tuple[int, ...]) -> "Operand":
        """Return the operand with a larger shape, by steps of zero."""
        new = len(shape) - len(self.shape)
        strides = [
            0 if old == 1 and length != 1 else step
            for old, length, step in zip(self.shape, shape[new:], self.strides)
        ]
        return self._replace(shape=shape, strides=(0,) * new + tuple(strides))


def packed(pointer: str, dtype: np.dtype, shape: tuple[int, ...], offset: int = 0) -> Operand:
    """Return an operand whose elements lie in order, without gaps."""
    return Operand(pointer, dtype, shape, packed_strides(shape, dtype.itemsize), offset)


def packed_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of a new array in C order."""
    strides, step = [], itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def steps(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Return the sizes and strides of the axes along which there are steps."""
    if 0 in shape:
        return []
    return [(length, step) for length, step in zip(shape, strides) if length != 1]
