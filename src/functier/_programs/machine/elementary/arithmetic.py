"""Arithmetic of floats and integers, which wrap as NumPy's do, and rounding."""

import numpy as np

from ..text.emitter import BOOL, Value
from .table import elementwise

__all__ = ["square"]


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


@elementwise(np.heaviside)
def heaviside(e, a, b):
    """0 below zero, 1 above, `b` at zero; a NaN stays."""
    result = e.select(e.compare("lt", a, 0.0), e.like(0.0, a), e.like(1.0, a))
    result = e.select(e.compare("eq", a, 0.0), b, result)
    return e.select(e.isnan(a), a, result)


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
