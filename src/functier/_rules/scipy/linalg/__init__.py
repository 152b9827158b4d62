"""Rules for the functions of `scipy.linalg`."""

from . import (
    eigen,
    equations,
    factorizations,
    matrix_functions,
    solves,
    spaces,
    structured,
)

__all__ = [
    "eigen",
    "equations",
    "factorizations",
    "matrix_functions",
    "solves",
    "spaces",
    "structured",
]
