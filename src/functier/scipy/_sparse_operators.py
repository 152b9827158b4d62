"""Operators of a sparse matrix of SciPy and a tensor; `_core.foreign_operators` asks for them."""

import operator
from typing import Any

import scipy.sparse as sp  # type: ignore[import-untyped]

from ._sparse_tensor import sparse

OPERATORS = {
    "matmul": operator.matmul, "multiply": operator.mul, "mul": operator.mul,
    "add": operator.add, "subtract": operator.sub, "sub": operator.sub,
    "divide": operator.truediv, "true_divide": operator.truediv, "truediv": operator.truediv,
}  # fmt: skip


def operate(func: Any, a: Any, b: Any) -> Any:
    """Compute an operator of a tensor and a sparse matrix."""
    known = OPERATORS.get(func.__name__)
    if known is None:
        return NotImplemented
    return known(*[sparse(v) if sp.issparse(v) else v for v in (a, b)])
