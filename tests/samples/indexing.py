"""Rows for indexing and what is made of it.

``ndarray[tensor]`` is NumPy's to answer, and it does not ask the tensor: where an index
array differs from example to example the rows call `getitem`, which does.
"""

import operator

import numpy as np

from functier._rules.indexing import HOLE, add_at, getitem, place
from functier._rules.pieces import add_pieces

from ._row import booleans, integers, normal, row


def _pieces(shape, *places):
    """A row's function and name: pieces at places, which have arrays."""

    def added(*pieces):
        return add_pieces(shape, places, *pieces)

    added.__name__ = f"add_pieces{shape}"
    return added


def _at(*index):
    """A row's function and name: ``x[index]``."""

    def indexed(x):
        return operator.getitem(x, index)

    indexed.__name__ = f"getitem{index}"
    return indexed


FULL = slice(None)
NEW = np.newaxis
MASK = [True, False, True]
FAR = np.array([4, -5, 7])

ROWS = [
    # basic indices
    row(_at(), normal(2, 3)),
    row(_at(...), normal()),
    row(_at(NEW), normal()),
    row(_at(1), normal(3)),
    row(_at(-1), normal(3, 2)),
    row(_at(NEW, slice(1, None), ..., slice(None, None, -2), NEW), normal(3, 2, 4)),
    row(_at(..., 0), normal(2, 3, dtype=np.float32)),
    row(_at(slice(1, 1)), normal(3, 2)),
    row(_at(slice(None, None, -1), slice(None, None, 2)), normal(3, 4, dtype=complex)),
    row(_at(FULL, 0), integers(0, 9, 2, 3)),
    row(_at(0), normal(2, 0)),
    # integer arrays; what is read twice adds up in the transpose
    row(_at([0, 2, 0]), normal(3, 2)),
    row(_at([]), normal(3, 2)),
    row(_at([0, 0], FULL, [1, 1]), normal(2, 2, 3)),
    row(_at(..., [[0, 1], [1, 1]], 0), normal(3, 2, 2)),
    row(_at(0, FULL, [1, 1]), normal(2, 2, 3)),
    row(_at(NEW, [1, 1], [0, 0]), normal(2, 2)),
    row(_at(np.int64(1), [-1, 1]), normal(2, 3, dtype=np.float32)),
    row(_at([0, 1, 0]), normal(2, dtype=complex)),
    row(operator.getitem, normal(3, 2), integers(-3, 3, 2, 2), _shared=(1,)),
    row(getitem, normal(3, 2), (HOLE,), integers(-3, 3, 2, 2)),
    row(getitem, normal(2, 3), (FULL, HOLE), integers(0, 3, 2)),
    row(getitem, normal(2, 3, 2), (HOLE, FULL, HOLE), integers(0, 2, 2), integers(0, 2, 3, 1)),
    row(getitem, normal(2, 3, dtype=np.float32), (..., HOLE), integers(0, 3)),
    row(add_at, normal(2, 2), (3, 2), (HOLE,), integers(-3, 3, 2)),
    row(add_at, normal(2, 2), (2, 3), (FULL, HOLE), integers(0, 3, 2)),
    row(add_at, normal(2, 3, dtype=complex), (2, 3, 2), (HOLE, FULL, 1), integers(0, 2, 2)),
    row(add_at, normal(3), (2, 3), (0,)),
    row(place, normal(3), (2, 3), (1,)),
    row(place, normal(3, 2, dtype=complex), (5, 2), (slice(None, None, -2),)),
    # boolean masks
    row(_at(MASK), normal(3, 2)),
    row(_at(FULL, MASK), normal(2, 3)),
    row(_at(MASK, [0, 1]), normal(3, 2)),
    row(_at(True), normal(2)),
    row(_at(False, ...), normal(2)),
    row(operator.getitem, normal(2, 3), booleans(2, 3), _shared=(1,)),
    row(operator.getitem, normal(3), np.array([False] * 3), _shared=(1,)),
    # take and its kin
    row(np.take, normal(2, 3), integers(-6, 6, 4), _shared=(1,)),
    row(np.take, normal(2, 3), integers(0, 3, 2, 2), 1, _shared=(1,)),
    row(np.take, normal(2, 3), integers(-2, 2, 3), axis=-2, _shared=(1,)),
    row(np.take, normal(3, dtype=np.float32), 1),
    row(np.take, normal(2, 3), [0, 0], axis=1),
    row(np.take, normal(2, 3), FAR, axis=1, mode="wrap", _shared=(1,)),
    row(np.take, normal(2, 3), FAR, axis=0, mode="clip", _shared=(1,)),
    row(np.take_along_axis, normal(2, 3), integers(0, 3, 2, 4), 1),
    row(np.take_along_axis, normal(2, 3), integers(-2, 2, 1, 3), 0),
    row(np.take_along_axis, normal(2, 3), integers(0, 6, 4), None),
    row(np.take_along_axis, normal(2, 3, 2), integers(0, 2, 2, 3, 1), axis=-1),
    row(np.compress, MASK, normal(2, 3), 1),
    row(np.compress, [True, False], normal(2, 2)),
    row(np.compress, booleans(3), normal(3, 2), axis=0, _shared=(0,)),
    row(np.extract, booleans(2, 3), normal(2, 3), _shared=(0,)),
    row(np.delete, normal(3, 2), 1, axis=0),
    row(np.delete, normal(2, 3), [0, -1], axis=-1),
    row(np.delete, normal(2, 3), slice(1, 4)),
    row(np.delete, normal(3, 2), np.array(-1), axis=0),
    row(np.delete, normal(4), np.array([1, 2, 1]), _vmap=False),
    row(np.insert, normal(3), np.array(1), normal(2)),
    row(np.insert, normal(2, 3), np.array([2, -3, 2]), normal(2, 3), axis=1),
    row(np.insert, normal(3), 1, 2.0),
    row(np.insert, normal(2, 3), 1, normal(2), axis=1),
    row(np.insert, normal(2, 3), [1], normal(2, 1), axis=1),
    row(np.insert, normal(2, 3), [0, -1], normal(3), axis=0),
    row(np.insert, normal(2, 3), slice(0, 2), normal(2), axis=1),
    row(np.insert, normal(4), [2, 2], normal(2)),
    row(np.insert, normal(3, dtype=np.float32), 3, normal(2)),
    # choosing element by element
    row(np.choose, integers(0, 2, 3), [normal(3), normal(2, 3)]),
    row(np.choose, integers(0, 2, 2, 1), [normal(3), 1.0]),
    row(np.choose, integers(0, 2, 3), normal(2, 3)),
    row(np.choose, FAR, [normal(3), normal(3), normal()], mode="wrap"),
    row(np.choose, FAR, [normal(3, dtype=np.float32), normal(1)], mode="clip"),
    row(np.select, [booleans(3), booleans(2, 3)], [normal(3), normal(2, 3)]),
    row(
        np.select,
        [booleans(3)],
        [normal(3, dtype=np.float32)],
        np.ones((2, 1)),
        _shared=(2,),
        _diff=(1,),
    ),
    row(np.select, [booleans(3), booleans(3)], [1.0, normal(3, dtype=np.float32)], 2),
    row(np.select, [booleans(3)], [integers(0, 5, 3)]),
    row(np.where, booleans(2, 3), normal(2, 3), normal(3)),
    row(np.where, normal(3), normal(3), 0.0),
    # results that depend on the data
    row(np.nonzero, integers(0, 2, 3, 2), _vmap=False),
    row(np.nonzero, normal(3), _vmap=False),
    row(np.where, normal(3), _vmap=False),
    row(np.flatnonzero, integers(0, 2, 3, 2), _vmap=False),
    row(np.argwhere, integers(0, 2, 3, 2), _vmap=False),
    row(np.count_nonzero, integers(0, 2, 3, 2), 0),
    row(np.count_nonzero, integers(0, 2, 3, 2), axis=(-1, 0), keepdims=True),
    row(np.count_nonzero, normal(3, 2), axis=1),
    # indices
    row(np.ix_, integers(0, 3, 2), integers(0, 3, 4)),
    row(np.ix_, booleans(3), [0, 1], _vmap=False),
    row(np.diag_indices_from, normal(3, 3), _diff=()),
    row(np.tril_indices_from, normal(3, 2), 1, _diff=()),
    row(np.triu_indices_from, normal(2, 3), -1, _diff=()),
    row(np.unravel_index, integers(0, 6, 2, 2), (2, 3)),
    row(np.ravel_multi_index, (integers(0, 2, 3), integers(0, 3, 3)), (2, 3)),
    row(np.ravel_multi_index, (FAR, integers(0, 3, 3)), (2, 3), mode="wrap", order="F"),
    # filling
    row(np.full_like, normal(2, 3), 2.0, _diff=()),
    row(np.full_like, normal(2, 3, dtype=np.float32), 1, dtype=float, shape=(4,), _diff=()),
    row(np.take, normal(), [0, 0], axis=0),
    row(np.delete, normal(2, 3), []),
    # last, as the data of rows depends on those before
    row(add_pieces, (2, 3), ((0,), slice(1, None), (1, 2)), normal(3), normal(1, 3), normal()),
    row(_pieces((3, 2), ..., FAR[:2] % 3, (0, 0)), normal(3, 2), normal(2, 2), normal()),
    row(_pieces((2, 3, 2), (0, FULL, np.array([1, 1])), (NEW, 1)), normal(2, 3), normal(1, 3, 2)),
]
