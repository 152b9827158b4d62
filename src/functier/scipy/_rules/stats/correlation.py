"""Lines through two samples."""

import numpy as np
import scipy.stats as stats  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.constructors import check_values
from .results import check_alternative, t_p_value, with_attributes
from .samples import statistic

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
