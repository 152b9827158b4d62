"""Numbers that keep their place in a gamma or beta distribution while its parameters change.

NOTE [velocities]
    The number `z` at the place ``q = F(z, a)`` of a distribution function ``F`` moves with the
    parameter `a` at the velocity ``dz/da = -(dF/da) / p``, with the density ``p``. This is the
    derivative of the quantile; that of ``F`` is ``-p dz/da``. With the density on a logarithmic
    scale, ``(dF/da) / p(z)`` is an integral of ``p(t) / p(z)`` times the derivative of
    ``log p(t)`` over the `t` on one side of `z`: the side where the density falls. There the
    integrand has no peak, and its width is that of the distribution.

All of it is NumPy, so that it can be differentiated again.
"""

import numpy as np

from .._core.numpy_facts import Value

TINY = np.finfo(float).tiny


def double_exponential(step: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` nodes and weights for integrals from 0 to infinity, whatever their scale is.

    That is the trapezoidal rule in the logarithm of the logarithm (Takahasi & Mori, 1974).
    """
    grid = -3.2 + step * np.arange(n)
    nodes = np.exp(grid - np.exp(-grid))
    return nodes, nodes * (1 + np.exp(-grid)) * step


def gauss(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for integrals from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (1 + nodes) / 2, weights / 2


NODES, WEIGHTS = double_exponential(0.125, 74)
LONG, BENT, FLAT = double_exponential(1 / 12, 135), gauss(24), gauss(8)
BEND = 24.0
"""The length of the part before a corner that is not flat."""


def gamma_velocity(z: Value, a: Value) -> Value:
    """Compute ``dz/da`` of standard gamma numbers `z` that keep their place, to a part of 1e-10."""
    z = np.maximum(z, TINY)
    is_below = np.less(z, a)
    wide = np.greater(a, 1.0)
    root = np.sqrt(np.where(wide, a, 1.0))
    width: Value = np.where(wide, 1 / root, 1 / np.where(wide, 1.0, a))
    level = digamma(a)

    lower: Value = np.where(is_below, z, a)  # a number for which the lower integral is well-behaved
    t = -add_node_axis(width) * NODES  # log of the place, from log of z
    w = np.exp(add_node_axis(a) * t - add_node_axis(lower) * np.expm1(t)) * WEIGHTS
    under = -lower * width * np.sum(w * (t - add_node_axis(level - np.log(lower))), axis=-1)

    upper = np.where(is_below, a, z)
    u = add_node_axis(root) * NODES  # the place, from z
    t = np.log1p(u / add_node_axis(upper))
    w = np.exp((add_node_axis(a) - 1) * t - u) * WEIGHTS
    over = root * np.sum(w * (t - add_node_axis(level - np.log(upper))), axis=-1)
    return np.where(is_below, under, over)


def beta_velocities(x: Value, y: Value, a: Value, b: Value) -> tuple[Value, Value]:
    """Compute the derivatives of ``log(x / y)`` by `a` and `b`, of beta numbers `x` that keep their
    place, with ``y = 1 - x``, to a part of 1e-9.

    The integral is over that logarithm, on whose scale the density has one peak. The mirror image
    of the distribution serves for numbers above it. Far out the density is flat up to a corner
    and falls there; the integral has a part before the corner.
    """
    is_below = np.less(x * b, a * y)
    near: Value = np.where(is_below, x, y)
    far: Value = np.where(is_below, y, x)
    inner: Value = np.where(is_below, a, b)
    outer: Value = np.where(is_below, b, a)

    corner = np.maximum(-np.log(far * np.maximum(inner, 1.0)), 0.0)
    slope = np.maximum(inner * far - outer * near, 0) + np.sqrt((inner + outer) * near * far)
    small = np.minimum(inner, 1.0)
    width = 1 / np.where(corner > 0, np.minimum(np.sqrt(small), 100 * small), slope)
    bent = np.minimum(corner, BEND)
    parts = (corner, width, *LONG), (corner - bent, bent, *BENT), (0.0, corner - bent, *FLAT)
    t = np.concatenate([add_node_axis(v) + add_node_axis(n) * p for v, n, p, _ in parts], -1)
    weights = np.concatenate([add_node_axis(n) * q for _, n, _, q in parts], -1)

    change = -np.log1p(add_node_axis(near) * np.expm1(-t))  # of log(y), t below that of x / y
    w = np.exp(add_node_axis(inner + outer) * change - add_node_axis(inner) * t) * weights
    total = digamma(a + b)
    level, other_level = np.log(near) - digamma(inner) + total, np.log(far) - digamma(outer) + total
    own = np.sum(w * (change - t + add_node_axis(level)), axis=-1)
    other = np.sum(w * (change + add_node_axis(other_level)), axis=-1)
    sign = np.where(is_below, -1.0, 1.0)
    return sign * np.where(is_below, own, other), sign * np.where(is_below, other, own)


def add_node_axis(x: Value) -> Value:
    """Return `x` with an axis for the nodes."""
    return np.expand_dims(x, -1)


def digamma(x: Value) -> Value:
    """Compute the derivative of the logarithm of the gamma function, of positive numbers.

    It takes the recurrence up to ``x + 10``, and the asymptotic series there (Abramowitz and
    Stegun 6.3.5, 6.3.18); NumPy does not have the function.
    """
    y = x + 10.0
    r = 1 / (y * y)
    series = r * (1 / 240 - r * (1 / 132 - r * (691 / 32760)))
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - series)))
    for k in range(10):
        series = series + 1 / (x + k)
    return np.log(y) - 0.5 / y - series
