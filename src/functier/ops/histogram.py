"""Counting: histograms, and the sums of weights that fall on each index."""

import numpy as np

from ._families import DataDependentError, UnsupportedError, as_array, composite, op
from .composite import linear_range

# ---- bincount is linear in the weights ----


def _bincount_vmap(k, x, weights=None, minlength=0):
    if any(n != 1 for n in np.shape(x)[:k]):
        raise DataDependentError(
            "the length of numpy.bincount(x) depends on the data, which differs from "
            "example to example; write numpy.sum(numpy.equal(x[:, None], numpy.arange(n)), 0)"
        )
    x = np.reshape(x, np.shape(x)[k:])
    if weights is None:
        counts = np.bincount(x, minlength=minlength)
        return np.reshape(counts, (1,) * k + np.shape(counts))
    length = max(int(np.max(x, initial=-1)) + 1, minlength)
    hits = np.equal(np.reshape(x, (-1, 1)), np.arange(length))
    shape = np.shape(weights)
    rows = np.reshape(np.astype(weights, np.float64), (*shape[:k], 1, *shape[k:]))
    return np.reshape(np.matmul(rows, hits.astype(float)), (*shape[:k], length))


op(
    np.bincount,
    "x weights minlength",
    "x weights",
    vmap=_bincount_vmap,
    jvp="linear",
    vjp={"weights": lambda g, x: g[x]},
)

# ---- histograms: the edges may be tensors, the counts are constants ----


def _edges(a, bins, range):
    if isinstance(bins, str):
        raise UnsupportedError(
            f"numpy.histogram with bins={bins!r} lets the data choose the number of bins; give "
            f"the number, or the edges"
        )
    if np.ndim(bins) == 1:
        return as_array(bins)
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
    flat = np.equal(first, last) * 0.5
    dtype = np.result_type(first, last, a)
    dtype = dtype if dtype.kind in "fc" else np.result_type(dtype, float)
    return linear_range(first - flat, last + flat, int(bins) + 1, True, dtype, 0)


@lambda body: composite(np.histogram_bin_edges, body)
def _histogram_bin_edges(a, bins=10, range=None, weights=None):
    return _edges(np.ravel(a), bins, range)


@lambda body: composite(np.histogram, body)
def _histogram(a, bins=10, range=None, density=None, weights=None):
    a = np.ravel(a)
    edges = _edges(a, bins, range)
    if weights is None:
        ordered = np.sort(a)
        below = np.searchsorted(ordered, edges[:-1], "left")
        below = np.concatenate([below, np.searchsorted(ordered, edges[-1:], "right")])
    else:
        column = np.reshape(a, (-1, 1))
        under = np.concatenate([column < edges[:-1], column <= edges[-1:]], axis=1)
        below = np.sum(np.where(under, np.reshape(weights, (-1, 1)), 0), axis=0)
    counts = np.diff(below)
    if density:
        counts = counts / np.diff(edges) / np.sum(counts)
    return counts, edges
