"""Derivatives of distribution functions in `scipy.special` by their parameters.

Each is minus the density times a velocity, and the velocity is the derivative of the inverse:
see NOTE [velocities].
"""

import math
from collections.abc import Callable

import numpy as np

from ..._core.numpy_facts import Value, dtype_of
from ..._rules.velocities import beta_velocities, gamma_velocity
from .._private import special

LARGE = 1e300


def inner(x: Value) -> Value:
    """Return numbers from 0 to infinity without both ends, where formulas divide."""
    return np.clip(x, _smallest(x), min(LARGE, 0.01 / _smallest(x)))


def _smallest(x: Value) -> float:
    """Return a number near 0 in the precision of `x`."""
    dtype = dtype_of(x)
    return max(1e-200, float(np.finfo(dtype).tiny)) if dtype.kind == "f" else 1e-200


def log_odds_velocity(which: int, x: Value, rest: Value, a: Value, b: Value) -> Value:
    """Return the velocity of ``log(x / rest)`` by `a` or `b`, of a beta number; `rest` is 1 - x."""
    x, rest = np.maximum(x, _smallest(x)), np.maximum(rest, _smallest(rest))
    x, rest, a, b = np.broadcast_arrays(x, rest, a, b)
    return beta_velocities(x, rest, a, b)[which]


def beta_velocity(which: int, x: Value, a: Value, b: Value) -> Value:
    return x * (1 - x) * log_odds_velocity(which, x, 1 - x, a, b)


def f_velocity(which: int, x: Value, n: Value, d: Value) -> Value:
    """Return the velocity of ``x = (d / n) y / (1 - y)`` with a beta number `y`."""
    x = inner(x)
    total = d + n * x
    moved = log_odds_velocity(which, n * x / total, d / total, n / 2, d / 2) / 2
    return x * (moved - 1 / n if which == 0 else moved + 1 / d)


def t_velocity(t: Value, df: Value) -> Value:
    """Return that of ``t * t = df y / (1 - y)`` with a beta number `y`.

    It is a small difference where `df` is large: there it is the series of Cornish and Fisher.
    """
    size = np.clip(np.absolute(t), 1e-90, 1e150)
    few = np.less(df, 1e4 * (1 + size * size))
    a, b = size / np.where(few, 1.0, df), 1 / np.where(few, 1.0, df)
    late = size * (a * a * (size * a - b) / 3 - (a * a + b * b)) / 4
    df = np.where(few, df, 1.0)
    total = df + size * size
    moved = log_odds_velocity(1, size * size / total, df / total, 0.5, df / 2) / 2
    return np.sign(t) * np.where(few, size * (moved + 1 / df) / 2, late)


NODES, LEGENDRE = np.polynomial.legendre.leggauss(64)
NODES, LEGENDRE = (1 + NODES) / 2, LEGENDRE / 2  # of integrals from 0 to 1


def von_mises_velocity(x: Value, kappa: Value) -> Value:
    """Integrate the score by `kappa` from the mean, whose place is one half, in 64 nodes."""
    x = x - 2 * math.pi * np.rint(x / (2 * math.pi))
    mean = special.i1e(kappa) / special.i0e(kappa)
    end = np.sign(x) * np.minimum(np.absolute(x), 12 / np.sqrt(np.maximum(kappa, 1.0)))
    t = np.expand_dims(end, -1) * NODES
    level, at = np.expand_dims(kappa, -1), np.cos(np.expand_dims(x, -1))
    weight = np.exp(level * (np.cos(t) - at)) * LEGENDRE
    return -end * np.sum(weight * (np.cos(t) - np.expand_dims(mean, -1)), axis=-1)


VELOCITIES: dict[str, tuple[Callable, ...]] = {
    "a x": (lambda a, x: gamma_velocity(inner(x), a),),
    "a b x": (
        lambda a, b, x: beta_velocity(0, x, a, b),
        lambda a, b, x: beta_velocity(1, x, a, b),
    ),
    "df t": (lambda df, t: t_velocity(t, df),),
    "v x": (lambda v, x: gamma_velocity(inner(x) / 2, v / 2),),
    "dfn dfd x": (
        lambda n, d, x: f_velocity(0, x, n, d),
        lambda n, d, x: f_velocity(1, x, n, d),
    ),
}
"""The velocities of the last variable, by all variables: functions of all of them."""
