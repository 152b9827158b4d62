"""The declarations: importing this fills the table of operations."""

from . import (
    composite,
    constant,
    contraction,
    diagonal,
    elementwise,
    indexing,
    join,
    linalg,
    pad,
    reduction,
    repeat,
    shape,
    sorting,
    statistics,
    ufunc_methods,
    unsupported,
)

__all__ = [
    "composite",
    "constant",
    "contraction",
    "diagonal",
    "elementwise",
    "indexing",
    "join",
    "linalg",
    "pad",
    "reduction",
    "repeat",
    "shape",
    "sorting",
    "statistics",
    "ufunc_methods",
    "unsupported",
]
