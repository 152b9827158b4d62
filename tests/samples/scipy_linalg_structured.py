"""Rows for the matrices of a structure, norms and spaces of `scipy.linalg`."""

import numpy as np

import functier.scipy.linalg as sl

from ._row import normal, row

C, F = complex, np.float32


def another(i, x, rng):
    """A matrix a little off."""
    noise = 1 + 0.05 * rng.normal(size=x.shape)
    return (x * noise).astype(x.dtype)


def first_large(*shape, dtype=float):
    """Vectors whose Toeplitz matrices are far from singular."""
    x = 0.4 * normal(*shape, dtype=dtype)
    return x + 3 * np.eye(1, shape[-1], dtype=dtype)[0]


def band(low, up, n, dtype=float):
    """A matrix in diagonal form, far from singular."""
    x = 0.3 * normal(low + up + 1, n, dtype=dtype)
    return x + 3 * (np.arange(low + up + 1) == up)[:, None]


def of(name, function, *arrays, **options):
    return row(function, *arrays, _name=name, _like=another, **options)


def near(function, *args, **options):
    return row(function, *args, _like=another, **options)


def projector(basis):
    """A function of the space alone, as one of the matrix."""

    def of_any(a, **options):
        q = basis(a, **options)
        return np.matmul(q, np.conjugate(q.mT))

    return of_any


def of_rank(rank):
    """A matrix that is always of this rank."""
    return lambda basis: lambda a: projector(basis)(np.matmul(a[:, :rank], a[:rank, :]))


ROWS = [
    row(sl.toeplitz, normal(3), normal(4)),
    row(sl.toeplitz, normal(3, dtype=C)),
    row(sl.toeplitz, normal(2, dtype=F), np.arange(3)),
    row(sl.circulant, normal(3)),
    row(sl.circulant, normal(2, 3, dtype=C)),
    row(sl.hankel, normal(3), normal(4)),
    row(sl.hankel, normal(3, dtype=C)),
    row(sl.convolution_matrix, normal(3), 2),
    *[row(sl.convolution_matrix, normal(4), 3, mode) for mode in ("same", "valid")],
    row(sl.companion, normal(4), _empty=False),
    row(sl.companion, normal(2, 3, dtype=C), _empty=False),
    row(sl.fiedler_companion, normal(5), _empty=False),
    row(sl.fiedler_companion, normal(6, dtype=F), _empty=False),
    row(sl.fiedler_companion, normal(2), _empty=False),
    row(sl.leslie, normal(3), normal(2)),
    row(sl.fiedler, normal(3)),
    row(sl.fiedler, normal(1)),
    row(sl.block_diag, normal(2, 2), normal(3), normal(1, 2)),
    row(sl.block_diag, normal(2, 2, dtype=F), np.ones((1, 0)), 2),
    row(sl.khatri_rao, normal(2, 3), normal(4, 3)),
    row(sl.matmul_toeplitz, (normal(3), normal(4)), normal(4)),
    row(sl.matmul_toeplitz, normal(3, dtype=C), normal(3, 2)),
    row(sl.matmul_toeplitz, normal(2, dtype=F), normal(2, dtype=F), check_finite=True),
    near(sl.solve_toeplitz, (first_large(3), normal(3)), normal(3)),
    near(sl.solve_toeplitz, first_large(3, dtype=C), normal(3, 2)),
    near(sl.solve_toeplitz, first_large(3, dtype=F), normal(3, dtype=F)),
    # ---- banded matrices ----
    near(sl.solve_banded, (2, 1), band(2, 1, 5), normal(5)),
    near(sl.solve_banded, (1, 1), band(1, 1, 3, dtype=C), normal(3, 2)),
    near(sl.solve_banded, (0, 1), band(0, 1, 3, dtype=F), normal(3, 2, dtype=F)),
    near(sl.solveh_banded, band(2, 0, 4)[::-1], normal(4)),
    near(sl.solveh_banded, band(0, 1, 3, dtype=C)[::-1], normal(3, 2), lower=True),
    near(sl.solveh_banded, band(0, 2, 4, dtype=C), normal(4, 2)),
    near(sl.solveh_banded, band(0, 1, 3), normal(3)),
    near(sl.cholesky_banded, band(0, 2, 4)),
    near(sl.cholesky_banded, band(0, 1, 3, dtype=C)),
    near(sl.cholesky_banded, band(0, 2, 4, dtype=C)[::-1], lower=True),
    near(sl.cho_solve_banded, (band(0, 2, 4), False), normal(4)),
    near(sl.cho_solve_banded, (band(0, 1, 3, dtype=C)[::-1], True), normal(3, 2)),
    # ---- norms and spaces ----
    row(sl.norm, normal(3)),
    row(sl.norm, np.array([2, -3, 6], F)),  # 7: BLAS rounds other numbers in its own way
    row(sl.norm, normal(2, 3, dtype=C), axis=1, keepdims=True),
    row(sl.norm, normal(2, 3, dtype=F), axis=0),
    *[row(sl.norm, normal(2, 3), ord) for ord in ("fro", 1, -1, np.inf, 2, "nuc")],
    of("null_space", projector(sl.null_space), normal(2, 4)),
    of("null_space", of_rank(1)(sl.null_space), normal(3, 3, dtype=C)),
    of("orth", projector(sl.orth), normal(4, 2)),
    of("orth", of_rank(1)(sl.orth), normal(3, 3, dtype=C)),
    near(sl.subspace_angles, normal(5, 2), normal(5, 3)),
    near(sl.subspace_angles, np.eye(3, 1) + 0.3 * normal(3, 1, dtype=C), np.eye(3, 1, -1) + 0.2),
    near(sl.polar, normal(4, 2)),
    near(sl.polar, normal(4, 2), side="left"),
    near(sl.polar, normal(2, 3, dtype=C)),
    near(sl.polar, normal(2, 3) + 2 * np.eye(2, 3), "left"),
    near(sl.polar, np.eye(3)),
    near(sl.polar, normal(2, 2, dtype=F), side="left"),
    near(sl.orthogonal_procrustes, normal(4, 2), normal(4, 2)),
    near(sl.orthogonal_procrustes, normal(2, 2, dtype=C), normal(2, 2)),
]
