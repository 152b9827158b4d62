"""Derivatives that may be infinite, such as that of the square root at 0.

NOTE [zero wins]
    The product of a zero (co)tangent and an infinite derivative, or a NaN, is zero. A cotangent
    is exactly zero where the result does not depend on the element: where `numpy.where` took the
    other branch. A tangent is exactly zero where the operand does not move: the difference of
    a point from itself. `_levels.backward` finds such operands in reverse mode.

    Where values are finite the product is not looked at again, and a program that is recorded then
    trusts that they are: where it gives NaN, `compile` traces again. For the form of a value
    (`linearize`) nothing is known, and the product stays what it is.
"""

import numpy as np

from .._core.numpy_facts import dtype_of
from .._core.types import Value
from .._core.unsettled import is_trusted, report_infinite


def zero_wins(g: Value, c: Value) -> Value:
    """Return `c`, the product of `g` and a derivative, with 0 where `g` is: NOTE [zero wins]."""
    if is_trusted(c):
        return c
    c = np.where(np.equal(g, 0), dtype_of(c).type(0), c)
    c = c if np.ndim(c) else c[()]
    report_infinite(c)
    return c


def quotient(g: Value, divisor: Value) -> Value:
    """Return g / divisor, where a zero `g` wins."""
    if isinstance(divisor, float) and not divisor:  # Python's own division raises
        divisor = np.float64(divisor)
    return zero_wins(g, g / divisor)
