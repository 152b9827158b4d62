"""Rows for convolution, and for polynomials by their coefficients."""

import numpy as np

from ._row import integers, normal, positive, row

F, C = np.float32, complex
NODES = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
TURNING = np.array([1.0, 0.3, 2.0, -0.4])
"""A pair of complex roots and a real one."""


def of(name, function, *arrays, **options):
    return row(function, *arrays, _name=name, **options)


def distinct(i, x, rng):
    """Other values, no two of them near each other where they are sorted."""
    return np.sort(x + rng.uniform(0, 0.3, size=x.shape), axis=0) if i == 0 else rng.permutation(x)


def scaled(i, x, rng):
    """Other examples with zeros, and pairs of roots, in the same places."""
    return (x * rng.uniform(0.9, 1.1, size=x.shape)).astype(x.dtype)


def turned(i, x, rng):
    """Other examples whose zeros are elsewhere."""
    return x[::-1]


def roots(p):
    """Also of no example at all, whose roots NumPy takes to be real."""
    return np.roots(p) + 0j


ROWS = [
    *[row(np.convolve, normal(4), normal(3), m) for m in ("full", "same", "valid")],
    *[row(np.convolve, normal(2), normal(5), m) for m in ("full", "same", "valid")],
    *[row(np.correlate, normal(5), normal(2), m) for m in ("full", "same", "valid")],
    *[row(np.correlate, normal(3, dtype=C), normal(4, dtype=C), m) for m in ("full", "same")],
    row(np.polyval, normal(3), normal(2, 2)),
    of("polyval of a poly1d", lambda x: np.polyval(np.poly1d([1.0, 2.0, 0.5]), x), normal(2)),
    row(np.polyadd, normal(3), normal(2)),
    row(np.polysub, normal(2), normal(3)),
    row(np.polyder, normal(4), 2),
    row(np.polyint, normal(3), 2, k=[1.0, 2.0]),
    row(np.polyint, normal(3), 2, k=1.5),
    row(np.polymul, normal(3), normal(2)),
    row(np.polymul, normal(2, dtype=C), normal(3)),
    of("polymul zero", lambda b: np.polymul([0.0, 1.5, -2.0], b), normal(2)),
    row(np.polymul, np.array([0, 1, -2]), normal(2), _vmap=False, _order=0, _like=turned),
    row(np.polymul, normal(), normal(2)),
    row(np.polydiv, normal(4), positive(2)),
    row(np.polydiv, normal(2), positive(3)),
    row(np.polydiv, normal(3, dtype=C), positive(1)),
    row(np.polydiv, integers(1, 9, 4), positive(2)),
    row(roots, TURNING, _like=scaled),
    row(roots, normal(4, dtype=C)),
    row(np.roots, np.poly([1.0, -4.0, 20.0]), _like=scaled),
    row(np.roots, np.array([0.0, 1.0, -3.0, 1.0, 0.0, 0.0]), _shared=(0,), _order=0),
    row(np.roots, normal(2, dtype=F)),
    row(np.roots, np.array([2, -10, 12])),
    row(np.poly, normal(3)),
    row(np.poly, normal(3, dtype=F)),
    row(np.poly, normal(3, 3) + 3 * np.diag(np.arange(3.0)), _like=scaled),
    of("poly of pairs", lambda x: np.poly(np.roots(x)), TURNING, _like=scaled),
    of("poly complex", lambda x: np.poly(x) + 0j, normal(3, dtype=C)),
    row(np.poly, np.zeros(0)),
    row(np.polyfit, NODES, normal(5), 2, _like=distinct),
    row(np.polyfit, NODES, normal(5, 2), 1, w=positive(5), _like=distinct),
    of("polyfit full", lambda x, y: np.polyfit(x, y, 1, full=True)[:4], NODES, normal(5),
       _like=distinct),
    row(np.polyfit, NODES, normal(5), 2, cov=True, _like=distinct),
    row(np.polyfit, NODES, normal(5, 2), 1, w=positive(5), cov=True, _like=distinct),
    row(np.polyfit, NODES, normal(5), 1, cov="unscaled", _like=distinct),
    row(np.polymul, np.zeros(0), normal(2)),
]  # fmt: skip
