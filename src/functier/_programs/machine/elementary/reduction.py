"""Angles modulo a quarter turn.

Up to 2**30 pi/2 is taken off in three parts of 53 bits (Cody and Waite, 1980): the products
are exact by fused multiplication. Larger angles take the bits of 2/pi that matter (Payne and
Hanek, "Radian reduction for trigonometric functions", 1983), one lane at a time, with integers
of 256 bits.
"""

import numpy as np

from ..text.emitter import FLOAT64, INT64, Value
from .coefficients import HALF_PI, TWO_OVER_PI
from .exponentials import SHIFT
from .pairs import fast_two_sum, two_product

__all__ = ["LIMIT", "quadrant"]

LIMIT = 2.0**30
TABLE_BITS = 1280


def quadrant(e, x, wide=True):
    """The angle as k*pi/2 + (high + low), |high| <= pi/4: k modulo 4, high, low.

    Without `wide` the remainder has about 80 bits below pi/4, enough for float32.
    """
    shifted = e.fma(x, TWO_OVER_PI, SHIFT)
    k = e.sub(shifted, SHIFT)
    first = e.fma(k, -HALF_PI[0], x)
    if wide:
        part, part_rest = two_product(e, k, e.constant(HALF_PI[1]))
        high, low = fast_two_sum(e, first, e.neg(part))
        low = e.sub(low, e.fma(k, HALF_PI[2], part_rest))
    else:
        high, low = e.fma(k, -HALF_PI[1], first), e.constant(0.0)
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
