"""Scores and slopes of SciPy's discrete distributions: see NOTE [two derivatives of a
distribution].

A slope of ``cdf`` at `k` is mostly one mass: the sum over the numbers up to `k` telescopes.
"""

from typing import Any

import numpy as np

from ...._core.numpy_facts import Value
from ..._private import special
from ..special_formulas import beta_density, beta_velocity, safe_ratio, zeta_slope
from .methods import DISCRETE, Discrete, standard


def row(name: str, scores: Any, slopes: Any = (), masses: Any = ()) -> None:
    """Add a distribution; a row has one function or None for each parameter."""
    DISCRETE.update({name: Discrete(scores, masses, slopes)})


def power(x: Value, n: Value) -> Value:
    """Return ``x ** n`` for the numbers `n` from 0, and 1 for those below."""
    return np.power(x, np.maximum(n, 0))


# ---- trials ----

binom = standard("binom", "pmf")


def binom_slope(k: Value, n: Value, p: Value) -> Value:
    """Differentiate the distribution function: minus the mass of `k` in one trial less."""
    return -n * binom(k, np.maximum(n - 1, 0), p)


row(
    "binom",
    (None, lambda k, n, p: safe_ratio(k, p) - safe_ratio(n - k, 1 - p)),
    (None, binom_slope),
    (None, lambda k, n, p: binom_slope(k, n, p) - binom_slope(k - 1, n, p)),
)
row(
    "bernoulli",
    (lambda k, p: safe_ratio(k, p) - safe_ratio(1 - k, 1 - p),),
    (lambda k, p: k - 1 + 0 * p,),
    (lambda k, p: 2 * k - 1 + 0 * p,),
)
row(
    "geom",
    (lambda k, p: 1 / p - safe_ratio(k - 1, 1 - p),),
    (lambda k, p: k * power(1 - p, k - 1),),
    (lambda k, p: power(1 - p, k - 1) - (k - 1) * p * power(1 - p, k - 2),),
)
row(
    "nbinom",
    (
        lambda k, n, p: special.psi(n + k) - special.psi(n) + np.log(p),
        lambda k, n, p: n / p - safe_ratio(k, 1 - p),
    ),
    (
        lambda k, n, p: -beta_density(n, k + 1, p) * beta_velocity(0, p, n, k + 1),
        lambda k, n, p: beta_density(n, k + 1, p),
    ),
    (
        None,
        lambda k, n, p: beta_density(n, k + 1, p) - np.where(
            np.equal(k, 0), 0.0, beta_density(n, np.maximum(k, 1), p)
        ),
    ),
)  # fmt: skip
row(
    "betabinom",
    (
        None,
        lambda k, n, a, b: (
            special.psi(k + a) - special.psi(n + a + b) - special.psi(a) + special.psi(a + b)
        ),
        lambda k, n, a, b: (
            special.psi(n - k + b) - special.psi(n + a + b) - special.psi(b) + special.psi(a + b)
        ),
    ),
)
row(
    "betanbinom",
    (
        None,
        lambda k, n, a, b: (
            special.psi(a + n) - special.psi(n + k + a + b) - special.psi(a) + special.psi(a + b)
        ),
        lambda k, n, a, b: (
            special.psi(k + b) - special.psi(n + k + a + b) - special.psi(b) + special.psi(a + b)
        ),
    ),
)
for _name in ("hypergeom", "randint"):
    row(_name, ())

# ---- counts ----

poisson = standard("poisson", "pmf")
row(
    "poisson",
    (lambda k, mu: safe_ratio(k, mu) - 1,),
    (lambda k, mu: -poisson(k, mu),),
    (lambda k, mu: poisson(k - 1, mu) - poisson(k, mu),),
)

skellam = standard("skellam", "pmf")


def skellam_score(k: Value, step: int, mu1: Value, mu2: Value) -> Value:
    return skellam(k + step, mu1, mu2) / skellam(k, mu1, mu2) - 1


row(
    "skellam",
    (
        lambda k, mu1, mu2: skellam_score(k, -1, mu1, mu2),
        lambda k, mu1, mu2: skellam_score(k, 1, mu1, mu2),
    ),
    (
        lambda k, mu1, mu2: -skellam(k, mu1, mu2),
        lambda k, mu1, mu2: skellam(k + 1, mu1, mu2),
    ),
    (
        lambda k, mu1, mu2: skellam(k - 1, mu1, mu2) - skellam(k, mu1, mu2),
        lambda k, mu1, mu2: skellam(k + 1, mu1, mu2) - skellam(k, mu1, mu2),
    ),
)

# ---- exponentials and powers ----


def ratio(x: Value) -> Value:
    """Return ``x / expm1(x)`` of positive numbers."""
    return 1 / special.exprel(x)


row(
    "planck",
    (lambda k, c: 1 / np.expm1(c) - k,),
    (lambda k, c: (k + 1) * np.exp(-c * (k + 1)),),
)


def boltzmann_slope(k: Value, c: Value, n: Value) -> Value:
    change = (ratio(c * (k + 1)) - ratio(c * n)) / c
    return change * np.expm1(-c * (k + 1)) / np.expm1(-c * n)


row(
    "boltzmann",
    (lambda k, c, n: (ratio(c) - ratio(c * n)) / c - k, None),
    (boltzmann_slope, None),
)


def dlaplace_slope(k: Value, a: Value) -> Value:
    below = np.less(k, 0)
    left = np.exp(np.where(below, k + 1, 0) * a) * (k + special.expit(-a))
    right = np.exp(np.where(below, 0, -k) * a) * (k + special.expit(a))
    return np.where(below, left, right) / (np.exp(a) + 1)


row("dlaplace", (lambda k, a: 1 / np.sinh(a) - np.absolute(k),), (dlaplace_slope,))


def logser_slope(k: Value, p: Value) -> Value:
    return (np.power(p, k) - logser_sf(k, p)) / ((1 - p) * np.log1p(-p))


logser_sf = standard("logser", "sf")
row("logser", (lambda k, p: k / p + 1 / ((1 - p) * np.log1p(-p)),), (logser_slope,))


def zipf_score(a: Value) -> Value:
    """Return minus the logarithmic derivative of the zeta function."""
    return -zeta_slope(a, 1.0) / special._zeta(a, 1.0)


def zipf_slope(k: Value, a: Value) -> Value:
    """Differentiate ``1 - zeta(a, k + 1) / zeta(a)``."""
    above = special._zeta(a, k + 1) * zipf_score(a) + zeta_slope(a, k + 1)
    return -above / special._zeta(a, 1.0)


row("zipf", (lambda k, a: zipf_score(a) - np.log(k),), (zipf_slope,))
