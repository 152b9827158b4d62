"""Rows for numpy.linalg: single matrices, stacks, real and complex."""

import numpy as np

from ._row import normal, positive, row

C = complex
F = np.float32


def regular(*shape, dtype=float):
    """Matrices far from singular."""
    return normal(*shape, dtype=dtype) + 3 * np.eye(shape[-1], dtype=dtype)


def spread_out(*shape, dtype=float):
    """Matrices with distinct eigenvalues and singular values."""
    m, n = shape[-2:]
    return (0.2 * normal(*shape, dtype=dtype) + np.eye(m, n) * np.arange(1, 1 + n)).astype(dtype)


def of(name, function, *arrays, **options):
    return row(function, *arrays, _name=name, **options)


def positive_definite(function):
    """A function of Hermitian matrices as one of any: of x x^H + I."""
    return lambda x: function(np.matmul(x, np.conjugate(x.mT)) + np.eye(x.shape[-1]))


def symmetric(function):
    """A function of Hermitian matrices as one of any: of x + x^H."""
    return lambda x: function(x + np.conjugate(x.mT))


def rotated(decomposition):
    """Return values that do not depend on the phases of the vectors."""

    def function(x):
        w, v = decomposition(x)
        return w, np.matmul(v * np.exp(w / 3)[..., None, :], np.conjugate(v.mT)), np.abs(v) ** 2

    return function


def singular(x):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return s, np.matmul(u * np.sqrt(s)[..., None, :], vh), np.abs(u) ** 2, np.abs(vh) ** 2


RANK_ONE = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0])

ROWS = [
    row(np.linalg.solve, regular(3, 3), normal(3)),
    row(np.linalg.solve, regular(3, 3), normal(3, 2)),
    row(np.linalg.solve, regular(2, 3, 3), normal(3)),
    row(np.linalg.solve, regular(2, 3, 3), normal(2, 3, 2)),
    row(np.linalg.solve, regular(3, 3), normal(2, 3, 2)),
    row(np.linalg.solve, regular(2, 1, 3, 3), normal(4, 3, 1)),
    row(np.linalg.solve, regular(3, 3, dtype=C), normal(3, dtype=C)),
    row(np.linalg.solve, regular(2, 2), normal(2, 2, dtype=C)),
    row(np.linalg.solve, regular(2, 2, dtype=F), normal(2, dtype=F)),
    row(np.linalg.solve, regular(0, 0), normal(0)),
    row(np.linalg.inv, regular(3, 3)),
    row(np.linalg.inv, regular(2, 2, 2, dtype=C)),
    row(np.linalg.inv, regular(2, 2, dtype=F)),
    row(np.linalg.det, normal(1, 1)),
    row(np.linalg.det, normal(2, 2)),
    row(np.linalg.det, normal(2, 3, 3)),
    row(np.linalg.det, regular(4, 4)),
    row(np.linalg.det, normal(2, 2, 2, dtype=C)),
    row(np.linalg.det, regular(4, 4, dtype=C)),
    row(np.linalg.det, RANK_ONE),
    row(np.linalg.det, np.zeros((2, 2))),
    row(np.linalg.slogdet, regular(3, 3)),
    row(np.linalg.slogdet, -regular(2, 3, 3)),
    row(np.linalg.slogdet, regular(2, 2, 2, dtype=C)),
    row(np.linalg.slogdet, regular(2, 2, dtype=F)),
    of("cholesky", positive_definite(np.linalg.cholesky), normal(3, 3)),
    of("cholesky stack", positive_definite(np.linalg.cholesky), normal(2, 2, 2, dtype=C)),
    of(
        "cholesky upper",
        positive_definite(lambda x: np.linalg.cholesky(x, upper=True)),
        normal(3, 3, dtype=C),
    ),
    of("eigh", symmetric(np.linalg.eigh), spread_out(3, 3)),
    of("eigh upper", symmetric(lambda x: np.linalg.eigh(x, UPLO="U")), spread_out(2, 2, 2)),
    of("eigh complex", symmetric(rotated(np.linalg.eigh)), spread_out(3, 3, dtype=C)),
    of("eigh float32", symmetric(rotated(np.linalg.eigh)), spread_out(2, 2, dtype=F)),
    of("eigvalsh", symmetric(np.linalg.eigvalsh), spread_out(3, 3)),
    of("eigvalsh complex", symmetric(np.linalg.eigvalsh), spread_out(2, 2, 2, dtype=C)),
    of("eigvalsh upper", symmetric(lambda x: np.linalg.eigvalsh(x, "U")), spread_out(3, 3)),
    row(np.linalg.pinv, regular(3, 3)),
    row(np.linalg.pinv, normal(4, 2)),
    row(np.linalg.pinv, normal(2, 2, 4, dtype=C)),
    row(np.linalg.matrix_rank, RANK_ONE, _diff=()),
    row(np.linalg.matrix_rank, normal(2, 3, 3), _diff=()),
    row(np.linalg.matrix_rank, normal(3), _diff=()),
    *[row(np.linalg.matrix_power, regular(2, 2), n) for n in (-2, -1, 0, 1, 2, 5)],
    row(np.linalg.matrix_power, regular(2, 2, 2, dtype=C), 3),
    row(np.linalg.tensorinv, regular(4, 4).reshape(4, 2, 2), ind=1),
    row(np.linalg.tensorinv, regular(6, 6).reshape(2, 3, 3, 2)),
    row(np.linalg.tensorsolve, regular(6, 6).reshape(2, 3, 6), normal(2, 3)),
    row(np.linalg.tensorsolve, regular(6, 6).reshape(6, 2, 3), normal(3, 2), axes=[0]),
    *[row(np.linalg.cond, spread_out(3, 3), p) for p in (None, 2, -2, 1, np.inf, "fro")],
    *[row(np.linalg.cond, spread_out(2, 3), p) for p in (None, -2)],
    # ---- norms ----
    *[
        row(np.linalg.norm, normal(*shape), **options)
        for shape, options in [
            ((3,), {}),
            ((2, 3), {}),
            ((2, 3, 2), {}),
            ((), {}),
            ((2, 3), {"keepdims": True}),
            ((2, 3), {"axis": 0}),
            ((2, 3), {"axis": -1, "keepdims": True}),
            ((2, 3, 2), {"axis": (0, 2)}),
            ((2, 3, 2), {"ord": "fro", "axis": (-1, 0), "keepdims": True}),
            ((3,), {"ord": 1}),
            ((3,), {"ord": 2}),
            ((3,), {"ord": 3}),
            ((3,), {"ord": 0.5}),
            ((3,), {"ord": -2.5}),
            ((3,), {"ord": np.inf}),
            ((3,), {"ord": -np.inf}),
            ((2, 3), {"ord": 1, "axis": 1}),
            ((2, 3), {"ord": np.inf, "axis": 0, "keepdims": True}),
            ((2, 3), {"ord": 3, "axis": -2}),
            ((2, 3), {"ord": "fro"}),
            ((2, 3), {"ord": 1}),
            ((2, 3), {"ord": -1}),
            ((2, 3), {"ord": np.inf}),
            ((3, 2), {"ord": -np.inf}),
            ((2, 3, 2), {"ord": 1, "axis": (2, 0)}),
            ((2, 3, 2), {"ord": np.inf, "axis": (0, 1), "keepdims": True}),
            ((0,), {}),
        ]
    ],
    *[
        row(np.linalg.norm, spread_out(3, 2), ord=ord, **options)
        for ord in (2, -2, "nuc")
        for options in ({}, {"keepdims": True}, {"axis": (1, 0)})
    ],
    row(np.linalg.norm, normal(2, 3), ord=0, axis=1, _diff=()),
    row(np.linalg.norm, np.arange(4), _diff=()),
    row(np.linalg.norm, normal(3, dtype=C)),
    row(np.linalg.norm, normal(2, 3, dtype=C), axis=1),
    row(np.linalg.norm, normal(2, 3, dtype=C), ord=1),
    row(np.linalg.norm, normal(3, dtype=C), ord=3),
    row(np.linalg.norm, normal(3, dtype=F)),
    row(np.linalg.norm, normal(3, dtype=F), ord=1),
    row(np.linalg.vector_norm, normal(2, 3)),
    row(np.linalg.vector_norm, normal(2, 3, 2), axis=(0, 2), keepdims=True),
    row(np.linalg.vector_norm, normal(2, 3), axis=1, ord=np.inf),
    row(np.linalg.vector_norm, positive(2, 3), ord=4),
    row(np.linalg.matrix_norm, normal(2, 3, 2)),
    row(np.linalg.matrix_norm, normal(2, 3), ord=1, keepdims=True),
    row(np.linalg.norm, np.zeros((0, 2)), np.inf),
    row(np.linalg.norm, np.zeros((0, 2)), 2),
]
