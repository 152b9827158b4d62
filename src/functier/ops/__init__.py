"""The declarations: importing this fills the table of operations.

``functier.ops.<namespace>.<name>`` is an operation: a custom one, or a NumPy function.
"""

from typing import Any

from .._op import PENDING
from . import (
    by_value,
    composite,
    constant,
    contraction,
    creation,
    diagonal,
    eig,
    elementwise,
    factorization,
    functional,
    histogram,
    indexing,
    insertion,
    join,
    linalg,
    lstsq,
    norm,
    orthogonal,
    pad,
    polynomial,
    quantile,
    reduction,
    repeat,
    shape,
    sorting,
    statistics,
    ufunc_methods,
    unsupported,
)
from ._namespaces import namespace

__all__ = [
    "by_value",
    "composite",
    "constant",
    "contraction",
    "creation",
    "diagonal",
    "eig",
    "elementwise",
    "factorization",
    "functional",
    "histogram",
    "indexing",
    "insertion",
    "join",
    "linalg",
    "lstsq",
    "norm",
    "orthogonal",
    "pad",
    "polynomial",
    "quantile",
    "reduction",
    "repeat",
    "shape",
    "sorting",
    "statistics",
    "ufunc_methods",
    "unsupported",
]

PENDING["numpy.char"] = f"{__name__}.text"
PENDING["numpy.lib.recfunctions"] = f"{__name__}.records"
PENDING["numpy.polynomial.polynomial"] = f"{__name__}.polynomials"
PENDING["numpy.strings"] = f"{__name__}.text"
PENDING["numpy.fft"] = f"{__name__}.fft"
PENDING["scipy.special"] = f"{__name__}.scipy_special"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return namespace(name)
