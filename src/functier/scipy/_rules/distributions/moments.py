"""Means, variances and entropies of SciPy's distributions in standard form, as NumPy code."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...._core.numpy_facts import Value
from ..._private import special

EULER = -float(special.psi(1.0))
LN2 = math.log(2)


class Moments(NamedTuple):
    """Functions of the parameters of a distribution."""

    mean: Callable
    var: Callable
    entropy: Callable | None = None


def guarded(condition: Value, value: Callable, x: Value, otherwise: Value = np.inf) -> Value:
    """Compute ``value(x)`` where a condition holds, of numbers that are 3 elsewhere."""
    return np.where(condition, value(np.where(condition, x, 3.0)), otherwise)


# ---- continuous distributions ----


def gamma_entropy(a: Value) -> Value:
    return a + special.gammaln(a) + (1 - a) * special.psi(a)


def beta_var(a: Value, b: Value) -> Value:
    total = a + b
    return (a / total) * (b / total) / (total + 1)


def beta_entropy(a: Value, b: Value) -> Value:
    return (
        special.betaln(a, b) - (a - 1) * special.psi(a) - (b - 1) * special.psi(b)
        + (a + b - 2) * special.psi(a + b)
    )  # fmt: skip


def t_entropy(df: Value) -> Value:
    change = special.psi((df + 1) / 2) - special.psi(df / 2)
    return (df + 1) / 2 * change + np.log(df) / 2 + special.betaln(df / 2, 0.5)


def weibull_var(c: Value) -> Value:
    mean = special.gamma(1 + 1 / c)
    return special.gamma(1 + 2 / c) - mean * mean


def pareto_var(b: Value) -> Value:
    return guarded(np.greater(b, 2), lambda b: b / (b - 2) / (b - 1) ** 2, b)


def pareto_entropy(b: Value) -> Value:
    return 1 + 1 / b - np.log(b)


def f_var(n: Value, d: Value) -> Value:
    return guarded(
        np.greater(d, 4), lambda d: 2 * (d / (d - 2)) ** 2 * (n + d - 2) / (n * (d - 4)),
        np.maximum(d, 1.0), np.inf,
    )  # fmt: skip


def chi_mean(df: Value) -> Value:
    return math.sqrt(2) * special.poch(df / 2, 0.5)


def loguniform_mean(a: Value, b: Value) -> Value:
    return (b - a) / np.log(b / a)


CONTINUOUS = {
    "norm": Moments(lambda: 0.0, lambda: 1.0, lambda: 0.5 * math.log(2 * math.pi * math.e)),
    "uniform": Moments(lambda: 0.5, lambda: 1 / 12, lambda: 0.0),
    "expon": Moments(lambda: 1.0, lambda: 1.0, lambda: 1.0),
    "gamma": Moments(lambda a: a, lambda a: a, gamma_entropy),
    "erlang": Moments(lambda a: a, lambda a: a, gamma_entropy),
    "chi2": Moments(
        lambda df: df, lambda df: 2 * df, lambda df: gamma_entropy(df / 2) + LN2,
    ),
    "chi": Moments(chi_mean, lambda df: df - chi_mean(df) ** 2),
    "beta": Moments(lambda a, b: a / (a + b), beta_var, beta_entropy),
    "t": Moments(
        lambda df: np.where(np.greater(df, 1), 0.0, np.inf),
        lambda df: np.where(
            np.greater(df, 1), guarded(np.greater(df, 2), lambda df: df / (df - 2), df), np.nan
        ),
        t_entropy,
    ),
    "f": Moments(
        lambda n, d: guarded(np.greater(d, 2), lambda d: d / (d - 2), d) + 0 * n, f_var
    ),
    "lognorm": Moments(
        lambda s: np.exp(s * s / 2), lambda s: np.exp(s * s) * np.expm1(s * s),
        lambda s: 0.5 * math.log(2 * math.pi * math.e) + np.log(s),
    ),
    "weibull_min": Moments(
        lambda c: special.gamma(1 + 1 / c), weibull_var,
        lambda c: EULER * (1 - 1 / c) - np.log(c) + 1,
    ),
    "weibull_max": Moments(
        lambda c: -special.gamma(1 + 1 / c), weibull_var,
        lambda c: EULER * (1 - 1 / c) - np.log(c) + 1,
    ),
    "pareto": Moments(
        lambda b: guarded(np.greater(b, 1), lambda b: b / (b - 1), b), pareto_var, pareto_entropy,
    ),
    "lomax": Moments(
        lambda c: guarded(np.greater(c, 1), lambda c: 1 / (c - 1), c), pareto_var, pareto_entropy,
    ),
    "invgamma": Moments(
        lambda a: guarded(np.greater(a, 1), lambda a: 1 / (a - 1), a),
        lambda a: guarded(np.greater(a, 2), lambda a: 1 / (a - 1) ** 2 / (a - 2), a),
        lambda a: a + special.gammaln(a) - (1 + a) * special.psi(a),
    ),
    "invgauss": Moments(lambda mu: mu, lambda mu: mu * mu * mu),
    "powerlaw": Moments(
        lambda a: a / (a + 1), lambda a: a / (a + 2) / (a + 1) ** 2,
        lambda a: 1 - 1 / a - np.log(a),
    ),
    "triang": Moments(
        lambda c: (c + 1) / 3, lambda c: (1 - c + c * c) / 18, lambda c: 0.5 - LN2 + 0 * c,
    ),
    "loguniform": Moments(
        loguniform_mean,
        lambda a, b: (a + b) / 2 * loguniform_mean(a, b) - loguniform_mean(a, b) ** 2,
        lambda a, b: 0.5 * np.log(a * b) + np.log(np.log(b / a)),
    ),
    "exponnorm": Moments(lambda K: K, lambda K: 1 + K * K),
    "nakagami": Moments(
        lambda nu: special.poch(nu, 0.5) / np.sqrt(nu),
        lambda nu: 1 - special.poch(nu, 0.5) ** 2 / nu,
    ),
    "skewnorm": Moments(
        lambda a: math.sqrt(2 / math.pi) * a / np.sqrt(1 + a * a),
        lambda a: 1 - 2 / math.pi * a * a / (1 + a * a),
    ),
}  # fmt: skip
"""For those with parameters, and some without; SciPy has the numbers of the others."""

# ---- discrete distributions ----

DISCRETE = {
    "bernoulli": Moments(
        lambda p: p, lambda p: p - p * p, lambda p: special.entr(p) + special.entr(1 - p)
    ),
    "binom": Moments(lambda n, p: n * p, lambda n, p: n * (p - p * p)),
    "betabinom": Moments(
        lambda n, a, b: n * (a / (a + b)),
        lambda n, a, b: n * (a + b + n) * beta_var(a, b),
    ),
    "geom": Moments(
        lambda p: 1 / p, lambda p: (1 - p) / p / p,
        lambda p: -np.log(p) - np.log1p(-p) * (1 - p) / p,
    ),
    "nbinom": Moments(lambda n, p: n * (1 - p) / p, lambda n, p: n * (1 - p) / (p * p)),
    "poisson": Moments(lambda mu: mu, lambda mu: mu),
    "planck": Moments(
        lambda c: 1 / np.expm1(c), lambda c: np.exp(-c) / np.expm1(-c) ** 2,
    ),
    "skellam": Moments(lambda mu1, mu2: mu1 - mu2, lambda mu1, mu2: mu1 + mu2),
}  # fmt: skip
