"""Means: geometric, harmonic, of powers, trimmed, and of angles."""

import math
from typing import Any

import numpy as np

from ...._core.numpy_facts import Value
from ...._rules.constructors import check_values
from ....protocol import constant, primitive
from .samples import statistic


def _as_dtype(x: Value, dtype: Any) -> Value:
    return x if dtype is None else np.astype(x, dtype, copy=False)


def _as_float(x: Value) -> Value:
    return x if x.dtype.kind in "fc" else np.astype(x, float)


def _mean(x: Value, weights: Value) -> Value:
    if weights is None:
        return np.mean(x, axis=-1)
    return np.sum(x * weights, axis=-1) / np.sum(weights, axis=-1)


def _without_negative(a: Value) -> Value:
    """Return the observations, with NaN for negative ones, which have no such mean."""
    return np.where(np.less(a, 0), np.asarray(np.nan, a.dtype), a)


@statistic("gmean", "a weights")
def geometric_mean(a: Value, dtype: Any = None, weights: Value = None) -> Value:
    a = _as_float(_as_dtype(a, dtype))
    weights = None if weights is None else _as_dtype(weights, dtype)
    with np.errstate(divide="ignore"):
        return np.exp(_mean(np.log(a), weights))


@statistic("hmean", "a weights")
def _harmonic_mean(a: Value, dtype: Any = None, weights: Value = None) -> Value:
    a = _without_negative(_as_float(_as_dtype(a, dtype)))
    weights = None if weights is None else _as_dtype(weights, dtype)
    with np.errstate(divide="ignore"):
        return 1.0 / _mean(1.0 / a, weights)


@statistic("pmean", "a weights")
def _power_mean(a: Value, p: float, dtype: Any = None, weights: Value = None) -> Value:
    if not isinstance(p, (int, float)):
        raise ValueError("Power mean only defined for exponent of type int or float.")
    if p == 0:
        return geometric_mean(a, dtype, weights)
    if math.isinf(p):
        raise NotImplementedError("Power mean only implemented for finite `p`")
    a = _without_negative(_as_float(_as_dtype(a, dtype)))
    weights = None if weights is None else _as_dtype(weights, dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _mean(a ** (1.0 * p), weights) ** (1 / p)


@statistic("trim_mean", hides_nan=True)
def trimmed_mean(a: Value, proportiontocut: float) -> Value:
    n = np.shape(a)[-1]
    lower = int(proportiontocut * n)
    if lower > n - lower:
        raise ValueError("Proportion too big.")
    return np.mean(_as_float(np.sort(a, axis=-1)[..., lower : n - lower]), axis=-1)


# ---- within limits ----


def within(a: Value, limits: Any, inclusive: Any) -> Value:
    """Tell which observations are within the limits; True for no limits."""
    if limits is None:
        return True
    inside: Value = np.ones(np.shape(a), bool)
    (low, high), (with_low, with_high) = limits, inclusive
    if low is not None:
        outside = np.less(a, low) if with_low else np.less_equal(a, low)
        inside = np.logical_and(inside, np.logical_not(outside))
    if high is not None:
        outside = np.greater(a, high) if with_high else np.greater_equal(a, high)
        inside = np.logical_and(inside, np.logical_not(outside))
    if np.size(a):
        check_values(np.any(inside), np.all, "No array values within given limits")
    return inside


@statistic("tmean", axis=None)
def _tmean(a: Value, limits: Any = None, inclusive: Any = (True, True)) -> Value:
    inside = within(a, limits, inclusive)
    if inside is True:
        total, n = np.sum(a, axis=-1), np.shape(a)[-1]
        return total / n
    n = np.sum(inside, axis=-1)
    none = np.equal(n, 0)
    total = np.sum(np.where(inside, a, 0), axis=-1)
    mean = total / np.astype(np.where(none, 1, n), _as_float(a).dtype)
    return np.where(none, np.asarray(np.nan, mean.dtype), mean)


# ---- of angles ----


def _mean_direction(samples: Value, period: Value) -> tuple:
    """Return the mean sine and cosine of samples on a circle."""
    scaled = _as_float(samples) * ((2.0 * math.pi) / period)
    return np.mean(np.sin(scaled), axis=-1), np.mean(np.cos(scaled), axis=-1)


def _resultant(samples: Value, period: Value) -> Value:
    """Return the length of the mean direction, which rounding may put above 1."""
    sine, cosine = _mean_direction(samples, period)
    length = (sine**2.0 + cosine**2.0) ** 0.5
    return np.where(np.greater(length, 1.0), np.ones((), length.dtype), length)


@statistic("circmean", "samples", axis=None)
def _circmean(samples: Value, high: Value = 2 * math.pi, low: Value = 0) -> Value:
    period = high - low
    angle = np.arctan2(*_mean_direction(samples, period))
    return (angle * (period / (2.0 * math.pi)) - low) % period + low


@statistic("circvar", "samples", axis=None)
def _circvar(samples: Value, high: Value = 2 * math.pi, low: Value = 0) -> Value:
    return 1.0 - _resultant(samples, high - low)


@primitive
def rounded(length: Value) -> Value:
    """Return the resultant of one angle: it is 1 but for rounding, and has no derivative."""
    return length


constant(rounded, "length", vmap=lambda k, length: rounded(length))


@statistic("circstd", "samples", axis=None)
def _circstd(
    samples: Value, high: Value = 2 * math.pi, low: Value = 0, normalize: bool = False
) -> Value:
    length = _resultant(samples, high - low)
    if np.shape(samples)[-1] == 1:
        length = rounded(length)
    deviation = (-2 * np.log(length)) ** 0.5 + 0.0
    return deviation if normalize else deviation * ((high - low) / (2.0 * math.pi))
