"""SciPy's error functions, logistic functions and `xlogy`. Imported once SciPy has been.

The complementary error function beyond 1/2 is e**(-x**2) * G / (x + 2), G a polynomial of
(x - 2)/(x + 2) (Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x)exp(x**2)erfc x
in 0 <= x < inf", 1981, with another denominator).
"""

import sys
from typing import Any

import numpy as np

from ...._core.numpy_private import SPECIAL
from .coefficients import ERF, ERFC, INVERSE_SQRT2
from .exponentials import combined, exp, exp_pair, log, log1p, log_of_pair, scaled
from .pairs import divide, fast_two_sum, two_product, two_sum
from .table import ELEMENTWISE, of_doubles

special: Any = sys.modules.get(SPECIAL, sys.modules["scipy.special"])

for theirs, ours in (
    ("exp2", np.exp2),
    ("expm1", np.expm1),
    ("log1p", np.log1p),
    ("cbrt", np.cbrt),
):
    ELEMENTWISE[getattr(special, theirs)] = ELEMENTWISE[ours]


# ---- error functions ------------------------------------------------------------------------


def capped(e, size):
    """The size of an argument, or one beyond which the function does not change."""
    return e.select(e.compare("gt", size, 28.0), 28.0, size)


def tail(e, size, size_rest, square):
    """erfc of a pair of 1/2 to 30, whose square is known as a pair."""
    below, below_rest = two_sum(e, size, e.constant(2.0))
    below_rest = e.add(below_rest, size_rest)
    inverse = e.div(e.constant(1.0), below)
    inverse_rest = e.fma(e.neg(below), inverse, 1.0)
    inverse_rest = e.mul(inverse, e.fma(e.neg(below_rest), inverse, inverse_rest))
    above = e.sub(size, 2.0)
    t = e.mul(above, inverse)
    t_rest = e.fma(above, inverse_rest, e.fma(above, inverse, e.neg(t)))
    inner, inner_rest = fast_two_sum(e, e.constant(ERFC[1]), e.mul(t, e.polynomial(t, ERFC[2:])))
    first, first_rest = two_product(e, t, inner)
    first_rest = e.add(first_rest, e.fma(t, inner_rest, e.mul(t_rest, inner)))
    g, g_rest = fast_two_sum(e, e.constant(ERFC[0]), first)
    g_rest = e.add(g_rest, first_rest)
    w, w_rest = two_product(e, inverse, g)
    w_rest = e.fma(inverse, g_rest, e.fma(inverse_rest, g, w_rest))
    k, first, second = exp_pair(e, e.neg(square[0]))
    second = e.fma(e.neg(e.add(first, second)), square[1], second)
    rest = e.fma(w, second, e.mul(w_rest, first))
    return scaled(e, e.fma(w, first, rest), k)


def center(e, x):
    """erf(x) - x for |x| <= 1/2."""
    return e.mul(x, e.polynomial(e.mul(x, x), ERF))


@of_doubles(special.erf)
def erf(e, x):
    """The error function."""
    size = capped(e, e.abs(x))
    far = e.copysign(e.sub(1.0, tail(e, size, e.constant(0.0), two_product(e, size, size))), x)
    near = e.add(x, center(e, x))
    return e.select(e.compare("lt", size, 0.5), near, far)


def complement(e, x, x_rest, square):
    """erfc of a pair whose square is known as a pair."""
    size = e.abs(x)
    far = tail(e, size, e.select(e.compare("lt", x, 0.0), e.neg(x_rest), x_rest), square)
    far = e.select(e.compare("lt", x, 0.0), e.sub(2.0, far), far)
    top, lost = fast_two_sum(e, e.constant(1.0), e.neg(x))
    near = e.add(top, e.sub(e.sub(lost, x_rest), center(e, x)))
    return e.select(e.compare("lt", size, 0.5), near, far)


@of_doubles(special.erfc)
def erfc(e, x):
    """1 - erf(x)."""
    x = e.copysign(capped(e, e.abs(x)), x)
    return complement(e, x, e.constant(0.0), two_product(e, x, x))


@of_doubles(special.ndtr)
def ndtr(e, x):
    """The normal distribution: erfc(-x / sqrt(2)) / 2."""
    inside = e.select(e.compare("lt", x, -40.0), -40.0, x)
    inside = e.select(e.compare("gt", inside, 40.0), 40.0, inside)
    t, t_rest = two_product(e, inside, e.constant(-INVERSE_SQRT2[0]))
    t_rest = e.fma(inside, -INVERSE_SQRT2[1], t_rest)
    square = two_product(e, inside, e.mul(inside, 0.5))
    return e.mul(complement(e, t, t_rest, square), 0.5)


# ---- logistic functions ---------------------------------------------------------------------


@of_doubles(special.expit)
def expit(e, x):
    """1 / (1 + e**-x), or E / (1 + E) with E = e**x for negative numbers."""
    size = e.abs(x)
    k, high, low = exp_pair(e, e.neg(e.select(e.compare("gt", size, 746.0), 746.0, size)))
    high, low = fast_two_sum(e, high, low)
    high, low = scaled(e, high, k), scaled(e, low, k)
    total, rest = fast_two_sum(e, e.constant(1.0), high)
    negative = e.compare("lt", x, 0.0)
    above = e.select(negative, high, 1.0), e.select(negative, low, 0.0)
    (quotient, more), _ = divide(e, above, (total, e.add(rest, low)))
    return e.add(quotient, more)


@of_doubles(special.log_expit)
def log_expit(e, x):
    """The logarithm of expit(x)."""
    rest = log1p(e, exp(e, e.neg(e.abs(x))))
    return e.select(e.compare("gt", x, 0.0), e.neg(rest), e.sub(x, rest))


@of_doubles(special.logit)
def logit(e, x):
    """log(x / (1 - x)), the argument as a pair."""
    inside = e.both(e.compare("gt", x, 0.0), e.compare("lt", x, 1.0))
    tiny = e.compare("lt", x, 2.0**-60)
    p = e.select(e.both(inside, e.compare("ge", x, 2.0**-60)), x, 0.5)
    below = two_sum(e, e.constant(1.0), e.neg(p))
    (ratio, rest), _ = divide(e, (p, e.constant(0.0)), below)
    ratio, rest = fast_two_sum(e, ratio, rest)
    k, parts = log_of_pair(e, ratio, rest)
    result = e.select(tiny, log(e, x), combined(e, k, *parts))
    end = e.select(e.compare("eq", x, 1.0), e.constant(np.inf), np.nan)
    end = e.select(e.compare("eq", x, 0.0), -np.inf, end)
    return e.select(inside, result, end)


@of_doubles(special.xlogy)
def xlogy(e, x, y):
    """x * log(y), which is 0 for x = 0 unless y is a NaN."""
    zero = e.both(e.compare("eq", x, 0.0), e.invert(e.isnan(y)))
    return e.select(zero, 0.0, e.mul(x, log(e, y)))
