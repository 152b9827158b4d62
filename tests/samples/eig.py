"""Rows for eigenvalues and eigenvectors of square matrices of any kind."""

import numpy as np

from ._row import normal, row
from .linalg import of, spread_out

C = complex
TURNS = np.array([[1.0, 2.0, 0.3], [-1.5, 0.5, 0.2], [0.1, 0.4, 3.0]])
"""A real matrix with a pair of complex eigenvalues and a real one."""


def scaled(i, x, rng):
    """Other matrices with eigenvalues of the same kind."""
    return (x * rng.uniform(0.8, 1.2, size=x.shape)).astype(x.dtype)


def parts(x):
    w, v = np.linalg.eig(x)
    return np.real(w), np.imag(w), np.real(v), np.imag(v)


ROWS = [
    of("eig", lambda x: tuple(np.linalg.eig(x)), spread_out(3, 3), _like=scaled),
    of("eig stack", lambda x: tuple(np.linalg.eig(x)), spread_out(2, 2, 2), _like=scaled),
    of("eig complex", lambda x: tuple(np.linalg.eig(x)), normal(3, 3, dtype=C)),
    of("eig real to complex", parts, TURNS, _like=scaled),
    of("eig float32", lambda x: np.linalg.eig(x).eigenvectors, spread_out(2, 2, dtype=np.float32)),
    of("eig one", lambda x: tuple(np.linalg.eig(x)), normal(1, 1)),
    row(np.linalg.eigvals, normal(3, 3, dtype=C)),
    row(np.linalg.eigvals, spread_out(2, 2, 2), _like=scaled),
    of("eigvals real to complex", lambda x: np.abs(np.linalg.eigvals(x)), TURNS, _like=scaled),
]
