"""Tests of frequencies, and the combination of probabilities."""

import math
from functools import reduce
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, is_known_false
from ...._rules.constructors import check_values
from ..declare import declare_composite
from .moments import as_float
from .ranks import still
from .results import SIGNIFICANCE, normal_p_value, result_class, t_p_value
from .samples import statistic

POWERS = {
    "pearson": 1,
    "log-likelihood": 0,
    "freeman-tukey": -0.5,
    "mod-log-likelihood": -1,
    "neyman": -2,
    "cressie-read": 2 / 3,
}


def _check_sums(f_obs: Value, f_exp: Value) -> None:
    """Raise where observed and expected frequencies have another sum."""
    rtol = np.finfo(np.result_type(f_obs, f_exp)).eps ** 0.5
    with np.errstate(invalid="ignore"):
        observed = np.sum(np.astype(f_obs, float, copy=False), axis=-1)
        expected = np.sum(f_exp, axis=-1)
        relative = np.absolute(observed - expected) / np.minimum(observed, expected)
    check_values(
        relative,
        lambda r: not np.any(r > rtol),
        "For each axis slice, the sum of the observed frequencies must agree with the sum of the "
        f"expected frequencies to a relative tolerance of {rtol}",
    )


def divergence(
    f_obs: Value, f_exp: Value, ddof: Value, lambda_: Any, sum_check: bool = True
) -> tuple[Value, Value]:
    """Return the statistic of Cressie and Read along the last axis, and its probability."""
    if isinstance(lambda_, str):
        if lambda_ not in POWERS:
            raise ValueError(
                f"invalid string for lambda_: {lambda_!r}. Valid strings are "
                f"{repr(list(POWERS))[1:-1]}"
            )
        lambda_ = POWERS[lambda_]
    lambda_ = 1 if lambda_ is None else lambda_
    f_obs = as_float(f_obs)
    if f_exp is None:
        f_exp = np.mean(f_obs, axis=-1, keepdims=True)
    else:
        f_exp = as_float(f_exp)
        if sum_check:
            _check_sums(f_obs, f_exp)
    if lambda_ == 1:
        terms = (f_obs - f_exp) ** 2 / f_exp
    elif lambda_ == 0:
        terms = 2.0 * special.xlogy(f_obs, f_obs / f_exp)
    elif lambda_ == -1:
        terms = 2.0 * special.xlogy(f_exp, f_exp / f_obs)
    else:
        terms = f_obs * ((f_obs / f_exp) ** lambda_ - 1) / (0.5 * lambda_ * (lambda_ + 1))
    total = np.sum(terms, axis=-1)
    ddof = as_array(ddof) if isinstance(ddof, (list, tuple)) else ddof
    return total, _p_value(np.shape(terms)[-1] - 1 - ddof, total)


def _p_value(df: Value, total: Value) -> Value:
    """Return the probability of a sum of squares: where this is 0, so are its derivatives."""
    zero = np.equal(total, 0)
    if is_known_false(zero):
        return special.chdtrc(df, total)
    p = special.chdtrc(df, np.where(zero, np.ones((), total.dtype), total))
    return np.where(zero, special.chdtrc(df, still(total)), p)[()]


def _test(name: str) -> Any:
    return statistic(
        name,
        "f_obs f_exp",
        too_small=-1,
        hides_nan=True,
        outputs=2,
        join=result_class("_stats_py", "Power_divergenceResult"),
    )


@_test("power_divergence")
def _power_divergence(
    f_obs: Value, f_exp: Value = None, ddof: Value = 0, lambda_: Any = None
) -> tuple:
    return divergence(f_obs, f_exp, ddof, lambda_)


@_test("chisquare")
def _chisquare(f_obs: Value, f_exp: Value = None, ddof: Value = 0, sum_check: bool = True) -> tuple:
    return divergence(f_obs, f_exp, ddof, 1, sum_check)


def _expected(observed: Value) -> Value:
    """Return the frequencies of independent variables with the sums of a table."""
    axes = range(np.ndim(observed))
    sums = [np.sum(observed, axis=tuple(j for j in axes if j != i), keepdims=True) for i in axes]
    return reduce(np.multiply, sums) / np.sum(observed) ** (len(axes) - 1)


Chi2ContingencyResult = result_class(
    "contingency", "Chi2ContingencyResult", "statistic pvalue dof expected_freq"
)


@declare_composite(stats, "chi2_contingency")
def _chi2_contingency(
    observed: Value, correction: bool = True, lambda_: Any = None, *, method: Any = None
) -> Any:
    observed = as_array(observed)
    if method is not None:
        raise UnsupportedError(
            "scipy.stats.chi2_contingency: a method that draws tables is not supported for "
            "tensors; leave method=None, or call it for plain arrays"
        )
    if not np.size(observed):
        raise ValueError("No data; `observed` has size 0.")
    message = "All values in `observed` must be nonnegative."
    observed = check_values(observed, lambda v: not np.any(np.less(v, 0)), message)
    expected = _expected(np.astype(observed, float, copy=False))
    message = "The internally computed table of expected frequencies has a zero element."
    expected = check_values(expected, lambda v: not np.any(np.equal(v, 0)), message)
    shape = np.shape(expected)
    degrees = math.prod(shape) - sum(shape) + len(shape) - 1
    if not degrees:
        return Chi2ContingencyResult(0.0, 1.0, degrees, expected)
    if degrees == 1 and correction:
        difference = expected - observed
        size = np.minimum(0.5, np.absolute(difference))
        observed = observed + size * np.sign(difference)
    f_obs, f_exp = (np.reshape(v, (-1,)) for v in (observed, expected))
    ddof = math.prod(shape) - 1 - degrees
    return Chi2ContingencyResult(*divergence(f_obs, f_exp, ddof, lambda_), degrees, expected)


# ---- probabilities ----


@statistic("combine_pvalues", "pvalues weights", hides_nan=True, outputs=2, join=SIGNIFICANCE)
def _combine_pvalues(pvalues: Value, method: str = "fisher", weights: Value = None) -> tuple:
    p, n = as_float(pvalues), np.shape(pvalues)[-1]
    if method == "fisher":
        total = -2 * np.sum(np.log(p), axis=-1)
        return total, special.chdtrc(2 * n, total)
    if method == "pearson":
        total = 2 * np.sum(np.log1p(-p), axis=-1)
        return total, special.chdtr(2 * n, -total)
    if method == "mudholkar_george":
        nu = 5 * n + 4
        total = -np.sum(np.log(p), axis=-1) + np.sum(np.log1p(-p), axis=-1)
        factor = math.sqrt(3 / n) / math.pi * math.sqrt(nu / (nu - 2))
        return total, t_p_value(nu, total * factor, "greater")
    if method == "tippett":
        smallest = np.min(p, axis=-1)
        return smallest, special.betainc(1.0, float(n), smallest)
    if method == "stouffer":
        weights = np.ones_like(p) if weights is None else as_float(weights)
        total = np.sum(weights * -special.ndtri(p), axis=-1) / np.linalg.norm(weights, axis=-1)
        return total, normal_p_value(total, "greater")
    raise ValueError(
        f"Invalid method {method!r}. Valid methods are 'fisher', 'pearson', 'mudholkar_george', "
        "'tippett', and 'stouffer'"
    )


@declare_composite(stats, "false_discovery_control")
def _false_discovery_control(ps: Value, *, axis: int | None = 0, method: str = "bh") -> Value:
    ps = check_values(
        as_array(ps),
        lambda p: np.all(np.equal(p, np.clip(p, 0.0, 1.0))),
        "`ps` must include only numbers between 0 and 1.",
    )
    if method.lower() not in ("bh", "by"):
        raise ValueError(f"Unrecognized `method` '{method}'.Method must be one of {{'bh', 'by'}}.")
    if axis is None:
        ps, axis = np.reshape(ps, (-1,)), 0
    if np.size(ps) <= 1 or np.shape(ps)[axis] <= 1:
        return ps[()]
    rows = np.moveaxis(as_float(ps), axis, -1)
    n = np.shape(rows)[-1]
    order = np.argsort(rows, axis=-1)
    i = np.arange(1, n + 1, dtype=rows.dtype)
    rows = np.take_along_axis(rows, order, axis=-1) * (n / i)
    if method.lower() == "by":
        rows = rows * np.sum(1 / i)
    rows = np.minimum.accumulate(rows[..., ::-1], axis=-1)[..., ::-1]
    rows = np.take_along_axis(rows, np.argsort(order, axis=-1), axis=-1)
    return np.clip(np.moveaxis(rows, -1, axis), 0.0, 1.0)


# ---- frequencies of intervals ----


def _dtype_of_edges(*values: Value) -> Any:
    dtype = np.result_type(*values)
    return dtype if dtype.kind == "f" else np.result_type(dtype, float)


def _histogram(a: Value, numbins: int, limits: Any, weights: Value) -> tuple:
    """Return the counts of intervals, the lower limit, the width, and the number of the others."""
    a = np.reshape(as_array(a), (-1,))
    if limits is None and not np.size(a):
        limits = 0, 1
    elif limits is None:
        low, high = np.min(a), np.max(a)
        margin = (high - low) / (2.0 * (numbins - 1.0))
        limits = low - margin, high + margin
    low, high = limits
    valid = "the limits are not finite, or the upper one is below the lower one"
    span = check_values(high - low, lambda v: np.all((v >= 0) & np.isfinite(v)), valid)
    pad = np.where(np.equal(span, 0), 0.5, 0.0)
    low_edge, high_edge, num = low - pad, high + pad, numbins
    edges = np.arange(num) * ((high_edge - low_edge) / num) + low_edge
    edges = np.astype(np.append(edges, high_edge), _dtype_of_edges(a, low, high), copy=False)
    beyond = np.append(edges[1:-1], np.inf)
    inside = np.logical_and(
        np.logical_and(np.greater_equal(a[:, None], edges[:-1]), np.less(a[:, None], beyond)),
        np.less_equal(a[:, None], edges[-1]),
    )
    mass: Any = 1.0 if weights is None else np.reshape(as_array(weights), (-1, 1))
    counts = np.astype(np.sum(np.where(inside, mass, 0.0), axis=0), float, copy=False)
    outside = np.logical_or(np.less(a, low), np.greater(a, high))
    return counts, low, edges[1] - edges[0], np.sum(outside)


FIELDS = "lowerlimit binsize extrapoints"
CumfreqResult = result_class("_stats_py", "CumfreqResult", f"cumcount {FIELDS}")
RelfreqResult = result_class("_stats_py", "RelfreqResult", f"frequency {FIELDS}")


@declare_composite(stats, "cumfreq")
def _cumfreq(
    a: Value, numbins: int = 10, defaultreallimits: Any = None, weights: Value = None
) -> Any:
    counts, *rest = _histogram(a, numbins, defaultreallimits, weights)
    return CumfreqResult(np.cumsum(counts), *rest)


@declare_composite(stats, "relfreq")
def _relfreq(
    a: Value, numbins: int = 10, defaultreallimits: Any = None, weights: Value = None
) -> Any:
    counts, *rest = _histogram(a, numbins, defaultreallimits, weights)
    return RelfreqResult(counts / np.shape(as_array(a))[0], *rest)
