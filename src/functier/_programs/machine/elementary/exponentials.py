"""Exponential functions, logarithms, hyperbolic functions, powers and roots.

Logarithms.
The argument is 2**k * m with sqrt(1/2) <= m < sqrt(2), and log(m) = 2*arctanh(q) with
q = (m - 1) / (m + 1) (Tang, "Table-driven implementation of the logarithm function", 1990,
without the table). An argument may be a pair, whose remainder enters by its first order.

The exponential function and its relatives.
The argument is k*log(2) + r with |r| <= log(2)/2 (Cody and Waite, "Software Manual for the
Elementary Functions", 1980), e**r a polynomial whose leading terms stay a pair, and the
power of two a sum of exponent bits.

Powers of floats, cube roots and the length of a vector.
x**y is e**(y*log(x)) with the logarithm as a pair of about 68 bits; the special cases are those of
C's pow (ISO C, annex F.10.4.4), which NumPy has.
"""

import numpy as np

from ..text.emitter import INT64
from .arithmetic import integer_power, square
from .coefficients import EXP, EXP2, LN2, LOG, LOG2_E, LOG10_2, LOG10_E, POWER, TWO_THIRDS
from .pairs import fast_two_sum, two_product, two_sum
from .table import doubles, elementwise, of_doubles

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


@of_doubles(np.logaddexp)
def logaddexp(e, x, y):
    """log(exp(x) + exp(y)), by the larger of both."""
    gap = e.abs(e.sub(x, y))
    larger = e.select(e.compare("gt", x, y), x, y)
    result = e.add(larger, log1p(e, exp(e, e.neg(gap))))
    return e.select(e.compare("eq", x, y), e.add(x, LN2[0]), result)


def precise_log(e, x):
    """log(x) as a pair, for 0 < x < inf; the term of degree 3 is a pair as well."""
    k, m = split(e, x)
    f = e.sub(m, 1.0)
    d, d_rest = fast_two_sum(e, e.constant(2.0), f)
    inverse = e.div(e.constant(1.0), d)
    q = e.mul(f, inverse)
    q_rest = e.mul(e.fma(e.neg(q), d_rest, e.fma(e.neg(q), d, f)), inverse)
    z, z_rest = two_product(e, q, q)
    z_rest = e.fma(e.add(q, q), q_rest, z_rest)
    tail = e.mul(z, e.polynomial(z, POWER))
    u, u_rest = fast_two_sum(e, e.constant(TWO_THIRDS[0]), tail)
    u_rest = e.add(u_rest, TWO_THIRDS[1])
    cube, cube_rest = two_product(e, q, z)
    cube_rest = e.add(cube_rest, e.fma(q, z_rest, e.mul(q_rest, z)))
    a, a_rest = two_product(e, cube, u)
    a_rest = e.add(a_rest, e.fma(cube, u_rest, e.mul(cube_rest, u)))
    high, low = fast_two_sum(e, e.add(q, q), a)
    low = e.add(low, e.add(e.add(q_rest, q_rest), a_rest))
    base, base_rest = two_product(e, k, e.constant(LN2[0]))
    total, lost = fast_two_sum(e, base, high)
    low = e.add(lost, e.add(low, e.fma(k, LN2[1], base_rest)))
    return fast_two_sum(e, total, low)


def positive_power(e, size, y):
    """size**y for 0 < size < inf."""
    high, low = precise_log(e, size)
    product, rest = two_product(e, high, y)
    rest = e.fma(low, y, rest)
    known = clamp(e, product, -800.0, 800.0)  # beyond it the rest may be a NaN
    rest = e.select(e.compare("eq", known, product), rest, 0.0)
    k, first, second = exp_pair(e, known)
    second = e.fma(e.add(first, second), rest, second)
    return scaled(e, e.add(first, second), k)


def float_power(e, x, y):
    """x**y for any two floats."""
    size = e.abs(x)
    inside = e.both(e.compare("gt", size, 0.0), e.compare("lt", size, np.inf))
    result = positive_power(e, e.select(inside, size, 1.0), y)
    # zero and infinity
    growing = e.either(
        e.both(e.compare("eq", size, 0.0), e.compare("lt", y, 0.0)),
        e.both(e.compare("eq", size, np.inf), e.compare("gt", y, 0.0)),
    )
    end = e.select(growing, e.constant(np.inf), 0.0)
    result = e.select(inside, result, end)
    # the sign of the base
    whole = e.compare("eq", e.intrinsic("trunc", y), y)
    half = e.mul(y, 0.5)
    odd = e.both(whole, e.compare("ne", e.intrinsic("trunc", half), half))
    negative = e.compare("lt", e.bits(x), 0)
    result = e.select(e.both(negative, odd), e.neg(result), result)
    broken = e.both(e.both(e.compare("lt", x, 0.0), e.invert(whole)), inside)
    result = e.select(broken, np.nan, result)
    unknown = e.either(e.isnan(x), e.isnan(y))
    result = e.select(unknown, np.nan, result)
    # |x| = 1 and an infinite exponent; 1**y and x**0 even of a NaN
    level = e.both(e.compare("eq", size, 1.0), e.compare("eq", e.abs(y), np.inf))
    one = e.either(e.compare("eq", x, 1.0), e.compare("eq", y, 0.0))
    return e.select(e.either(level, one), 1.0, result)


SHORT = {
    1: lambda e, x: x,
    2: square,
    3: lambda e, x: e.mul(square(e, x), x),
    4: lambda e, x: square(e, square(e, x)),
    -1: lambda e, x: e.div(e.like(1.0, x), x),
    0.5: lambda e, x: e.sqrt(x),
}
"""Exponents known while compiling whose powers NumPy spells so too, or that err little."""


of_floats = doubles(float_power)


@elementwise(np.power, np.float_power)
def power(e, x, y):
    """The power of integers and floats."""
    if x.dtype.kind != "f":
        return integer_power(e, x, y)
    short = SHORT.get(e.literal(y))
    return short(e, x) if short else of_floats(e, x, y)


@of_doubles(np.cbrt)
def cbrt(e, x):
    """The cube root, by an inverse one without division (Newton's method of order four)."""
    size = e.abs(x)
    inside = e.both(e.compare("gt", size, 0.0), e.compare("lt", size, np.inf))
    a = e.select(inside, size, 1.0)
    tiny = e.compare("lt", a, 2.0**-1000)
    a = e.select(tiny, e.mul(a, 2.0**90), a)
    # the exponent times -1/3: bits * 21845 / 65536 of the upper half
    upper = e.shift_in_zeros(e.bits(a), 32)
    third = e.shift_in_zeros(e.mul(upper, 21845), 16)
    guess = e.shift_left(e.sub(e.constant(0x553ED900, INT64), third), 32)
    y = e.floating(guess)
    for _ in range(2):
        # 1/cbrt(1 - h) = 1 + h/3 + 2h**2/9 + 14h**3/81
        h = e.fma(e.neg(e.mul(a, y)), e.mul(y, y), 1.0)
        series = e.polynomial(h, (1 / 3, 2 / 9, 14 / 81))
        y = e.fma(e.mul(y, h), series, y)
    c = e.mul(a, e.mul(y, y))
    # one step with an exact residual: c + (a - c**3) / (3 * c**2)
    second, second_rest = two_product(e, c, c)
    left = e.fma(e.neg(c), second_rest, e.fma(e.neg(c), second, a))
    c = e.fma(e.mul(left, 1 / 3), e.mul(y, y), c)
    c = e.select(tiny, e.mul(c, 2.0**-30), c)
    return e.select(inside, e.copysign(c, x), x)


@of_doubles(np.hypot)
def hypot(e, x, y):
    """sqrt(x**2 + y**2), scaled by a power of two; infinity is stronger than NaN."""
    a, b = e.abs(x), e.abs(y)
    large = e.select(e.compare("gt", a, b), a, b)
    small = e.select(e.compare("gt", a, b), b, a)
    one = e.constant(1.0)
    huge, tiny = e.compare("gt", large, 2.0**500), e.compare("lt", large, 2.0**-500)
    factor = e.select(huge, e.constant(2.0**-600), e.select(tiny, e.constant(2.0**600), one))
    back = e.select(huge, e.constant(2.0**600), e.select(tiny, e.constant(2.0**-600), one))
    large, small = e.mul(large, factor), e.mul(small, factor)
    result = e.mul(e.sqrt(e.fma(large, large, e.mul(small, small))), back)
    unknown = e.either(e.isnan(a), e.isnan(b))
    result = e.select(unknown, np.nan, result)
    infinite = e.either(e.compare("eq", a, np.inf), e.compare("eq", b, np.inf))
    return e.select(infinite, np.inf, result)
