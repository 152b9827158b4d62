"""Cotangents of what is read at indices: pieces, which are added when the sum is needed.

NOTE [pieces of a cotangent]
    The cotangent of ``x[i]`` is zeros but for a piece. A loop over elements would make an array as
    large as `x` for each. So the backward pass keeps the pieces of a node until it visits the
    node, and one operation adds them, in the order in which they came, to zeros that nobody else
    has. What had come before them is the first piece, at `...`; what comes later is added to their
    sum. Pieces with more elements than `x` do not wait.
"""

from math import prod
from typing import Any

import numpy as np

from .._core.numpy_facts import BIG, dtype_of, shape_of
from .._core.table import PIECES
from .._core.types import Function, Index, Shape, Value
from .cotangents import add
from .moves import Moves, depth_of, either_later, now, probe, question
from .second_look import WITHOUT_ARRAY

float64 = np.float64


class Pieces:
    """The cotangent of an array of `shape`: a sum of pieces at some places.

    `waiting` counts their elements, and `looks` tells where those of a large array move.
    """

    __slots__ = ("looks", "places", "rule", "shape", "size", "values", "waiting")

    def __init__(self, rule: Function, shape: Shape, whole: Value | None):
        self.rule, self.shape, self.size = rule, shape, prod(shape)
        self.places: list[Index] = [] if whole is None else [...]
        self.values: list[Value] = [] if whole is None else [whole]
        self.waiting = 0
        self.looks: list[tuple] | None = [] if self.size > BIG else None

    def take(self, g: Value, index: Index, moves: Any) -> None:
        """Take one more piece."""
        self.places.append(index)
        self.values.append(g)
        self.waiting += 1 if type(g) is float64 else prod(shape_of(g))
        if self.looks is not None:
            moves = moves if depth_of(moves) < 2 else None  # each keeps what its rule has saved
            self.looks.append((shape_of(g), dtype_of(g), index, moves))
        if self.waiting > self.size:
            self.places, self.values, self.waiting = [...], [self.sum()], 0

    def sum(self) -> Value:
        """Return the array, which nobody else has."""
        if len(self.values) > 1:
            return PIECES[self.rule](self.shape, tuple(self.places), *self.values)
        (index,), (g,) = self.places, self.values
        return g if index is ... else self.rule(g, self.shape, index)

    def __add__(self, other: Value) -> Value:
        return add(self.sum(), other)

    def find_moves(self) -> Moves:
        """Return where the array moves."""
        places, forms = [], []
        for shape, dtype, index, moves in self.looks or ():
            places.append(index)
            forms.append(probe(np.broadcast_to(np.zeros((), dtype), shape), now(moves)))
        return np.not_equal(PIECES[self.rule](self.shape, tuple(places), *forms), 0)


WITHOUT_ARRAY.add(Pieces)


def take_piece(
    grads: dict[int, Any], key: int, rule: Function, g: Value, saved: tuple,
    noted: dict[int, Any], here: int, roots: list,
) -> Pieces | None:  # fmt: skip
    """Take `g` as a piece of the cotangent `key`; return that where it is the first part of it."""
    found = grads.get(key)
    first = None
    if type(found) is not Pieces:
        shape, index = saved
        first = pieces = Pieces(rule, shape, found)
        if pieces.looks is not None:
            roots.clear()  # see `note_large`
            moves: Any = question(Pieces.find_moves, (pieces,), 2)
            if found is not None:
                moves = either_later(noted.pop(key, None), moves)
            if moves is not None:
                noted[key] = moves
        if found is not None:
            grads[key], first = pieces, None
        found = pieces
    found.take(g, saved[1], noted.get(here) if noted else None)
    return first
