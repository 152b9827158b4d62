"""Robust deviations, and tests of equal variances."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ..declare import declare_composite
from .means import trimmed_mean
from .moments import as_float, sample_variance
from .results import result_class
from .samples import statistic

NORMAL = 0.6744897501960817
"""The median of absolute normal numbers."""


@statistic("median_abs_deviation", "x", hides_nan=True)
def _median_abs_deviation(x: Value, center: Any = None, scale: Any = 1.0) -> Value:
    center = np.median if center is None else center
    if not callable(center):
        raise TypeError(
            f"The argument 'center' must be callable. The given value {center!r} is not callable."
        )
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = NORMAL
    middle = center(x, axis=-1)[..., None]
    return np.median(np.absolute(x - middle), axis=-1) / scale


@statistic("gstd")
def _gstd(a: Value, ddof: int = 1) -> Value:
    a, n = as_float(a), np.shape(a)[-1]
    if n <= ddof:
        return np.full(np.shape(a)[:-1], np.nan, a.dtype)[()]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.exp(sample_variance(np.log(a), ddof) ** 0.5)


def _center(center: str, proportiontocut: float) -> Callable:
    if center == "median":
        return lambda x: np.median(x, axis=-1, keepdims=True)
    if center == "mean":
        return lambda x: np.mean(x, axis=-1, keepdims=True)
    if center == "trimmed":
        return lambda x: trimmed_mean(x, proportiontocut)[..., None]
    raise ValueError("center must be 'mean', 'median' or 'trimmed'.")


@statistic(
    "levene",
    "*samples",
    hides_nan=True,
    outputs=2,
    join=result_class("_morestats", "LeveneResult"),
    paired=False,
)
def _levene(*samples: Value, center: str = "median", proportiontocut: float = 0.05) -> tuple:
    find, k = _center(center, proportiontocut), len(samples)
    if k < 2:
        raise ValueError("Must provide at least two samples.")
    samples = tuple(as_float(s) for s in samples)
    distances = [np.absolute(s - find(s)) for s in samples]
    sizes = [np.shape(s)[-1] for s in samples]
    means = [np.mean(z, axis=-1, keepdims=True) for z in distances]
    mean = sum(n * m for n, m in zip(sizes, means)) / sum(sizes)
    between, within = k - 1.0, sum(sizes) - float(k)
    numerator = within * sum(n * (m - mean) ** 2 for n, m in zip(sizes, means))
    rest = [np.sum((z - m) ** 2, axis=-1, keepdims=True) for z, m in zip(distances, means)]
    with np.errstate(invalid="ignore", divide="ignore"):
        w = np.squeeze(numerator / (between * sum(rest)), axis=-1)
    return w, special.fdtrc(between, within, w)


@statistic(
    "bartlett",
    "*samples",
    hides_nan=True,
    outputs=2,
    join=result_class("_morestats", "BartlettResult"),
    paired=False,
)
def _bartlett(*samples: Value) -> tuple:
    k = len(samples)
    if k < 2:
        raise ValueError("Must enter at least two input sample vectors.")
    counted = samples[0].dtype  # in which SciPy counts
    samples = tuple(as_float(s) for s in samples)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = np.stack([np.var(s, axis=-1, ddof=1) for s in samples], axis=-1)
        sizes = [np.shape(s)[-1] for s in samples]
        n = np.astype(np.astype(np.asarray(sizes), counted), variances.dtype)
        total = np.sum(n)
        pooled = np.sum((n - 1) * variances, axis=-1) / (total - k)
        terms = np.sum((n - 1) * np.log(variances), axis=-1)
        numerator = (total - k) * np.log(pooled) - terms
        t = numerator / (1 + 1 / (3 * (k - 1)) * (np.sum(1 / (n - 1)) - 1 / (total - k)))
    return np.maximum(t, t.dtype.type(0)), special.chdtrc(k - 1, t)


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
