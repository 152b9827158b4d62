"""Rules for the functions of `scipy.linalg`."""

from . import (
    banded,
    eigen,
    equations,
    factorizations,
    matrix_functions,
    schur,
    singular,
    solves,
    structured,
)

__all__ = [
    "banded",
    "eigen",
    "equations",
    "factorizations",
    "hessenberg",
    "least_squares",
    "matrix_functions",
    "pencils",
    "riccati",
    "schur",
    "singular",
    "solves",
    "spaces",
    "structured",
    "toeplitz",
]
