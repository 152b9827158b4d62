"""Rows for elementwise operations."""

import numpy as np

from ._row import normal, positive, row, unit

ROWS = [
    row(np.add, normal(2, 3), normal(3)),
    row(np.multiply, normal(2, 1), normal(3)),
    row(np.sin, normal(2, 3)),
    row(np.sin, normal(3, dtype=np.float32)),
    row(np.exp, normal(3, dtype=complex)),
    row(np.power, positive(3), normal(2, 3)),
    row(np.power, normal(3), 3),
    row(np.arctanh, unit(3)),
]
