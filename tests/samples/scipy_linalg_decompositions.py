"""Rows for the factorizations and eigenvalues of `scipy.linalg`."""

import warnings

import numpy as np

import functier.scipy.linalg as sl
from functier.scipy._rules.linalg.schur import solve_below, solve_columns

from ._row import normal, positive, row
from .eig import TURNS
from .linalg import of, rotated
from .orthogonal import projected
from .scipy_linalg import of_definite

C, F = complex, np.float32


PAIRED = np.array(
    [
        [1.0, 2.0, 0.3, 0.5, -0.4],
        [-1.5, 0.5, 0.2, 0.1, 0.3],
        [0.1, 0.4, 3.0, -0.6, 0.2],
        [0.2, -0.3, 0.1, -2.0, 1.5],
        [0.3, 0.1, 0.2, -2.5, -1.0],
    ]
)
"""A real matrix with two pairs of complex eigenvalues, and a real one."""

BADLY_SCALED = np.array([[1.0, 700.0, 0.5], [0.002, 2.0, 30.0], [0.1, 1.0, 3.0]])


def spread_out(m, n, dtype=float):
    """Matrices with distinct real eigenvalues, or singular values, far from each other."""
    return (0.1 * normal(m, n, dtype=dtype) + np.eye(m, n) * np.arange(1, 1 + n)).astype(dtype)


def regular(n, _, dtype=float):
    """Matrices far from singular."""
    return normal(n, n, dtype=dtype) + 3 * np.eye(n, dtype=dtype)


def called(function, **options):
    return lambda *args: function(*args, **options)


def pairs(**options):
    """`eigh` of two matrices, of which the second one is made positive definite."""
    return lambda a, b: sl.eigh(
        a, np.matmul(b, np.conjugate(b.mT)) + np.eye(b.shape[-1]), **options
    )


def singular(x):
    """Factors of a matrix whose last pivot is zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy says so
        return sl.lu_factor(np.stack([x, 2 * x], axis=-2))[0]


def tridiagonal(**options):
    return lambda d, e: rotated(lambda d: sl.eigh_tridiagonal(d, e, **options))(d)


def banded(**options):
    return rotated(lambda x: sl.eig_banded(x, **options))


def nearby(i, x, rng):
    """Other matrices, with eigenvalues of the same kind that stay apart."""
    return x * rng.uniform(0.97, 1.03, size=x.shape)


def near_one(n):
    return np.eye(n) + 0.05 * normal(n, n)


def full(x):
    q, r = sl.qr(x)
    k = min(np.shape(x)[-2:])
    return q[..., :k], projected(q[..., k:]), r


def require_alike(a, b):
    """Raise for shapes that the callers of the solvers in the package never give."""
    if np.shape(a)[-2:] != np.shape(b)[-2:]:
        raise ValueError("matrices of one shape are expected")


def below(t, m):
    """Solve for the part below a matrix with a block of two rows, as Schur's form has them."""
    require_alike(t, m)
    rows, columns = np.array([0, 0, 0, 1, 0, 1, 0, 0, 2]), np.array([0, 1, 2, 0, 0, 2, 0, 0, 2])
    t = np.reshape(t[..., rows, columns], (3, 3)) * np.array([[1, 1, 1], [1, 1, 1], [0, 0, 1]])
    return solve_below(t, m), solve_below(t, m, True)


def columns(h, m):
    require_alike(h, m)
    h = np.triu(h, -1)
    return solve_columns(h, m), solve_columns(h, m, True)


def without_phases(decomposition):
    """Return what does not depend on the phases of the vectors of Schur's form."""

    def function(x):
        t, z = decomposition(x)[:2]
        w = np.diagonal(t, 0, -2, -1)
        return w, np.abs(t) ** 2, np.matmul(z * np.sin(w)[..., None, :], np.conjugate(z.mT))

    return function


def spaces(decomposition):
    """Return what does not depend on how LAPACK turns the vectors of two blocks."""

    def function(x):
        t, z = decomposition(x)[:2]
        first, second = z[..., :2], z[..., 2:4]
        sizes = [np.sum(b * b) for b in (t[:2, :2], t[:2, 2:4], t[:2, 4], t[2:4, 4], t[4, 4])]
        return *sizes, np.matmul(first, first.mT), np.matmul(second, second.mT)

    return function


def balanced(x):
    """Balance a matrix with zeros, of which LAPACK exchanges the rows."""
    return sl.matrix_balance(np.where(np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1]]), x, 0))


def parts(*values):
    return [f(x) for x in values for f in (np.real, np.imag)]


ROWS = [
    of("sl.cholesky", of_definite(sl.cholesky), normal(3, 3)),
    of("sl.cholesky", of_definite(called(sl.cholesky, lower=True)), normal(2, 2, dtype=C)),
    of("sl.cholesky", of_definite(sl.cholesky), normal(2, 2, dtype=F)),
    of("sl.cho_factor", of_definite(lambda x: sl.cho_factor(x)[0]), normal(3, 3)),
    of("sl.cho_factor", of_definite(lambda x: sl.cho_factor(x, True)[0]), normal(2, 2, dtype=C)),
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
    of("sl.lu_factor", singular, np.array([1.5, -0.7])),
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
    of("sl.svd", lambda x: [np.abs(y) ** 2 for y in sl.svd(x, False)], spread_out(2, 3, dtype=C)),
    row(sl.svd, spread_out(2, 3), compute_uv=False),
    row(sl.svdvals, spread_out(2, 3)),
    row(sl.svdvals, spread_out(2, 2, dtype=F)),
    of("sl.eigh", rotated(sl.eigh), spread_out(3, 3)),
    of("sl.eigh", rotated(called(sl.eigh, lower=False)), spread_out(3, 3, dtype=C)),
    of("sl.eigh", called(sl.eigh, driver="evd"), spread_out(3, 3, dtype=C)),
    of("sl.eigh", rotated(sl.eigh), spread_out(2, 2, dtype=F)),
    row(sl.eigh, spread_out(3, 3), eigvals_only=True),
    of("sl.eigh part", rotated(called(sl.eigh, subset_by_index=[1, 2])), spread_out(3, 3)),
    row(sl.eigh, spread_out(3, 3), subset_by_value=[1.5, 9.0], _vmap=False),
    *[
        of("sl.eigh pair", pairs(type=kind), spread_out(3, 3), 0.3 * normal(3, 3))
        for kind in (1, 2, 3)
    ],
    of(
        "sl.eigh pair",
        pairs(lower=False),
        spread_out(3, 3, dtype=C),
        0.3 * normal(3, 3, dtype=C),
        _order=1,
    ),
    of("sl.eigh pair", pairs(subset_by_index=[0, 1]), spread_out(3, 3), 0.3 * normal(3, 3)),
    row(sl.eigvalsh, spread_out(3, 3)),
    row(sl.eigvalsh, spread_out(2, 2, dtype=C), lower=False, subset_by_index=[1, 1]),
    row(sl.eigvalsh, spread_out(2, 2), np.array([[2.0, 0.3], [0.3, 1.0]]), _like=nearby),
    of("sl.eigh_tridiagonal", tridiagonal(), positive(3), positive(2)),
    of(
        "sl.eigh_tridiagonal",
        tridiagonal(select="i", select_range=(0, 1)),
        positive(3),
        positive(2),
    ),
    row(sl.eigvalsh_tridiagonal, positive(3), positive(2)),
    row(sl.eig, spread_out(3, 3), _like=nearby),
    row(sl.eig, spread_out(3, 3), left=True, _like=nearby),
    of("sl.eig", lambda x: parts(*sl.eig(x)), TURNS, _like=nearby),
    row(sl.eig, normal(3, 3, dtype=C), left=True, right=False),
    row(sl.eig, spread_out(3, 3), near_one(3), left=True, _like=nearby, _name="sl.eig pair"),
    row(sl.eigvals, normal(3, 3, dtype=C)),
    row(sl.eigvals, spread_out(3, 3), near_one(3), _like=nearby),
    row(sl.eigvals, TURNS, near_one(3), _like=nearby, _name="sl.eigvals pair"),
    row(sl.eigvals, TURNS, homogeneous_eigvals=True, _like=nearby),
    of("sl.cdf2rdf", lambda x: sl.cdf2rdf(*sl.eig(x)), TURNS, _like=nearby),
    row(sl.schur, TURNS, _like=nearby),
    of("sl.schur", spaces(sl.schur), PAIRED, _like=nearby),
    of("sl.schur", spaces(called(sl.schur, sort="lhp")), PAIRED, _like=nearby),
    of("solve_below", below, TURNS, normal(3, 3), _like=nearby, _order=1),
    of("sl.schur complex", without_phases(sl.schur), normal(3, 3, dtype=C)),
    of("sl.schur complex", without_phases(called(sl.schur, output="complex")), TURNS),
    row(sl.schur, spread_out(3, 3), _like=nearby),
    row(sl.schur, spread_out(2, 2, dtype=F), _like=nearby),
    of("sl.rsf2csf", lambda x: sl.rsf2csf(*sl.schur(x)), TURNS, _like=nearby),
    of("sl.rsf2csf", without_phases(lambda x: sl.rsf2csf(*sl.schur(x))), PAIRED, _like=nearby),
    of("sl.rsf2csf", lambda x: sl.rsf2csf(*sl.schur(x)), spread_out(2, 2, dtype=F), _like=nearby),
    row(sl.hessenberg, spread_out(4, 4), calc_q=True, _like=nearby),
    row(
        sl.hessenberg, normal(4, 4, dtype=C), calc_q=True, _like=nearby, _name="complex hessenberg"
    ),
    row(sl.hessenberg, normal(3, 3), _like=nearby),
    row(sl.hessenberg, normal(2, 2, dtype=F), calc_q=True),
    of("solve_columns", columns, normal(4, 4), normal(4, 4), _like=nearby, _order=1),
    row(sl.qr_multiply, normal(3, 2), normal(2, 3)),
    row(sl.qr_multiply, normal(3, 2, dtype=C), normal(2), mode="left", conjugate=True),
    row(sl.qr_multiply, normal(2, 3), normal(2), pivoting=True),
    row(sl.diagsvd, normal(2), 2, 3),
    row(sl.diagsvd, normal(2, dtype=C), 4, 2),
    of("sl.eig_banded", banded(), positive(2, 4)),
    of("sl.eig_banded", banded(lower=True, select="i", select_range=(1, 2)), positive(3, 3)),
    row(sl.eig_banded, positive(2, 3), eigvals_only=True, lower=True),
    row(sl.eigvals_banded, positive(2, 3)),
    row(sl.eigvals_banded, normal(2, 3, dtype=C), lower=True, select="i", select_range=(0, 1)),
    of("sl.matrix_balance", balanced, BADLY_SCALED, _like=nearby),
    row(sl.matrix_balance, BADLY_SCALED, _like=nearby),
    row(sl.matrix_balance, BADLY_SCALED + 0j, separate=True, permute=False, _like=nearby),
]
