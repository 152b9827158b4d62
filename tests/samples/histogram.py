"""Rows for histograms of one variable and of several, and for counting."""

import numpy as np

from ._row import integers, normal, positive, row

F = np.float32
EDGES = np.array([-1.0, -0.5, 0.5, 1.0])


def ordered(i, x, rng):
    """Other values; the edges stay in order."""
    return np.sort(x * rng.uniform(0.8, 1.2)) if i == 2 else rng.permutation(x)


ROWS = [
    row(np.bincount, np.array([0, 3, 1, 3]), normal(4), _shared=(0,)),
    row(np.bincount, np.array([0, 3, 1]), minlength=5, _vmap=False),
    row(np.bincount, np.array([0, 2, 2]), normal(3), 5, _shared=(0,)),
    row(np.histogram, np.array([[0.1, 0.7, 1.2], [-0.4, 0.5, 2.0]]), 3),
    row(np.histogram, normal(5), 2, (-1.0, 1.0), density=True),
    row(np.histogram, np.array([0.0, 0.5, 1.5, 2.0]), np.array([0.0, 0.5, 1.5, 2.0]),
        weights=normal(4), _diff=(2,), _shared=(1,)),
    row(np.histogram, integers(0, 5, 6), 3),
    row(np.histogram, normal(6, dtype=F), 3),
    row(np.histogram, np.ones(3), 2, _order=0),
    row(np.histogram_bin_edges, normal(5), 4),
    *[row(np.histogram, normal(9), bins) for bins in ("sqrt", "sturges", "rice")],
    *[row(np.histogram, normal(9), bins, _shared=(0,))
      for bins in ("auto", "fd", "doane", "scott", "stone")],
    row(np.histogram, np.arange(9.0) ** 3, "fd", _vmap=False,
        _like=lambda i, x, rng: np.append(x[:-1], 4 * x[-1:])),
    row(np.histogram, integers(0, 9, 9), "auto", _shared=(0,)),
    row(np.histogram_bin_edges, normal(9), "fd", (-1.0, 1.0), _shared=(0,)),
    row(np.histogram2d, normal(7), normal(7), 3),
    row(np.histogram2d, normal(7), normal(7), [2, 3], weights=normal(7)),
    row(np.histogram2d, normal(7), normal(7), 3, [[-1, 1], [-2, 2]], True),
    row(np.histogram2d, normal(7), normal(7), EDGES, _diff=(0, 1), _like=ordered),
    row(np.histogram2d, normal(7), normal(7), [EDGES, 2], _diff=(0, 1), _like=ordered),
    row(np.histogram2d, normal(7, dtype=F), normal(7, dtype=F), 3),
    row(np.histogram2d, normal(7, dtype=F), normal(7, dtype=F), 2, [[-1, 1], [-2, 2]]),
    row(np.histogramdd, normal(7, 3), 2),
    row(np.histogramdd, normal(7, 2), (2, 3), density=True, weights=positive(7)),
    row(np.histogramdd, (normal(5), normal(5)), 2),
    row(np.histogramdd, normal(5), 2),
    row(np.histogramdd, integers(0, 9, 3, 2), 2),
]  # fmt: skip
