"""Combinations of the observations in order: moments and entropies."""

import math
from typing import Any

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from .moments import as_float, check_orders, stacked
from .samples import statistic


@statistic("lmoment", "sample", too_small=-1, hides_nan=True, join=stacked, check=check_orders)
def _lmoment(
    sample: Value, order: Any = None, sorted: bool = False, standardize: bool = True
) -> Any:
    several = 1 if order is None else np.ndim(order)
    orders = np.arange(1, 5) if order is None else np.atleast_1d(order)
    if orders.dtype.kind not in "iu" or np.any(orders <= 0) or not orders.size or orders.ndim > 1:
        raise ValueError("`order` must be a scalar or a non-empty array of positive integers.")
    x = as_float(sample if sorted else np.sort(sample, axis=-1))
    n, num = np.shape(x)[-1], max(orders.tolist())
    j, r = np.arange(n, dtype=x.dtype), np.arange(num)
    k = r[:, None]
    weights = special.binom(j, k) / (special.binom(n - 1, k) * n)
    weights = np.where(k < n, weights, 0.0)
    signed = (-1.0) ** (k - r) * special.binom(k, r) * special.binom(k + r, r)
    weights = np.astype(signed @ weights, np.result_type(x.dtype, np.float32))
    moments = [np.sum(x * w, axis=-1) for w in weights]
    if standardize:
        moments[2:] = [m / moments[1] for m in moments[2:]]
    moments[n:] = [np.full(np.shape(x)[:-1], np.nan, weights.dtype)[()]] * (num - n)
    return *[moments[i - 1] for i in orders.tolist()], several


def _has_no_window(values: Value, window_length: int | None = None, **options: Any) -> bool:
    return not 2 <= 2 * _window(np.shape(values)[-1], window_length) < np.shape(values)[-1]


def _window(n: int, window_length: int | None) -> int:
    return math.floor(math.sqrt(n) + 0.5) if window_length is None else window_length


def _van_es(x: Value, k: int) -> Value:
    n = np.shape(x)[-1]
    logs = np.log((n + 1) / k * (x[..., k:] - x[..., :-k]))
    rest = np.sum(1 / np.arange(k, n + 1, dtype=x.dtype)) + math.log(k) - math.log(n + 1)
    return 1 / (n - k) * np.sum(logs, axis=-1) + rest


def _padded(x: Value, k: int) -> Value:
    return np.concatenate([np.repeat(x[..., :1], k, -1), x, np.repeat(x[..., -1:], k, -1)], axis=-1)


def _vasicek(x: Value, k: int) -> Value:
    n, x = np.shape(x)[-1], _padded(x, k)
    return np.mean(np.log(n / (2 * k) * (x[..., 2 * k :] - x[..., : -2 * k])), axis=-1)


def _ebrahimi(x: Value, k: int) -> Value:
    n, x = np.shape(x)[-1], _padded(x, k)
    i = np.arange(1, n + 1, dtype=x.dtype)
    factors = np.where(i <= k, 1 + (i - 1) / k, 2.0)
    factors = np.astype(np.where(i >= n - k + 1, 1 + (n - i) / k, factors), x.dtype)
    return np.mean(np.log(n * (x[..., 2 * k :] - x[..., : -2 * k]) / (factors * k)), axis=-1)


def _correa(x: Value, k: int) -> Value:
    n, x = np.shape(x)[-1], _padded(x, k)
    steps = np.arange(-k, k + 1)[:, None]
    near = x[..., np.arange(1, n + 1) + steps + k - 1]
    near = near - np.mean(near, axis=-2, keepdims=True)
    slopes = np.sum(near * np.astype(steps, x.dtype), axis=-2) / (n * np.sum(near**2, axis=-2))
    return -np.mean(np.log(slopes), axis=-1)


ENTROPIES = {"vasicek": _vasicek, "van es": _van_es, "correa": _correa, "ebrahimi": _ebrahimi}


@statistic("differential_entropy", "values", too_small=_has_no_window, hides_nan=True)
def _differential_entropy(
    values: Value,
    window_length: int | None = None,
    base: float | None = None,
    method: str = "auto",
) -> Value:
    if base is not None and base <= 0:
        raise ValueError("`base` must be a positive number or `None`.")
    x, n, method = np.sort(as_float(values), axis=-1), np.shape(values)[-1], method.lower()
    if method == "auto":
        method = "van es" if n <= 10 else "ebrahimi" if n <= 1000 else "vasicek"
    if method not in ENTROPIES:
        raise ValueError(f"`method` must be one of { ({*ENTROPIES, 'auto'}) }")
    found = ENTROPIES[method](x, _window(n, window_length))
    found = found if base is None else found / math.log(base)
    return np.astype(found, x.dtype, copy=False)
