"""Rows for what has its dtype or its length told by the values."""

import numpy as np

from functier._rules.by_value import kept
from functier._rules.complex_parts import complex_of
from functier._rules.elementwise import hold, slope
from functier._rules.linalg.norm import at_zero, only_at

from ._row import integers, normal, positive, row, unit

C, F = complex, np.float32


def like_it(i, x, rng):
    """Other examples with as many numbers of each sign, or conjugate pairs as before."""
    return (x * rng.uniform(0.8, 1.2)).astype(x.dtype)


def complexed(func):
    """`func` with a complex result, also of no example at all."""

    def complexed(*args):
        return func(*args) + 0j

    complexed.__name__ = func.__name__
    return complexed


BOTH = np.array([-0.4, 0.3, 2.0])
WIDE = np.array([-1.5, 0.3, 2.0])
E = np.emath

ROWS = [
    row(complex_of, normal(3), normal(2, 3)),
    row(slope, normal(3), positive(2, 3)),
    row(slope, normal(3, dtype=C), positive(3)),
    row(kept, normal(3), (slice(None),)),
    row(hold, normal(3), np.ones(3, bool)),
    row(at_zero, normal(3), np.zeros(3, bool)),
    row(only_at, normal(3), np.array([True, False, True])),
    row(complex_of, normal(3, dtype=F), normal(1)),
    row(np.real_if_close, normal(3)),
    row(complexed(np.real_if_close), normal(3, dtype=C)),
    row(np.real_if_close, normal(3).astype(C), _order=0, _like=like_it),
    *[row(complexed(f), BOTH, _like=like_it) for f in (E.sqrt, E.log, E.log2, E.log10)],
    *[row(f, np.abs(BOTH)) for f in (E.sqrt, E.log)],
    *[row(complexed(f), WIDE, _like=like_it) for f in (E.arccos, E.arcsin, E.arctanh)],
    *[row(f, unit(3)) for f in (E.arccos, E.arcsin, E.arctanh)],
    row(complexed(E.sqrt), BOTH.astype(F), _like=like_it),
    row(E.sqrt, normal(3, dtype=C)),
    row(complexed(E.sqrt), np.array([-1, 4])),
    row(complexed(E.logn), 2.0, BOTH, _like=like_it),
    row(complexed(E.logn), -BOTH[:1], np.abs(WIDE)),
    row(complexed(E.power), BOTH, normal(3), _like=like_it),
    row(E.power, integers(1, 5, 3), -2),
    row(E.power, positive(3), np.array([2, -1, 3])),
    row(complexed(E.power), BOTH, 2),
    row(E.power, np.array([2.0, 3.0, 1.5]), np.array([1, -2, 3])),
]
