"""Scores and velocities of SciPy's continuous distributions: see NOTE [two derivatives of a
distribution].

The densities are those of SciPy's documentation; each row is their derivative, in the notation
of that text. Where a distribution is made of a gamma or beta number, so is its velocity.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...._core.numpy_facts import Value
from ...._rules.velocities import gamma_velocity
from ..._private import special
from ..special_formulas import (
    beta_velocity,
    f_velocity,
    log_odds_velocity,
    normal_ratio,
    t_velocity,
    von_mises_velocity,
)
from .methods import CONTINUOUS, Continuous, standard


def row(name: str, score: Callable, *parameters: Any) -> None:
    """Add a distribution; `parameters` are its scores, then its velocities."""
    half = len(parameters) // 2
    facts = Continuous(score, parameters[:half], parameters[half:])
    CONTINUOUS.update({name: facts})


# ---- shapes without parameters ----

PLAIN: dict[str, Callable] = {
    "arcsine": lambda y: (y - 0.5) / (y * (1 - y)),
    "cauchy": lambda y: -2 * y / (1 + y * y),
    "cosine": lambda y: -np.sin(y) / (1 + np.cos(y)),
    "expon": lambda y: -np.ones_like(y),
    "gumbel_l": lambda y: -np.expm1(y),
    "gumbel_r": lambda y: np.expm1(-y),
    "halfcauchy": lambda y: -2 * y / (1 + y * y),
    "halflogistic": lambda y: -np.tanh(y / 2),
    "halfnorm": lambda y: -y,
    "hypsecant": lambda y: -np.tanh(y),
    "laplace": lambda y: -np.sign(y),
    "levy": lambda y: (1 / y - 3) / (2 * y),
    "logistic": lambda y: -np.tanh(y / 2),
    "maxwell": lambda y: 2 / y - y,
    "moyal": lambda y: np.expm1(-y) / 2,
    "norm": lambda y: -y,
    "rayleigh": lambda y: 1 / y - y,
    "semicircular": lambda y: -y / ((1 - y) * (1 + y)),
    "uniform": lambda y: np.zeros_like(y),
}
"""Scores of distributions without parameters."""

for _name, _score in PLAIN.items():
    row(_name, _score)

# ---- powers and exponentials ----

row(
    "lognorm",
    lambda y, s: -(1 + np.log(y) / (s * s)) / y,
    lambda y, s: ((np.log(y) / s) ** 2 - 1) / s,
    lambda y, s: y * np.log(y) / s,
)
row(
    "weibull_min",
    lambda y, c: (c - 1) / y - c * np.power(y, c - 1),
    lambda y, c: 1 / c + np.log(y) * (1 - np.power(y, c)),
    lambda y, c: -y * np.log(y) / c,
)
row(
    "weibull_max",
    lambda y, c: (c - 1) / y + c * np.power(-y, c - 1),
    lambda y, c: 1 / c + np.log(-y) * (1 - np.power(-y, c)),
    lambda y, c: -y * np.log(-y) / c,
)
row(
    "pareto",
    lambda y, b: -(b + 1) / y,
    lambda y, b: 1 / b - np.log(y),
    lambda y, b: -y * np.log(y) / b,
)
row(
    "lomax",
    lambda y, c: -(c + 1) / (1 + y),
    lambda y, c: 1 / c - np.log1p(y),
    lambda y, c: -(1 + y) * np.log1p(y) / c,
)
row(
    "powerlaw",
    lambda y, a: (a - 1) / y,
    lambda y, a: 1 / a + np.log(y),
    lambda y, a: -y * np.log(y) / a,
)
row(
    "gompertz",
    lambda y, c: 1 - c * np.exp(y),
    lambda y, c: 1 / c - np.expm1(y),
    lambda y, c: np.expm1(-y) / c,
)
row(
    "fisk",
    lambda y, c: (c - 1) / y - 2 * c / y * special.expit(c * np.log(y)),
    lambda y, c: 1 / c + np.log(y) * (1 - 2 * special.expit(c * np.log(y))),
    lambda y, c: -y * np.log(y) / c,
)
row(
    "truncexpon",
    lambda y, b: -np.ones_like(y + b),
    lambda y, b: -1 / np.expm1(b),
    lambda y, b: np.expm1(y) / np.expm1(b),
)
row(
    "triang",
    lambda y, c: np.where(np.less(y, c), 1 / y, -1 / (1 - y)),
    lambda y, c: np.where(np.less(y, c), -1 / c, 1 / (1 - c)),
    lambda y, c: np.where(np.less(y, c), y / c, (1 - y) / (1 - c)) / 2,
)
for _name in ("loguniform", "reciprocal"):
    row(
        _name,
        lambda y, a, b: -1 / y + 0 * (a + b),
        lambda y, a, b: 1 / (a * np.log(b / a)) + 0 * y,
        lambda y, a, b: -1 / (b * np.log(b / a)) + 0 * y,
        lambda y, a, b: y * np.log(b / y) / (a * np.log(b / a)),
        lambda y, a, b: y * np.log(y / a) / (b * np.log(b / a)),
    )

# ---- extreme values: the logarithm divided by a parameter that may be 0 ----


def shrunk_log(c: Value, y: Value) -> Value:
    """Return ``log1p(c y) / c``, and `y` for c = 0 (DLMF 15.4.1)."""
    near = np.less(np.absolute(c * y), 0.1)
    series = y * special.hyp2f1(1.0, 1.0, 2.0, np.where(near, -c * y, 0.0))
    return np.where(near, series, np.log1p(np.where(near, 1.0, c * y)) / np.where(near, 1.0, c))


def shrunk_log_slope(c: Value, y: Value) -> Value:
    """Differentiate ``log1p(c y) / c`` by `c` (DLMF 15.4.1, 15.5.1)."""
    near = np.less(np.absolute(c * y), 0.1)
    series = -0.5 * y * y * special.hyp2f1(2.0, 2.0, 3.0, np.where(near, -c * y, 0.0))
    u, divisor = np.where(near, 1.0, c * y), np.where(near, 1.0, c)
    return np.where(near, series, (u / (1 + u) - np.log1p(u)) / (divisor * divisor))


row(
    "genextreme",
    lambda y, c: (np.exp(-shrunk_log(-c, y)) + c - 1) / (1 - c * y),
    lambda y, c: shrunk_log(-c, y) + (1 - c - np.exp(-shrunk_log(-c, y))) * shrunk_log_slope(-c, y),
    lambda y, c: (1 - c * y) * shrunk_log_slope(-c, y),
)
row(
    "genpareto",
    lambda y, c: -(1 + c) / (1 + c * y),
    lambda y, c: -shrunk_log(c, y) - (1 + c) * shrunk_log_slope(c, y),
    lambda y, c: -(1 + c * y) * shrunk_log_slope(c, y),
)

# ---- made of normal numbers ----


def exponnorm_score(y: Value, k: Value) -> Value:
    return ((y - 1 / k) / k + normal_ratio(y - 1 / k) / k - 1) / k


row(
    "exponnorm",
    lambda y, K: normal_ratio(y - 1 / K) - 1 / K,
    exponnorm_score,
    lambda y, K: 1 + K * exponnorm_score(y, K),
)
row(
    "skewnorm",
    lambda y, a: a * normal_ratio(a * y) - y,
    lambda y, a: y * normal_ratio(a * y),
    lambda y, a: normal_ratio(a * y) / (1 + a * a),
)
row(
    "invgauss",
    lambda y, mu: (1 / y - 3) / (2 * y) - 1 / (2 * mu * mu),
    lambda y, mu: (y / mu - 1) / (mu * mu),
    lambda y, mu: 2 * y * np.sqrt(y) / (mu * mu * normal_ratio(-(y / mu + 1) / np.sqrt(y))),
)

_pdf, _logpdf = standard("truncnorm", "pdf"), standard("truncnorm", "logpdf")
_logcdf, _logsf = standard("truncnorm", "logcdf"), standard("truncnorm", "logsf")
row(
    "truncnorm",
    lambda y, a, b: -y + 0 * _logpdf(y, a, b),
    lambda y, a, b: _pdf(a, a, b) + 0 * y,
    lambda y, a, b: -_pdf(b, a, b) + 0 * y,
    lambda y, a, b: np.exp(_logpdf(a, a, b) + _logsf(y, a, b) - _logpdf(y, a, b)),
    lambda y, a, b: np.exp(_logpdf(b, a, b) + _logcdf(y, a, b) - _logpdf(y, a, b)),
)

# ---- made of gamma numbers ----

for _name in ("gamma", "erlang"):
    row(
        _name,
        lambda y, a: (a - 1) / y - 1,
        lambda y, a: np.log(y) - special.psi(a),
        gamma_velocity,
    )
row(
    "chi2",
    lambda y, df: (df / 2 - 1) / y - 0.5,
    lambda y, df: (np.log(y / 2) - special.psi(df / 2)) / 2,
    lambda y, df: gamma_velocity(y / 2, df / 2),
)
row(
    "chi",
    lambda y, df: (df - 1) / y - y,
    lambda y, df: (2 * np.log(y) - math.log(2) - special.psi(df / 2)) / 2,
    lambda y, df: gamma_velocity(y * y / 2, df / 2) / (2 * y),
)
row(
    "invgamma",
    lambda y, a: (1 / y - a - 1) / y,
    lambda y, a: -np.log(y) - special.psi(a),
    lambda y, a: -y * y * gamma_velocity(1 / y, a),
)
row(
    "nakagami",
    lambda y, nu: (2 * nu - 1) / y - 2 * nu * y,
    lambda y, nu: np.log(nu) + 1 - special.psi(nu) + 2 * np.log(y) - y * y,
    lambda y, nu: (gamma_velocity(nu * y * y, nu) - y * y) / (2 * nu * y),
)
row(
    "loggamma",
    lambda y, c: c - np.exp(y),
    lambda y, c: y - special.psi(c),
    lambda y, c: np.exp(-y) * gamma_velocity(np.exp(y), c),
)


def gennorm_velocity(y: Value, beta: Value) -> Value:
    """The power `beta` of the absolute value is a gamma number of shape ``1 / beta``."""
    size = np.absolute(y)
    log, z = special.xlogy(1.0, size), np.power(size, beta)
    moved = gamma_velocity(z, 1 / beta) / (beta * beta)
    return -np.sign(y) * size * (log + np.where(np.equal(z, 0), 0.0, moved / z)) / beta


row(
    "gennorm",
    lambda y, beta: -beta * np.sign(y) * np.power(np.absolute(y), beta - 1),
    lambda y, beta: (
        (1 + special.psi(1 / beta) / beta) / beta
        - np.power(np.absolute(y), beta) * special.xlogy(1.0, np.absolute(y))
    ),
    gennorm_velocity,
)

# ---- made of beta numbers ----

row(
    "beta",
    lambda y, a, b: (a - 1) / y - (b - 1) / (1 - y),
    lambda y, a, b: np.log(y) - special.psi(a) + special.psi(a + b),
    lambda y, a, b: np.log1p(-y) - special.psi(b) + special.psi(a + b),
    lambda y, a, b: beta_velocity(0, y, a, b),
    lambda y, a, b: beta_velocity(1, y, a, b),
)


def t_score(y: Value, df: Value) -> Value:
    """Return the score by `df`, which is 0 where `df` is infinite."""
    finite = np.isfinite(df)
    df = np.where(finite, df, 1.0)
    square = y * y / df
    change = special.psi((df + 1) / 2) - special.psi(df / 2) - 1 / df - np.log1p(square)
    return np.where(finite, (change + (1 + 1 / df) * square / (1 + square)) / 2, 0.0)


row("t", lambda y, df: -y * (1 + 1 / df) / (1 + y * y / df), t_score, t_velocity)


def f_score(y: Value, own: Value, other: Value, log: Value, part: Value) -> Value:
    """Return the score by one of the numbers of degrees of freedom, with `part` of the total."""
    change = special.psi((own + other) / 2) - special.psi(own / 2)
    return (1 + log + change - (own + other) / own * part) / 2


row(
    "f",
    lambda y, n, d: (n / 2 - 1) / y - (n + d) / 2 * n / (d + n * y),
    lambda y, n, d: f_score(y, n, d, np.log(n * y / (d + n * y)), n * y / (d + n * y)),
    lambda y, n, d: f_score(y, d, n, np.log(d / (d + n * y)), d / (d + n * y)),
    lambda y, n, d: f_velocity(0, y, n, d),
    lambda y, n, d: f_velocity(1, y, n, d),
)


def betaprime_velocity(which: int, y: Value, a: Value, b: Value) -> Value:
    """Return the velocity of ``x / (1 - x)`` with a beta number `x`."""
    return y * log_odds_velocity(which, y / (1 + y), 1 / (1 + y), a, b)


row(
    "betaprime",
    lambda y, a, b: (a - 1) / y - (a + b) / (1 + y),
    lambda y, a, b: np.log(y / (1 + y)) - special.psi(a) + special.psi(a + b),
    lambda y, a, b: -np.log1p(y) - special.psi(b) + special.psi(a + b),
    lambda y, a, b: betaprime_velocity(0, y, a, b),
    lambda y, a, b: betaprime_velocity(1, y, a, b),
)

# ---- on the circle ----

for _name in ("vonmises", "vonmises_line"):
    row(
        _name,
        lambda y, kappa: -kappa * np.sin(y),
        lambda y, kappa: np.cos(y) - special.i1e(kappa) / special.i0e(kappa),
        von_mises_velocity,
    )
