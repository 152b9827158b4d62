"""Rows for `scipy.sparse`, and for the functions of arrays in `scipy.optimize`."""

import warnings

import numpy as np
import scipy.sparse

import functier.scipy.optimize as so
import functier.scipy.sparse as fs
import functier.scipy.sparse.linalg as fl

from ._row import normal, row, unit
from .linalg import of, regular
from .scipy_linalg import definite

C, F = complex, np.float32
FIXED = scipy.sparse.csc_array(np.diag([3.0, 4.0, -5.0]) + np.eye(3, k=1) - np.eye(3, k=-2))


def solved(name, **options):
    """A solver of a dense matrix, and what it says of its success."""
    return lambda a, b, *start: getattr(fl, name)(a, b, *start, rtol=tolerance(b), **options)


def tolerance(b):
    """The smallest tolerance that solvers reach, in single or double precision."""
    return 1e-4 if b.dtype.char in "fF" else 1e-13


def of_definite(name):
    def solve(a, b):
        a = definite(a) + definite(a).mT
        return getattr(fl, name)(a, b, rtol=tolerance(b) / 10)[0]

    return solve


def of_fixed(b):
    """A system with a plain sparse matrix."""
    return fl.spsolve(FIXED, b)


def direct(a, b):
    """SciPy makes a sparse matrix of a dense one, with a warning."""
    with warnings.catch_warnings(action="ignore"):
        return fl.spsolve(a, b)


def matrix_of(values, kind="csr_array"):
    """A matrix with its values at four places, two of which are one."""
    places = np.array([0, 1, 2, 2, 0]), np.array([1, 0, 2, 1, 1])
    whole = fs.coo_array((values, places), shape=(3, 3))
    return getattr(fs, kind)(whole)


def product(values, x):
    return matrix_of(values, "csc_array") @ x


def of_rows(values, x):
    """The values are those of the matrix as they are."""
    return fs.csr_array((values, np.array([0, 2, 1, 0]), np.array([0, 2, 3, 4]))) @ x


def square(values):
    a = matrix_of(values)
    return (a @ a.T + a).toarray()


def of_sparse(values, b):
    """A system with a sparse matrix, whose diagonal is large."""
    return fl.spsolve((matrix_of(values) + FIXED).tocsc(), b)


def of_iterations(values, b):
    a = (matrix_of(values) + FIXED).tocsr()
    return fl.gmres(a, b, rtol=tolerance(b))[0]


def exponential(b):
    return fl.expm_multiply(FIXED * 0.1, b)


ROWS = [
    of("product", product, normal(5), normal(3)),
    of("product", product, normal(5, dtype=C), normal(3, 2)),
    of("product", square, normal(5)),
    of("product", of_rows, normal(4), normal(3)),
    of("sparse system", of_sparse, unit(5), normal(3)),
    of("sparse system", of_sparse, unit(5), normal(3, 2)),
    of("sparse system", of_iterations, unit(5), normal(3)),
    of("exponential", exponential, normal(3)),
    of("gmres", solved("gmres"), regular(3, 3), normal(3)),
    of("gmres", solved("gmres", M=np.diag([0.5, 1.0, 2.0])), regular(3, 3), normal(3)),
    of("gmres", solved("bicgstab"), regular(3, 3, dtype=C), normal(3, dtype=C)),
    of("gmres", solved("lgmres"), regular(2, 2), normal(2), normal(2), _diff=(0, 1)),
    of("cg", of_definite("cg"), normal(3, 3), normal(3)),
    of("cg", of_definite("minres"), normal(3, 3), normal(3, 1)),
    of("spsolve", of_fixed, normal(3)),
    of("spsolve", direct, regular(3, 3, dtype=C), normal(3, 2, dtype=C)),
    of("spsolve", direct, regular(3, 3, dtype=F), normal(3, dtype=F)),
    row(so.linear_sum_assignment, normal(3, 4)),
    row(so.linear_sum_assignment, normal(3, 2), maximize=True),
    row(so.rosen, normal(4)),
    row(so.rosen_der, normal(4)),
    row(so.rosen_hess, normal(3)),
    row(so.rosen_hess_prod, normal(3), normal(3)),
]
