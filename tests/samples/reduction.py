"""Rows for reductions, cumulative operations and what is made of them."""

import numpy as np

from ._row import booleans, integers, normal, positive, row

F32, C = np.float32, complex
ZEROS = [np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.5]]), np.array([0.0, 0.0, 0.0]), normal(2, 3)]
MASK = np.array([[True, False, True], [False, True, True]])
NAN = np.array([[1.0, np.nan, 2.0], [-0.5, 3.0, 0.25]])


def as_it_is(i, x, rng):
    """Every example has its NaN and its mask where the first one has them."""
    return x if x.dtype.kind == "b" else np.where(np.isnan(x), x, rng.normal(size=x.shape))


def axes(func, *args, **kwargs):
    """A call for each kind of axis argument."""
    return [
        row(func, *args, **kwargs),
        row(func, *args, axis=0, **kwargs),
        row(func, *args, axis=-1, keepdims=True, **kwargs),
        row(func, *args, axis=(0, -1), **kwargs),
        row(func, *args, axis=None, keepdims=True, **kwargs),
    ]


REDUCTIONS = [np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.ptp]
MASKED = [np.sum, np.mean, np.prod, np.var, np.std]
NAN_REDUCTIONS = [
    np.nansum, np.nanmean, np.nanprod, np.nanmax, np.nanmin, np.nanvar, np.nanstd
]  # fmt: skip

ROWS = [
    *[r for f in REDUCTIONS for r in axes(f, normal(2, 3))],
    *[r for f in (np.any, np.all) for r in axes(f, booleans(2, 3))],
    *[row(f, normal(2, 3, dtype=F32), axis=1) for f in REDUCTIONS],
    *[row(f, normal(2, 3, dtype=C), axis=1) for f in MASKED],
    *[row(f, integers(0, 5, 2, 3), axis=0) for f in REDUCTIONS],
    *[row(f, normal()) for f in (np.sum, np.mean, np.prod, np.max, np.amin, np.var)],
    *[row(f, normal(2, 3), axis=()) for f in (np.sum, np.prod, np.amax)],
    *[row(f, normal(2, 0), axis=1) for f in (np.sum, np.prod)],
    *[row(f, normal(0, 2), axis=1) for f in (np.sum, np.mean, np.prod, np.max)],
    *[row(f, normal(2, 3), axis=1, where=MASK) for f in MASKED],
    *[row(f, normal(2, 3), keepdims=True, where=MASK[0], _like=as_it_is) for f in MASKED],
    *[row(f, normal(2, 3), axis=0, where=MASK, initial=0.25) for f in (np.sum, np.prod)],
    *[row(f, normal(2, 3), axis=0, where=MASK, initial=0.25) for f in (np.max, np.min)],
    row(np.any, booleans(2, 3), axis=0, where=MASK),
    row(np.sum, normal(3, dtype=F32), dtype=float, _order=1),
    row(np.sum, integers(0, 5, 3), dtype=float),
    row(np.mean, normal(2, 3).T, axis=0),
    *[row(np.prod, x) for x in ZEROS],
    *[row(np.prod, x, axis=-1) for x in ZEROS],
    *[row(np.cumprod, x, axis=-1) for x in ZEROS],
    row(np.max, np.array([1.0, 2.0, 2.0]), _order=0),
    row(np.std, np.ones((2, 2)), axis=0, _order=0),
    # spread out
    *[row(f, normal(2, 3), axis=0, ddof=1) for f in (np.var, np.std, np.nanvar, np.nanstd)],
    row(np.var, normal(2, 3), axis=1, correction=1, where=MASK, _like=as_it_is),
    row(np.var, normal(2, 3), axis=1, mean=normal(2, 1)),
    row(np.std, normal(3, dtype=np.float16), _order=0),
    row(np.average, normal(2, 3), axis=1),
    row(np.average, normal(2, 3), weights=positive(2, 3)),
    row(np.average, normal(2, 3), axis=1, weights=positive(3), returned=True),
    row(np.average, normal(2, 3, 2), axis=(2, 1), weights=positive(2, 3), keepdims=True),
    row(np.average, integers(0, 5, 3), weights=integers(1, 5, 3)),
    # cumulative
    *[row(f, normal(2, 3)) for f in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)],
    *[row(f, normal(2, 3), axis=0) for f in (np.cumsum, np.cumprod)],
    *[row(f, normal(3, dtype=C), axis=-1) for f in (np.cumsum, np.cumprod)],
    *[row(f, normal(5, dtype=F32)) for f in (np.cumsum, np.cumprod)],
    *[row(f, normal(2, 0), axis=1) for f in (np.cumsum, np.cumprod)],
    *[row(f, normal(4)) for f in (np.cumulative_sum, np.cumulative_prod)],
    *[
        row(f, normal(2, 3), axis=1, include_initial=True)
        for f in (np.cumulative_sum, np.cumulative_prod)
    ],
    # NaN left out
    *[row(f, NAN, axis=1, _like=as_it_is, _order=0) for f in NAN_REDUCTIONS],
    *[row(f, NAN, _like=as_it_is, _order=0) for f in NAN_REDUCTIONS],
    *[row(f, normal(2, 3), axis=0, keepdims=True) for f in NAN_REDUCTIONS],
    *[row(f, NAN, axis=1, _like=as_it_is, _order=0) for f in (np.nancumsum, np.nancumprod)],
    *[row(f, integers(1, 5, 2, 3), axis=0) for f in NAN_REDUCTIONS],
    # no axis, and what is returned with an average
    *[row(f, normal(), axis=0) for f in (np.sum, np.prod, np.max, np.cumsum, np.cumprod)],
    *[row(f, booleans(), axis=-1) for f in (np.any, np.count_nonzero)],
    row(np.average, normal(2, 3, dtype=F32), axis=1, returned=True),
    row(np.average, normal(2, 3, dtype=C), axis=0, returned=True),
    row(np.cov, normal(1, 3), rowvar=False, ddof=0),
]
