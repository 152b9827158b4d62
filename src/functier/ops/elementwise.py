"""Elementwise operations: NumPy's ufuncs, and the array functions that act like them.

A partial names what it keeps for the backward pass: see NOTE [a rule's parameters name
what it saves].
"""

import numpy as np

from ._families import constant, elementwise, elementwise_vmap

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))
TWO_OVER_ROOT_PI = 2.0 / float(np.sqrt(np.pi))

# ---- arithmetic ----

elementwise(np.add, lambda g: g, lambda g: g)
elementwise(np.subtract, lambda g: g, lambda g: -g)
elementwise(np.multiply, lambda g, y: g * y, lambda g, x: g * x)
elementwise(np.divide, lambda g, y: g / y, lambda g, ans, y: -g * ans / y)
elementwise(np.negative, lambda g: -g)
elementwise(np.positive, lambda g: g)
elementwise(np.reciprocal, lambda g, ans: -g * ans * ans)
elementwise(np.square, lambda g, x: g * (2 * x))
elementwise(np.remainder, lambda g: g, lambda g, x, y: -g * np.floor(x / y))
elementwise(np.fmod, lambda g: g, lambda g, x, y: -g * np.trunc(x / y))


def _power_x(g, x, y):
    """y x^(y-1), with 0 for y = 0, where x^(y-1) may be infinite."""
    if isinstance(y, (int, float)):
        return g * (y * np.power(x, y - 1)) if y else g * 0
    zero = np.equal(y, 0)
    return g * np.where(zero, 0, y * np.power(x, np.where(zero, 1, y - 1)))


def _power_y(g, ans, x):
    """ans log x; at x = 0 the limit 0, which the logarithm there would spoil."""
    return g * ans * np.log(np.where(np.equal(x, 0), 1, x))


elementwise(np.power, _power_x, _power_y)
elementwise(np.float_power, _power_x, _power_y)

# ---- exponentials and logarithms ----

elementwise(np.exp, lambda g, ans: g * ans)
elementwise(np.exp2, lambda g, ans: g * ans * LN2)
elementwise(np.expm1, lambda g, ans: g * (ans + 1))
elementwise(np.log, lambda g, x: g / x)
elementwise(np.log2, lambda g, x: g / (x * LN2))
elementwise(np.log10, lambda g, x: g / (x * LN10))
elementwise(np.log1p, lambda g, x: g / (x + 1))


def _share(x, ans):
    """exp(x - ans), with 0 where both are -inf."""
    return np.exp(x - np.where(np.isneginf(ans), 0, ans))


def _share2(x, ans):
    return np.exp2(x - np.where(np.isneginf(ans), 0, ans))


elementwise(
    np.logaddexp, lambda g, ans, x: g * _share(x, ans), lambda g, ans, y: g * _share(y, ans)
)
elementwise(
    np.logaddexp2, lambda g, ans, x: g * _share2(x, ans), lambda g, ans, y: g * _share2(y, ans)
)

# ---- roots ----

elementwise(np.sqrt, lambda g, ans: g / (2 * ans))
elementwise(np.cbrt, lambda g, ans: g / (3 * ans * ans))


def _over_hypot(g, ans, x):
    """g x / ans, with 0 at the origin."""
    return g * x / np.where(np.equal(ans, 0), 1, ans)


elementwise(
    np.hypot, lambda g, ans, x: _over_hypot(g, ans, x), lambda g, ans, y: _over_hypot(g, ans, y)
)

# ---- trigonometric and hyperbolic ----

elementwise(np.sin, lambda g, x: g * np.cos(x))
elementwise(np.cos, lambda g, x: -g * np.sin(x))
elementwise(np.tan, lambda g, ans: g * (1 + ans * ans))
elementwise(np.arcsin, lambda g, x: g / np.sqrt(1 - x * x))
elementwise(np.arccos, lambda g, x: -g / np.sqrt(1 - x * x))
elementwise(np.arctan, lambda g, x: g / (1 + x * x))


def _over_square(g, x, y, numerator):
    """g numerator / (x^2 + y^2), with 0 at the origin."""
    square = x * x + y * y
    return g * numerator / np.where(np.equal(square, 0), 1, square)


elementwise(
    np.arctan2,
    lambda g, x, y: _over_square(g, x, y, y),
    lambda g, x, y: -_over_square(g, x, y, x),
)
elementwise(np.sinh, lambda g, x: g * np.cosh(x))
elementwise(np.cosh, lambda g, x: g * np.sinh(x))
elementwise(np.tanh, lambda g, ans: g * (1 - ans * ans))
elementwise(np.arcsinh, lambda g, x: g / np.sqrt(x * x + 1))
elementwise(np.arccosh, lambda g, x: g / np.sqrt((x - 1) * (x + 1)))
elementwise(np.arctanh, lambda g, x: g / (1 - x * x))
elementwise(np.deg2rad, lambda g: g * (np.pi / 180))
elementwise(np.radians, lambda g: g * (np.pi / 180))
elementwise(np.rad2deg, lambda g: g * (180 / np.pi))
elementwise(np.degrees, lambda g: g * (180 / np.pi))

# ---- selection and sign: kinks have the subgradient that is stated ----


def _chosen(g, x, y, ans):
    """g where `x` was chosen, half of it where both are equal."""
    return g * np.where(np.equal(x, y), 0.5, np.equal(x, ans)).astype(ans.dtype)


elementwise(
    np.maximum, lambda g, ans, x, y: _chosen(g, x, y, ans), lambda g, ans, x, y: _chosen(g, y, x, ans)
)
elementwise(
    np.minimum, lambda g, ans, x, y: _chosen(g, x, y, ans), lambda g, ans, x, y: _chosen(g, y, x, ans)
)
elementwise(
    np.fmax, lambda g, ans, x, y: _chosen(g, x, y, ans), lambda g, ans, x, y: _chosen(g, y, x, ans)
)
elementwise(
    np.fmin, lambda g, ans, x, y: _chosen(g, x, y, ans), lambda g, ans, x, y: _chosen(g, y, x, ans)
)
elementwise(
    np.absolute,
    holomorphic=False,
    jvp={"x": lambda t, x: np.real(t * np.conjugate(np.sign(x)))},
    vjp={"x": lambda g, x: g * np.sign(x)},
)
elementwise(np.fabs, lambda g, x: g * np.sign(x))
elementwise(np.copysign, lambda g, ans, x: g * np.sign(x) * np.sign(ans), lambda g, y: g * 0)
elementwise(np.heaviside, lambda g: g * 0, lambda g, x: g * np.equal(x, 0))
elementwise(np.ldexp, lambda g, y: np.ldexp(g, y), None)
elementwise(
    np.conjugate,
    holomorphic=False,
    jvp={"x": lambda t: np.conjugate(t)},
    vjp={"x": lambda g: np.conjugate(g)},
)
elementwise(
    np.where,
    None,
    lambda g, condition: np.where(condition, g, 0),
    lambda g, condition: np.where(condition, 0, g),
    params="condition x y",
)
