"""Rows for the methods of ufuncs, and for ufuncs and gufuncs that nobody declared."""

import numpy as np
import scipy.special as special

from ._row import booleans, integers, normal, positive, row

F32 = np.float32
MASK = np.array([[True, False, True], [False, True, True]])
DET = np.linalg._umath_linalg.det  # (m,m)->()
SOLVE = np.linalg._umath_linalg.solve  # (m,m),(m,n)->(m,n)
SOLVE1 = np.linalg._umath_linalg.solve1  # (m,m),(m)->(m)
SLOGDET = np.linalg._umath_linalg.slogdet  # (m,m)->(),()

hypotenuse = np.frompyfunc(lambda x, y: float((x * x + y * y) ** 0.5), 2, 1)


def python_made(*xs):
    """A user's own ufunc gives objects; the rows compare numbers."""
    return hypotenuse(*xs).astype(float)


def python_made_where(x, y, mask):
    """The same under a mask, with 0 where NumPy leaves the result open."""
    return np.where(mask, hypotenuse(x, y, where=mask, out=None), 0).astype(float)


def named(method, *args, **kwargs):
    return row(method, *args, _name=f"{method.__self__.__name__}.{method.__name__}", **kwargs)


REDUCED = [np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.logaddexp2]
STEPS = [
    np.subtract, np.divide, np.maximum, np.minimum, np.logaddexp, np.logaddexp2, np.hypot,
    np.fmax, np.fmin, np.arctan2, np.copysign,
]  # fmt: skip
SLICES = np.array([0, 3, 1])

ROWS = [
    *[named(f.reduce, normal(2, 3)) for f in REDUCED],
    *[named(f.reduce, normal(2, 3), axis=(0, 1), keepdims=True) for f in REDUCED],
    *[named(f.reduce, normal(2, 3), axis=1, initial=0.5, where=MASK) for f in REDUCED],
    *[named(f.reduce, booleans(2, 3), axis=None) for f in (np.logical_or, np.logical_and)],
    named(np.logical_or.reduce, booleans(2, 3), 1, where=MASK),
    named(np.add.reduce, normal(3, dtype=F32), dtype=float, _order=1),
    named(np.logaddexp.reduce, np.array([-np.inf, 1.0]), _order=0),
    named(np.logaddexp.reduce, np.full(2, -np.inf), _order=0),
    named(np.add.accumulate, normal(3, 2)),
    named(np.multiply.accumulate, normal(3, 2), axis=-1),
    *[named(f.outer, normal(2), 2 + positive(2, 3)) for f in (np.add, np.divide, np.arctan2)],
    named(np.multiply.outer, normal(), normal(2)),
    named(np.add.reduceat, normal(4, 2), np.array([0, 2, 1])),
    named(np.add.reduceat, normal(2, 4), np.array([0, 3, 1]), 1),
    named(np.add.reduceat, normal(3, 2), np.array([1, 1, 0, 2]), axis=-2),
    # whose derivative is made of that of the ufunc
    *[named(f.accumulate, normal(4, 2)) for f in STEPS],
    *[named(f.accumulate, normal(2, 3, dtype=F32), axis=-1) for f in STEPS[:7]],
    *[named(f.accumulate, normal(2, 3, dtype=complex), axis=1) for f in STEPS[:2]],
    *[named(f.reduce, normal(2, 3), axis=1) for f in (np.subtract, np.fmax, np.hypot)],
    *[named(f.reduce, normal(2, 3, 2), (0, 2), keepdims=True) for f in (np.fmin, np.hypot)],
    *[named(f.reduce, normal(2, 3), initial=0.3) for f in (np.fmin, np.hypot, np.subtract)],
    named(np.hypot.reduce, normal(2, 3), axis=1, where=MASK),
    named(np.hypot.reduce, normal(0, 2), _order=1),
    named(np.divide.reduce, positive(3, dtype=complex)),
    *[named(f.reduceat, normal(5), SLICES) for f in (np.multiply, np.maximum, np.logaddexp)],
    *[named(f.reduceat, normal(2, 5), SLICES, 1) for f in (np.multiply, np.minimum, np.hypot)],
    named(np.maximum.accumulate, np.zeros(3), _order=0),
    named(np.hypot.accumulate, np.zeros(3), _order=0),
    named(np.maximum.accumulate, integers(0, 9, 4)),
    # without derivatives
    named(np.floor_divide.reduce, normal(3, 2), _diff=()),
    named(np.bitwise_xor.reduce, integers(0, 9, 2, 3), axis=1, keepdims=True),
    named(np.floor_divide.accumulate, normal(3, 2), axis=1, _diff=()),
    # ufuncs that nobody declared
    row(special.zetac, positive(2, 3) + 1, _diff=()),
    row(special.obl_ang1, 1, 2, 0.5, positive(2, 3) / 4, _diff=()),
    row(special.agm, positive(2, 1), positive(2, 3), _diff=()),
    row(special.chndtr, positive(2, 1), positive(3), positive(2, 3), _diff=()),
    row(python_made, normal(2, 3), normal(3), _diff=()),
    row(python_made_where, normal(2, 3), normal(3), booleans(3), _diff=()),
    # gufuncs that nobody declared
    row(DET, normal(2, 2), _diff=()),
    row(DET, normal(2, 3, 2), axes=[(0, 2)], _diff=()),
    row(SLOGDET, normal(3, 2, 2), _diff=()),
    row(SOLVE, normal(2, 2), normal(3, 2, 1), _diff=()),
    row(SOLVE, normal(3, 1, 2, 2), normal(2, 1), _diff=()),
    row(SOLVE1, normal(2, 2), normal(3, 2), axes=[(-2, -1), (1,), (0,)], _diff=()),
    # of one element
    *[named(f.reduce, -positive(2, 1), 1) for f in (np.fmin, np.hypot, np.subtract)],
    named(np.hypot.reduce, -positive(1, 2, 1), (0, 2), initial=None),
    named(np.divide.reduceat, positive(5), SLICES),
    named(np.divide.reduceat, positive(3), [0, 1, 2]),
    row(np.logical_or.reduce, booleans(2, 3), initial=True),
    row(np.logical_and.reduce, booleans(2, 3), axis=1, initial=False),
    row(np.maximum.reduce, integers(0, 9, 2, 3), dtype=float),
    row(np.float_power.accumulate, positive(3, dtype=np.float32), dtype=float),
]
