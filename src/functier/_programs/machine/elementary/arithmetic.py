"""Arithmetic that wraps as NumPy's does, rounding, remainders, comparisons, bits and choices.

Quotients rounded down, and remainders: of integers and floats, with NumPy's signs.
A remainder of floats is exact. With a quotient below 2**52 it is one fused multiplication and
a correction; larger quotients take the processor's library, one lane at a time.
"""

import numpy as np

from ...._core.numpy_private import CLIP
from ..text.emitter import BOOL, Value
from .table import ELEMENTWISE, elementwise


def of_two(operation, of_bools=None):
    """A rule of one instruction; bools take another."""

    def rule(e, a, b):
        if a.dtype == BOOL:
            return e.binary(of_bools, a, b)
        return e.arithmetic(operation, a, b, e.contract)

    return rule


elementwise(np.add)(of_two("add", "or"))
elementwise(np.subtract)(of_two("sub"))
elementwise(np.multiply)(of_two("mul", "and"))
elementwise(np.divide)(of_two("div"))
elementwise(np.negative)(lambda e, a: e.neg(a))
elementwise(np.positive, np.conjugate)(lambda e, a: a)
elementwise(np.sqrt)(lambda e, a: e.sqrt(a))
elementwise(np.fabs)(lambda e, a: e.abs(a))


@elementwise(np.absolute)
def absolute(e, a):
    """The absolute value; the smallest integer stays."""
    return a if a.dtype.kind in "bu" else e.abs(a)


@elementwise(np.square)
def square(e, a):
    """a * a."""
    return e.mul(a, a)


@elementwise(np.reciprocal)
def reciprocal(e, a):
    """1 / a. That of an integer zero is NumPy's affair."""
    if a.dtype.kind == "f":
        return e.div(e.like(1.0, a), a)
    e.refuse(e.compare("eq", a, 0))
    unit = e.compare("eq", a, 1)
    result = e.select(unit, a, 0)
    return result if a.dtype.kind == "u" else e.select(e.compare("eq", a, -1), a, result)


@elementwise(np.sign)
def sign(e, a):
    """-1, 0 or 1; a NaN stays, a zero loses its sign."""
    result = e.select(e.compare("gt", a, 0), e.like(1, a), e.like(0, a))
    if a.dtype.kind == "u":
        return result
    result = e.select(e.compare("lt", a, 0), -1, result)
    return e.select(e.isnan(a), a, result) if a.dtype.kind == "f" else result


def ratio(above, below):
    """The rule of a change of units: NumPy divides both numbers in the operand's dtype."""
    return lambda e, a: e.mul(a, float(a.dtype.type(above) / a.dtype.type(below)))


elementwise(np.deg2rad, np.radians)(ratio(np.pi, 180.0))
elementwise(np.rad2deg, np.degrees)(ratio(180.0, np.pi))


# ---- rounding ---------------------------------------------------------------------------------


def rounding(name):
    """The rule of a rounding instruction, which leaves integers as they are."""
    return lambda e, a: e.intrinsic(name, a) if a.dtype.kind == "f" else a


elementwise(np.floor)(rounding("floor"))
elementwise(np.ceil)(rounding("ceil"))
elementwise(np.trunc)(rounding("trunc"))
elementwise(np.rint)(rounding("rint"))


# ---- products of integers -----------------------------------------------------------------------


def squarings(e, base, exponent):
    """The power of an integer, with an exponent known while compiling."""
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else e.mul(result, base)
        exponent >>= 1
        base = e.mul(base, base) if exponent else base
    return e.like(1, base) if result is None else result


def power_of_one(e, base, exponent):
    """The power of one integer by repeated squaring: a loop (Knuth, TAOCP 2, 4.6.3)."""
    kind = e.type(base.dtype)
    one = e.like(1, base).text
    e.line("br label %loop")
    e.start("loop")
    for name, first in (("p", one), ("b", base.text), ("n", exponent.text)):
        e.line(f"%{name} = phi {kind} [ {first}, %entry ], [ %{name}.next, %loop ]")
    e.line(f"%odd = and {kind} %n, 1")
    e.line(f"%is.odd = icmp ne {kind} %odd, 0")
    e.line(f"%product = mul {kind} %p, %b")
    e.line(f"%p.next = select i1 %is.odd, {kind} %product, {kind} %p")
    e.line(f"%b.next = mul {kind} %b, %b")
    e.line(f"%n.next = lshr {kind} %n, 1")
    e.line(f"%more = icmp ne {kind} %n.next, 0")
    e.line("br i1 %more, label %loop, label %done")
    e.start("done")
    return Value("%p.next", base.dtype)


def integer_power(e, base, exponent):
    """The power of integers, modulo their size; a negative exponent is NumPy's affair."""
    number = e.literal(exponent)
    if number is not None and number >= 0:
        return squarings(e, base, number)
    if exponent.dtype.kind == "i":
        e.refuse(e.compare("lt", exponent, 0))
    return e.lanewise("integer_power", power_of_one, base, exponent)[0]


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


# ---- comparisons ----------------------------------------------------------------------------

MIXED = {"lt": True, "le": True, "eq": False, "gt": False, "ge": False, "ne": True}
"""The result of a negative integer compared with an unsigned one."""
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def comparison(predicate):
    """The rule of a comparison; integers with and without signs compare by value."""

    def rule(e, a, b):
        kinds = a.dtype.kind + b.dtype.kind
        if kinds == "ui":
            return ELEMENTWISE[COMPARISONS[MIRRORED[predicate]]](e, b, a)
        if kinds == "iu":
            negative = e.compare("lt", a, 0)
            result = e.compare(predicate, e.reinterpret(a, b.dtype), b)
            return e.select(negative, e.constant(MIXED[predicate], BOOL), result)
        return e.compare(predicate, a, b)

    return rule


COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip

for predicate, function in COMPARISONS.items():
    ELEMENTWISE[function] = comparison(predicate)


# ---- logic and bits -------------------------------------------------------------------------


def logical(operation):
    """The rule of a logical function: a number that is not zero is true."""

    def rule(e, a, b):
        return e.binary(operation, e.cast(a, BOOL), e.cast(b, BOOL))

    return rule


elementwise(np.logical_and)(logical("and"))
elementwise(np.logical_or)(logical("or"))
elementwise(np.logical_xor)(logical("xor"))
elementwise(np.logical_not)(lambda e, a: e.invert(e.cast(a, BOOL)))
elementwise(np.bitwise_and)(lambda e, a, b: e.both(a, b))
elementwise(np.bitwise_or)(lambda e, a, b: e.either(a, b))
elementwise(np.bitwise_xor)(lambda e, a, b: e.xor(a, b))
elementwise(np.invert)(lambda e, a: e.invert(a))


# ---- choices --------------------------------------------------------------------------------


@elementwise(np.where)
def where(e, condition, a, b):
    """`a` where the condition holds, else `b`."""
    return e.select(e.cast(condition, BOOL), a, b)


def extreme(predicate):
    """The rule of a maximum or minimum: a NaN wins, of equal numbers the second."""

    def rule(e, a, b):
        if a.dtype == BOOL:
            return e.either(a, b) if predicate == "gt" else e.both(a, b)
        first = e.compare(predicate, a, b)
        if a.dtype.kind == "f":
            first = e.either(first, e.isnan(a))
        return e.select(first, a, b)

    return rule


def extreme_number(predicate):
    """The rule of a maximum or minimum that passes over NaN."""

    def rule(e, a, b):
        if a.dtype.kind != "f":
            return extreme(predicate)(e, a, b)
        first = e.either(e.compare(predicate, a, b), e.isnan(b))
        return e.select(first, a, b)

    return rule


elementwise(np.maximum)(extreme("gt"))
elementwise(np.minimum)(extreme("lt"))
elementwise(np.fmax)(extreme_number("gt"))
elementwise(np.fmin)(extreme_number("lt"))


@elementwise(CLIP)
def clip(e, a, low, high):
    """`a` within bounds; a NaN of any operand wins."""
    return ELEMENTWISE[np.minimum](e, ELEMENTWISE[np.maximum](e, a, low), high)


# ---- classes of floats ------------------------------------------------------------------------


def classified(of_float, of_integer):
    """The rule of a question about floats; the answer for integers is known."""

    def rule(e, a):
        return of_float(e, a) if a.dtype.kind == "f" else e.constant(of_integer, BOOL)

    return rule


elementwise(np.isnan)(classified(lambda e, a: e.isnan(a), False))
elementwise(np.isinf)(classified(lambda e, a: e.compare("eq", e.abs(a), np.inf), False))
elementwise(np.isfinite)(classified(lambda e, a: e.compare("lt", e.abs(a), np.inf), True))
elementwise(np.signbit)(lambda e, a: e.compare("lt", e.bits(a), 0))
elementwise(np.copysign)(lambda e, a, b: e.copysign(a, b))
