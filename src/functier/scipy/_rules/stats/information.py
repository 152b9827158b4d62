"""Entropies, distances and transformations of samples."""

import math
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, is_known_false
from ..declare import declare_composite
from .samples import as_float, statistic


def _normalized(x: Value) -> Value:
    """Return numbers over their sum.

    The entropy has an infinite slope at 0, which must not reach the other numbers by the sum.
    """
    total = np.sum(x, axis=-1, keepdims=True)
    zero = np.logical_and(np.equal(x, 0), np.not_equal(total, 0))
    ratio = x / total
    return ratio if is_known_false(zero) else np.where(zero, x, ratio)


@statistic("entropy", "pk qk", too_small=-1)
def _entropy(pk: Value, qk: Value = None, base: Value = None) -> Value:
    if base is not None and base <= 0:
        raise ValueError("`base` must be a positive number or `None`.")
    with np.errstate(invalid="ignore"):
        p = _normalized(pk)
        terms = special.entr(p) if qk is None else special.rel_entr(p, _normalized(qk))
    total = np.sum(terms, axis=-1)
    if base is None:
        return total
    return total / (math.log(base) if isinstance(base, (int, float)) else np.log(base))


def _distribution_distance(
    power: int, u_values: Value, v_values: Value, u_weights: Value, v_weights: Value
) -> Value:
    """Return the integral of a power of the distance between two distribution functions."""
    u, v = (np.astype(as_array(x), float, copy=False) for x in (u_values, v_values))
    if np.ndim(u) != 1 or np.ndim(v) != 1 or not np.size(u) or not np.size(v):
        raise ValueError("Distribution can't be empty.")
    masses: list[Value] = []
    for x, weights in ((u, u_weights), (v, v_weights)):
        n = np.shape(x)[0]
        mass = np.full(n, 1 / n)
        if weights is not None:
            mass = np.astype(as_array(weights), float, copy=False)
        if np.shape(mass) != (n,):
            raise ValueError(
                "Value and weight array-likes for the same empirical distribution "
                "must be of the same size."
            )
        masses.append(mass / np.sum(mass))
    values = np.concatenate([u, v])
    order = np.argsort(values, kind="stable")
    values = np.take_along_axis(values, order, 0)
    difference = np.take_along_axis(np.concatenate([masses[0], -masses[1]]), order, 0)
    return np.sum(np.absolute(np.cumsum(difference)[:-1]) ** power * np.diff(values))


@declare_composite(stats, "wasserstein_distance")
def _wasserstein_distance(
    u_values: Value, v_values: Value, u_weights: Value = None, v_weights: Value = None
) -> Value:
    return _distribution_distance(1, u_values, v_values, u_weights, v_weights)


@declare_composite(stats, "energy_distance")
def _energy_distance(
    u_values: Value, v_values: Value, u_weights: Value = None, v_weights: Value = None
) -> Value:
    square = _distribution_distance(2, u_values, v_values, u_weights, v_weights)
    return math.sqrt(2) * np.sqrt(square)


# ---- transformations ----

FITTED = (
    "lmbda=None searches for the parameter by a minimization, which has no derivative here; pass "
    "lmbda, for example scipy.stats.{0}_normmax of plain data"
)


@declare_composite(stats, "boxcox")
def _boxcox(x: Value, lmbda: Value = None, alpha: Any = None, optimizer: Any = None) -> Value:
    if lmbda is None:
        raise UnsupportedError(f"scipy.stats.boxcox: {FITTED.format('boxcox')}")
    return special.boxcox(as_array(x), lmbda)


@declare_composite(stats, "yeojohnson")
def _yeojohnson(x: Value, lmbda: Value = None) -> Value:
    x = as_array(x)
    if x.dtype.kind == "c":
        raise ValueError("Yeo-Johnson transformation is not defined for complex numbers.")
    if lmbda is None:
        raise UnsupportedError(f"scipy.stats.yeojohnson: {FITTED.format('yeojohnson')}")
    return transform_yeojohnson(x, lmbda)


def transform_yeojohnson(x: Value, lmbda: Value) -> Value:
    """Return the Box-Cox transforms of 1 + x, and of 1 - x for negative numbers."""
    x = as_float(x)
    positive = np.greater_equal(x, 0)
    above = special.boxcox1p(np.where(positive, x, 0), lmbda)
    below = special.boxcox1p(np.where(positive, 0, -x), 2 - lmbda)
    dtype = np.result_type(x, lmbda)
    return np.astype(np.where(positive, above, -below), dtype, copy=False)


@statistic("boxcox_llf", "data")
def _boxcox_llf(data: Value, lmb: Value) -> Value:
    n, logarithm = np.shape(data)[-1], np.log(as_float(data))
    # The variance of the data over the largest one, times a factor, does not overflow.
    largest = np.max(logarithm, axis=-1, keepdims=True)
    variance = np.var(special.boxcox(np.exp(logarithm - largest), lmb), axis=-1)
    variance = np.log(variance) + 2 * lmb * largest[..., 0]
    result = (lmb - 1) * np.sum(logarithm, axis=-1) - n / 2 * variance
    return np.astype(result, np.result_type(logarithm, lmb), copy=False)


@statistic("yeojohnson_llf", "data")
def _yeojohnson_llf(data: Value, lmb: Value) -> Value:
    variance = np.var(transform_yeojohnson(data, lmb), axis=-1)
    logarithms = np.log1p(np.maximum(data, 0)) - np.log1p(np.maximum(-data, 0))
    slope = np.sum(logarithms, axis=-1)
    return -np.shape(data)[-1] / 2 * np.log(variance) + (lmb - 1) * slope


@declare_composite(stats, "obrientransform")
def _obrientransform(*samples: Value) -> Value:
    found = []
    for sample in samples:
        a = as_float(as_array(sample))
        n = np.shape(a)[0]
        squares = (a - np.mean(a)) ** 2
        total = np.sum(squares)
        found.append(((n - 1.5) * n * squares - 0.5 * total) / ((n - 1) * (n - 2)))
    if len({np.shape(a) for a in found}) > 1:
        raise UnsupportedError(
            "scipy.stats.obrientransform: samples of different lengths have a result of objects, "
            "which is not supported for tensors; write scipy.stats.obrientransform(x)[0] for each"
        )
    return np.stack(found) if found else np.zeros(0)
