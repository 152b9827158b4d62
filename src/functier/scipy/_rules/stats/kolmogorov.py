"""The tests of Kolmogorov and Smirnov."""

from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import NoRuleError, UnsupportedError
from ...._core.numpy_facts import Value
from ....protocol import op, primitive
from ..declare import declare_composite, dispatching
from ..distributions.methods import call
from .ranks import constants, ranks
from .results import result_class
from .samples import as_float, statistic

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
