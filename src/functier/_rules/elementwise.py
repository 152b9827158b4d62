"""Elementwise operations: NumPy's ufuncs, and the array functions that act like them.

A partial names what it keeps for the backward pass: see NOTE [a rule's parameters name
what it saves] in `_core.rule`.
"""

import cmath
import math
import operator
from typing import Any

import numpy as np

from .._core.numpy_facts import BIG, Function, Value, align, dtype_of, has_form_of
from .._core.numpy_private import CLIP
from .._core.numpy_private import NO_VALUE as _NoValue
from .._core.rule import SQUARED, declare_zeros, negated, times, times_ans, unchanged
from .axes import as_array, as_strong, is_known_false, replace_zeros
from .constructors import (
    composite,
    constant,
    data_dependent_vmap,
    elementwise,
    elementwise_vmap,
    op,
    primitive,
)

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))

# ---- in place, on a right operand that the rule has just made (NumPy does so on the left) ----


def _divide_by(g: Value, made: Value) -> Value:
    if type(made) is np.ndarray and made.size > BIG and has_form_of(g, made):
        return np.divide(g, made, out=made)
    return g / made


def _subtract_from_one(made: Value) -> Value:
    if type(made) is np.ndarray and made.size > BIG:
        return np.subtract(1, made, out=made)
    return 1 - made


def quotient(g: Value, divisor: Value) -> Value:
    """Return g / divisor."""
    if isinstance(divisor, float) and not divisor:  # Python's own division raises
        return np.divide(g, divisor)
    return g / divisor


# ---- arithmetic ----

elementwise(np.add, unchanged, unchanged)
elementwise(np.subtract, unchanged, negated)
elementwise(np.multiply, (times, "y"), (times, "x"))
elementwise(np.divide, (quotient, "y"), lambda g, ans, y: -g * ans / y, steep=True)
elementwise(np.negative, negated)
elementwise(np.positive, unchanged)
elementwise(np.reciprocal, lambda g, x: -_divide_by(g, x * x), steep=True)
elementwise(np.square, lambda g, x: g * (2 * x))
elementwise(np.remainder, unchanged, lambda g, x, y: -g * np.floor_divide(x, y))
elementwise(np.fmod, unchanged, lambda g, x, y: -g * np.trunc(x / y))


def _match_precision(y: Value, g: Value) -> Value:
    """Return `y` in the precision of the result: y - 1 could wrap around, or lose digits."""
    if hasattr(y, "dtype") and y.dtype.kind in "biuf":
        dtype = np.finfo(dtype_of(g)).dtype
        wider = y.dtype.kind == "f" and y.dtype.itemsize >= dtype.itemsize  # g may be a tangent
        return y if wider else y.astype(dtype)
    return y


def _power_x(g: Value, x: Value, y: Value) -> Value:
    """y x^(y-1), with 0 for y = 0, where x^(y-1) may be infinite."""
    if isinstance(y, (int, float)):
        if y == 2:
            return g * (2 * x)
        if not y:
            return g * 0
        if type(x) is float and x < 0 and np.iscomplexobj(g):
            x = x + 0j  # as Python's power is complex then
        # The operator has fast squares and roots, but is Python's own on a Python number, and
        # Python raises at 0 to a negative power.
        power = np.power if y < 1 or type(x) in (float, complex) else operator.pow
        return g * (y * power(x, y - 1))
    y = _match_precision(y, g)
    zero, others = np.equal(y, 0), np.power(x, y - 1)
    if is_known_false(zero):
        return g * (y * others)
    # Not 0 wherever y is: the derivative of this with respect to y is x^-1 there.
    spoilt = np.logical_and(zero, np.logical_not(np.isfinite(others)))
    return g * np.where(spoilt, 0, y * np.power(np.where(spoilt, 1, x), y - 1))


def _power_y(g: Value, ans: Value, x: Value) -> Value:
    """ans log x; at x = 0 the limit 0, which the logarithm there would spoil."""
    if isinstance(x, (int, float)):  # a weak number: float32 stays what it is
        if x < 0 and dtype_of(ans).kind == "c":
            return g * ans * cmath.log(x)
        return g * ans * (math.log(x) if x > 0 else 0.0 if x == 0 else math.nan)
    if hasattr(x, "dtype") and x.dtype != dtype_of(ans):
        x = x.astype(dtype_of(ans))  # the logarithm of an int8 has half precision
    return g * ans * np.log(replace_zeros(x))


declare_zeros("power", [_power_x])
elementwise(np.power, _power_x, _power_y, steep=True)
elementwise(np.float_power, _power_x, _power_y, steep=True)

# ---- exponentials and logarithms ----

elementwise(np.exp, (times_ans, "ans"))
elementwise(np.exp2, lambda g, ans: g * ans * LN2)
elementwise(np.expm1, lambda g, ans: g * (ans + 1))
elementwise(np.log, (quotient, "x"), steep=True)
elementwise(np.log2, lambda g, x: _divide_by(g, x * LN2), steep=True)
elementwise(np.log10, lambda g, x: _divide_by(g, x * LN10), steep=True)
elementwise(np.log1p, lambda g, x: _divide_by(g, x + 1), steep=True)


def softmax_share(exp: Function, g: Value, ans: Value, x: Value) -> Value:
    """Return g exp(x - ans); where ans is infinite, g for an operand that is +inf, else 0."""
    infinite = np.isinf(ans)
    if is_known_false(infinite):
        return g * exp(x - ans)
    share = exp(np.where(infinite, 0, x) - np.where(infinite, 0, ans))
    return g * np.where(infinite, np.isposinf(x), share)


elementwise(
    np.logaddexp,
    lambda g, ans, x: softmax_share(np.exp, g, ans, x),
    lambda g, ans, y: softmax_share(np.exp, g, ans, y),
)
elementwise(
    np.logaddexp2,
    lambda g, ans, x: softmax_share(np.exp2, g, ans, x),
    lambda g, ans, y: softmax_share(np.exp2, g, ans, y),
)

# ---- roots ----


def _slope(x: Value, size: Value) -> Value:
    """Return x / size, the slope of a norm that has this size; 0 / 0 is a chosen zero.

    It has no derivative: that is NaN, but for an operand that does not move.
    """
    if dtype_of(x).kind == "c":  # a complex quotient overflows for a small size
        with np.errstate(invalid="ignore"):  # an infinite number has no sign, and nobody warns
            return _slope(np.real(x), size) + 1j * _slope(np.imag(x), size)
    zero = size == 0
    if is_known_false(zero):
        return x / size
    chosen = np.where(np.equal(x, 0), 0, np.nan)
    return np.where(zero, chosen, x / np.where(zero, 1, size)).astype(dtype_of(x))[()]


slope = primitive(_slope, plain=True)


def _over(g: Value, y: Value) -> Value:
    """Return g / y, with NaN for y = 0, where the second look asks what moves."""
    zero = y == 0
    return g / y if is_known_false(zero) else g / np.where(zero, np.nan, y)


declare_zeros("root", [_over])
elementwise(
    slope,
    (_over, "y"),
    lambda g, ans, y: -slope(g * ans, y),
    params="x y",
    jvp={"x": lambda t, y: slope(t, y), "y": lambda t, ans, y: -slope(t * ans, y)},
)


def _hold(x: Value, known: Value) -> Value:
    """Return x, the operand of a norm; its derivative is not `known` where the norm is zero."""
    return x


def _size(x: Value, known: Value) -> Value:
    return np.astype(known, np.real(x).dtype)


def _pull_held(g: Value, known: Value) -> Value:
    return _over(g, _size(g, known))


hold = primitive(_hold, plain=True)
declare_zeros("root", [_pull_held])
op(
    hold,
    "x known",
    "x known",
    vmap=elementwise_vmap(hold),
    jvp={"x": lambda t, known: slope(t, _size(t, known))},
    vjp={"x": _pull_held},
)


def _root_rule(g: Value, ans: Value) -> Value:
    return _divide_by(g, 2 * ans)


SQUARED.update({_root_rule: lambda g, ans: g / 2})
elementwise(np.sqrt, _root_rule, zeros="root", steep=True)
elementwise(np.cbrt, lambda g, ans: _divide_by(g, 3 * ans * ans), steep=True)


def _over_hypot(g: Value, ans: Value, x: Value) -> Value:
    """Return g x / ans, with 0 at the origin; an infinite ans has a slope by infinite x only."""
    infinite = ans == np.inf
    if is_known_false(infinite):
        return g * slope(x, ans)
    share = slope(np.where(infinite, 0, x), np.where(infinite, 1, ans))
    return g * np.where(infinite, np.isinf(x) * np.sign(x), share)


SQUARED.update({_over_hypot: lambda g, ans, x: g * x})
elementwise(np.hypot, (_over_hypot, "ans", "x"), (_over_hypot, "ans", "y"), zeros="kink")

# ---- trigonometric and hyperbolic ----

elementwise(np.sin, lambda g, x: g * np.cos(x))
elementwise(np.cos, lambda g, x: -g * np.sin(x))
elementwise(np.tan, lambda g, ans: g * (1 + ans * ans))


def _cos_of_arcsin(x: Value) -> Value:
    """Return sqrt(1 - x^2), for complex `x` on its side of the branch cuts of arcsin."""
    if dtype_of(x).kind == "c":
        return np.sqrt(-(x - 1)) * np.sqrt(x + 1)
    return np.sqrt(_subtract_from_one(x * x))


elementwise(np.arcsin, lambda g, x: _divide_by(g, _cos_of_arcsin(x)), steep=True)
elementwise(np.arccos, lambda g, x: -_divide_by(g, _cos_of_arcsin(x)), steep=True)
elementwise(np.arctan, lambda g, x: _divide_by(g, 1 + x * x))


def _over_square(g: Value, x: Value, y: Value) -> Value:
    """Return g y / (x^2 + y^2), with 0 at the origin and at infinity."""
    if dtype_of(x) != dtype_of(y):  # small integers could not hold their squares
        one = np.result_type(x, y).type(1)
        x, y = x * one, y * one
    square = x * x + y * y
    infinite = square == np.inf
    if is_known_false(infinite):
        return g * y / replace_zeros(square)
    return g * np.where(infinite, 0, y) / np.where(infinite, 1, replace_zeros(square))


elementwise(
    np.arctan2,
    lambda g, x, y: _over_square(g, x, y),
    lambda g, x, y: -_over_square(g, y, x),
)
elementwise(np.sinh, lambda g, x: g * np.cosh(x))
elementwise(np.cosh, lambda g, x: g * np.sinh(x))
elementwise(np.tanh, lambda g, ans: g * _subtract_from_one(ans * ans))
elementwise(np.arcsinh, lambda g, x: _divide_by(g, np.sqrt(x * x + 1)))
elementwise(np.arccosh, lambda g, x: _divide_by(g, np.sqrt(x - 1) * np.sqrt(x + 1)), steep=True)
elementwise(np.arctanh, lambda g, x: _divide_by(g, _subtract_from_one(x * x)), steep=True)
elementwise(np.deg2rad, lambda g: g * (np.pi / 180))
elementwise(np.radians, lambda g: g * (np.pi / 180))
elementwise(np.rad2deg, lambda g: g * (180 / np.pi))
elementwise(np.degrees, lambda g: g * (180 / np.pi))

# ---- selection: an operand has the gradient where it was chosen ----


def _choice(x: Value, y: Value, ans: Value) -> Value:
    """Return the part of the cotangent that `x` gets: 0, 1, or 1/2 where both are equal."""
    chosen, tie = x == ans, x == y
    return chosen if is_known_false(tie) else np.where(tie, 0.5, chosen).astype(ans.dtype)


choice = primitive(_choice, plain=True)
constant(choice, "x y ans", "x y ans", vmap=elementwise_vmap(choice))

for func in (np.maximum, np.minimum, np.fmax, np.fmin):
    elementwise(
        func,
        lambda g, ans, x, y: g * choice(x, y, ans),
        lambda g, ans, x, y: g * choice(y, x, ans),
        zeros="choice",
    )


def _where_vmap(k: int, condition: Value, *branches: Value) -> Value:
    """With the condition alone it is `numpy.nonzero`."""
    return np.where(*align(k, (condition, *branches))) if branches else _nonzero(k, condition)


_nonzero = data_dependent_vmap(
    np.where,
    "write numpy.where(condition, x, y), which keeps its shape, or functier.numpy.nonzero("
    "condition, size=n), which gives n places",
    constant=True,
)

elementwise(
    np.where,
    lambda g, ans: (None,) * len(ans) if isinstance(ans, tuple) else g * 0,
    lambda g, condition: np.where(condition, g, 0),
    lambda g, condition: np.where(condition, 0, g),
    params="condition x y",
    zeros="selection",
    vmap=_where_vmap,
    by_value=lambda call: [0] if len(call.operands) == 1 else [],
)
if CLIP is not None:  # at a bound the gradient is all of `x`'s
    elementwise(
        CLIP,
        lambda g, ans, x: g * np.equal(x, ans),
        lambda g, ans, x, y: g * (np.equal(y, ans) & np.not_equal(x, ans)),
        lambda g, ans, x, y: g * (np.not_equal(y, ans) & np.not_equal(x, ans)),
        zeros="linear",
    )


@lambda body: composite(np.clip, body)
def _clip(
    a: Value,
    a_min: Value = _NoValue,
    a_max: Value = _NoValue,
    out: Value | None = None,
    *,
    min: Value = _NoValue,
    max: Value = _NoValue,
    **kwargs: Any,
) -> Value:
    if (min is not _NoValue or max is not _NoValue) and (
        a_min is not _NoValue or a_max is not _NoValue
    ):
        raise ValueError("numpy.clip takes a_min and a_max, or min and max")
    low = min if a_min is _NoValue else a_min
    high = max if a_max is _NoValue else a_max
    low, high = (None if bound is _NoValue else bound for bound in (low, high))
    a = as_strong(as_array(a))
    if low is None and high is None:
        return np.positive(a, **kwargs)
    if np.result_type(a).kind == "f":  # one bound: all of the gradient for `a` at it too
        low, high = -np.inf if low is None else low, np.inf if high is None else high
    if low is None:
        return np.minimum(a, high, **kwargs)
    return np.maximum(a, low, **kwargs) if high is None else CLIP(a, low, high, **kwargs)


# ---- modulus and sign: kinks have the subgradient 0 ----


def _absolute_rule(g: Value, x: Value) -> Value:
    """Return g sign x."""
    return _along(g, slope(x, np.absolute(x)) if dtype_of(x).kind == "c" else np.sign(x))


def _along(g: Value, x: Value) -> Value:
    """Return g x; the tangent of a complex number is complex, that of its modulus real."""
    return np.real(g * np.conjugate(x)) if dtype_of(g).kind == "c" else g * x


def _sign_rule(g: Value, ans: Value, x: Value) -> Value:
    """Return the part of g orthogonal to x / |x|, over |x|; 0 for real numbers."""
    if dtype_of(ans).kind != "c":
        return g * 0
    radius = np.absolute(x)
    along = np.real(g * np.conjugate(ans))
    return (g - along * ans) / replace_zeros(radius)


SQUARED.update({_absolute_rule: _along})
elementwise(np.absolute, _absolute_rule, holomorphic=False, zeros="kink")
elementwise(np.fabs, _absolute_rule, zeros="kink")
elementwise(np.sign, _sign_rule, holomorphic=False, zeros="linear")
elementwise(np.copysign, lambda g, ans, x: g * np.sign(x) * np.sign(ans), lambda g: g * 0)
elementwise(np.heaviside, lambda g: g * 0, lambda g, x: g * np.equal(x, 0), zeros="linear")

# ---- the form of a number ----

elementwise(np.ldexp, lambda g, y: np.ldexp(g, y), None)
elementwise(np.nextafter, unchanged, lambda g: g * 0)
elementwise(
    np.frexp,
    jvp={"x": lambda t, ans: (np.ldexp(t, -ans[1]), None)},
    vjp={"x": lambda g, ans: np.ldexp(g[0], -ans[1])},
)
elementwise(np.modf, jvp={"x": lambda t: (t, None)}, vjp={"x": lambda g: g[0]})
elementwise(
    np.divmod,
    jvp={"x": lambda t: (None, t), "y": lambda t, ans: (None, -t * ans[0])},
    vjp={"x": lambda g: g[1], "y": lambda g, ans: -g[1] * ans[0]},
)
elementwise(np.conjugate, lambda g: np.conjugate(g), holomorphic=False)
elementwise(np.real, params="val", jvp={"val": lambda t: np.real(t)}, vjp={"val": lambda g: g})


def _imag(val: Value) -> Value:
    """Return the imaginary part; that of a real array cannot be written to, as in NumPy."""
    if dtype_of(val).kind == "c" or (not np.ndim(val) and type(val) is not np.ndarray):
        return np.imag(val)
    return np.broadcast_to(np.zeros((), dtype_of(val)), np.shape(val))


imag = elementwise(
    np.imag,
    params="val",
    vmap=lambda k, val: _imag(val),
    jvp={"val": lambda t: np.imag(t) if dtype_of(t).kind == "c" else None},
    vjp={"val": lambda g, val_dtype: 1j * g if val_dtype.kind == "c" else None},
)
imag.kernel = _imag

# ---- special functions ----

SINC_SERIES = [(-1) ** n * 2 * n / math.factorial(2 * n + 1) for n in range(9, 0, -1)]
"""sin(y) / y has the derivative y times this polynomial in y^2, to 1e-16 for |y| < 1."""


def _sinc(g: Value, ans: Value, x: Value) -> Value:
    """Return (cos(pi x) - sinc x) / x; near 0, where that cancels, by its power series."""
    near = np.absolute(x) < 0.3
    y = np.pi * np.where(near, x, 0)
    series = 0
    for coefficient in SINC_SERIES:
        series = series * (y * y) + coefficient
    far = np.where(near, 1, x)
    return g * np.where(near, np.pi * y * series, (np.cos(np.pi * far) - ans) / far)


elementwise(np.sinc, _sinc)

I0_NODES = np.cos((np.arange(128) + 0.5) * (np.pi / 128))


def _bessel_i1(x: Value) -> Value:
    """Return the mean of cos(t) exp(x cos t); the trapezoidal rule converges exponentially."""
    nodes = I0_NODES.astype(dtype_of(x))
    return np.mean(nodes * np.exp(np.reshape(x, (*np.shape(x), 1)) * nodes), axis=-1)


elementwise(np.i0, lambda g, x: g * _bessel_i1(x))
