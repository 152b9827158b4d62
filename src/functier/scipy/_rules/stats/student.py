"""Student's tests, and the analysis of variance."""

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
from .ranks import still
from .results import result_class, t_p_value, with_attributes
from .samples import statistic

SIDES = {"less": -1, "two-sided": 0, "greater": 1}
Interval = result_class("_common", "ConfidenceInterval", "low high")


def _interval(self: Any, confidence_level: float = 0.95) -> Any:
    """Return the interval of the estimate of a result."""
    if confidence_level < 0 or confidence_level > 1:
        raise ValueError("`confidence_level` must be a number between 0 and 1.")
    dtype = self._standard_error.dtype

    def end(p: float) -> Value:
        return np.astype(special.stdtrit(self.df, dtype.type(p)), dtype, copy=False)

    scale, place = self._standard_error, self._estimate
    infinite = np.inf * still(scale) + still(place)
    if self._alternative < 0:
        return Interval(-infinite, end(confidence_level) * scale + place)
    if self._alternative > 0:
        return Interval(end(1 - confidence_level) * scale + place, infinite)
    tail = (1 - confidence_level) / 2
    return Interval(end(tail) * scale + place, end(1 - tail) * scale + place)


_result = with_attributes(
    type(stats.ttest_1samp([0.0, 1.0], 0.0)),
    "df _alternative _standard_error _estimate",
    facts="_alternative",
    confidence_interval=_interval,
)


def _of_estimate(estimate: Value, error: Value, df: Value, alternative: str) -> tuple[Value, Value]:
    """Return the statistic and the probability of an estimate, whose mean is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.divide(estimate, error)
    df = np.astype(df, t.dtype, copy=False) if hasattr(df, "dtype") else t.dtype.type(df)
    return t, t_p_value(df, t, alternative)


def _with_side(
    estimate: Value, center: Value, error: Value, df: Value, alternative: str
) -> tuple[Value, ...]:
    """Return all fields of a result."""
    t, p = _of_estimate(estimate - center, error, df, alternative)
    if not np.ndim(df):
        df = np.broadcast_to(df, np.shape(t))[()]
    return t, p, df, SIDES[alternative], error, estimate


def _pooled(v1: Value, n1: Value, v2: Value, n2: Value) -> tuple[Value, Value]:
    """Return the degrees of freedom, and the standard error for equal variances."""
    df = n1 + n2 - 2.0
    pooled = ((n1 - 1) * v1 + (n2 - 1) * v2) / df
    return df, np.sqrt(pooled * (1.0 / n1 + 1.0 / n2))


def _welch(v1: Value, n1: Value, v2: Value, n2: Value) -> tuple[Value, Value]:
    """Return the degrees of freedom, and the standard error for different variances."""
    e1, e2 = v1 / n1, v2 / n2
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (e1 + e2) ** 2 / (e1**2 / (n1 - 1) + e2**2 / (n2 - 1))
    df = np.where(np.isnan(df), np.ones((), df.dtype), df)[()]
    return df, np.sqrt(e1 + e2)


def _one_sample(a: Value, popmean: Value, alternative: str) -> tuple[Value, ...]:
    n = np.shape(a)[-1]
    error = np.sqrt(sample_variance(a) / n)
    return _with_side(np.mean(a, axis=-1), popmean, error, np.int64(n - 1), alternative)


def _parts(a: Value, trim: float) -> tuple[Value, Value, int]:
    """Return the variance, the mean and the number of the observations that are kept."""
    n = np.shape(a)[-1]
    if trim == 0:
        return sample_variance(a), np.mean(a, axis=-1), n
    a, cut = np.sort(a, axis=-1), int(n * trim)
    if not cut:
        return sample_variance(a), np.mean(a, axis=-1), n
    low, high = np.repeat(a[..., cut : cut + 1], cut, -1), a[..., -cut - 1 : n - cut]
    inner = [low, a[..., cut:-cut], np.repeat(high, cut, -1)]
    variance = sample_variance(np.concatenate(inner, axis=-1), 2 * cut + 1)
    return variance, trimmed_mean(a, trim), n - 2 * cut


@statistic("ttest_ind", "a b", hides_nan=True, outputs=6, join=_result, paired=False)
def _ttest_ind(
    a: Value,
    b: Value,
    equal_var: bool = True,
    alternative: str = "two-sided",
    trim: float = 0,
    **resampling: Any,
) -> tuple:
    if not 0 <= trim < 0.5:
        raise ValueError("Trimming percentage should be 0 <= `trim` < .5.")
    if any(v is not None for v in resampling.values()):
        raise UnsupportedError(
            "scipy.stats.ttest_ind: a method that draws samples is not supported for tensors; "
            "leave method=None, or call it for plain arrays"
        )
    (v1, m1, n1), (v2, m2, n2) = (_parts(as_float(x), trim) for x in (a, b))
    if equal_var:  # one observation has no variance
        v1, v2 = (np.zeros_like(v) if n == 1 else v for v, n in ((v1, n1), (v2, n2)))
        df, error = _pooled(v1, n1, v2, n2)
        df = error.dtype.type(df)
    else:
        df, error = _welch(v1, n1, v2, n2)
    t, p = _of_estimate(m1 - m2, error, df, alternative)
    df = df if np.ndim(df) else np.broadcast_to(df, np.shape(t))[()]
    return t, p, df, SIDES[alternative], error, m1 - m2


@statistic("ttest_rel", "a b", hides_nan=True, outputs=6, join=_result)
def _ttest_rel(a: Value, b: Value, alternative: str = "two-sided") -> tuple:
    return _one_sample(as_float(a - b), 0.0, alternative)


@statistic("ttest_1samp", "a popmean", hides_nan=True, outputs=6, join=_result, paired=False)
def _ttest_1samp(a: Value, popmean: Value, alternative: str = "two-sided") -> tuple:
    if np.shape(popmean)[-1] != 1:
        raise ValueError("`popmean.shape[axis]` must equal 1.")
    return _one_sample(as_float(a), popmean[..., 0], alternative)


Ttest_indResult = result_class("_stats_py", "Ttest_indResult")


@declare_composite(stats, "ttest_ind_from_stats")
def _ttest_ind_from_stats(
    mean1: Value,
    std1: Value,
    nobs1: Value,
    mean2: Value,
    std2: Value,
    nobs2: Value,
    equal_var: bool = True,
    alternative: str = "two-sided",
) -> Any:
    mean1, std1, mean2, std2 = (as_array(v) for v in (mean1, std1, mean2, std2))
    nobs1, nobs2 = (as_array(n) if isinstance(n, (list, tuple)) else n for n in (nobs1, nobs2))
    parts = std1**2, nobs1, std2**2, nobs2
    df, error = _pooled(*parts) if equal_var else _welch(*parts)
    return Ttest_indResult(*_of_estimate(mean1 - mean2, error, df, alternative))


# ---- the analysis of variance ----


def _no_groups(*samples: Value, **options: Any) -> bool:
    if len(samples) < 2:
        raise TypeError(f"At least two samples are required; got {len(samples)}.")
    lengths = [np.shape(s)[-1] for s in samples]
    return 0 in lengths or set(lengths) == {1}


def _all_equal(x: Value) -> Value:
    return np.all(np.equal(np.diff(x, axis=-1), 0), axis=-1)


def _equal_variances(samples: tuple, whole: Value) -> tuple:
    """Return the ratio of the variances between and within groups, and the degrees of freedom."""
    k, n = len(samples), np.shape(whole)[-1]
    offset = np.mean(whole, axis=-1, keepdims=True)
    whole = whole - offset
    normalized = np.sum(whole, axis=-1) ** 2.0 / n
    total = np.sum(whole * whole, axis=-1) - normalized
    between: Value = 0
    for sample in samples:
        between = between + np.sum(sample - offset, axis=-1) ** 2.0 / np.shape(sample)[-1]
    between = between - normalized
    within = total - between
    with np.errstate(divide="ignore", invalid="ignore"):
        return (between / (k - 1)) / (within / (n - k)), k - 1, n - k


def _different_variances(samples: tuple) -> tuple:
    """Return the same by Welch's formulas, where the variances differ."""
    k = len(samples)
    means = np.stack([np.mean(s, axis=-1) for s in samples], axis=-1)
    sizes = np.asarray([np.shape(s)[-1] for s in samples], means.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = sizes / np.stack([sample_variance(s) for s in samples], axis=-1)
        total = np.sum(weights, axis=-1, keepdims=True)
        mean = np.sum(weights * means, axis=-1, keepdims=True) / total
        numerator = np.sum(weights * (means - mean) ** 2, axis=-1) / (k - 1)
        rest = np.sum(1 / (sizes - 1) * (1 - weights / total) ** 2, axis=-1)
        f = numerator / (1 + 2 * (k - 2) / (k**2 - 1) * rest)
        return f, k - 1, (k**2 - 1) / (3 * rest)


@statistic(
    "f_oneway",
    "*samples",
    too_small=_no_groups,
    hides_nan=True,
    outputs=2,
    join=result_class("_stats_py", "F_onewayResult"),
    paired=False,
)
def _f_oneway(*samples: Value, equal_var: bool = True) -> tuple:
    if not isinstance(equal_var, bool):
        raise TypeError("Expected a boolean value for 'equal_var'")
    samples = tuple(as_float(s) for s in samples)
    whole = np.concatenate(samples, axis=-1)
    if equal_var:
        f, between, within = _equal_variances(samples, whole)
    else:
        f, between, within = _different_variances(samples)
    alike = np.all(np.stack([_all_equal(s) for s in samples]), axis=0)
    f = np.where(alike, np.asarray(np.inf, f.dtype), f)
    f = np.where(_all_equal(whole), np.asarray(np.nan, f.dtype), f)[()]
    return f, np.astype(special.fdtrc(between, within, f), f.dtype, copy=False)


@statistic(
    "alexandergovern",
    "*samples",
    too_small=1,
    hides_nan=True,
    outputs=2,
    join=result_class("_stats_py", "AlexanderGovernResult"),
    paired=False,
)
def _alexandergovern(*samples: Value) -> tuple:
    if len(samples) < 2:
        raise TypeError(f"2 or more inputs required, got {len(samples)}")
    samples = tuple(as_float(s) for s in samples)
    means = np.stack([np.mean(s, axis=-1) for s in samples], axis=-1)
    squares = np.stack([sample_variance(s) / np.shape(s)[-1] for s in samples], axis=-1)
    errors = squares**0.5
    alike = np.less_equal(errors, np.absolute(np.finfo(errors.dtype).eps * means))
    errors = np.where(alike, np.asarray(np.nan, errors.dtype), errors)
    weights = 1 / squares
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    t = (means - np.sum(weights * means, axis=-1, keepdims=True)) / errors
    v = np.asarray([np.shape(s)[-1] - 1 for s in samples], t.dtype)
    a = v - 0.5
    b = 48 * a**2
    square = a * np.log(1 + t**2 / v)
    # The series in the root of `square` is odd: z is c times a series in its square.
    series = 1 + (square + 3) / b
    series = series - (4 * square**3 + 33 * square**2 + 240 * square + 855) / (
        b**2 * 10 + 8 * b * square**2 + 1000 * b
    )
    total = np.sum(square * series**2, axis=-1)
    return total, special.chdtrc(len(samples) - 1, total)
