"""Rows for the solves, factorizations and eigenvalues of `scipy.linalg`."""

import functier.scipy.linalg as sl

from ._row import normal, row

ROWS = [row(sl.inv, normal(3, 3))]
