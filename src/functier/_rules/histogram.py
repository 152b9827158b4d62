"""Counting: histograms, and the sums of weights that fall on each index."""

import math

import numpy as np

from .._core.errors import DataDependentError
from .._core.numpy_facts import Value
from .axes import as_array, as_strong, convert_lists
from .constructors import check_values, composite, constant, op, primitive
from .indexing import transpose_read
from .own_code import by_own_code
from .ranges_and_differences import linear_range

# ---- bincount is linear in the weights ----


def _check_castable(weights: Value) -> None:
    if not np.can_cast(weights.dtype, np.float64):
        raise TypeError(f"cannot cast weights of dtype {weights.dtype} to float64 safely")


def _bincount_vmap(k: int, x: Value, weights: Value = None, minlength: int = 0) -> Value:
    if any(n != 1 for n in np.shape(x)[:k]):
        raise DataDependentError(
            "the length of numpy.bincount(x) depends on the data, which differs from "
            "example to example; write numpy.sum(numpy.equal(x[:, None], numpy.arange(n)), 0)"
        )
    x = np.reshape(x, np.shape(x)[k:])
    if weights is None or not np.size(x):  # NumPy counts an empty array in integers
        counts = np.bincount(x, minlength=minlength)
        return np.reshape(counts, (1,) * k + np.shape(counts))
    _check_castable(weights)
    x = np.astype(x, np.intp) if x.dtype == bool else x  # which would be a mask
    length = max(int(np.max(x)) + 1, minlength)
    rows = np.astype(weights, np.float64)
    return transpose_read(rows, (*np.shape(weights)[:k], length), (slice(None),) * k + (x,))


op(
    np.bincount,
    "x weights minlength",
    "x weights",
    vmap=_bincount_vmap,
    by_value="x",
    jvp="linear",
    vjp={"weights": lambda g, x: np.take(g, x)},
)

# ---- histograms: the edges may be tensors, the counts are constants ----


@primitive
def estimate_bins(a: Value, bins: Value, range: Value = None) -> Value:
    """Return one zero for each bin that NumPy's estimator `bins` finds, for stacked rows."""
    n = np.shape(a)[-1]
    rows = np.reshape(a, (-1, n)) if np.size(a) else np.reshape(np.arange(n), (1, n))
    counts = {len(np.histogram_bin_edges(row, bins, range)) - 1 for row in rows}
    if len(counts) > 1:
        raise DataDependentError(
            f"the number of bins that bins={bins!r} finds differs from example to example; give "
            f"the number, or the edges"
        )
    return np.zeros((*np.shape(a)[:-1], *counts))


constant(
    estimate_bins,
    "a bins range",
    vmap=lambda k, a, bins, range=None: estimate_bins(a, bins, range),
    by_value="a",
)


def _is_rising(edges: Value) -> Value:
    return np.all(edges[..., :-1] < edges[..., 1:])


def _never_falls(edges: Value) -> Value:
    return not np.any(edges[..., :-1] > edges[..., 1:])


def _is_finite(x: Value) -> Value:
    return np.all(np.isfinite(x))


def _bin_edges(
    a: Value, bins: Value, range: Value, weights: Value = None, several: bool = False
) -> Value:
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        bins = np.shape(estimate_bins(a, bins, range))[0]
    if np.ndim(bins) == 1:
        message = "`bins` must increase monotonically, when an array"
        return check_values(as_array(bins), _never_falls, message)
    if np.ndim(bins) != 0 or bins < 1:
        raise ValueError("`bins` must be a positive integer, a string, or an array")
    if range is not None:
        first, last = range
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
    elif np.size(a) == 0:
        first, last = 0, 1
    else:
        first, last = np.min(a), np.max(a)
        message = "numpy.histogram: the range of the data is not finite; give range="
        first, last = (check_values(v, _is_finite, message) for v in (first, last))
    dtype = np.result_type(first, last, *([] if several else [a]))  # as NumPy has it
    dtype = dtype if dtype.kind in "fc" else np.result_type(dtype, float)
    flat = np.equal(first, last).astype(dtype) * 0.5
    edges = linear_range(first - flat, last + flat, int(bins) + 1, True, dtype, 0)
    message = f"Too many bins for data range. Cannot create {int(bins)} finite-sized bins."
    return check_values(edges, _is_rising, message)


@lambda body: composite(np.histogram_bin_edges, body)
def _histogram_bin_edges(
    a: Value, bins: Value = 10, range: Value = None, weights: Value = None
) -> Value:
    return _bin_edges(np.ravel(a), bins, range, weights)


@lambda body: composite(np.histogram, body)
def _histogram(
    a: Value, bins: Value = 10, range: Value = None, density: Value = None, weights: Value = None
) -> tuple:
    shape, a = np.shape(a), np.ravel(a)
    edges = _bin_edges(a, bins, range, weights)
    if weights is None:
        ordered = np.sort(a)
        totals = np.searchsorted(ordered, edges[:-1], "left")
        totals = np.concatenate([totals, np.searchsorted(ordered, edges[-1:], "right")])
    else:
        column = np.reshape(a, (-1, 1))
        under = np.concatenate([column < edges[:-1], column <= edges[-1:]], axis=1)
        (weights,) = convert_lists(weights)
        if np.shape(weights) != shape:
            raise ValueError("weights should have the same shape as a.")
        weights, dtype = np.ravel(weights), weights.dtype
        if dtype.kind == "b" and np.ndim(bins) == 1:
            raise TypeError("numpy.histogram: weights cannot be bool where bins are edges")
        totals = np.sum(np.where(under, np.reshape(weights, (-1, 1)), 0), axis=0)
    counts = np.diff(totals)
    if weights is not None:
        counts = np.astype(counts, dtype, copy=False)
    if density:
        counts = counts / np.diff(edges).astype(float) / np.sum(counts)
    return counts, edges


# ---- histograms of several variables ----


def _bin_numbers(x: Value, edges: Value) -> Value:
    """Return the bin of each value: 0 and the last for values outside of the edges."""
    number = np.searchsorted(edges, x, side="right")
    return number - np.equal(x, edges[-1])  # the last bin has its right edge, too


def _bin_count(bins: Value) -> Value:
    """Return the number of entries; None for a single number."""
    return len(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else None


@lambda body: composite(np.histogramdd, body)
def _histogramdd(
    sample: Value,
    bins: Value = 10,
    range: Value = None,
    density: Value = None,
    weights: Value = None,
) -> tuple:
    if isinstance(sample, (list, tuple)):
        columns = [as_strong(as_array(x)) for x in sample]
        common = np.result_type(*columns)  # NumPy makes one array of them
        if not any(map(np.ndim, columns)):  # the numbers of one variable
            columns = [np.stack(columns)]
        columns = [x if x.dtype == common else x.astype(common) for x in columns]
    elif np.ndim(sample) == 2:
        columns = list(np.unstack(sample, axis=1))
    else:
        columns = [sample]
    n = len(columns)
    bins = [bins] * n if _bin_count(bins) is None else list(bins)
    if len(bins) != n:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * n if range is None else range
    if len(ranges) != n:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_bin_edges(*given, several=True) for given in zip(columns, bins, ranges)]
    shape = [np.shape(e)[0] + 1 for e in edges]
    place = 0
    for x, e, size in zip(columns, edges, shape):
        place = place * size + _bin_numbers(x, e)
    if weights is None:
        weights = np.ones(np.shape(place))
    else:
        weights = as_array(weights)
        _check_castable(weights)
        weights = np.astype(weights, float)
    counts = np.reshape(transpose_read(weights, (math.prod(shape),), place), shape)
    counts = counts[(slice(1, -1),) * n]
    if density:
        total = np.sum(counts)
        for i, e in enumerate(edges):
            counts = counts / np.reshape(np.diff(e), (-1,) + (1,) * (n - i - 1))
        counts = counts / total
    return counts, edges


by_own_code(np.histogram2d)
