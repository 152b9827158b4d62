"""Rules for the functions of `scipy.linalg`."""

from . import (
    eigen,
    equations,
    factorizations,
    least_squares,
    matrix_functions,
    pencils,
    singular,
    solves,
    spaces,
    structured,
)

__all__ = [
    "eigen",
    "equations",
    "factorizations",
    "least_squares",
    "matrix_functions",
    "pencils",
    "singular",
    "solves",
    "spaces",
    "structured",
]
