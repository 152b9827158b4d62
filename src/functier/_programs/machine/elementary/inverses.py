"""Inverse trigonometric functions.

arctan is a polynomial up to tan(pi/8); larger arguments take an eighth or a quarter turn off
(Cody and Waite, "Software Manual for the Elementary Functions", 1980), as a quotient of pairs.
arcsin is one up to 1/2, and above it twice that of sqrt((1 - x)/2) from a quarter turn.
"""

import numpy as np

from .coefficients import ARCSIN, ARCTAN, HALF_PI, QUARTER_PI
from .pairs import divide, fast_two_sum, two_sum
from .table import of_doubles

EIGHTH = 0.41421356237309503
"""tan(pi/8)."""


def angle(e, above, below):
    """arctan(above / below) as a pair, for 0 <= above <= below."""
    # beyond pi/8: arctan((above - below) / (above + below)) + pi/4
    far = e.compare("gt", above, e.mul(below, EIGHTH))
    zero = e.constant(0.0)
    less = two_sum(e, above, e.neg(below))
    more = fast_two_sum(e, below, above)
    top = [e.select(far, a, b) for a, b in zip(less, (above, zero))]
    bottom = [e.select(far, a, b) for a, b in zip(more, (below, zero))]
    (t, t_rest), _ = divide(e, top, bottom)
    z = e.mul(t, t)
    t_rest = e.fma(e.mul(t, z), e.polynomial(z, ARCTAN), t_rest)
    start = e.select(far, e.constant(QUARTER_PI[0]), zero)
    start_rest = e.select(far, e.constant(QUARTER_PI[1]), zero)
    high, low = fast_two_sum(e, start, t)
    return high, e.add(low, e.add(start_rest, t_rest))


def from_quarter(e, condition, high, low, parts=HALF_PI):
    """`parts` minus the pair where the condition holds."""
    other, rest = fast_two_sum(e, e.constant(parts[0]), e.neg(high))
    rest = e.add(rest, e.sub(e.constant(parts[1]), low))
    return e.select(condition, other, high), e.select(condition, rest, low)


@of_doubles(np.arctan)
def arctan(e, x):
    """The angle of a slope."""
    size = e.abs(x)
    steep = e.compare("gt", size, 1.0)
    huge = e.compare("gt", size, 2.0**60)
    inside = e.select(huge, 2.0**60, size)
    one = e.constant(1.0)
    above, below = e.select(steep, one, inside), e.select(steep, inside, one)
    high, low = from_quarter(e, steep, *angle(e, above, below))
    result = e.copysign(e.add(high, low), x)
    result = e.select(e.compare("lt", size, 1e-9), x, result)
    return e.select(e.isnan(x), x, result)


@of_doubles(np.arctan2)
def arctan2(e, y, x):
    """The angle of a point, whose coordinates are scaled to the middle of the range."""
    a, b = e.abs(y), e.abs(x)
    steep = e.compare("gt", a, b)
    large, small = e.select(steep, a, b), e.select(steep, b, a)
    unknown = e.emit(f"fcmp uno {e.typed(x)}, {y.text}", np.dtype(np.bool))
    # both infinite: 1/1; one: 0/1; both zero: 0/1
    infinite = e.compare("eq", large, np.inf)
    finite_small = e.compare("lt", small, np.inf)
    one, zero = e.constant(1.0), e.constant(0.0)
    small = e.select(infinite, e.select(finite_small, zero, one), small)
    large = e.select(e.either(infinite, e.compare("eq", large, 0.0)), one, large)
    factor = e.select(e.compare("gt", large, 2.0**900), e.constant(2.0**-200), one)
    factor = e.select(e.compare("lt", large, 2.0**-800), e.constant(2.0**200), factor)
    small, large = e.mul(small, factor), e.mul(large, factor)
    # A quotient near the smallest numbers has no room for a remainder.
    tiny = e.compare("lt", small, e.mul(large, 2.0**-100))
    direct = e.div(small, large)
    high, low = angle(e, e.select(tiny, zero, small), large)
    high, low = e.select(tiny, direct, high), e.select(tiny, zero, low)
    high, low = from_quarter(e, steep, high, low)
    left = e.compare("lt", e.bits(x), 0)
    high, low = from_quarter(e, left, high, low, (2 * HALF_PI[0], 2 * HALF_PI[1]))
    return e.select(unknown, e.add(x, y), e.copysign(e.add(high, low), y))


def arcsin_parts(e, x):
    """|x|, the lanes beyond 1/2, and arcsin of `t` as t + rest.

    `t` is |x|, or sqrt((1 - |x|) / 2) beyond 1/2.
    """
    size = e.abs(x)
    far = e.compare("gt", size, 0.5)
    half = e.mul(e.sub(1.0, size), 0.5)
    z = e.select(far, half, e.mul(size, size))
    t = e.select(far, e.sqrt(half), size)
    return size, far, t, e.mul(e.mul(t, z), e.polynomial(z, ARCSIN))


@of_doubles(np.arcsin)
def arcsin(e, x):
    """The angle of a sine."""
    _, far, t, rest = arcsin_parts(e, x)
    near = e.add(t, rest)
    top, lost = fast_two_sum(e, e.constant(HALF_PI[0]), e.mul(t, -2.0))
    beyond = e.add(top, e.add(lost, e.fma(rest, -2.0, HALF_PI[1])))
    return e.copysign(e.select(far, beyond, near), x)


@of_doubles(np.arccos)
def arccos(e, x):
    """The angle of a cosine."""
    _, far, t, rest = arcsin_parts(e, x)
    negative = e.compare("lt", x, 0.0)
    signed, signed_rest = e.copysign(t, x), e.select(negative, e.neg(rest), rest)
    top, lost = fast_two_sum(e, e.constant(HALF_PI[0]), e.neg(signed))
    near = e.add(top, e.add(lost, e.sub(HALF_PI[1], signed_rest)))
    twice, twice_rest = e.mul(t, 2.0), e.mul(rest, 2.0)
    turn, turn_lost = fast_two_sum(e, e.constant(2 * HALF_PI[0]), e.neg(twice))
    behind = e.add(turn, e.add(turn_lost, e.sub(2 * HALF_PI[1], twice_rest)))
    beyond = e.select(negative, behind, e.add(twice, twice_rest))
    return e.select(far, beyond, near)
