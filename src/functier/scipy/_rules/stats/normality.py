"""Tests of a distribution: of normality, and those of Kolmogorov and Smirnov."""

import functools
import math
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import NoRuleError, UnsupportedError
from ...._core.numpy_facts import Value
from ....protocol import op, primitive
from ..declare import declare_composite, dispatching
from ..distributions.methods import call
from .ranks import constants, ranks, with_value
from .results import result_class
from .samples import as_float, statistic


@functools.cache
def shapiro_weights(n: int) -> np.ndarray:
    """Return the weights of the sorted observations, from SciPy's test of simple samples.

    For the larger ones of two numbers, `i` times, the statistic is the square of the sum of the
    `i` last weights over the sum of the squares.
    """
    half = n // 2
    sums = [0.0]
    for i in range(1, half + 1):
        x = np.where(np.arange(n) < n - i, 0.0, 1.0)
        sums.append(math.sqrt(stats.shapiro(x)[0] * i * (1 - i / n)))
    upper = np.diff(sums)
    return np.concatenate([-upper, np.zeros(n % 2), upper[::-1]])


def _polynomial(coefficients: tuple, x: float) -> float:
    return np.polynomial.polynomial.polyval(x, coefficients)


def _shapiro_p_value(w: Value, n: int) -> Value:
    """Return the probability by the formulas of Royston (1995), algorithm AS R94."""
    if n == 3:
        return np.maximum(6 / math.pi * (np.arcsin(np.sqrt(w)) - math.asin(math.sqrt(0.75))), 0)
    y, log_n = np.log(1 - w), math.log(n)
    if n <= 11:
        gamma = _polynomial((-2.273, 0.459), n)
        y = -np.log(gamma - y)
        mean = _polynomial((0.544, -0.39978, 0.025054, -6.714e-4), n)
        deviation = math.exp(_polynomial((1.3822, -0.77857, 0.062767, -0.0020322), n))
    else:
        mean = _polynomial((-1.5861, -0.31082, -0.083751, 0.0038915), log_n)
        deviation = math.exp(_polynomial((-0.4803, -0.082676, 0.0030302), log_n))
    return special.ndtr(-(y - mean) / deviation)


@statistic(
    "shapiro",
    "x",
    axis=None,
    too_small=2,
    hides_nan=True,
    outputs=2,
    join=result_class("_morestats", "ShapiroResult"),
)
def _shapiro(x: Value) -> tuple:
    n = np.shape(x)[-1]
    x = np.sort(np.astype(x, float, copy=False), axis=-1)
    x = x - np.mean(x, axis=-1, keepdims=True)
    w = np.sum(x * shapiro_weights(n), axis=-1) ** 2 / np.sum(x * x, axis=-1)
    value, p = constants("shapiro", [x], "statistic pvalue")
    return with_value(w, value), with_value(_shapiro_p_value(w, n), p)


KstestResult = result_class("_stats_py", "KstestResult", more="statistic_location statistic_sign")
SIDES = {"t": "two-sided", "g": "greater", "l": "less"}


STEP = 1e-8
"""The smallest step of a difference in which rounding errors do not matter."""


def _density(d: Value, n: int) -> Value:
    """Return SciPy's density of a distance, with its limits from one side next to 1 / n and 1 / 2.

    Between these, SciPy takes differences, whose steps are not larger than the distance from them.
    """
    d = np.where((d < 0.5) & (d > 0.5 - STEP), 0.5 - STEP, d)
    return stats.kstwo.pdf(np.where((d > 1 / n) & (d < 1 / n + STEP), 1 / n + STEP, d), n)


@primitive
def kolmogorov_probability(d: Value, n: int, order: int) -> Value:
    """Return the probability of a larger distance than `d`, of `n` observations.

    Of order 1, return its derivative, minus the density of the largest distance of an empirical
    distribution from the true one.
    """
    return -_density(d, n) if order else stats.kstwo.sf(d, n)


def _slope(g: Value, d: Value, n: int, order: int) -> Value:
    if order:
        raise NoRuleError(
            "scipy.stats.ks_1samp: the exact probability has a first derivative only; take the "
            "second derivative of the statistic, or of the probability of functier.stop_gradient(x)"
        )
    return g * kolmogorov_probability(d, n, 1)


op(
    kolmogorov_probability,
    "d n order",
    "d",
    vmap=lambda k, d, n, order: kolmogorov_probability(d, n, order),
    jvp={"d": _slope},
    vjp={"d": _slope},
)


def _side(alternative: str) -> str:
    side = SIDES.get(alternative.lower()[0], alternative)
    if side not in SIDES.values():
        raise ValueError(f"Unexpected value {alternative=}")
    return side


def _probability_of(cdf: Any, x: Value, args: tuple) -> Value:
    """Return ``cdf(x, *args)``, where the function may be the name of a distribution of SciPy."""
    dist, method = getattr(stats, cdf, None) if isinstance(cdf, str) else None, "cdf"
    if dist is None:
        dist, method = getattr(cdf, "__self__", None), getattr(cdf, "__name__", "")
    if not isinstance(dist, stats.rv_continuous) or method != "cdf":
        return cdf(x, *args)
    shapes, loc, scale = dist._parse_args(*args)
    return call(dist, "cdf", x, shapes, loc, scale)


def _largest(distances: Value, x: Value) -> tuple[Value, Value]:
    """Return the largest distance and its place."""
    place = np.argmax(distances, axis=-1, keepdims=True)
    found = [np.take_along_axis(v, place, axis=-1)[..., 0] for v in (distances, x)]
    return found[0], found[1]


def _one_sample(x: Value, cdf: Any, args: tuple, alternative: str, method: str) -> tuple:
    side = _side(alternative)
    x, n = as_float(np.sort(x, axis=-1)), np.shape(x)[-1]
    probability, steps = _probability_of(cdf, x, args), np.arange(0.0, n + 1, dtype=x.dtype) / n
    above, above_place = _largest(steps[1:] - probability, x)
    below, below_place = _largest(probability - steps[:-1], x)
    one = np.int8(1) if not np.ndim(above) else np.ones(np.shape(above), np.int8)
    if side == "greater":
        return above, _as(x, special.smirnov(n, above)), above_place, one
    if side == "less":
        return below, _as(x, special.smirnov(n, below)), below_place, -one
    up = np.greater(above, below)
    d: Value = np.where(up, above, below)
    place: Value = np.where(up, above_place, below_place)
    d, place = d[()], place[()]
    if method in ("auto", "exact"):
        p = kolmogorov_probability(d, n, 0)
    elif method == "asymp":
        p = special.kolmogorov(d * n**0.5)
    else:
        p = 2 * special.smirnov(n, d)
    return d, np.clip(_as(x, p), 0.0, 1.0), place, np.where(up, one, -one)[()]


def _as(x: Value, p: Value) -> Value:
    return np.astype(p, x.dtype, copy=False)


def _two_samples(data1: Value, data2: Value, alternative: str, method: str) -> tuple:
    """Return SciPy's numbers, which the ranks decide, and the place, which is an observation."""
    _side(alternative)
    whole = np.concatenate([data1, data2], axis=-1)
    places, n = ranks(whole, "min"), np.shape(data1)[-1]
    statistic, p, rank, sign = constants(
        "ks_2samp",
        [places[..., :n], places[..., n:]],
        "statistic pvalue statistic_location statistic_sign",
        alone=True,
        alternative=alternative,
        method=method,
    )
    index = np.astype(np.nan_to_num(rank, nan=1.0) - 1, int)[..., None]
    place = np.take_along_axis(np.sort(whole, axis=-1), index, axis=-1)[..., 0]
    return statistic, p, place, sign


@statistic("ks_1samp", "x", hides_nan=True, outputs=4, join=KstestResult)
def _ks_1samp(
    x: Value,
    cdf: Any,
    args: tuple = (),
    alternative: str = "two-sided",
    method: str = "auto",
    mode: str | None = None,
) -> tuple:
    return _one_sample(x, cdf, args, alternative, mode or method)


@statistic("ks_2samp", "data1 data2", hides_nan=True, outputs=4, join=KstestResult, paired=False)
def _ks_2samp(
    data1: Value,
    data2: Value,
    alternative: str = "two-sided",
    method: str = "auto",
    mode: str | None = None,
) -> tuple:
    if (mode or method) not in ("auto", "exact", "asymp"):
        raise ValueError(f"Invalid value for mode: {mode or method}")
    return _two_samples(data1, data2, alternative, mode or method)


@declare_composite(stats, "kstest")
def _kstest(rvs: Any, cdf: Any, args: tuple = (), N: int = 20, *more: Any, **options: Any) -> Any:
    if isinstance(rvs, str) or callable(rvs):
        raise UnsupportedError(
            "scipy.stats.kstest: a function that draws samples is not supported for tensors; draw "
            "the samples, and pass them as rvs"
        )
    options.update(zip(("alternative", "method"), more))
    if isinstance(cdf, str) or callable(cdf):
        return dispatching(stats.ks_1samp)(rvs, cdf, args, **options)
    return dispatching(stats.ks_2samp)(rvs, cdf, **options)
