"""Trigonometric functions, and their inverses: polynomials on a quarter turn around zero.

Angles modulo a quarter turn.
Up to 2**30 pi/2 is taken off in three parts of 53 bits (Cody and Waite, 1980): the products
are exact by fused multiplication. Larger angles take the bits of 2/pi that matter (Payne and
Hanek, "Radian reduction for trigonometric functions", 1983), one lane at a time, with integers
of 256 bits.

Sine, cosine and tangent: polynomials on a quarter turn around zero.
The remainder of the angle is a pair, whose second part enters by its first order (as in
Ng, "Argument reduction for huge arguments", 1992).

Inverse trigonometric functions.
arctan is a polynomial up to tan(pi/8); larger arguments take an eighth or a quarter turn off
(Cody and Waite, "Software Manual for the Elementary Functions", 1980), as a quotient of pairs.
arcsin is one up to 1/2, and above it twice that of sqrt((1 - x)/2) from a quarter turn.
"""

import numpy as np

from ..text.emitter import FLOAT64, INT64, Value
from .coefficients import (
    ARCSIN,
    ARCTAN,
    COS,
    HALF_PI,
    QUARTER_PI,
    SIN,
    TWO_OVER_PI,
)
from .exponentials import SHIFT, signed_zero
from .pairs import divide, fast_two_sum, two_product, two_sum
from .table import ELEMENTWISE, of_doubles

LIMIT = 2.0**30
TABLE_BITS = 1280


def quadrant(e, x):
    """The angle as k*pi/2 + (high + low), |high| <= pi/4: k modulo 4, high, low."""
    shifted = e.fma(x, TWO_OVER_PI, SHIFT)
    k = e.sub(shifted, SHIFT)
    first = e.fma(k, -HALF_PI[0], x)
    part, part_rest = two_product(e, k, e.constant(HALF_PI[1]))
    high, low = fast_two_sum(e, first, e.neg(part))
    low = e.sub(low, e.fma(k, HALF_PI[2], part_rest))
    size = e.abs(x)
    finite = e.compare("lt", size, np.inf)
    large = e.both(e.compare("ge", size, LIMIT), finite)
    return e.rarely(large, "angle", reduce_lanes, (x,), (e.bits(shifted), high, low))


def reduce_lanes(e, large, x, k, high, low):
    """The exact reduction of those lanes that are large."""
    safe = e.select(large, x, LIMIT)
    found = e.lanewise("angle_of_one", reduce_one, safe)
    return tuple(e.select(large, a, b) for a, b in zip(found, (k, high, low)))


def table_of_bits():
    """2/pi * 2**1280 as an integer, from Machin's series for pi in integers."""
    bits = TABLE_BITS + 128

    def inverse_arctan(n):
        total, term, i, sign = 0, (1 << bits) // n, 1, 1
        while term:
            total += sign * (term // i)
            term, i, sign = term // (n * n), i + 2, -sign
        return total

    pi = 4 * (4 * inverse_arctan(5) - inverse_arctan(239))
    return (1 << (bits + TABLE_BITS + 1)) // pi


def reduce_one(e, x):
    """The quadrant and the remainder of one angle of 2**30 at least."""
    digits = table_of_bits()
    count = TABLE_BITS // 8 + 40  # loads of 32 bytes end in the table
    data = "".join(f"\\{byte:02X}" for byte in digits.to_bytes(count, "little"))
    table = "@functier.two_over_pi"
    e.declarations.setdefault(
        table, f'{table} = private constant [{count} x i8] c"{data}", align 16'
    )

    bits = e.bits(e.abs(x))
    exponent = e.sub(e.shift_in_zeros(bits, 52), 1075)  # x = whole * 2**exponent
    whole = e.either(e.both(bits, (1 << 52) - 1), 1 << 52)
    # the 256 bits of 2/pi/4 * 2**exponent below the point
    place = e.sub(e.constant(TABLE_BITS - 256 + 2, INT64), exponent)
    start = e.shift_in_zeros(place, 3)
    pointer = e.emit(f"getelementptr i8, ptr {table}, i64 {start.text}", INT64)

    def big(text):
        return e.emit(text, FLOAT64).text

    kind = "i264"
    window = big(f"load {kind}, ptr {pointer.text}, align 1")
    shift = big(f"zext i64 {e.both(place, 7).text} to {kind}")
    window = big(f"lshr {kind} {window}, {shift}")
    window = big(f"trunc {kind} {window} to i256")
    turns = big(f"mul i256 {window}, {big(f'zext i64 {whole.text} to i256')}")
    # turns / 2**256 of a full turn: the nearest quarter, and what is left of it, signed
    quarter = big(f"lshr i256 {big(f'add i256 {turns}, {1 << 253}')}, 254")
    k = e.emit(f"trunc i256 {quarter} to i64", INT64)
    left = big(f"shl i256 {turns}, 2")
    negative = Value(big(f"icmp slt i256 {left}, 0"), np.dtype(np.bool))
    flipped = big(f"sub i256 0, {left}")
    left = big(f"select i1 {negative.text}, i256 {flipped}, i256 {left}")
    e.declarations.setdefault("@llvm.ctlz.i256", "declare i256 @llvm.ctlz.i256(i256, i1)")
    zeros = big(f"call i256 @llvm.ctlz.i256(i256 {left}, i1 false)")
    left = big(f"shl i256 {left}, {zeros}")
    zeros = e.emit(f"trunc i256 {zeros} to i64", INT64)

    def part(offset):
        moved = big(f"lshr i256 {left}, {offset}")
        fifty = e.emit(f"trunc i256 {moved} to i64", INT64)
        return e.cast(e.both(fifty, (1 << 50) - 1), FLOAT64)

    high = e.mul(part(206), 2.0**-50)
    low = e.mul(part(156), 2.0**-100)
    scale = e.floating(e.shift_left(e.sub(e.constant(1023, INT64), zeros), 52))
    product, rest = two_product(e, high, e.constant(HALF_PI[0]))
    rest = e.add(rest, e.fma(high, HALF_PI[1], e.mul(low, HALF_PI[0])))
    product, rest = fast_two_sum(e, product, rest)
    product, rest = e.mul(product, scale), e.mul(rest, scale)
    flip = e.xor(e.compare("lt", x, 0.0), negative)
    k = e.select(e.compare("lt", x, 0.0), e.neg(k), k)
    return (
        k,
        e.select(flip, e.neg(product), product),
        e.select(flip, e.neg(rest), rest),
    )


def waves(e, x):
    """The quadrant; the sine and cosine of the remainder, each as a pair."""
    k, high, low = quadrant(e, x)
    z = e.mul(high, high)
    sine = high, e.fma(e.mul(z, high), e.polynomial(z, SIN), low)
    half = e.mul(z, 0.5)
    near, lost = fast_two_sum(e, e.constant(1.0), e.neg(half))
    rest = e.fma(e.mul(z, z), e.polynomial(z, COS), e.fma(e.neg(high), low, lost))
    return k, sine, (near, rest)


def turned(e, k, sine, cosine):
    """The sine of an angle from the values of its remainder."""
    odd = e.compare("ne", e.both(k, 1), 0)
    value = e.select(odd, cosine, sine)
    return e.floating(e.xor(e.bits(value), e.shift_left(e.both(k, 2), 62)))


def sine_and_cosine(e, x):
    """Both, by one reduction."""
    wide = e.cast(x, FLOAT64)
    k, sine, cosine = waves(e, wide)
    values = e.add(*sine), e.add(*cosine)
    found = signed_zero(e, wide, turned(e, k, *values)), turned(e, e.add(k, 1), *values)
    return tuple(e.cast(v, x.dtype) for v in found)


def both(e, x):
    """Sine and cosine: one function of the module serves both."""
    return e.remember(("waves", x), lambda: e.call("sine_and_cosine", sine_and_cosine, x))


ELEMENTWISE[np.sin] = lambda e, x: both(e, x)[0]
ELEMENTWISE[np.cos] = lambda e, x: both(e, x)[1]


@of_doubles(np.tan)
def tan(e, x):
    """The sine over the cosine, both as pairs."""
    k, sine, cosine = waves(e, x)
    sine, cosine = fast_two_sum(e, *sine), fast_two_sum(e, *cosine)
    odd = e.compare("ne", e.both(k, 1), 0)
    above = [e.select(odd, a, b) for a, b in zip(cosine, sine)]
    below = [e.select(odd, e.neg(a), b) for a, b in zip(sine, cosine)]
    (quotient, rest), _ = divide(e, above, below)
    return signed_zero(e, x, e.add(quotient, rest))


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
