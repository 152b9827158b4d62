"""Tests of frequencies, and the combination of probabilities."""

import math
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, is_known_false
from ...._rules.constructors import check_values
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
