"""The rules: one declaration for each function of NumPy. Importing this fills the table.

Imports `_core` only.
"""

from .._core.table import PENDING
from . import (
    by_value,
    complex_parts,
    constant,
    creation,
    diagonal,
    elementwise,
    functional,
    histogram,
    indexing,
    insertion,
    join,
    pad,
    pieces,
    polynomial,
    quantile,
    ranges_and_differences,
    reduction,
    shape,
    sorting,
    statistics,
    ufunc_methods,
    unsupported,
    windows,
)
from .linalg import eig, linear_systems, lstsq, norm, orthogonal, products

__all__ = [
    "by_value",
    "complex_parts",
    "constant",
    "creation",
    "diagonal",
    "eig",
    "elementwise",
    "functional",
    "histogram",
    "indexing",
    "insertion",
    "join",
    "linear_systems",
    "lstsq",
    "norm",
    "orthogonal",
    "pad",
    "pieces",
    "polynomial",
    "products",
    "quantile",
    "ranges_and_differences",
    "reduction",
    "shape",
    "sorting",
    "statistics",
    "ufunc_methods",
    "unsupported",
    "windows",
]

PENDING["numpy.char"] = (f"{__name__}.unsupported_text",)
PENDING["numpy.lib.recfunctions"] = (f"{__name__}.unsupported_records",)
PENDING["numpy.polynomial.polynomial"] = (f"{__name__}.polynomial_multivariate",)
PENDING["numpy.strings"] = (f"{__name__}.unsupported_text",)
PENDING["numpy.fft"] = (f"{__name__}.fft",)
