"""Recipes that draw a call of each function, by subject; importing this fills `RECIPES`."""

from . import (  # noqa: F401
    elementwise,
    fft,
    indexing,
    joining,
    linalg,
    polynomials,
    products,
    reductions,
    shapes,
    sorting,
    ufunc_methods,
)
