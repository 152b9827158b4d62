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

from .._core.numpy_facts import BIG, SCALARS, dtype_of, shape_of
from .._core.table import PIECES
from .._core.types import Function, Index, Shape, Value
from .cotangents import add
from .moves import Moves, depth_of, either_later, now, probe, question
from .second_look import WITHOUT_ARRAY

new = object.__new__

SMALL = 8
"""An array of up to so many elements costs no more than a piece."""


class Pieces:
    """The cotangent of an array of `shape`: a sum of pieces at some places.

    There is `room` for so many more elements before it becomes an array, and `looks` tells where
    the pieces of a large one move.
    """

    __slots__ = ("looks", "places", "room", "rule", "shape", "values")

    places: list[Index]
    values: list[Value]
    looks: list[tuple] | None

    def sum(self) -> Value:
        """Return the array, which nobody else has."""
        if len(self.values) > 1:
            return PIECES[self.rule](self.shape, tuple(self.places), *self.values)
        (index,), (g,) = self.places, self.values
        return g if index is ... else self.rule(g, self.shape, index)

    def __add__(self, other: Value) -> Value:
        return add(self.sum(), other)

    def look(self, g: Value, index: Index, moves: Any) -> None:
        """Note where a piece of a large array moves."""
        moves = moves if depth_of(moves) < 2 else None  # each keeps what its rule has saved
        self.looks.append((shape_of(g), dtype_of(g), index, moves))  # type: ignore[union-attr]

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
) -> Value | None:  # fmt: skip
    """Take `g` as a piece of the cotangent `key`; return what is to be added to that, if anything.

    This is the cotangent itself where `g` is the first part of it, and the array of the piece where
    that is small.
    """
    found = grads.get(key)
    shape, index = saved
    if type(found) is Pieces:
        found.places.append(index)
        found.values.append(g)
        found.room -= 1 if type(g) in SCALARS else prod(shape_of(g))
        if found.room < 0:
            found.places, found.values, found.room = [...], [found.sum()], prod(shape)
        if found.looks is not None:
            found.look(g, index, noted.get(here))
        return None
    size = prod(shape)
    if size <= SMALL:
        return rule(g, shape, index)
    made = new(Pieces)
    made.rule, made.shape, made.room, made.looks = rule, shape, size, None
    if found is None:
        made.places, made.values = [index], [g]
    else:
        made.places, made.values = [..., index], [found, g]
        grads[key] = made
    if size > BIG:
        roots.clear()  # see `note_large`
        made.looks = []
        made.look(g, index, noted.get(here))
        moves: Any = question(Pieces.find_moves, (made,), 2)
        if found is not None:
            moves = either_later(noted.pop(key, None), moves)
        if moves is not None:
            noted[key] = moves
    return made if found is None else None
