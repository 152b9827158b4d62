"""Medians, quantiles and percentiles, with and without NaN, from sorted values."""

import numpy as np

from ._families import UnsupportedError, composite, normalize, unlisted

# n values, at q: the virtual index in the sorted values (Hyndman and Fan, 1996).
CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "linear": (1, 1),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
STEPWISE = ("lower", "higher", "nearest", "midpoint")


def _virtual(n, q, method):
    """The two indices to interpolate between, and the weight of the second."""
    alpha, beta = CONTINUOUS.get(method, (1, 1))
    virtual = n * q + (alpha + q * (1 - alpha - beta)) - 1
    virtual = np.minimum(np.maximum(virtual, 0), n - 1)
    low = np.floor(virtual)
    weight = virtual - low
    if method == "lower":
        weight = weight * 0
    elif method == "higher":
        weight = np.ceil(weight)
    elif method == "nearest":  # to even
        weight = np.rint(virtual) - low
    elif method == "midpoint":
        weight = np.ceil(weight) * 0.5
    return low.astype(int), np.minimum(low + 1, n - 1).astype(int), weight


def _quantile(scale, leave_out):
    def body(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
        weights=None,
    ):  # fmt: skip
        if weights is not None or (method not in CONTINUOUS and method not in STEPWISE):
            raise UnsupportedError(
                f"quantiles by method={method!r}, or with weights, are not supported; use one of "
                f"{', '.join((*CONTINUOUS, *STEPWISE))}"
            )
        (a,) = unlisted(a)
        dtype = np.result_type(a)
        weak = isinstance(q, (int, float)) and dtype.kind == "f"
        if not hasattr(q, "level") and not (
            np.all(np.less_equal(0, q)) and np.all(np.less_equal(q, scale))
        ):
            raise ValueError(
                "Quantiles must be in the range [0, 1]"
                if scale == 1
                else "Percentiles must be in the range [0, 100]"
            )
        x, kept = _sorted_last(a, axis)
        n = np.shape(x)[-1]
        if dtype.kind == "f" and not leave_out:
            missing = np.isnan(x[..., -1])
        elif dtype.kind == "f":
            n = np.sum(np.logical_not(np.isnan(x)), axis=-1)
            missing, n = np.equal(n, 0), np.maximum(n, 1)
        points = np.reshape(np.divide(q, scale), np.shape(q) + (1,) * len(kept))
        low, high, weight = _virtual(n, points, method)
        low, high = (
            _pick(x, np.broadcast_to(i, np.shape(q) + kept), np.ndim(q)) for i in (low, high)
        )
        weight = weight.astype(dtype) if weak else weight
        step = high - low
        y = np.where(weight < 0.5, low + step * weight, high - step * (1 - weight))
        if dtype.kind == "f":
            y = np.where(missing, np.nan, y)
        return _kept(y, np.shape(a), axis, keepdims, np.ndim(q))

    return body


def _sorted_last(a, axis):
    """`a` sorted along one last axis made of the reduced ones, and the shape in front."""
    shape = np.shape(a)
    axes = normalize(axis, len(shape))
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    kept = tuple(shape[i] for i in rest)
    n = int(np.prod([shape[i] for i in axes], dtype=int))
    return np.sort(np.reshape(np.transpose(a, (*rest, *axes)), (*kept, n)), axis=-1), kept


def _pick(x, index, ndim):
    """The values of `x` at `index`, whose first `ndim` axes belong to q."""
    last = np.reshape(np.moveaxis(index, range(ndim), range(-ndim, 0)), (*np.shape(x)[:-1], -1))
    values = np.take_along_axis(x, last, axis=-1)
    values = np.reshape(values, np.shape(x)[:-1] + np.shape(index)[:ndim])
    return np.moveaxis(values, range(-ndim, 0), range(ndim))


def _kept(y, shape, axis, keepdims, ndim):
    if not keepdims:
        return y
    axes = normalize(axis, len(shape))
    ones = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return np.reshape(y, np.shape(y)[:ndim] + ones)


composite(np.quantile, _quantile(1, False))
composite(np.percentile, _quantile(100, False))
composite(np.nanquantile, _quantile(1, True))
composite(np.nanpercentile, _quantile(100, True))


def _median(quantile):
    def body(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        return quantile(a, 0.5, axis=axis, keepdims=keepdims)

    return body


composite(np.median, _median(np.quantile))
composite(np.nanmedian, _median(np.nanquantile))
