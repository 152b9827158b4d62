"""Functions of one number that compute with sparse matrices of SciPy, and random ones.

Each takes a number and a namespace, `scipy` or `functier.scipy`, as `programs_of_functions` has it.
Its result is an array.
"""

import numpy as np
import scipy.sparse as sp

import functier.numpy as fnp
import functier.scipy.sparse
import functier.scipy.sparse.linalg  # noqa: F401  # by which the programs find it

DENSE = np.array([[4.0, 1, 0], [1, 5, -1], [0.5, 0, 6]])
FIXED = sp.csr_matrix(DENSE)
ROWS, COLUMNS = np.nonzero(DENSE)
VALUES = DENSE[ROWS, COLUMNS]
TWICE = np.array([0, 1, 2, 2, 0]), np.array([1, 0, 2, 1, 1])
X = np.array([1.0, 2, -1])
FORMATS = "csr", "csc", "coo", "dia", "bsr", "lil", "dok"


def flat(parts):
    """All results in one array, those of sparse matrices, too."""
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    return np.concatenate([np.ravel(fnp.asarray(part)) for part in dense])


def matrix(p, s, kind="csr_matrix"):
    """A matrix whose values depend on a number."""
    values = VALUES * p + 0.1 * p * p * np.arange(VALUES.size)
    return getattr(s.sparse, kind)(s.sparse.coo_matrix((values, (ROWS, COLUMNS)), shape=(3, 3)))


def named(program, name):
    program.__name__ = name
    return program


# ---- matrices of each class ----


def of_constant(kind):
    """A plain matrix of a class beside tensors."""

    def program(p, s):
        a, x = getattr(s.sparse, kind)(FIXED), p * X
        products = [a @ x, x @ a, a.dot(x), a.T @ x, (a @ np.outer(x, x))[0], (a * p) @ X]
        sums = [
            a.sum() * p,
            fnp.asarray(a.sum(axis=0)) * p,
            (a + a) * p,
            p * a - a,
            a.toarray() * p,
        ]
        return flat(
            [
                *products,
                *sums,
                a.multiply(x),
                a / p,
                a.diagonal() * p,
                a * x,
                p * a.toarray(),
                (a @ a) * p,
            ]
        )

    return named(program, f"constant {kind}")


def of_tensor(kind):
    """A matrix of a class over tensors, two of whose values are at one place."""

    def program(p, s):
        twice = s.sparse.coo_matrix((VALUES[:5] * p, TWICE), shape=(3, 3))
        a = getattr(s.sparse, kind)(twice)
        rows = a.tocsr()
        arithmetic = [a @ a, a + FIXED, FIXED + a, FIXED @ a, a - FIXED, a.multiply(a), a * 2.0]
        forms = [a.T, a.reshape(1, 9), rows[1:], rows[0, 1], a.tocsc()[:, [1]], a.conj(), abs(a)]
        numbers = [a.sum(), a.sum(axis=0), a.mean(axis=1), a.diagonal(), a.trace(), X @ a, a @ X]
        more = [a.multiply(X), a.multiply(FIXED), a.power(2), rows.sin(), rows.data, a.T.tocsr()]
        return flat([*arithmetic, *forms, *numbers, *more, rows[[0, 2], [1, 2]]])

    return named(program, f"tensor {kind}")


def of_writes(kind):
    """A matrix of a class that tensors are written to."""

    def program(p, s):
        a = getattr(s.sparse, kind)((3, 3))
        a[0, 0] = p
        a[1, 2] = p * p
        a[0, 0] = a[0, 0] + 1
        a[2] = X * p
        if kind[:3] != "dok":
            a[:, 1] = np.reshape(X * p, (3, 1))
            a.setdiag(X * p * p)
        return flat([a, a.tocsr() @ X, a[-1, 0]])

    return named(program, f"writes {kind}")


CLASSES = [f"{format}_{kind}" for format in FORMATS for kind in ("matrix", "array")]
WRITABLE = [kind for kind in CLASSES if kind[:3] in ("csr", "csc", "lil", "dok")]


# ---- functions that make matrices ----


def makers(p, s):
    sparse = s.sparse
    indices = np.array([0, 1, 2, 0, 1]), np.array([0, 2, 3, 5])
    d = sparse.diags([X * p, X[:2] * p], [0, 1])
    a = sparse.csr_matrix((VALUES[:5] * p, *indices), shape=(3, 3))
    return flat([
        d, a, sparse.csc_array((VALUES[:5] * p, *indices), shape=(3, 3)), sparse.eye(3) * p,
        sparse.diags_array([X * p], offsets=[0]),
        sparse.spdiags(np.stack([X * p, X]), [0, 1], 3, 3),
        sparse.kron(a, d), sparse.kron(FIXED, a), sparse.kronsum(a, d), sparse.tril(a),
        sparse.triu(a, k=1), sparse.hstack([a, FIXED]), sparse.vstack([FIXED, a, d]),
        sparse.bmat([[a, None], [None, d]]), sparse.block_diag([a, d]), sparse.find(a)[2],
        sparse.csr_matrix(np.outer(X, X) * p), sparse.identity(3) @ a, sparse.csr_array(a),
        d.todia().data, a.tobsr().data, d.tocoo().data,
    ])  # fmt: skip


def of_matrices(p, s):
    """What matrices have, and arrays have not: ``*`` is the product of matrices."""
    a = matrix(p, s)
    return flat([
        a * a, a**2, a * X, X * a, a.sum(axis=1).A1, a.todense() @ X, sum([a, a]), a.getH(),
        a.getrow(1), a.getcol(1),
    ])  # fmt: skip


# ---- linear algebra ----

EACH = "gmres", "bicgstab", "bicg", "lgmres", "cgs", "qmr", "gcrotmk", "tfqmr"


def iterative(name, form):
    """A solver with a matrix, or an operator of functions, that is a tensor or plain."""

    def program(p, s):
        linalg = s.sparse.linalg
        shift = p * p if form == "operator" else 1.0
        scale = p if form == "operator" else 1.0
        a = {"sparse": lambda: matrix(p, s), "dense": lambda: DENSE * p + np.eye(3)}.get(
            form,
            lambda: linalg.LinearOperator(
                (3, 3), matvec=lambda x: scale * (DENSE @ x) + shift * x,
                rmatvec=lambda x: scale * (DENSE.T @ x) + shift * x, dtype=float,
            ),
        )()  # fmt: skip
        return getattr(linalg, name)(a, X * p * p, rtol=1e-14)[0]

    return named(program, f"{name} {form}")


def operators(p, s):
    linalg, both = s.sparse.linalg, DENSE + DENSE.T

    def times(x):
        return p * (both @ x) + p * p * x

    a = linalg.LinearOperator((3, 3), matvec=times, rmatvec=times, dtype=float)
    b = linalg.aslinearoperator(both) * p
    c = linalg.aslinearoperator(matrix(p, s) + matrix(p, s).T)
    plain = linalg.LinearOperator((3, 3), matvec=lambda x: x / np.diag(DENSE), dtype=float)
    m = linalg.LinearOperator((3, 3), matvec=lambda x: x / np.diag(DENSE) / p, dtype=float)
    solved = [linalg.cg(op, X * p, rtol=1e-14)[0] for op in (a, b, c)]
    helped = [linalg.cg(a, X * p, rtol=1e-14, M=by)[0] for by in (plain, m)]
    return flat([
        *solved, *helped, linalg.minres(a, X * p, rtol=1e-15)[0],
        linalg.gmres(matrix(p, s), X * p, rtol=1e-14, M=m, x0=X * p)[0], a.matvec(X),
        a @ np.outer(X, X), a.rmatvec(X), (a + b).matvec(X * p), (a @ b).dot(X), a.H.matvec(X),
    ])  # fmt: skip


def direct(p, s):
    sparse, linalg, a = s.sparse, s.sparse.linalg, matrix(p, s)
    columns, several = a.tocsc(), np.outer(X, X * p)
    lu, of_fixed = linalg.splu(columns), linalg.splu(FIXED.tocsc())
    near = linalg.LinearOperator((3, 3), linalg.spilu(FIXED.tocsc()).solve)
    lower, upper = sparse.tril(a).tocsr(), sparse.triu(a).tocsr()
    return flat([
        linalg.spsolve(a, X * p), linalg.spsolve(columns, several), linalg.spsolve(FIXED, several),
        lu.solve(X * p), lu.solve(several), lu.solve(X * p, "T"), linalg.factorized(columns)(X),
        of_fixed.solve(X * p), of_fixed.solve(X * p, "T"), linalg.spsolve(a, a @ a),
        linalg.spsolve_triangular(lower, X * p), linalg.inv(columns),
        linalg.spsolve_triangular(upper, several, lower=False),
        linalg.gmres(a, X * p, rtol=1e-14, M=near)[0],
    ])  # fmt: skip


def of_spectra(p, s):
    linalg, a = s.sparse.linalg, matrix(p, s)
    both = a + a.T
    return flat([
        linalg.norm(a), linalg.norm(a, 1), linalg.norm(a, np.inf), linalg.norm(a, axis=1),
        linalg.expm_multiply(a * 0.3, X * p), linalg.expm_multiply(FIXED * 0.2, X * p * p),
        linalg.expm_multiply(FIXED * 0.2, np.outer(X, X) * p, 0.0, 1.0, 3),
        linalg.expm(a.tocsc() * 0.2), linalg.matrix_power(a, 1), linalg.matrix_power(a, 3),
        linalg.eigsh(both, k=2, return_eigenvectors=False), np.abs(linalg.eigsh(both, k=2)[1]),
        linalg.eigsh(both, k=1, which="SA")[0], linalg.eigsh(both, k=1, sigma=2.0)[0],
        linalg.eigsh(both, k=2, M=s.sparse.diags_array(2.0 + X * X) * p * p)[0],
        linalg.svds(a, k=2, return_singular_vectors=False), np.abs(linalg.svds(a, k=2)[0]),
    ])  # fmt: skip


SYSTEMS = [iterative(n, f) for n in EACH for f in ("sparse", "dense", "operator", "plain")]
PROGRAMS = [
    *map(of_constant, CLASSES), *map(of_tensor, CLASSES), *map(of_writes, WRITABLE), makers,
    of_matrices,
]  # fmt: skip

# ---- random matrices ----

UNARY = [
    lambda a, p: a.T, lambda a, p: a * p, lambda a, p: p * a, lambda a, p: -a, lambda a, p: a / p,
    lambda a, p: a.tocsc(), lambda a, p: a.tocoo(), lambda a, p: a.tocsr()[::-1],
    lambda a, p: a.tocsr()[[0, 2, 2, 1]][:3], lambda a, p: a.tolil(), lambda a, p: a.todia(),
    lambda a, p: a.tocsr().power(2), lambda a, p: a.multiply(X * p).tocsr(), lambda a, p: abs(a),
]  # fmt: skip
BINARY = [
    lambda a, b, s: a + b, lambda a, b, s: a - b, lambda a, b, s: a @ b,
    lambda a, b, s: a.multiply(b), lambda a, b, s: s.sparse.hstack([a, b]).tocsr()[:, 2:5],
    lambda a, b, s: s.sparse.kron(a, b).tocsr()[1:8:3, 2:5],
    lambda a, b, s: s.sparse.bmat([[a, None], [b, a]]).tocsr()[2:5, :3],
]  # fmt: skip
ENDS = [
    lambda a, p, s: a @ (X * p), lambda a, p, s: a.sum(axis=0), lambda a, p, s: a.diagonal(),
    lambda a, p, s: a.toarray(), lambda a, p, s: s.sparse.linalg.norm(a), lambda a, p, s: X @ a,
]  # fmt: skip


def random_program(rng):
    """A random chain of operations on random matrices, some of which are plain."""
    steps = [(rng.integers(3), int(rng.integers(100)), int(rng.integers(100))) for _ in range(5)]
    kinds = [CLASSES[i] for i in rng.integers(len(CLASSES), size=3)]
    filled = [rng.normal(size=(3, 3)) * (rng.random((3, 3)) < 0.6) for _ in range(3)]
    plain = rng.random(3) < 0.3
    end = ENDS[rng.integers(len(ENDS))]

    def program(p, s):
        pool = []
        for kind, whole, still in zip(kinds, filled, plain):
            row, col = np.nonzero(whole)
            values = whole[row, col] * (1.0 if still else p)
            pool.append(getattr(s.sparse, kind)(s.sparse.coo_array((values, (row, col)), (3, 3))))
        for step, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            made = BINARY[j % len(BINARY)](a, b, s) if step else UNARY[i % len(UNARY)](a, p)
            pool.append(made)
        return flat([end(pool[-1], p, s), pool[0] @ (X * p)])

    return program
