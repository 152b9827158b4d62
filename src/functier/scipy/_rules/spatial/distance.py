"""Distances between vectors: each metric is one function of the last axes of two arrays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial as spatial  # type: ignore[import-untyped]
import scipy.spatial.distance as distance  # type: ignore[import-untyped]
import scipy.special as special  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ...._rules.constructors import check_values
from ..declare import declare_composite

# ---- the metrics ----


def _minkowski(u: Value, v: Value, p: Any = 2, w: Value = None) -> Value:
    difference = u - v
    if w is not None:
        if p == np.inf:
            difference = np.where(w != 0, difference, 0)
        else:
            special = not hasattr(p, "level")
            root = w if special and p == 1 else np.sqrt(w) if special and p == 2 else w ** (1 / p)
            difference = difference * root
    return np.linalg.norm(difference, p, axis=-1)


def _euclidean(u: Value, v: Value, w: Value = None) -> Value:
    return _minkowski(u, v, 2, w)


def _sqeuclidean(u: Value, v: Value, w: Value = None) -> Value:
    squares = np.square(u - v)
    return np.sum(squares if w is None else w * squares, axis=-1)


def _cityblock(u: Value, v: Value, w: Value = None) -> Value:
    steps = np.abs(u - v)
    return np.sum(steps if w is None else w * steps, axis=-1)


def _chebyshev(u: Value, v: Value, w: Value = None) -> Value:
    steps = np.abs(u - v)
    return np.max(steps if w is None else np.where(w > 0, steps, 0), axis=-1)


def _correlation(u: Value, v: Value, w: Value = None, centered: bool = True) -> Value:
    if np.result_type(u, v).kind == "c":
        raise TypeError("`u` and `v` must be real.")
    w = 1 if w is None else w / np.sum(w) * np.shape(u)[-1]
    if centered:
        u, v = [x - np.mean(w * x, axis=-1, keepdims=True) for x in (u, v)]
    pairs = [w * x * y for x, y in ((u, v), (u, u), (v, v))]
    both, own, other = [np.sum(x, axis=-1, dtype=x.dtype) for x in pairs]
    return np.clip(1.0 - both / np.sqrt(own * other), 0.0, 2.0)


def _cosine(u: Value, v: Value, w: Value = None) -> Value:
    return _correlation(u, v, w, False)


def _braycurtis(u: Value, v: Value, w: Value = None) -> Value:
    w = 1.0 if w is None else w
    return np.sum(w * np.abs(u - v), axis=-1) / np.sum(w * np.abs(u + v), axis=-1)


def _canberra(u: Value, v: Value, w: Value = None) -> Value:
    total = np.abs(u) + np.abs(v)
    parts = np.abs(u - v) / np.where(total == 0, 1, total)
    return np.sum(parts if w is None else w * parts, axis=-1)


def _seuclidean(u: Value, v: Value, V: Value) -> Value:
    return _minkowski(u, v, 2, 1 / V)


def _mahalanobis(u: Value, v: Value, VI: Value) -> Value:
    difference = u - v
    return np.sqrt(np.sum(difference @ VI * difference, axis=-1))


def _jensenshannon(
    p: Value, q: Value, base: Any = None, axis: int = -1, keepdims: bool = False
) -> Value:
    p, q = [x / np.sum(x, axis=axis, keepdims=True) for x in (p, q)]
    middle = (p + q) / 2.0
    both = special.rel_entr(p, middle) + special.rel_entr(q, middle)
    total = np.sum(both, axis=axis, keepdims=keepdims)
    if base is not None:
        total = np.astype(total / np.log(base), total.dtype, copy=False)
    return np.sqrt(total / 2.0)


METRICS: dict[str, Callable] = {
    "minkowski": _minkowski, "euclidean": _euclidean, "sqeuclidean": _sqeuclidean,
    "cityblock": _cityblock, "chebyshev": _chebyshev, "correlation": _correlation,
    "cosine": _cosine, "braycurtis": _braycurtis, "canberra": _canberra,
    "seuclidean": _seuclidean, "mahalanobis": _mahalanobis, "jensenshannon": _jensenshannon,
}  # fmt: skip
"""The metrics of real vectors."""

SHORT = {
    "mi": "minkowski", "m": "minkowski", "pnorm": "minkowski", "euclid": "euclidean",
    "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
    "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "chebychev": "chebyshev",
    "cheby": "chebyshev", "cheb": "chebyshev", "ch": "chebyshev", "co": "correlation",
    "cos": "cosine", "se": "seuclidean", "s": "seuclidean", "mahal": "mahalanobis",
    "mah": "mahalanobis", "js": "jensenshannon",
}  # fmt: skip
"""SciPy's other names of metrics."""

# ---- two vectors ----


def _is_weight(w: Value) -> bool:
    return not np.any(w < 0)


def _checked(w: Value) -> Value:
    """Return weights as numbers, none of which is negative."""
    w = np.astype(as_array(w), float, copy=False)
    if np.ndim(w) != 1:
        raise ValueError("Input vector should be 1-D.")
    return check_values(w, _is_weight, "Input weights should be all non-negative")


def _vectors(*vectors: Value) -> list:
    found = [as_array(x) for x in vectors]
    if any(np.ndim(x) != 1 for x in found):
        raise ValueError("Input vector should be 1-D.")
    return found


@declare_composite(distance, "canberra")
def _canberra_of_two(u: Value, v: Value, w: Value = None) -> Value:
    """Divide by no zero, as SciPy's code does; that serves for most other metrics."""
    u, v = _vectors(u, v)
    return _canberra(u, np.astype(v, float, copy=False), None if w is None else _checked(w))


@declare_composite(distance, "correlation")
def _correlation_of_two(u: Value, v: Value, w: Value = None, centered: bool = True) -> Value:
    """Keep the precision of the vectors, where SciPy's code divides by one of Python's numbers."""
    u, v = _vectors(u, v)
    return _correlation(u, v, None if w is None else _checked(w), centered)


@declare_composite(distance, "cosine")
def _cosine_of_two(u: Value, v: Value, w: Value = None) -> Value:
    return _correlation_of_two(u, v, w, False)


# ---- all pairs of vectors ----


def _metric_of(caller: str, metric: Any, options: dict, rows: Callable[[], Value]) -> Callable:
    """Return the metric with its options; `rows` returns all vectors, for their spread."""
    if callable(metric):
        name = getattr(metric, "__name__", "")
        if getattr(distance, name, None) is not metric or name not in METRICS:
            return lambda u, v: _each_pair(metric, u, v, options)
    else:
        name = str(metric).lower()
        name = SHORT.get(name, name)
    if name not in METRICS:
        if not callable(metric):  # SciPy's error of a name
            distance.cdist(np.ones((1, 2)), np.ones((1, 2)), metric)
        raise UnsupportedError(
            f"scipy.spatial.distance.{caller}: the metric {name!r} is not supported for tensors; "
            f"write one of {', '.join(METRICS)}, or a function of two vectors"
        )
    options = {k: v for k, v in options.items() if v is not None}
    if "w" in options:
        options["w"] = _checked(options["w"])
    for key in ("V", "VI"):
        if key in options:
            options[key] = np.astype(as_array(options[key]), float, copy=False)
    if name == "seuclidean" and "V" not in options:
        options["V"] = np.var(rows(), axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in options:
        every = rows()
        if np.shape(every)[0] <= np.shape(every)[1]:
            raise ValueError(
                f"The number of observations ({np.shape(every)[0]}) is too small; the covariance "
                f"matrix is singular. For observations with {np.shape(every)[1]} dimensions, at "
                f"least {np.shape(every)[1] + 1} observations are required."
            )
        options["VI"] = np.linalg.inv(np.cov(every.T)).T
    return lambda u, v: METRICS[name](u, v, **options)


def _each_pair(metric: Callable, u: Value, v: Value, options: dict) -> Value:
    """Return what a function of two vectors returns, for all of them."""
    u, v = np.broadcast_arrays(u, v)
    places = list(np.ndindex(*np.shape(u)[:-1]))
    found = [metric(u[i], v[i], **options) for i in places]
    return np.reshape(np.stack(found), np.shape(u)[:-1]) if found else np.zeros(np.shape(u)[:-1])


IN_DOUBLE = "seuclidean", "correlation", "mahalanobis"
"""Metrics of which SciPy computes all pairs in double precision, also for extended precision."""


def _rows_of(x: Value, name: str, metric: Any, shape: bool = False) -> Value:
    x = as_array(x)
    if np.ndim(x) != 2:
        more = f" (Shape was {np.shape(x)})." if shape else "."
        raise ValueError(f"{name} must be {'passed' if shape else 'a 2-dimensional array'}{more}")
    if x.dtype.kind == "c":
        raise ValueError(f"Unsupported dtype {x.dtype}: vectors must be real")
    double = isinstance(metric, str) and metric.lower() in IN_DOUBLE
    return np.astype(x, float if double else np.result_type(x, float), copy=False)


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedError(
            f"scipy.spatial.distance.{name}: out= is a plain array, which has no derivative; write "
            f"out[...] = scipy.spatial.distance.{name}(...), with an array of functier.numpy"
        )


@declare_composite(distance, "cdist")
def _cdist(
    XA: Value, XB: Value, metric: Any = "euclidean", *, out: Any = None, **options: Any
) -> Value:
    _refuse_out("cdist", out)
    a, b = _rows_of(XA, "XA", metric), _rows_of(XB, "XB", metric)
    if np.shape(a)[1] != np.shape(b)[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    run = _metric_of("cdist", metric, options, lambda: np.concatenate([a, b]))
    return run(a[:, None, :], b[None, :, :])


@declare_composite(distance, "pdist")
def _pdist(X: Value, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Value:
    _refuse_out("pdist", out)
    x = _rows_of(X, "A 2-dimensional array", metric, True)
    first, second = np.triu_indices(np.shape(x)[0], 1)
    return _metric_of("pdist", metric, options, lambda: x)(x[first], x[second])


@declare_composite(spatial, "distance_matrix")
def _distance_matrix(x: Value, y: Value, p: Any = 2.0, threshold: Any = 1000000) -> Value:
    x, y = as_array(x), as_array(y)
    if np.shape(x)[-1] != np.shape(y)[-1]:
        raise ValueError(
            f"x contains {np.shape(x)[-1]}-dimensional vectors but y contains "
            f"{np.shape(y)[-1]}-dimensional vectors"
        )
    double = np.result_type(x, y, float)
    x, y = np.astype(x, double, copy=False), np.astype(y, double, copy=False)
    return _minkowski(x[:, None, :], y[None, :, :], p)


@declare_composite(spatial, "minkowski_distance_p")
def _minkowski_distance_p(x: Value, y: Value, p: Any = 2.0) -> Value:
    x, y = as_array(x), as_array(y)
    steps = np.astype(y, np.result_type(x, y, float)) - x
    if p in (1, np.inf):
        return _minkowski(steps, 0, p)
    even = p % 2 == 0  # then without the kink of abs
    powers = np.real(steps * np.conj(steps)) ** int(p / 2) if even else np.abs(steps) ** p
    return np.sum(powers, axis=-1)


@declare_composite(spatial, "minkowski_distance")
def _minkowski_distance(x: Value, y: Value, p: Any = 2.0) -> Value:
    x, y = as_array(x), as_array(y)
    if p < 1:
        return _minkowski_distance_p(x, y, p) ** (1.0 / p)
    return _minkowski(np.astype(y, np.result_type(x, y, float)), x, p)


# ---- the form of distances ----


def _is_symmetric(x: Value) -> bool:
    return not np.any(np.not_equal(x, np.swapaxes(x, -1, -2)))


def _has_zeros(x: Value) -> bool:
    return not np.any(np.not_equal(np.diagonal(x, axis1=-2, axis2=-1), 0))


@declare_composite(distance, "squareform")
def _squareform(X: Value, force: str = "no", checks: bool = True) -> Value:
    x = as_array(X)
    shape = np.shape(x)
    if len(shape) not in (1, 2) or len(set(shape)) > 1 or force != "no":  # SciPy's errors
        distance.squareform(np.zeros(shape, x.dtype), force)
    if len(shape) == 1:
        size = math.ceil(math.sqrt(shape[0] * 2)) if shape[0] else 1
        if size * (size - 1) != shape[0] * 2:
            distance.squareform(np.zeros(shape, x.dtype))
        n = shape[0]
        row, column = np.indices((size, size))
        small, large = np.minimum(row, column), np.maximum(row, column)
        place = small * (2 * size - small - 1) // 2 + large - small - 1
        wide = np.concatenate([x, np.zeros(1, x.dtype)])
        return wide[np.where(row == column, n, place)]
    if checks:
        x = check_values(x, _is_symmetric, "Distance matrix 'X' must be symmetric.")
        x = check_values(x, _has_zeros, "Distance matrix 'X' diagonal must be zero.")
    return x[np.triu_indices(shape[0], 1)]
