"""Rows for least squares: tall, wide and square matrices, of full rank and not."""

import numpy as np

from ._row import as_it_is, integers, normal, row
from .linalg import of

C, F = complex, np.float32
lstsq = np.linalg.lstsq


RANK_ONE = np.outer([1.0, 2.0, -1.0, 0.5], [1.0, -1.0, 2.0])
"""Its derivatives exist in no direction that raises the rank, so it stands still here."""

ROWS = [
    row(lstsq, normal(4, 2), normal(4)),
    row(lstsq, normal(4, 2), normal(4, 3)),
    row(lstsq, normal(2, 2), normal(2)),
    row(lstsq, normal(2, 4), normal(2, 2)),
    row(lstsq, normal(3, 2, dtype=C), normal(3, dtype=C)),
    row(lstsq, normal(2, 3, dtype=C), normal(2, 2, dtype=C)),
    row(lstsq, normal(3, 2), normal(3, dtype=C)),
    row(lstsq, normal(4, 2, dtype=F), normal(4, dtype=F)),
    row(lstsq, integers(-3, 4, 3, 2), normal(3), _shared=(0,)),
    row(lstsq, normal(3, 2), normal(3), rcond=-1),
    row(lstsq, RANK_ONE, normal(4, 2), _diff=(1,), _shared=(0,)),
    of(
        "lstsq rank",
        lambda a, b: lstsq(a * [1.0, 1e-9], b, rcond=1e-6)[0][0],
        normal(4, 2),
        normal(4),
        _like=as_it_is,
        _order=0,
    ),
    of(
        "lstsq residuals",
        lambda a, b: lstsq(np.matmul(a, a.T), b)[:1],
        normal(3, 1),
        normal(3, 2),
        _like=as_it_is,
    ),
]
