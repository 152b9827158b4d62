"""The exponential function and its relatives.

The argument is k*log(2) + r with |r| <= log(2)/2 (Cody and Waite, "Software Manual for the
Elementary Functions", 1980), e**r a polynomial whose leading terms stay a pair, and the
power of two a sum of exponent bits.
"""

import numpy as np

from .coefficients import EXP, EXP2, LN2, LOG2_E
from .logarithms import log1p
from .pairs import fast_two_sum
from .table import of_doubles

__all__ = ["exp_pair", "expm1_pair", "power_of_two", "scaled"]

SHIFT = 1.5 * 2.0**52
"""Adding it rounds a number to an integer, which the last bits of the sum then hold."""
SHIFT_BITS = int(np.float64(SHIFT).view(np.int64))


def clamp(e, x, low, high):
    """`x` within two bounds; a NaN stays."""
    x = e.select(e.compare("gt", x, high), high, x)
    return e.select(e.compare("lt", x, low), low, x)


def nearest(e, x, factor):
    """The integer nearest to `x * factor`, as an integer and as a float."""
    shifted = e.fma(x, factor, SHIFT)
    return e.sub(e.bits(shifted), SHIFT_BITS), e.sub(shifted, SHIFT)


def power_of_two(e, k):
    """2.0**k for an integer -1022 <= k <= 1023."""
    return e.floating(e.shift_left(e.add(k, 1023), 52))


def scaled(e, x, k):
    """x * 2**k for any k of at most 2045 either way, rounded once where x is near 1."""
    half = e.sub(e.shift_in_zeros(e.add(k, 2048), 1), 1024)
    return e.mul(e.mul(x, power_of_two(e, half)), power_of_two(e, e.sub(k, half)))


def reduced(e, x):
    """The integer k, and the pair x - k*log(2)."""
    k, whole = nearest(e, x, LOG2_E[0])
    first = e.fma(whole, -LN2[0], x)
    rest = e.fma(whole, -LN2[1], first)
    return k, rest, e.fma(whole, -LN2[1], e.sub(first, rest))


def exp_pair(e, x):
    """The integer k, and the pair e**(x - k*log(2)): |x| <= 1e5."""
    k, rest, tail = reduced(e, x)
    tail = e.fma(e.mul(rest, rest), e.polynomial(rest, EXP), tail)
    one = e.constant(1.0)
    high, low = fast_two_sum(e, one, rest)
    return k, high, e.add(low, tail)


@of_doubles(np.exp)
def exp(e, x):
    """e**x."""
    k, high, low = exp_pair(e, clamp(e, x, -746.0, 710.0))
    return scaled(e, e.add(high, low), k)


@of_doubles(np.exp2)
def exp2(e, x):
    """2**x."""
    x = clamp(e, x, -1076.0, 1025.0)
    k, whole = nearest(e, x, 1.0)
    rest = e.sub(x, whole)
    first = e.mul(rest, LN2[0])
    tail = e.fma(rest, LN2[1], e.fma(rest, LN2[0], e.neg(first)))
    tail = e.fma(e.mul(rest, rest), e.polynomial(rest, EXP2), tail)
    high, low = fast_two_sum(e, e.constant(1.0), first)
    return scaled(e, e.add(high, e.add(low, tail)), k)


def expm1_pair(e, x, halvings):
    """(e**x - 1) / 2**halvings as a pair."""
    k, rest, tail = reduced(e, x)
    power = power_of_two(e, e.sub(k, halvings))
    tail = e.fma(e.mul(rest, rest), e.polynomial(rest, EXP), tail)
    start = e.sub(power, 0.5**halvings)
    high = e.fma(power, rest, start)
    low = e.fma(power, rest, e.sub(start, high))
    return high, e.fma(power, tail, low)


@of_doubles(np.expm1)
def expm1(e, x):
    """e**x - 1."""
    high, low = expm1_pair(e, clamp(e, x, -40.0, 710.0), 1)
    half = e.add(high, low)
    return tiny_stays(e, x, e.add(half, half))


def signed_zero(e, x, result):
    """The result of an odd function, which keeps a zero and its sign."""
    return e.select(e.compare("eq", x, 0.0), x, result)


def tiny_stays(e, x, result):
    """The result of a function that is x + O(x**2) or better: tiny numbers, and zero's sign."""
    return e.select(e.compare("lt", e.abs(x), 1e-17), x, result)


@of_doubles(np.tanh)
def tanh(e, x):
    """(e**2x - 1) / (e**2x + 1), of |x|."""
    twice = e.abs(e.add(x, x))
    high, low = expm1_pair(e, e.select(e.compare("gt", twice, 44.0), 44.0, twice), 0)
    above = e.add(high, low)
    return e.copysign(e.div(above, e.add(above, 2.0)), x)


@of_doubles(np.sinh)
def sinh(e, x):
    """(E + E/(E + 1)) / 2 with E = e**|x| - 1, a quarter of which never overflows early."""
    size = e.abs(x)
    size = e.select(e.compare("gt", size, 710.8), 710.8, size)
    high, low = expm1_pair(e, size, 2)
    above = e.add(high, low)
    ratio = e.div(above, e.fma(above, 4.0, 1.0))
    result = e.add(high, e.add(low, ratio))
    return tiny_stays(e, x, e.copysign(e.add(result, result), x))


@of_doubles(np.cosh)
def cosh(e, x):
    """(E + 1/E) / 2 with E = e**|x|, a quarter of which never overflows early."""
    size = e.abs(x)
    k, high, low = exp_pair(e, e.select(e.compare("gt", size, 710.8), 710.8, size))
    power = power_of_two(e, e.sub(k, 2))
    high, low = e.mul(high, power), e.mul(low, power)
    inverse = e.div(e.constant(0.0625), e.add(high, low))
    result = e.add(high, e.add(low, inverse))
    return e.add(result, result)


def added_logarithms(e, x, y, exponential, logarithm, log_of_2):
    """log(e**x + e**y) in a base, by the larger of both."""
    gap = e.abs(e.sub(x, y))
    larger = e.select(e.compare("gt", x, y), x, y)
    result = e.add(larger, logarithm(exponential(e, e.neg(gap))))
    return e.select(e.compare("eq", x, y), e.add(x, log_of_2), result)


@of_doubles(np.logaddexp)
def logaddexp(e, x, y):
    """log(exp(x) + exp(y))."""
    return added_logarithms(e, x, y, exp, lambda t: log1p(e, t), LN2[0])


@of_doubles(np.logaddexp2)
def logaddexp2(e, x, y):
    """log2(2**x + 2**y)."""
    return added_logarithms(e, x, y, exp2, lambda t: e.mul(log1p(e, t), LOG2_E[0]), 1.0)
