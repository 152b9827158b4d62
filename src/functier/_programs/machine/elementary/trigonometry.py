"""Sine, cosine and tangent: polynomials on a quarter turn around zero.

The remainder of the angle is a pair, whose second part enters by its first order (as in
Ng, "Argument reduction for huge arguments", 1992).
"""

import numpy as np

from ..text.emitter import FLOAT32, FLOAT64
from .coefficients import COS, COS_SINGLE, SIN, SIN_SINGLE
from .exponentials import signed_zero
from .pairs import divide, fast_two_sum
from .reduction import quadrant
from .table import ELEMENTWISE, of_doubles

__all__ = ["sine_and_cosine"]


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
    k, sine, cosine = waves(e, x)
    values = e.add(*sine), e.add(*cosine)
    return signed_zero(e, x, turned(e, k, *values)), turned(e, e.add(k, 1), *values)


def sine_and_cosine_single(e, x):
    """Both, to the accuracy of float32."""
    wide = e.cast(x, FLOAT64)
    k, high, _ = quadrant(e, wide, wide=False)
    z = e.mul(high, high)
    sine = e.fma(e.mul(z, high), e.polynomial(z, SIN_SINGLE), high)
    cosine = e.fma(e.mul(z, z), e.polynomial(z, COS_SINGLE), e.fma(z, -0.5, 1.0))
    results = turned(e, k, sine, cosine), turned(e, e.add(k, 1), sine, cosine)
    results = signed_zero(e, wide, results[0]), results[1]
    return tuple(e.cast(v, FLOAT32) for v in results)


def both(e, x):
    """Sine and cosine: one function of the module serves both."""
    rule = sine_and_cosine_single if x.dtype == FLOAT32 else sine_and_cosine
    return e.remember(("waves", x), lambda: e.call("sine_and_cosine", rule, x))


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
