"""Rows for the solves, inverses and determinants of `scipy.linalg`."""

import inspect

import numpy as np
import scipy.linalg

import functier.scipy.linalg as sl

from ._row import normal, row
from .linalg import RANK_ONE, of, regular, spread_out

C, F = complex, np.float32
NAMED = inspect.signature(scipy.linalg.solve).parameters["assume_a"].default is None
"""True where SciPy (since 1.15) has names of these structures."""


def definite(x):
    """A positive definite matrix with other numbers in the upper triangle."""
    return np.matmul(x, np.conjugate(x.mT)) + 4 * np.eye(x.shape[-1]) + 0.1 * np.triu(x, 1)


def of_definite(function):
    return lambda x, *others: function(definite(x), *others)


def solve(**options):
    """`solve` with other options, for examples that SciPy takes in no stack."""
    return lambda a, b: sl.solve(a, b, **options)


ROWS = [
    row(sl.solve, regular(3, 3), normal(3)),
    row(sl.solve, regular(3, 3, dtype=C), normal(3, 2)),
    row(sl.solve, regular(2, 2, dtype=F), normal(2, dtype=F)),
    row(sl.solve, regular(3, 3), normal(3, 2), transposed=True),
    row(sl.solve, regular(3, 3), normal(3), assume_a="sym"),
    *[
        row(sl.solve, regular(4, 4), normal(4), assume_a=kind, **options)
        for kind, options in (
            ("symmetric", {"lower": True}),
            ("upper triangular", {}),
            ("lower triangular", {"transposed": True}),
            ("tridiagonal", {}),
            ("diagonal", {}),
        )
        if NAMED
    ],
    row(sl.solve, regular(3, 3, dtype=C), normal(3), assume_a="her"),
    row(sl.solve, regular(2, 2, dtype=C), normal(2, 1, dtype=C), assume_a="sym"),
    of(
        "solve pos",
        of_definite(solve(assume_a="pos", lower=True)),
        normal(2, 2, dtype=C),
        normal(2),
    ),
    row(sl.solve_triangular, regular(3, 3), normal(3)),
    row(sl.solve_triangular, regular(3, 3, dtype=C), normal(3, 2), trans=2, lower=True),
    row(sl.solve_triangular, regular(3, 3), normal(3), trans="T", unit_diagonal=True),
    row(sl.solve_triangular, regular(2, 2, dtype=F), normal(2, dtype=F), lower=True),
    row(sl.inv, regular(3, 3)),
    row(sl.inv, regular(2, 2, dtype=C)),
    row(sl.inv, regular(2, 2, dtype=F)),
    row(sl.det, normal(3, 3)),
    row(sl.det, regular(4, 4, dtype=C)),
    row(sl.det, normal(2, 2, dtype=F)),
    row(sl.det, RANK_ONE),
    row(sl.pinv, normal(4, 2)),
    row(sl.pinv, normal(2, 3, dtype=C), return_rank=True),
    row(sl.pinv, normal(3, 2, dtype=F)),
    row(sl.pinv, spread_out(3, 3), atol=0.1, rtol=0.01),
    row(sl.pinvh, regular(3, 3)),
    row(sl.pinvh, regular(2, 2, dtype=C), lower=False, return_rank=True),
    row(sl.lstsq, normal(4, 2), normal(4)),
    row(sl.lstsq, normal(2, 3, dtype=C), normal(2, 2)),
    row(sl.lstsq, normal(4, 2), normal(4, 2), lapack_driver="gelsy"),
    of("sl.lstsq", lambda a, b: sl.lstsq(a, b)[:3], normal(3, 2, dtype=F), normal(3, dtype=F)),
    row(sl.lstsq, RANK_ONE, normal(3), _diff=(1,), _shared=(0,)),
]
