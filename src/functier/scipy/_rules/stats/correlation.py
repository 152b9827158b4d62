"""Correlations and lines through two samples."""

from typing import Any, NamedTuple

import numpy as np
import scipy.special as special  # type: ignore[import-untyped]
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ...._rules.constructors import check_values
from ..declare import declare_composite
from .results import check_alternative, p_value, result_class, t_p_value, with_attributes
from .samples import statistic


class PearsonRResult(NamedTuple):
    """The result of `scipy.stats.pearsonr` inside a transform."""

    statistic: Value
    pvalue: Value

    @property
    def correlation(self) -> Value:
        return self.statistic

    def confidence_interval(self, confidence_level: float = 0.95, method: Any = None) -> Any:
        raise UnsupportedError(
            "scipy.stats.pearsonr: confidence_interval() is not supported inside a transform; "
            "write numpy.tanh(numpy.arctanh(statistic) + h / numpy.sqrt(n - 3)), h = -1.96 and 1.96"
        )


def _normalized(x: Value) -> Value:
    """Return a centred sample, divided by its length; NaN for a constant one."""
    x = np.where(np.all(np.equal(x, x[..., :1]), axis=-1, keepdims=True), np.nan, x)
    x = np.astype(x - np.mean(x, axis=-1, keepdims=True), x.dtype, copy=False)
    # A power of 2, whose derivative is zero, so that the squares do not overflow.
    largest = np.max(np.absolute(x), axis=-1, keepdims=True)
    x = x / np.exp2(np.floor(np.log2(largest)))
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True))


@declare_composite(stats, "pearsonr")
def _pearsonr(
    x: Value, y: Value, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> PearsonRResult:
    check_alternative(alternative)
    x, y = as_array(x), as_array(y)
    if method is not None:
        raise UnsupportedError(
            "scipy.stats.pearsonr: a method that draws samples is not supported for tensors; leave "
            "method=None, or call it for plain arrays"
        )
    if axis is None:
        x, y, axis = np.reshape(x, (-1,)), np.reshape(y, (-1,)), -1
    if int(axis) != axis:
        raise ValueError("`axis` must be an integer.")
    ndim = max(np.ndim(x), np.ndim(y))
    x, y = (np.reshape(v, (1,) * (ndim - np.ndim(v)) + np.shape(v)) for v in (x, y))
    if not ndim:
        raise ValueError("`x` and `y` must have length at least 2.")
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError as error:
        raise ValueError("`x` and `y` must be broadcastable.") from error
    n = np.shape(x)[int(axis)]
    if np.shape(y)[int(axis)] != n:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    dtype = np.result_type(x, y)
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    if dtype.kind == "c":
        raise ValueError("This function does not support complex data")
    x, y = (np.moveaxis(np.astype(v, dtype, copy=False), int(axis), -1) for v in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.clip(np.sum(_normalized(x) * _normalized(y), axis=-1), -1.0, 1.0)
    if n == 2:
        r = np.round(r)
        dtype = special.betainc(*np.ones(3, dtype)).dtype  # dtype of a p-value, or SciPy's error
        return PearsonRResult(r, np.where(np.isnan(r), r, np.ones((), dtype))[()])
    half = np.asarray(n / 2 - 1, dtype)[()]
    p = p_value(
        lambda r: special.betainc(half, half, (r + 1) / 2),
        lambda r: special.betaincc(half, half, (r + 1) / 2),
        r,
        alternative,
    )
    return PearsonRResult(r, p)


PointBiserial = result_class("_stats_py", "SignificanceResult", more="correlation")


@statistic(
    "pointbiserialr",
    "x y",
    too_small=1,
    hides_nan=True,
    outputs=2,
    join=lambda r, p: PointBiserial(r, p, r),
)
def _pointbiserialr(x: Value, y: Value) -> tuple:
    result = _pearsonr(x, y, axis=-1)
    return result.statistic, result.pvalue


LinregressResult = with_attributes(
    type(stats.linregress([0.0, 1.0], [0.0, 1.0])), "intercept_stderr"
)


@statistic("linregress", "x y", too_small=1, outputs=6, join=LinregressResult)
def _linregress(x: Value, y: Value, alternative: str = "two-sided") -> tuple:
    n = np.shape(x)[-1]
    if x.dtype.kind == "c":
        raise UnsupportedError(
            "scipy.stats.linregress of complex tensors is not supported; write "
            "numpy.linalg.lstsq(numpy.stack([x, numpy.ones_like(x)], -1), y)"
        )
    x, y = (np.astype(v, np.result_type(v, float), copy=False) for v in (x, y))
    message = "Cannot calculate a linear regression if all x values are identical"
    spread = np.max(x, axis=-1) - np.min(x, axis=-1)
    check_values(spread, lambda v: not np.any(np.equal(v, 0)), message)
    x_mean, y_mean = np.mean(x, axis=-1), np.mean(y, axis=-1)
    dx, dy = x - x_mean[..., None], y - y_mean[..., None]
    xx, xy, yy = (np.mean(p * q, axis=-1) for p, q in ((dx, dx), (dx, dy), (dy, dy)))
    slope = xy / xx
    intercept = y_mean - slope * x_mean
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0)
    if n == 2:
        p = np.astype(np.equal(y[..., 0], y[..., 1]), float)
        zero = np.zeros(np.shape(p))[()]
        return slope, intercept, r, p, zero, zero
    check_alternative(alternative)
    degrees, tiny = n - 2, 1.0e-20
    t = r * np.sqrt(degrees / ((1.0 - r + tiny) * (1.0 + r + tiny)))
    p = t_p_value(degrees, t, alternative)
    error = np.sqrt((1 - r**2) * yy / xx / degrees)
    return slope, intercept, r, p, error, error * np.sqrt(xx + x_mean**2)
