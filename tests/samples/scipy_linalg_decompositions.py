"""Rows for the factorizations and eigenvalues of `scipy.linalg`."""

import functier.scipy.linalg as sl
import numpy as np

from ._row import normal, positive, row
from .eig import TURNS, scaled
from .linalg import of, regular, rotated, spread_out
from .orthogonal import projected
from .scipy_linalg import of_definite

C, F = complex, np.float32


def hermitian(*shape, dtype=float):
    """Matrices with distinct eigenvalues, of which a function reads one triangle."""
    return spread_out(*shape, dtype=dtype)


def called(function, **options):
    return lambda *args: function(*args, **options)


def pairs(**options):
    """`eigh` of two matrices, of which the second one is made positive definite."""
    return lambda a, b: sl.eigh(
        a, np.matmul(b, np.conjugate(b.mT)) + np.eye(b.shape[-1]), **options
    )


def full(x):
    q, r = sl.qr(x)
    k = min(np.shape(x)[-2:])
    return q[..., :k], projected(q[..., k:]), r


def parts(*values):
    return [f(x) for x in values for f in (np.real, np.imag)]


ROWS = [
    of("sl.cholesky", of_definite(sl.cholesky), normal(3, 3)),
    of("sl.cholesky", of_definite(called(sl.cholesky, lower=True)), normal(2, 2, dtype=C)),
    of("sl.cholesky", of_definite(sl.cholesky), normal(2, 2, dtype=F)),
    of("sl.cho_factor", of_definite(lambda x: sl.cho_factor(x)[0]), normal(3, 3)),
    of(
        "sl.cho_factor",
        of_definite(lambda x: sl.cho_factor(x, True)[0]),
        normal(2, 2, dtype=C),
    ),
    of("sl.cho_solve", lambda c, b: sl.cho_solve((c, False), b), regular(3, 3), normal(3)),
    of(
        "sl.cho_solve",
        lambda c, b: sl.cho_solve((c, True), b),
        regular(2, 2, dtype=C),
        normal(2, 2),
    ),
    *[row(sl.lu_factor, normal(*shape)) for shape in ((3, 3), (4, 2), (2, 3))],
    row(sl.lu_factor, normal(3, 3, dtype=C)),
    row(sl.lu_factor, normal(2, 2, dtype=F)),
    *[row(sl.lu, normal(*shape)) for shape in ((3, 3), (3, 2), (2, 3))],
    row(sl.lu, normal(3, 2, dtype=C), permute_l=True),
    row(sl.lu, normal(3, 3), p_indices=True),
    *[
        of(
            "sl.lu_solve",
            lambda x, b, trans=trans: sl.lu_solve(sl.lu_factor(x), b, trans),
            normal(3, 3, dtype=dtype),
            normal(3, *more),
        )
        for trans, dtype, more in ((0, float, ()), (1, float, ()), (2, complex, (2,)))
    ],
    row(sl.qr, spread_out(3, 3)),
    of("sl.qr", full, spread_out(4, 2)),
    row(sl.qr, normal(3, 2), mode="economic"),
    row(sl.qr, normal(2, 3, dtype=C)),
    row(sl.qr, normal(3, 2), mode="r"),
    row(sl.qr, normal(3, 3, dtype=F)),
    row(sl.qr, normal(3, 3), pivoting=True, mode="economic", _name="sl.qr pivoting"),
    row(sl.qr, normal(4, 2), pivoting=True, mode="r"),
    row(sl.rq, normal(3, 3)),
    row(sl.rq, normal(2, 3, dtype=C), mode="economic"),
    row(sl.rq, normal(3, 3), mode="r"),
    row(sl.svd, spread_out(3, 3)),
    row(sl.svd, spread_out(4, 2), full_matrices=False, lapack_driver="gesvd"),
    of("sl.svd", lambda x: [np.abs(y) for y in sl.svd(x, False)], spread_out(2, 3, dtype=C)),
    row(sl.svd, spread_out(2, 3), compute_uv=False),
    row(sl.svdvals, spread_out(2, 3)),
    row(sl.svdvals, spread_out(2, 2, dtype=F)),
    of("sl.eigh", rotated(sl.eigh), hermitian(3, 3)),
    of("sl.eigh", rotated(called(sl.eigh, lower=False)), hermitian(3, 3, dtype=C)),
    of("sl.eigh", called(sl.eigh, driver="evd"), hermitian(3, 3, dtype=C)),
    of("sl.eigh", rotated(sl.eigh), hermitian(2, 2, dtype=F)),
    row(sl.eigh, hermitian(3, 3), eigvals_only=True),
    of("sl.eigh part", rotated(called(sl.eigh, subset_by_index=[1, 2])), hermitian(3, 3)),
    row(sl.eigh, hermitian(3, 3), subset_by_value=[1.5, 9.0], _vmap=False),
    *[
        of("sl.eigh pair", pairs(type=kind), hermitian(3, 3), 0.3 * normal(3, 3))
        for kind in (1, 2, 3)
    ],
    of(
        "sl.eigh pair",
        pairs(lower=False),
        hermitian(3, 3, dtype=C),
        0.3 * normal(3, 3, dtype=C),
    ),
    of("sl.eigh pair", pairs(subset_by_index=[0, 1]), hermitian(3, 3), 0.3 * normal(3, 3)),
    row(sl.eigvalsh, hermitian(3, 3)),
    row(sl.eigvalsh, hermitian(2, 2, dtype=C), lower=False, subset_by_index=[1, 1]),
    row(sl.eigvalsh, hermitian(2, 2), np.array([[2.0, 0.3], [0.3, 1.0]]), _like=scaled),
    row(sl.eigh_tridiagonal, positive(3), positive(2)),
    row(sl.eigh_tridiagonal, positive(3), positive(2), select="i", select_range=(0, 1)),
    row(sl.eigvalsh_tridiagonal, positive(3), positive(2)),
    row(sl.eig, spread_out(3, 3), _like=scaled),
    row(sl.eig, spread_out(3, 3), left=True, _like=scaled),
    of("sl.eig", lambda x: parts(*sl.eig(x)), TURNS, _like=scaled),
    row(sl.eig, normal(3, 3, dtype=C), left=True, right=False),
    row(sl.eig, spread_out(3, 3), regular(3, 3), left=True, _like=scaled, _name="sl.eig pair"),
    row(sl.eigvals, normal(3, 3, dtype=C)),
    row(sl.eigvals, spread_out(3, 3), regular(3, 3), _like=scaled),
    row(sl.eigvals, TURNS, regular(3, 3), _like=scaled, _name="sl.eigvals pair"),
    row(sl.eigvals, TURNS, homogeneous_eigvals=True, _like=scaled),
]
