"""Comparisons, logic, bits, choices and the classes of floats."""

import numpy as np

from ...._core.numpy_private import CLIP
from ..text.emitter import BOOL
from .table import ELEMENTWISE, elementwise

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


def within(e, count):
    """The lanes whose count of bits to shift is less than the number of bits."""
    unsigned = e.reinterpret(count, np.dtype(f"u{count.dtype.itemsize}"))
    return e.compare("lt", unsigned, 8 * count.dtype.itemsize)


@elementwise(np.left_shift)
def left_shift(e, a, count):
    """a << count; 0 for counts out of range."""
    inside = within(e, count)
    return e.select(inside, e.shift_left(a, e.select(inside, count, 0)), 0)


@elementwise(np.right_shift)
def right_shift(e, a, count):
    """a >> count; the sign in every bit for counts out of range."""
    inside = within(e, count)
    result = e.shift_right(a, e.select(inside, count, 0))
    if a.dtype.kind == "u":
        return e.select(inside, result, 0)
    return e.select(inside, result, e.shift_right(a, 8 * a.dtype.itemsize - 1))


@elementwise(np.bitwise_count)
def bitwise_count(e, a):
    """The number of ones of the absolute value."""
    count = e.intrinsic("ctpop", e.abs(a) if a.dtype.kind == "i" else a)
    return e.cast(count, np.dtype(np.uint8))


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


@elementwise(np.nextafter)
def nextafter(e, a, b):
    """The next float after `a` towards `b`."""
    bits = e.bits(a)
    away = e.compare("eq", e.compare("gt", b, a), e.compare("gt", a, 0.0))
    step = e.floating(e.add(bits, e.select(away, e.like(1, bits), e.like(-1, bits))))
    least = e.copysign(e.floating(e.like(1, bits)), b)
    step = e.select(e.compare("eq", a, 0.0), least, step)
    step = e.select(e.compare("eq", a, b), b, step)
    return e.select(e.isnan(a), a, e.select(e.isnan(b), b, step))


@elementwise(np.spacing)
def spacing(e, a):
    """The distance to the next float away from zero, with the sign of `a`."""
    limit = e.copysign(e.like(np.inf, a), a)
    result = e.sub(nextafter(e, a, limit), a)
    result = e.select(e.compare("eq", a, 0.0), e.abs(result), result)
    return e.select(e.compare("eq", e.abs(a), np.inf), np.nan, result)
