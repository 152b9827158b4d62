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
    "matrix_functions",
    "schur",
    "singular",
    "solves",
    "structured",
]
