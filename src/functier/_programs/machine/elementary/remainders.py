"""Quotients rounded down, and remainders: of integers and floats, with NumPy's signs.

A remainder of floats is exact. With a quotient below 2**52 it is one fused multiplication and
a correction; larger quotients take the processor's library, one lane at a time.
"""

import numpy as np

from .table import elementwise

LIMIT = 2.0**52


def safe_divisor(e, a, b):
    """A divisor that does not trap, and the lanes whose divisor is zero."""
    zero = e.compare("eq", b, 0)
    trapped = zero
    if a.dtype.kind == "i":
        least = e.compare("eq", a, np.iinfo(a.dtype).min)
        trapped = e.either(zero, e.both(least, e.compare("eq", b, -1)))
    return e.select(trapped, 1, b), zero


def quotient(e, a, b):
    """a / b of integers, towards zero: 0 for a divisor of zero, and it wraps."""
    number = e.literal(b)
    operation = "sdiv" if a.dtype.kind == "i" else "udiv"
    if number not in (None, 0, -1):
        return e.binary(operation, a, b)
    divisor, zero = safe_divisor(e, a, b)
    return e.select(zero, 0, e.binary(operation, a, divisor))


def leftover(e, a, b):
    """a - b*(a / b) of integers: 0 for a divisor of zero."""
    rest = e.sub(a, e.mul(b, quotient(e, a, b)))
    return e.select(e.compare("eq", b, 0), 0, rest)


def signs_differ(e, rest, b):
    """The lanes whose remainder is not zero and has not the divisor's sign."""
    return e.both(e.compare("ne", rest, 0), e.compare("lt", e.xor(rest, b), 0))


@elementwise(np.floor_divide)
def floor_divide(e, a, b):
    """The quotient rounded down."""
    if a.dtype.kind == "f":
        return float_division(e, a, b)[0]
    result = quotient(e, a, b)
    if a.dtype.kind == "u":
        return result
    return e.select(signs_differ(e, leftover(e, a, b), b), e.sub(result, 1), result)


@elementwise(np.remainder)
def remainder(e, a, b):
    """The remainder with the divisor's sign."""
    if a.dtype.kind == "f":
        return float_division(e, a, b)[1]
    rest = leftover(e, a, b)
    if a.dtype.kind == "u":
        return rest
    return e.select(signs_differ(e, rest, b), e.add(rest, b), rest)


@elementwise(np.fmod)
def fmod(e, a, b):
    """The remainder with the dividend's sign."""
    if a.dtype.kind == "f":
        return float_remainder(e, a, b)
    return leftover(e, a, b)


def float_remainder(e, a, b):
    """The exact remainder of floats, with the dividend's sign."""
    return e.call("fmod", of_moderate_quotient, a, b)


def of_moderate_quotient(e, a, b):
    """The remainder where the quotient is less than 2**52, and a branch for others."""
    size, divisor = e.abs(a), e.abs(b)
    limit = LIMIT if a.dtype.itemsize == 8 else 2.0**23
    ratio = e.div(size, divisor)
    whole = e.intrinsic("trunc", ratio)
    rest = e.fma(e.neg(whole), divisor, size)
    rest = e.select(e.compare("lt", rest, 0.0), e.add(rest, divisor), rest)
    rest = e.select(e.compare("ge", rest, divisor), e.sub(rest, divisor), rest)
    rest = e.copysign(rest, a)
    infinite = e.both(e.compare("eq", divisor, np.inf), e.compare("lt", size, np.inf))
    rest = e.select(infinite, a, rest)
    # The others: not a NaN, not an infinity over a number, not a number over zero.
    large = e.both(e.compare("ge", ratio, limit), e.compare("lt", size, np.inf))
    large = e.both(large, e.compare("gt", divisor, 0.0))
    rest = e.select(e.compare("eq", divisor, 0.0), np.nan, rest)
    return e.rarely(large, "fmod", of_lanes, (a, b), (rest,))[0]


def of_lanes(e, large, a, b, rest):
    """The remainder of those lanes whose quotient is large."""
    found = e.lanewise("fmod_of_one", lambda s, x, y: s.binary("frem", x, y), a, b)
    return e.select(large, found[0], rest)


def float_division(e, a, b):
    """The quotient rounded down and the remainder, as Python's divmod finds them."""
    rest = float_remainder(e, a, b)
    plain = e.div(a, b)
    result = e.div(e.sub(a, rest), b)
    nonzero = e.compare("ne", rest, 0.0)
    differ = e.both(nonzero, e.xor(e.compare("lt", b, 0.0), e.compare("lt", rest, 0.0)))
    signed = e.select(nonzero, rest, e.copysign(e.like(0.0, rest), b))
    signed = e.select(differ, e.add(rest, b), signed)
    result = e.select(differ, e.sub(result, 1.0), result)
    down = e.intrinsic("floor", result)
    down = e.select(e.compare("gt", e.sub(result, down), 0.5), e.add(down, 1.0), down)
    down = e.select(e.compare("ne", result, 0.0), down, e.copysign(e.like(0.0, plain), plain))
    return e.select(e.compare("eq", b, 0.0), plain, down), signed
