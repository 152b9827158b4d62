"""The declarations: importing this fills the table of operations."""

from . import (
    composite,
    constant,
    contraction,
    elementwise,
    indexing,
    join,
    linalg,
    reduction,
    shape,
    sorting,
    ufunc_methods,
    unsupported,
)

__all__ = [
    "composite",
    "constant",
    "contraction",
    "elementwise",
    "indexing",
    "join",
    "linalg",
    "reduction",
    "shape",
    "sorting",
    "ufunc_methods",
    "unsupported",
]
