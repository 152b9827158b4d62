"""Polynomials of several variables, the lowest coefficient first.

NumPy imports `numpy.polynomial` on demand, in a fifth of the time that all the other
declarations take: `find` imports this file for the first function from there.
"""

import numpy as np
from numpy.polynomial import polynomial

from .._core.numpy_facts import Value
from .axes import as_array, as_strong, convert_lists
from .constructors import composite


def _evaluate(c: Value, x: Value) -> Value:
    """Evaluate the polynomial along the first axis of `c`; other axes broadcast with `x`."""
    c = np.atleast_1d(c)
    y = c[-1] + x * 0
    for i in range(np.shape(c)[0] - 2, -1, -1):
        y = c[i] + y * x
    return y


def _coefficients(c: Value) -> Value:
    """Return coefficients as NumPy converts them: with one axis or more, and no integers."""
    (c,) = convert_lists(c)
    c = np.atleast_1d(c)
    return c + 0.0 if c.dtype.kind in "biu" else c


def _append_axes(c: Value, x: Value) -> Value:
    """Return `c` with an axis of size 1 for each axis of `x`."""
    return np.reshape(c, np.shape(c) + (1,) * np.ndim(x))


def _polyvalnd(pts: Value, c: Value) -> Value:
    if len({np.shape(x) for x in pts}) > 1:
        raise ValueError("x, y are incompatible" if len(pts) == 2 else "ordinates are incompatible")
    pts = [as_strong(as_array(x)) for x in pts]
    c = _append_axes(_coefficients(c), pts[0])
    for x in pts:
        c = _evaluate(c, x)
    return c


if hasattr(polynomial, "polyvalnd"):  # since NumPy 2.5
    composite(polynomial.polyvalnd, _polyvalnd)


@lambda body: composite(polynomial.polyval2d, body)
def _polyval2d(x: Value, y: Value, c: Value) -> Value:
    return _polyvalnd((x, y), c)


@lambda body: composite(polynomial.polygrid2d, body)
def _polygrid2d(x: Value, y: Value, c: Value) -> Value:
    x, y = convert_lists(x, y)
    return _evaluate(_append_axes(_evaluate(_append_axes(_coefficients(c), x), x), y), y)
