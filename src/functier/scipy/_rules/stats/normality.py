"""Tests of normality."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import is_known_false
from .moments import as_float, kurtosis, skewness
from .ranks import constants, with_value
from .results import SIGNIFICANCE, at_numbers, normal_p_value, result_class
from .samples import replaced, statistic, with_nan


def _skew_score(n: int, b2: Value) -> Value:
    """Return the skewness of `n` observations as a number with the normal distribution."""
    n = b2.dtype.type(n)
    y = b2 * np.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta2 = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3)
    beta2 = beta2 / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + np.sqrt(2 * (beta2 - 1))
    delta, alpha = 1 / np.sqrt(0.5 * np.log(w2)), np.sqrt(2.0 / (w2 - 1))
    y = np.where(np.equal(y, 0), np.ones((), y.dtype), y)[()]
    return delta * np.log(y / alpha + np.sqrt((y / alpha) ** 2 + 1))


def _kurtosis_score(n: int, b2: Value) -> Value:
    """Return the kurtosis of `n` observations as a number with the normal distribution."""
    n = b2.dtype.type(n)
    mean = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    x = (b2 - mean) / variance**0.5
    root = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    root = root * (6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3))) ** 0.5
    a = 6.0 + 8.0 / root * (2.0 / root + (1 + 4.0 / root**2) ** 0.5)
    divisor = 1 + x * (2 / (a - 4.0)) ** 0.5
    zero = np.equal(divisor, 0)
    divisor = np.where(zero, np.asarray(np.nan, divisor.dtype), divisor)[()]
    term = np.sign(divisor) * ((1 - 2.0 / a) / np.absolute(divisor)) ** (1 / 3)
    return (1 - 2 / (9.0 * a) - term) / (2 / (9.0 * a)) ** 0.5


def _with_p_value(score: Callable, n: int, moment: Value, alternative: str) -> tuple:
    """Return the score of a moment and its probability."""
    return (
        at_numbers(lambda m: score(n, m), moment),
        at_numbers(lambda m: normal_p_value(score(n, m), alternative), moment),
    )


def _with_chi2(total: Callable, *moments: Value) -> tuple:
    """Return a sum of two squares, a function of moments, and its probability."""
    return (
        at_numbers(total, *moments),
        at_numbers(lambda *m: special.chdtrc(2.0, total(*m)), *moments),
    )


def _of_finite(body: Callable) -> Callable:
    """Return the body of a test, whose result is NaN for a sample with an infinity."""

    @functools.wraps(body)
    def call(a: Value, **options: Any) -> tuple:
        bad = np.logical_not(np.all(np.isfinite(a), axis=-1))
        if is_known_false(bad):
            return body(as_float(a), **options)
        found = body(replaced(as_float(a), bad), **options)
        return tuple(with_nan(v, bad) for v in found)

    return call


def _test(name: str, too_small: int, field: str) -> Any:
    join = result_class("_stats_py", field)
    declare = statistic(name, too_small=too_small, hides_nan=True, outputs=2, join=join)
    return lambda body: declare(_of_finite(body))


@_test("skewtest", 7, "SkewtestResult")
def _skewtest(a: Value, alternative: str = "two-sided") -> tuple:
    return _with_p_value(_skew_score, np.shape(a)[-1], skewness(a), alternative)


@_test("kurtosistest", 4, "KurtosistestResult")
def _kurtosistest(a: Value, alternative: str = "two-sided") -> tuple:
    return _with_p_value(_kurtosis_score, np.shape(a)[-1], kurtosis(a, fisher=False), alternative)


@_test("normaltest", 7, "NormaltestResult")
def _normaltest(a: Value) -> tuple:
    n = np.shape(a)[-1]
    return _with_chi2(
        lambda s, k: _skew_score(n, s) ** 2 + _kurtosis_score(n, k) ** 2,
        skewness(a),
        kurtosis(a, fisher=False),
    )


@statistic("jarque_bera", "x", axis=None, hides_nan=True, outputs=2, join=SIGNIFICANCE)
def _jarque_bera(x: Value) -> tuple:
    return _jarque_bera_of(x)


@_of_finite
def _jarque_bera_of(x: Value) -> tuple:
    x = x - np.mean(x, axis=-1, keepdims=True)
    n = x.dtype.type(np.shape(x)[-1])
    return _with_chi2(lambda s, k: n / 6 * (s**2 + k**2 / 4), skewness(x), kurtosis(x))


# ---- the test of Shapiro and Wilk ----


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
