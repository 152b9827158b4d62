"""Functions of float32, evaluated in float64 with shorter polynomials.

The wider dtype makes pairs, scaling and most special cases needless: nothing overflows, and
a relative error of 1e-9 stays below the rounding of the result.
"""

import numpy as np

from .coefficients import (
    ARCTAN_SINGLE,
    ERF_SINGLE,
    ERFC_SINGLE,
    EXP_SINGLE,
    HALF_PI,
    INVERSE_SQRT2,
    LN2,
    LOG2_E,
    LOG10_E,
    LOG_SINGLE,
    QUARTER_PI,
)
from .exponentials import clamp, float_power, nearest, power_of_two, split, with_specials
from .table import for_singles
from .trigonometry import EIGHTH


def reduced_exp(e, x):
    """2**k and e**r - 1 with x = k*log(2) + r, within 160 of zero."""
    k, whole = nearest(e, clamp(e, x, -160.0, 160.0), LOG2_E[0])
    rest = e.fma(whole, -LN2[0], clamp(e, x, -160.0, 160.0))
    return power_of_two(e, k), e.fma(e.mul(rest, rest), e.polynomial(rest, EXP_SINGLE), rest)


@for_singles("exp")
def exp(e, x):
    """e**x."""
    power, less = reduced_exp(e, x)
    return e.fma(power, less, power)


@for_singles("exp2")
def exp2(e, x):
    """2**x."""
    k, whole = nearest(e, clamp(e, x, -160.0, 160.0), 1.0)
    rest = e.mul(e.sub(clamp(e, x, -160.0, 160.0), whole), LN2[0])
    less = e.fma(e.mul(rest, rest), e.polynomial(rest, EXP_SINGLE), rest)
    power = power_of_two(e, k)
    return e.fma(power, less, power)


@for_singles("expm1")
def expm1(e, x):
    """e**x - 1."""
    power, less = reduced_exp(e, x)
    return e.select(e.compare("eq", x, 0.0), x, e.fma(power, less, e.sub(power, 1.0)))


@for_singles("tanh")
def tanh(e, x):
    """E / (E + 2) with E = e**2x - 1."""
    above = expm1(e, e.abs(e.add(x, x)))
    return e.copysign(e.div(above, e.add(above, 2.0)), x)


@for_singles("sinh")
def sinh(e, x):
    """(E + E/(E + 1)) / 2 with E = e**|x| - 1."""
    above = expm1(e, e.abs(x))
    total = e.add(above, e.div(above, e.add(above, 1.0)))
    return e.copysign(e.mul(total, 0.5), x)


@for_singles("cosh")
def cosh(e, x):
    """(E + 1/E) / 2 with E = e**|x|."""
    half = e.mul(exp(e, e.abs(x)), 0.5)
    return e.add(half, e.div(e.constant(0.25), half))


def parts_of_log(e, x):
    """The float k, and log(m), with x = 2**k * m."""
    k, m = split(e, x, subnormal=False)
    f = e.sub(m, 1.0)
    q = e.div(f, e.add(f, 2.0))
    z = e.mul(q, q)
    return k, e.fma(e.mul(q, z), e.polynomial(z, LOG_SINGLE), e.add(q, q))


@for_singles("log")
def log(e, x):
    """The natural logarithm."""
    k, part = parts_of_log(e, x)
    return with_specials(e, x, e.fma(k, LN2[0], part))


@for_singles("log2")
def log2(e, x):
    """The logarithm to base 2."""
    k, part = parts_of_log(e, x)
    return with_specials(e, x, e.fma(part, LOG2_E[0], k))


@for_singles("log10")
def log10(e, x):
    """The logarithm to base 10."""
    return e.mul(log(e, x), LOG10_E[0])


@for_singles("log1p")
def log1p(e, x):
    """log(1 + x), by two terms for tiny x."""
    tiny = e.compare("lt", e.abs(x), 2.0**-20)
    return e.select(tiny, e.fma(e.mul(x, x), -0.5, x), log(e, e.add(x, 1.0)))


def added(e, x, y, exponential, scale):
    """The larger one and the logarithm of 1 + exponential(-|x - y|)."""
    larger = e.select(e.compare("gt", x, y), x, y)
    gap = e.neg(e.abs(e.sub(x, y)))
    rest = e.mul(log1p(e, exponential(e, gap)), scale)
    equal = e.add(x, LN2[0] * scale)
    return e.select(e.compare("eq", x, y), equal, e.add(larger, rest))


@for_singles("logaddexp")
def logaddexp(e, x, y):
    """log(exp(x) + exp(y))."""
    return added(e, x, y, exp, 1.0)


@for_singles("logaddexp2")
def logaddexp2(e, x, y):
    """log2(2**x + 2**y)."""
    return added(e, x, y, exp2, LOG2_E[0])


@for_singles("float_power")
def power(e, x, y):
    """x**y: the logarithm in float64 is precise enough."""

    def of_positive(e, size, y):
        k, part = parts_of_log(e, size)
        return exp(e, e.mul(e.fma(k, LN2[0], part), y))

    return float_power(e, x, y, of_positive)


def angle(e, above, below):
    """arctan(above / below) for 0 <= above <= below."""
    far = e.compare("gt", above, e.mul(below, EIGHTH))
    top = e.select(far, e.sub(above, below), above)
    t = e.div(top, e.select(far, e.add(above, below), below))
    z = e.mul(t, t)
    result = e.fma(e.mul(t, z), e.polynomial(z, ARCTAN_SINGLE), t)
    return e.add(result, e.select(far, e.constant(QUARTER_PI[0]), 0.0))


@for_singles("arctan")
def arctan(e, x):
    """The angle of a slope."""
    size = e.abs(x)
    steep = e.compare("gt", size, 1.0)
    size = e.select(e.compare("gt", size, 1e60), 1e60, size)
    one = e.constant(1.0)
    result = angle(e, e.select(steep, one, size), e.select(steep, size, one))
    return e.copysign(e.select(steep, e.sub(HALF_PI[0], result), result), x)


@for_singles("arctan2")
def arctan2(e, y, x):
    """The angle of a point."""
    a, b = e.abs(y), e.abs(x)
    steep = e.compare("gt", a, b)
    large, small = e.select(steep, a, b), e.select(steep, b, a)
    infinite = e.compare("eq", large, np.inf)
    one = e.constant(1.0)
    ends = e.select(e.compare("eq", small, np.inf), one, 0.0)
    small = e.select(infinite, ends, small)
    large = e.select(e.either(infinite, e.compare("eq", large, 0.0)), one, large)
    result = angle(e, small, large)
    result = e.select(steep, e.sub(HALF_PI[0], result), result)
    result = e.select(e.compare("lt", e.bits(x), 0), e.sub(2 * HALF_PI[0], result), result)
    unknown = e.either(e.isnan(x), e.isnan(y))
    return e.select(unknown, np.nan, e.copysign(result, y))


# ---- of SciPy -------------------------------------------------------------------------------


def complement(e, x, square):
    """erfc(x), where the square is exact."""
    size = e.abs(x)
    size = e.select(e.compare("gt", size, 28.0), 28.0, size)
    inverse = e.div(e.constant(1.0), e.add(size, 2.0))
    t = e.mul(e.sub(size, 2.0), inverse)
    tail = e.mul(e.mul(inverse, e.polynomial(t, ERFC_SINGLE)), exp(e, e.neg(square)))
    tail = e.select(e.compare("lt", x, 0.0), e.sub(2.0, tail), tail)
    return e.select(e.compare("lt", size, 0.5), e.sub(1.0, center(e, x)), tail)


def center(e, x):
    """erf(x) for |x| <= 1/2."""
    return e.fma(x, e.polynomial(e.mul(x, x), ERF_SINGLE), x)


@for_singles("erf")
def erf(e, x):
    """The error function."""
    size = e.abs(x)
    far = e.copysign(e.sub(1.0, complement(e, size, e.mul(x, x))), x)
    return e.select(e.compare("lt", size, 0.5), center(e, x), far)


@for_singles("erfc")
def erfc(e, x):
    """1 - erf(x)."""
    return complement(e, x, e.mul(x, x))


@for_singles("ndtr")
def ndtr(e, x):
    """The normal distribution."""
    square = e.mul(e.mul(x, x), 0.5)
    return e.mul(complement(e, e.mul(x, -INVERSE_SQRT2[0]), square), 0.5)


@for_singles("expit")
def expit(e, x):
    """1 / (1 + e**-x)."""
    return e.div(e.constant(1.0), e.add(exp(e, e.neg(x)), 1.0))


@for_singles("log_expit")
def log_expit(e, x):
    """The logarithm of expit(x)."""
    rest = log1p(e, exp(e, e.neg(e.abs(x))))
    return e.select(e.compare("gt", x, 0.0), e.neg(rest), e.sub(x, rest))


@for_singles("logit")
def logit(e, x):
    """log(x / (1 - x))."""
    result = log(e, e.div(x, e.sub(1.0, x)))
    return e.select(e.compare("gt", x, 1.0), np.nan, result)
