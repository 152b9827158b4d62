"""Powers of floats, cube roots and the length of a vector.

x**y is e**(y*log(x)) with the logarithm as a pair of about 68 bits; the special cases are those of
C's pow (ISO C, annex F.10.4.4), which NumPy has.
"""

import numpy as np

from ..text.emitter import INT64
from .arithmetic import integer_power, square
from .coefficients import LN2, POWER, TWO_THIRDS
from .exponentials import clamp, exp_pair, scaled
from .logarithms import split
from .pairs import fast_two_sum, two_product
from .table import doubles, elementwise, of_doubles


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


def float_power(e, x, y, of_positive=positive_power):
    """x**y for any two floats."""
    size = e.abs(x)
    inside = e.both(e.compare("gt", size, 0.0), e.compare("lt", size, np.inf))
    result = of_positive(e, e.select(inside, size, 1.0), y)
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
