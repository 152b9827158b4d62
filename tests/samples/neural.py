"""Rows for the functions that `functier.nn` is made of."""

import numpy as np

from functier.nn import _operations as neural

from ._row import integers, normal, row

C, F = complex, np.float32
WINDOWS = [((2, 2), (2, 2), (1, 1)), ((3, 2), (1, 2), (1, 1)), ((2, 2), (1, 1), (2, 1))]


def places(window):
    """Return their number in an image of 5 by 4."""
    return neural.window_counts((5, 4), *window)


ROWS = [
    *[row(f, x) for f in (neural.sigmoid, neural.relu)
      for x in (normal(5), normal(2, 3, dtype=F), normal(), 40 * normal(4), normal(0, 2))],
    *[row(f, *args) for f in (neural.softmax, neural.log_softmax)
      for args in ((normal(2, 3), -1), (normal(2, 3), 0), (normal(2, 3, 2), (0, 2)),
                   (normal(4, dtype=F), 0), (100 * normal(3), 0))],
    row(neural.logsumexp, normal(2, 3)),
    row(neural.logsumexp, normal(2, 3), axis=0),
    row(neural.logsumexp, normal(2, 3, 2), axis=(0, -1), keepdims=True),
    row(neural.logsumexp, normal(3, dtype=F), axis=-1, keepdims=True),
    row(neural.logsumexp, integers(-3, 3, 2, 3), axis=1),
    *[row(neural.windows, normal(2, 5, 4), *window) for window in WINDOWS],
    row(neural.windows, normal(6), (3,), (2,), (1,)),
    row(neural.windows, normal(3, 4, dtype=F), (3, 4), (1, 1), (1, 1)),
    *[row(neural.overlap_add, normal(2, *window[0], *places(window)), (5, 4), *window[1:])
      for window in WINDOWS],
    row(neural.overlap_add, normal(3, 2), (6,), (2,), (1,)),
    row(neural.windows, normal(5, dtype=C), (3,), (1,), (1,)),
    row(neural.overlap_add, normal(3, 3, dtype=C), (5,), (1,), (1,)),
    # everything of one size
    row(neural.windows, normal(2, 3, 3), (2, 2), (1, 1), (1, 1)),
    row(neural.overlap_add, normal(2, 2, 2, 2, 2), (3, 3), (1, 1), (1, 1)),
]  # fmt: skip
