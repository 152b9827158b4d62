"""Logarithms, and the inverse hyperbolic functions that they give.

The argument is 2**k * m with sqrt(1/2) <= m < sqrt(2), and log(m) = 2*arctanh(q) with
q = (m - 1) / (m + 1) (Tang, "Table-driven implementation of the logarithm function", 1990,
without the table). An argument may be a pair, whose remainder enters by its first order.
"""

import numpy as np

from .coefficients import LN2, LOG, LOG2_E, LOG10_2, LOG10_E
from .pairs import divide, fast_two_sum, root, two_product, two_sum
from .table import of_doubles

__all__ = ["log", "log1p", "log_of_pair", "split"]

ROOT_HALF = 0x3FE6A09E667F3BCC
ONE = 0x3FF0000000000000
MANTISSA = 0x000FFFFFFFFFFFFF
LARGE = 2.0**52


def split(e, x, subnormal=True):
    """The float k and m with x = 2**k * m, sqrt(1/2) <= m < sqrt(2), for 0 < x < inf."""
    offset = LARGE + 1023
    if subnormal:
        tiny = e.compare("lt", x, 2.0**-1022)
        offset = e.select(tiny, e.constant(offset + 54), offset)
        x = e.select(tiny, e.mul(x, 2.0**54), x)
    bits = e.add(e.bits(x), ONE - ROOT_HALF)
    exponent = e.either(e.shift_in_zeros(bits, 52), int(np.float64(LARGE).view(np.int64)))
    m = e.floating(e.add(e.both(bits, MANTISSA), ROOT_HALF))
    return e.sub(e.floating(exponent), offset), m


def with_specials(e, x, result):
    """A logarithm's values at zero, infinity and NaN, and none below zero."""
    result = e.select(e.compare("lt", x, np.inf), result, x)
    below = e.select(e.compare("eq", x, 0.0), e.constant(-np.inf), np.nan)
    result = e.select(e.compare("gt", x, 0.0), result, below)
    return e.select(e.isnan(x), x, result)


def of_significand(e, m, low=None):
    """log(m + low) - (m - 1) for m between sqrt(1/2) and sqrt(2), and m - 1."""
    f = e.sub(m, 1.0)
    q = e.div(f, e.add(f, 2.0))
    z = e.mul(q, q)
    half = e.mul(e.mul(f, 0.5), f)
    rest = e.mul(q, e.fma(z, e.polynomial(z, LOG), half))
    if low is not None:  # low / m, and 1 / m = (1 - q) / (1 + q)
        rest = e.fma(low, e.polynomial(q, (1.0, -2.0, 2.0, -2.0)), rest)
    return f, half, rest


def combined(e, k, f, half, rest):
    """k*log(2) + f - (half - rest)."""
    return e.fma(k, LN2[0], e.sub(f, e.sub(half, e.fma(k, LN2[1], rest))))


@of_doubles(np.log)
def log(e, x):
    """The natural logarithm."""
    k, m = split(e, x)
    return with_specials(e, x, combined(e, k, *of_significand(e, m)))


def log_of_pair(e, high, low, large=None):
    """log(high + low) for 2**-60 < high < inf; where it is `large`, `low` does not count."""
    k, m = split(e, high, subnormal=False)
    power = e.sub(e.bits(high), e.sub(e.bits(m), ONE))  # the bits of 2**k
    low = e.mul(low, e.floating(e.sub(2 * ONE, power)))
    low = low if large is None else e.select(large, 0.0, low)
    return k, of_significand(e, m, low)


@of_doubles(np.log1p)
def log1p(e, x):
    """log(1 + x), with the part of x that the sum loses."""
    total, rest = two_sum(e, e.constant(1.0), x)
    k, parts = log_of_pair(e, total, rest, e.compare("gt", x, 2.0**60))
    result = with_specials(e, total, combined(e, k, *parts))
    return e.select(e.compare("eq", x, 0.0), x, result)


def log_pair(e, m):
    """log(m) as a pair, for m between sqrt(1/2) and sqrt(2)."""
    f = e.sub(m, 1.0)
    q = e.div(f, e.add(f, 2.0))
    z = e.mul(q, q)
    first = e.mul(f, 0.5)
    half, half_rest = two_product(e, first, f)
    high, low = fast_two_sum(e, f, e.neg(half))
    tail = e.mul(q, e.fma(z, e.polynomial(z, LOG), half))
    return fast_two_sum(e, high, e.add(e.sub(low, half_rest), tail))


def times(e, pair, constant):
    """A pair times a constant in two parts."""
    high, low = two_product(e, pair[0], e.constant(constant[0]))
    return high, e.add(low, e.fma(pair[0], constant[1], e.mul(pair[1], constant[0])))


@of_doubles(np.log2)
def log2(e, x):
    """The logarithm to base 2: exact for powers of two."""
    k, m = split(e, x)
    part = times(e, log_pair(e, m), LOG2_E)
    high, low = fast_two_sum(e, k, part[0])
    return with_specials(e, x, e.add(high, e.add(low, part[1])))


@of_doubles(np.log10)
def log10(e, x):
    """The logarithm to base 10."""
    k, m = split(e, x)
    part = times(e, log_pair(e, m), LOG10_E)
    base, base_rest = two_product(e, k, e.constant(LOG10_2[0]))
    base_rest = e.fma(k, LOG10_2[1], base_rest)
    high, low = fast_two_sum(e, base, part[0])
    return with_specials(e, x, e.add(high, e.add(e.add(low, base_rest), part[1])))


# ---- inverse hyperbolic functions -----------------------------------------------------------


def log1p_of_pair(e, high, low, size):
    """log(1 + high + low); beyond 2**30 that of 2 * size."""
    large = e.compare("gt", size, 2.0**30)
    total, rest = two_sum(e, e.constant(1.0), high)
    total = e.select(large, size, total)
    k, parts = log_of_pair(e, total, e.add(rest, low), large)
    k = e.select(large, e.add(k, 1.0), k)
    return e.select(e.compare("lt", size, np.inf), combined(e, k, *parts), size)


@of_doubles(np.arcsinh)
def arcsinh(e, x):
    """log(1 + a + a**2/(1 + sqrt(1 + a**2))) with a = |x|, the argument as a pair."""
    size = e.abs(x)
    a = e.select(e.compare("gt", size, 2.0**30), 1.0, size)
    square, square_rest = two_product(e, a, a)
    total, rest = two_sum(e, e.constant(1.0), square)
    whole, tail = root(e, (total, e.add(rest, square_rest)))
    below, lost = fast_two_sum(e, whole, e.constant(1.0))
    (quotient, more), _ = divide(e, (square, square_rest), (below, e.add(lost, tail)))
    high, low = two_sum(e, a, quotient)
    return e.copysign(log1p_of_pair(e, high, e.add(low, more), size), x)


@of_doubles(np.arccosh)
def arccosh(e, x):
    """log(1 + t + sqrt(x**2 - 1)) with t = x - 1, the argument as a pair."""
    a = e.select(e.compare("gt", x, 2.0**30), 2.0, x)
    square, square_rest = two_product(e, a, a)
    less, rest = two_sum(e, square, e.constant(-1.0))
    less, rest = fast_two_sum(e, less, e.add(rest, square_rest))
    whole, tail = root(e, (less, rest))
    t, t_rest = two_sum(e, a, e.constant(-1.0))
    high, low = two_sum(e, t, whole)
    result = log1p_of_pair(e, high, e.add(e.add(low, t_rest), tail), x)
    return e.select(e.compare("lt", x, 1.0), np.nan, result)


@of_doubles(np.arctanh)
def arctanh(e, x):
    """log(1 + 2a/(1 - a)) / 2 with a = |x|, the argument as a pair."""
    size = e.abs(x)
    a = e.select(e.compare("lt", size, 1.0), size, 0.5)
    below = two_sum(e, e.constant(1.0), e.neg(a))
    (high, low), _ = divide(e, (e.add(a, a), e.constant(0.0)), below)
    result = e.mul(log1p_of_pair(e, high, low, a), 0.5)
    end = e.select(e.compare("eq", size, 1.0), e.constant(np.inf), np.nan)
    result = e.select(e.compare("lt", size, 1.0), result, end)
    result = e.copysign(result, x)
    return e.select(e.isnan(x), x, e.select(e.compare("eq", x, 0.0), x, result))
