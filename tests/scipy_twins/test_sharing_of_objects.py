"""Objects of SciPy see later writes to what they were made of as SciPy's do, and no others."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy

import functier as ft
import functier.numpy as fnp
import functier.scipy.interpolate
import functier.scipy.sparse
import functier.scipy.stats
from functier.scipy import _interpolate, _multivariate, _scattered

PLAIN = SimpleNamespace(np=np, scipy=scipy)
OURS = SimpleNamespace(np=fnp, scipy=ft.scipy)
T, X = np.array([0.0, 1.0, 2.0, 3.5, 5.0]), np.array([0.4, -0.7, 1.3, 0.2, -1.1])
N = np.arange(5)
AT = np.array([[1.3]])


def radial(m, y):
    o = m.scipy.interpolate.RBFInterpolator(T[:, None], y)
    y[0] = 9.0
    return o(AT)


def grid(method):
    def f(m, y):
        o = m.scipy.interpolate.RegularGridInterpolator((T,), y, method=method)
        y[1] = 9.0
        return o(AT)

    return f


def normal(m, y):
    mean, c = y * 1.0, m.np.diag(np.abs(y) + 1)
    o = m.scipy.stats.multivariate_normal(mean, cov=c)
    c[0, 0], mean[1] = 50.0, 3.0
    return o.logpdf(np.ones(5))


def student(m, y):
    c = m.np.diag(np.abs(y) + 1)
    o = m.scipy.stats.multivariate_t(np.zeros(5), c, 3.0)
    c[0, 0] = 50.0
    return o.logpdf(np.ones(5))


def rows(m, y, **options):
    return m.scipy.sparse.csr_array((y, N, np.arange(6)), shape=(5, 5), **options)


def written(make):
    """Whether a matrix sees a write to its values, and these a write to the matrix."""

    def f(m, y):
        a = make(m, y)
        y[0] = 9.0
        found = a.toarray()
        a.data[1] = 7.0
        return found, y

    return f


def moved(name, **options):
    """The same of a matrix of another format."""

    def f(m, y):
        a = rows(m, y)
        b = getattr(a, name)(**options)
        a.data[0] = 9.0
        return b.toarray(), y

    return f


def element(m, y):
    a = rows(m, y)
    a[0, 0] = 9.0
    a[[1, 2], [1, 2]] = 5.0
    return a.toarray(), y


CASES = {
    "RBFInterpolator": radial, "cubic": grid("cubic"), "linear": grid("linear"),
    "multivariate_normal": normal, "multivariate_t": student, "element of csr": element,
    "data of csr": written(rows), "copied data": written(lambda m, y: rows(m, y, copy=True)),
    "data of coo": written(lambda m, y: m.scipy.sparse.coo_array((y, (N, N)), shape=(5, 5))),
    "csr of places": written(lambda m, y: m.scipy.sparse.csr_array((y, (N, N)), shape=(5, 5))),
    "csr of a dense array": written(lambda m, y: m.scipy.sparse.csr_array(y[None])),
    "csr of csr": written(lambda m, y: m.scipy.sparse.csr_array(rows(m, y))),
    "tocsc": moved("tocsc"), "tocsr": moved("tocsr"), "tocsr copied": moved("tocsr", copy=True),
    "tocoo": moved("tocoo"), "tocoo shared": moved("tocoo", copy=False), "T": moved("transpose"),
    "tolil": moved("tolil"), "copy": moved("copy"),
}  # fmt: skip
"""Programs of a namespace and an array `y` of the function's own."""


def wrong(case):
    def run(module):
        return lambda x: case(module, x * 1.0)

    want = run(PLAIN)(X)
    found = {
        "jvp": ft.jvp(run(OURS), (X,), (X,))[0],
        "vjp": ft.vjp(run(OURS), X)[0],
        "vmap": ft.vmap(run(OURS))(np.stack([X, X])),
    }
    pairs = {
        how: zip(got, want) if isinstance(want, tuple) else [(got, want)]
        for how, got in found.items()
    }
    return [how for how, each in pairs.items() if not all(np.allclose(a, b) for a, b in each)]


@pytest.mark.parametrize("name", CASES)
def test_an_object_shares_what_scipys_shares(name):
    assert not wrong(CASES[name])


PLANTED = {
    "multivariate_normal": (_multivariate, "_copy_matrix", lambda x: x),
    "cubic": (_interpolate.np, "copy", lambda x: x),
    "RBFInterpolator": (
        _scattered.RBFInterpolator, "_coefficients",
        lambda self, made=_scattered.RBFInterpolator._coefficients: (
            setattr(self, "late", True) or None if not hasattr(self, "late") else made(self)
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name, monkeypatch):
    monkeypatch.setattr(*PLANTED[name])

    assert wrong(CASES[name])
