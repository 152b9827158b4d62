"""Rows for sorting, searching and sets."""

import numpy as np

from ._row import deprecated, has, integers, normal, row

TIES = np.array([2.0, 1.0, 2.0, 1.0])
NAN = np.array([np.nan, 1.0, -np.inf, 2.0, np.nan])


def _ascending(place):
    """Other examples whose operand at `place` is sorted too, with ties."""

    def like(i, x, rng):
        x = rng.choice(x, x.shape) if i == place and x.size else rng.permutation(x)
        return np.sort(x) if i == place else x

    return like


def _monotonic(i, x, rng):
    """Bins that rise in some examples and fall in others."""
    x = rng.permutation(x)
    return np.sort(x)[:: rng.choice([1, -1])] if i == 1 else x


def _some(i, x, rng):
    """Some of four numbers, which another operand may have, too."""
    return rng.permutation(np.arange(4.0))[: x.size]


ROWS = [
    row(np.sort, normal(4)),
    row(np.sort, normal(2, 3), axis=0),
    row(np.sort, normal(2, 3), axis=None),
    row(np.sort, normal(2, 3, dtype=np.float32), -2, kind="stable"),
    row(np.sort, normal(2, 3), stable=True),
    row(np.sort, normal(3, dtype=complex)),
    row(np.sort, normal(0, 3)),
    row(np.sort, normal(2, 0)),
    row(np.sort, integers(0, 5, 2, 3)),
    row(np.sort, TIES, _order=0),
    row(np.sort, NAN, _order=0),
    row(np.argsort, normal(2, 3)),
    row(np.argsort, TIES, kind="stable", _diff=()),
    row(np.argsort, normal(2, 3), axis=None),
    row(np.argsort, normal(2, 3), 0, stable=True),
    row(np.partition, normal(4), 2),
    row(np.partition, normal(3, 2), (0, -1), axis=0),
    row(np.partition, normal(2, 3), 1, axis=None),
    row(np.argpartition, normal(2, 3), 1),
    row(np.argpartition, normal(2, 3), 3, axis=None),
    row(np.lexsort, (integers(0, 2, 4), integers(0, 3, 4))),
    row(np.lexsort, (normal(2, 3), integers(0, 3, 2, 3)), axis=0),
    row(np.lexsort, normal(2, 4)),
    row(np.sort_complex, normal(2, 3)),
    row(np.sort_complex, normal(3, dtype=complex)),
    row(np.sort_complex, integers(0, 9, 3).astype(np.int16)),
    *[
        row(func, *args, **options)
        for func in (np.argmax, np.argmin, np.nanargmax, np.nanargmin)
        for args, options in (
            ((normal(2, 3),), {}),
            ((normal(2, 3), 0), {}),
            ((normal(2, 3),), {"axis": -1, "keepdims": True}),
            ((normal(2, 3),), {"keepdims": True}),
            ((normal(),), {}),
            ((TIES,), {"axis": 0, "_diff": ()}),
        )
    ],
    row(np.nanargmax, NAN, _diff=()),
    row(np.searchsorted, np.sort(normal(4)), normal(2, 3), _like=_ascending(0)),
    row(np.searchsorted, np.sort(normal(5)), 0.1, side="right", _like=_ascending(0)),
    row(
        np.searchsorted,
        np.array([0, 1, 1, 2]),
        np.array([1, 0, 2, 5]),
        side="right",
        _like=_ascending(0),
    ),
    row(np.searchsorted, np.sort(NAN), NAN, _like=_ascending(0), _diff=()),
    row(np.searchsorted, np.sort(NAN), NAN, "right", _like=_ascending(0), _diff=()),
    row(np.searchsorted, normal(0), normal(2), _like=_ascending(0)),
    row(np.digitize, normal(2, 3), np.sort(normal(4)), _like=_monotonic),
    row(np.digitize, normal(3), np.sort(normal(4)), right=True, _like=_monotonic),
    row(np.digitize, integers(0, 3, 4), np.array([2, 1, 0]), _shared=(1,)),
    row(np.digitize, integers(0, 4, 6), np.array([3, 2, 0]), _like=_monotonic),
    row(np.digitize, integers(0, 4, 6), np.array([3, 1, 0]), right=True, _like=_monotonic),
    row(np.isin, integers(0, 5, 2, 3), integers(0, 5, 4)),
    row(np.isin, integers(0, 5, 3), integers(0, 5, 2, 2), invert=True),
    row(np.isin, np.arange(4), np.arange(2, 6), assume_unique=True),
    row(np.isin, normal(3), [0.0, 1.0]),
    row(np.unique, TIES, _order=0, _vmap=False),
    row(np.unique, normal(2, 3), _vmap=False),
    row(np.unique, normal(4), True, True, True, _vmap=False),
    row(np.unique, normal(3, 2), axis=0, _vmap=False),
    row(np.unique, normal(3, dtype=complex), _vmap=False),
    row(np.unique_all, normal(3), _vmap=False),
    row(np.unique_counts, normal(3), _vmap=False),
    row(np.unique_inverse, normal(3), _vmap=False),
    row(np.unique_values, normal(3), _vmap=False),
    row(np.union1d, normal(3), normal(2), _vmap=False),
    row(np.intersect1d, integers(0, 5, 6), integers(0, 5, 5), _vmap=False),
    row(np.intersect1d, TIES, np.array([3.0, 2.0]), return_indices=True, _order=0, _vmap=False),
    row(np.setxor1d, normal(3), normal(2), _vmap=False),
    row(np.setdiff1d, normal(3), normal(2), _vmap=False),
    row(np.setdiff1d, normal(3), normal(2), assume_unique=True, _vmap=False, _like=_some),
]

if has(np.sort, "descending"):  # NumPy 2.5
    ROWS += [
        row(np.sort, normal(2, 3), axis=0, descending=True),
        row(np.sort, normal(4), descending=False),
        row(np.sort, TIES, descending=True, _order=0),
        row(np.sort, NAN, descending=True, _order=0),
        row(np.argsort, TIES, stable=True, descending=True, _diff=()),
    ]
if hasattr(np, "in1d"):  # until NumPy 2.3
    in1d = deprecated(np.in1d)  # noqa: NPY201
    ROWS.append(row(in1d, integers(0, 5, 2, 3), integers(0, 5, 4)))
