"""Rows for medians, quantiles and percentiles, by every method."""

import numpy as np

from ._row import as_it_is, integers, normal, positive, row, unit

F32 = np.float32
NAN = np.array([[1.0, np.nan, 2.0], [-0.5, 3.0, 0.25]])
ROUGH = np.quantile(np.array([0, 0, 1, 1, 1], F32), 0.3) != F32(0.2)
"""NumPy 2.1 rounds the q of a quantile to the dtype of the values."""

CHOOSING = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
OTHERS = ("averaged_inverted_cdf", "midpoint", "hazen", "weibull", "median_unbiased", "linear")
STEPS = np.linspace(0, 1, 11)
"""With two values among them that are indices themselves."""


def apart(*shape):
    """Numbers in any order, none of them near another."""
    ranks = np.argsort(normal(int(np.prod(shape))))
    return ranks.reshape(shape) + 0.4 * unit(*shape)


def weighted(a, q, weights, **options):
    return row(np.quantile, a, q, method="inverted_cdf", weights=weights, **options)


ROWS = [
    *[row(f, normal(2, 4), axis=a) for f in (np.median, np.nanmedian) for a in (None, 0, (0, 1))],
    row(np.median, NAN, axis=1, keepdims=True, _order=0, _like=as_it_is),
    row(np.nanmedian, NAN, axis=1, _order=0, _like=as_it_is),
    row(np.nanmedian, NAN, axis=0, keepdims=True, _order=0, _like=as_it_is),
    row(np.median, integers(0, 9, 5)),
    row(np.quantile, normal(2, 5), 0.3, axis=1),
    row(np.quantile, normal(5, dtype=F32), 0.3125 if ROUGH else 0.3),
    row(np.quantile, normal(2, 5), np.array([[0.1, 0.45]]), axis=1, keepdims=True),
    row(np.percentile, normal(2, 5), np.array([0.0, 37.0, 100.0]), axis=0, _diff=(0,)),
    row(np.nanpercentile, normal(2, 5), 37, axis=1),
    row(np.nanquantile, NAN, np.array([0.2, 0.7]), axis=1, _order=0, _like=as_it_is),
    *[
        row(np.quantile, normal(5), 0.3, method=m)
        for m in (
            "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased",
            "normal_unbiased", "interpolated_inverted_cdf",
        )
    ],
    *[
        row(f, apart(2, 5), q, axis=1, method=m)
        for f, q in ((np.quantile, 0.3), (np.nanquantile, 0.3), (np.percentile, 45.0))
        for m in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
    ],
    *[row(np.quantile, apart(5), STEPS, method=m, _diff=(0,)) for m in (*CHOOSING, *OTHERS)],
    *[row(np.quantile, integers(0, 9, 5), 0.3, method=m, _diff=()) for m in (*CHOOSING, *OTHERS)],
    *[row(np.quantile, normal(6, dtype=F32), STEPS, method=m, _diff=(0,)) for m in CHOOSING],
    *[
        row(f, apart(2, 5).astype(F32), STEPS[1:6:2].astype(F32), axis=1, method=m, _diff=(0,))
        for f, m in ((np.quantile, "midpoint"), (np.nanquantile, "averaged_inverted_cdf"))
    ],
    *[weighted(apart(3, 5), q, positive(3, 5), axis=1) for q in (0.3, [0.1, 0.5], 0.0, 1.0)],
    weighted(apart(3, 5), 0.4, positive(5), axis=1),
    weighted(apart(3, 5), 0.4, positive(3, 5), axis=0, keepdims=True),
    weighted(apart(3, 5), 0.4, positive(3, 5)),
    weighted(normal(5), 0.0, np.array([0.0, 1, 0, 2, 1]), _diff=(0,)),
    weighted(integers(0, 9, 5), 0.4, integers(1, 4, 5)),
    *[
        row(f, NAN, np.array([0.2, 0.7]), axis=1, method="inverted_cdf", weights=positive(2, 3),
            _order=0, _like=as_it_is)
        for f in (np.quantile, np.nanquantile)
    ],
    row(np.nanpercentile, NAN, 20.0, axis=1, method="closest_observation", _order=0,
        _like=as_it_is),
]  # fmt: skip
