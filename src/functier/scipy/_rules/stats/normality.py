"""The test of normality of Shapiro and Wilk."""

import functools
import math

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from .ranks import constants, with_value
from .results import result_class
from .samples import statistic


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
