"""Operators of other libraries' matrices that have a tensor as their other operand.

NOTE [an operator that asks for an array]
    ``A @ x`` of a sparse matrix of SciPy asks `x` for an array. Where that has no axes and holds
    an object, SciPy gives the operator back to Python, which asks the tensor. So a tensor gives
    such an array where one of these operators asks, and only there.
"""

from numbers import Real
from operator import ge, gt, le, lt
from typing import Any

import numpy as np

from .._cpython.frames import current_frame, function_at, module_at, outward
from .errors import UnsupportedError
from .hooks import operate_sparse
from .numpy_facts import Function

BEGINNING = "scipy.sparse._"
"""The names of modules with classes of such matrices begin so."""

NAMES = {f"__{r}{name}__" for r in ("", "r") for name in ("matmul", "mul", "truediv")}
"""The operators that ask for an array."""

ORDERINGS = {lt, le, gt, ge}

METHODS = {"multiply", "maximum", "minimum", "setdiag"}
"""Methods of these matrices that ask for an array, and take no tensor."""


def array_for_operator() -> np.ndarray | None:
    """Return the array for an operator that asks the caller for one, or None for other code.

    See NOTE [an operator that asks for an array].
    """
    asked = ""
    for frame in outward(current_frame(2)):
        if not module_at(frame).startswith(BEGINNING):
            break
        if function_at(frame) in NAMES:
            return np.empty((), object)
        if function_at(frame) in METHODS:
            asked = function_at(frame)
    if asked:
        raise UnsupportedError(
            f"scipy.sparse: the method {asked} of a plain matrix takes no tensor; write "
            f"functier.scipy.sparse.csr_array(A).{asked}(x) for A.{asked}(x), and A @ x and A * x "
            f"as they are"
        )
    return None


def operate(func: Function, a: Any, b: Any) -> Any:
    """Compute an operator of a tensor and an object that opts out of NumPy's protocols."""
    if func in ORDERINGS:
        return _order(func, a, b)
    for value in (a, b):
        for cls in type(value).__mro__:
            if cls.__module__.startswith(BEGINNING):
                return operate_sparse(func, a, b)
    return NotImplemented


def _order(func: Any, x: Any, other: Any) -> Any:
    """Answer an ordering by a number of another library, such as a fraction, that is a float.

    Others lie between two floats, and an ordering by one of these is not that by the number.
    """
    if not isinstance(other, Real) or x.dtype.kind != "f":
        return NotImplemented
    try:
        nearest: Any = np.float64(float(other))
    except OverflowError:
        return NotImplemented
    return func(x, nearest) if nearest <= other and nearest >= other else NotImplemented
