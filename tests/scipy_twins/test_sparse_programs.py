"""Programs with sparse matrices as people write them, which are adopted and differentiated."""

import sys
import types
import warnings

import numpy as np
import pytest

import functier as ft

CODE = """import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sla
from scipy import sparse as sp
from scipy.sparse.linalg import spsolve, splu, factorized, cg, LinearOperator, eigsh
from scipy.sparse import csr_matrix, coo_matrix, lil_matrix, diags, eye, kron, identity

D0 = sparse.diags([1.0, -2.0, 1.0], [0, -1, -2], shape=(8, 6))

def als(y, lam, p=0.3, niter=4):
    L = len(y)
    D = sparse.diags([1, -2, 1], [0, -1, -2], shape=(L, L - 2))
    D = lam * D.dot(D.transpose())
    w = np.ones(L)
    W = sparse.spdiags(w, 0, L, L)
    for i in range(niter):
        W.setdiag(w)
        Z = W + D
        z = spsolve(Z, w * y)
        w = p * (y > z) + (1 - p) * (y < z)
    return z

def als2(y, lam):
    E = lam * D0.dot(D0.T)
    return spsolve((sp.eye(len(y)) + E).tocsc(), y)

def poisson(k):
    n = len(k)
    e = np.ones(n)
    T = sparse.spdiags([-e, 2 * e, -e], [-1, 0, 1], n, n)
    A = sparse.kron(sparse.eye(n), T) + sparse.kron(T, sparse.diags(k))
    u = spsolve(A.tocsr(), np.ones(n * n))
    return u.reshape(n, n)

def crank(u0, alpha, steps=5):
    n = len(u0)
    main = np.ones(n) * (1 + alpha)
    off = np.ones(n - 1) * (-alpha / 2)
    A = diags([off, main, off], [-1, 0, 1], format='csc')
    B = diags([-off, 2 - main, -off], [-1, 0, 1], format='csr')
    lu = splu(A)
    solve = factorized(A)
    u = u0
    for _ in range(steps):
        u = lu.solve(B @ u)
        u = solve(B.dot(u))
    return u

def operator(c, b):
    n = len(b)
    def matvec(x):
        y = np.zeros(n)
        y[:] = c * x
        y[1:] -= x[:-1]
        y[:-1] -= x[1:]
        return y
    A = LinearOperator((n, n), matvec=matvec)
    x, info = cg(A, b, rtol=1e-13)
    if info > 0:
        raise RuntimeError('no convergence')
    return x

def fem(E, f):
    n = len(f)
    row, col, data = [], [], []
    for i in range(n - 1):
        k = E[i]
        for a, b, v in ((i, i, k), (i + 1, i + 1, k), (i, i + 1, -k), (i + 1, i, -k)):
            row.append(a)
            col.append(b)
            data.append(v)
    K = coo_matrix((data, (row, col)), shape=(n, n)).tocsr()
    free = np.arange(1, n)
    mask = np.ones(n, dtype=bool); mask[0] = False
    u = np.zeros(n)
    u[free] = spsolve(K[free][:, free], f[free])
    K2 = K[mask, :][:, mask]
    u[free] += spsolve(K2, f[mask])
    energy = u @ (K @ u)
    return np.append(u, energy)

def lilfem(E, f):
    n = len(f)
    K = lil_matrix((n, n))
    for i in range(n - 1):
        ke = E[i] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        idx = [i, i + 1]
        for a in range(2):
            for b in range(2):
                K[idx[a], idx[b]] += ke[a, b]
    K[0, :] = 0
    K[0, 0] = 1.0
    return spsolve(K.tocsr(), f)

def pagerank(w, d=0.85):
    A = csr_matrix((w, ([0, 1, 2, 2, 0], [1, 2, 0, 1, 2])), shape=(3, 3))
    s = np.array(A.sum(axis=1)).ravel()
    P = sparse.diags(1 / s) @ A
    r = np.ones(3) / 3
    for _ in range(20):
        r = d * (P.T @ r) + (1 - d) / 3
    return r

def tfidf(counts):
    X = csr_matrix(counts)
    df = np.asarray(X.sum(axis=0)).ravel()
    idf = np.log(1 + 4 / df)
    Y = X.multiply(idf).tocsr()
    Y.data **= 2
    norms = np.sqrt(np.asarray(Y.sum(axis=1))).ravel()
    Z = sparse.diags(1 / norms) * X
    return (Z * Z.T).toarray()

def laplacian(w):
    A = coo_matrix((np.r_[w, w], (np.r_[0, 1, 2, 1, 2, 3], np.r_[1, 2, 3, 0, 1, 2])), shape=(4, 4))
    L = sparse.diags(A.sum(axis=1).A1) - A
    vals, vecs = eigsh(L.tocsc() + 1e-1 * identity(4), k=2, which='SM')
    return vals

def heat(q):
    n = 6
    A = sparse.lil_matrix((n, n))
    A.setdiag(2 + q)
    A.setdiag(-1 * np.ones(n - 1), k=1)
    A.setdiag(-1 * np.ones(n - 1), k=-1)
    A = A.tocsc()
    A[0, 1] = 0
    b = np.zeros(n); b[0] = q[0]
    x = sla.spsolve(A, b)
    r = b - A * x
    return x + r + A.diagonal() * np.linalg.norm(A.data)

def sparsegrid(a):
    G = sparse.vstack([sparse.csr_matrix(a), sparse.csr_matrix(a * 2)])
    Q = sparse.hstack((G, G)).tocsc()
    return Q[:, 1].toarray().ravel() * Q.sum() + Q[0, :].sum() + Q.getnnz() + Q.shape[0] + Q.nnz
"""
RNG = np.random.default_rng(0)
ARGUMENTS = {
    "als": (RNG.normal(size=8), 2.0), "als2": (RNG.normal(size=8), 2.0),
    "poisson": (RNG.random(3) + 1,), "crank": (RNG.normal(size=8), 0.3),
    "operator": (RNG.random(5) + 3, RNG.normal(size=5)),
    "fem": (RNG.random(4) + 1, RNG.normal(size=5)),
    "lilfem": (RNG.random(4) + 1, RNG.normal(size=5)), "pagerank": (RNG.random(5) + 0.5,),
    "tfidf": (RNG.random((3, 4)) + 0.2,), "laplacian": (RNG.random(3) + 0.5,),
    "heat": (RNG.random(6) + 1,), "sparsegrid": (RNG.random((2, 2)) + 1,),
}  # fmt: skip
QUICK = "als", "fem", "lilfem", "operator", "tfidf"
CASES = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in ARGUMENTS]


@pytest.fixture(scope="module")
def module():
    made = sys.modules["sparse_programs"] = types.ModuleType("sparse_programs")
    exec(CODE, vars(made))
    yield made
    del sys.modules["sparse_programs"]


@pytest.fixture(autouse=True)
def without_warnings():
    with warnings.catch_warnings(action="ignore"):
        yield


def difference(f, args, directions):
    h = 1e-6
    ahead, behind = ([x + s * d for x, d in zip(args, directions)] for s in (h, -h))
    return (f(*ahead) - f(*behind)) / (2 * h)


def faults(module, name, scale=1.0):
    """The transforms under which a program is wrong, where its derivative is `scale` times that."""
    f, args = getattr(module, name), ARGUMENTS[name]
    rng = np.random.default_rng(1)
    directions = [np.asarray(rng.normal(size=np.shape(x)))[()] for x in args]
    slope = difference(f, args, directions) * scale
    rows = [np.stack([x, x * 1.01]) for x in args]
    expected = np.stack([f(*[r[i] for r in rows]) for i in (0, 1)])
    with ft.adopt("sparse_programs"):
        pushed = ft.jvp(f, args, tuple(directions))[1]

        def gradient(*args):
            out, pull = ft.vjp(f, *args)
            return pull(np.ones_like(out))

        pulled = sum(np.sum(g * d) for g, d in zip(gradient(*args), directions))
        batch, gradients = ft.vmap(f)(*rows), ft.vmap(gradient)(*rows)
        alone = gradient(*[r[1] for r in rows])
    close = {
        "jvp": np.allclose(pushed, slope, rtol=1e-4, atol=1e-5),
        "vjp": np.allclose(pulled, np.sum(slope), rtol=1e-4, atol=1e-5),
        "vmap": np.allclose(batch, expected),
        "vmap of vjp": all(np.allclose(many[1], one) for many, one in zip(gradients, alone)),
    }
    return [transform for transform, right in close.items() if not right]


@pytest.mark.parametrize("name", CASES)
def test_programs(name, module):
    assert not faults(module, name)


def test_wrong_derivatives_are_found(module):
    assert faults(module, "fem", 1.001) == ["jvp", "vjp"]
