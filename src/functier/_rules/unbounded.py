"""Derivatives that may be infinite, such as that of the square root at 0.

NOTE [zero wins]
    The product of a zero (co)tangent and an infinite derivative, or a NaN, is zero. A cotangent
    is exactly zero where the result does not depend on the element: where `numpy.where` took the
    other branch. A tangent is exactly zero where the operand does not move: the difference of
    a point from itself. `_levels.flat` finds such operands in reverse mode.

    Where values are finite the product is not looked at again, and a program that is recorded then
    trusts that they are: where it gives NaN, `compile` traces again. For the form of a value
    (`linearize`) nothing is known, and the product stays what it is.
"""

import math
from typing import Any

import numpy as np

from .._core.numpy_facts import dtype_of
from .._core.types import Value
from .._core.unsettled import known_values, report


def _is_finite(x: Any) -> bool:
    """Tell if plain values are finite; a sum of squares is the fastest answer."""
    kind = type(x)
    if kind is np.float64 or kind is float:
        return math.isfinite(x)
    if kind is not np.ndarray:
        return bool(np.isfinite(x).all())
    total = np.vdot(x, x)
    return bool(total - total == 0) or bool(np.isfinite(x).all())


def zero_wins(g: Value, c: Value) -> Value:
    """Return `c`, the product of `g` and a derivative, with 0 where `g` is: NOTE [zero wins]."""
    known = known_values(c)
    if known is None:
        return c
    if _is_finite(known):
        if known is not c:
            known_values(c, noted=True)
        return c
    c = np.where(np.equal(g, 0), dtype_of(c).type(0), c)
    c = c if np.ndim(c) else c[()]
    if np.isinf(known_values(c)).any():
        report()
    return c


def quotient(g: Value, divisor: Value) -> Value:
    """Return g / divisor, where a zero `g` wins."""
    if type(divisor) is float and not divisor:  # Python's own division raises
        divisor = np.float64(divisor)
    return zero_wins(g, g / divisor)
