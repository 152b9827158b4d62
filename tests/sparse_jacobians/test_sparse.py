"""sparse_jacobian, sparse_hessian and jacobian_pattern: against the dense transforms."""

import functools

import numpy as np
import optree
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sparse_support import (
    X,
    arrow,
    bands,
    chunks,
    masks,
    modes,
    of_pattern,
    same_as_dense,
    tridiagonal,
)  # fmt: skip

import functier as ft
from faults.planted import transforms as faulty
from support.basics import close, equal, model, raises


@pytest.fixture
def products(monkeypatch):
    """The numbers of products that are made, by mode, and how often a pattern is probed."""
    seen = {"fwd": [], "rev": [], "probes": 0}

    faulty.products(monkeypatch, seen)
    return seen


# ---- against the dense Jacobian ----


def test_a_wrong_matrix_is_found():
    right = ft.sparse_jacobian(tridiagonal)(X)
    dense = ft.jacfwd(tridiagonal)(X)
    same_as_dense(right, dense)
    wrong, unsorted = right * (1 + 1e-9), right.copy()
    unsorted.indices[:2], unsorted.data[:2] = right.indices[1::-1], right.data[1::-1]
    for matrix in (wrong, right.tocsc(), right.astype(np.float32), unsorted, right[:, :3]):
        with pytest.raises((AssertionError, ValueError)):
            same_as_dense(matrix, dense)


@given(masks, modes, chunks, st.booleans())
def test_a_random_pattern(mask, mode, chunk, probed):
    f = of_pattern(mask)
    x = np.random.default_rng(1).normal(size=mask.shape[1])
    jacobian = ft.sparse_jacobian(f, pattern=None if probed else mask, mode=mode, chunk_size=chunk)
    for point in (x, x + 1):  # a pattern that has been probed is kept
        out = jacobian(point)
        same_as_dense(out, ft.jacfwd(f)(point))
        equal(out.toarray() != 0, mask)
        assert out.nnz == mask.sum()


@given(masks, modes, chunks)
def test_probing_finds_precisely_the_entries(mask, mode, chunk):
    x = np.random.default_rng(2).normal(size=mask.shape[1])
    found = ft.jacobian_pattern(of_pattern(mask), mode=mode, chunk_size=chunk)(x)
    assert type(found) is sp.csr_array and found.dtype == bool
    equal(found.toarray(), mask)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 33, 64, 200])
@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_probing_of_any_size(n, mode):
    x = np.random.default_rng(n).normal(size=n)
    for f in (tridiagonal, np.sum, lambda x: np.sum(x) * x, lambda x: np.ones(n) * x[n // 2]):
        found = ft.jacobian_pattern(f, mode=mode)(x)
        dense = np.reshape(ft.jacfwd(f)(x), found.shape)
        equal(found.toarray(), dense != 0)
        close(ft.sparse_jacobian(f, mode=mode)(x).toarray(), dense)


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_shapes(mode):
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for f in (lambda x: x.T**2, lambda x: np.sum(x * x), lambda x: x[:, 0], lambda x: x[None] * 1):
        for pattern in (None, np.ones((np.size(f(x)), 6), bool)):
            same_as_dense(ft.sparse_jacobian(f, pattern=pattern, mode=mode)(x), ft.jacfwd(f)(x))
    same_as_dense(ft.sparse_jacobian(lambda x: x**3, mode=mode)(2.0), [[12.0]])
    same_as_dense(ft.sparse_jacobian(lambda x: x * X, mode=mode)(2.0), X)
    wide = np.arange(24.0).reshape(4, 6)[::2, ::3]
    same_as_dense(
        ft.sparse_jacobian(lambda x: x.T**2, mode=mode)(wide), ft.jacfwd(lambda x: x.T**2)(wide)
    )


@pytest.mark.parametrize("pattern", [None, "given"])
@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_nothing(pattern, mode):
    """No inputs, no outputs, or nothing that depends."""
    cases = [
        (lambda x: x * x, np.ones(0), (0, 0)),
        (lambda x: x[:0], X, (0, 4)),
        (lambda x: np.ones(3), np.ones(0), (3, 0)),
        (lambda x: np.ones(3), X, (3, 4)),
        (lambda x: x * 0, X, (4, 4)),
    ]
    for f, x, shape in cases:
        given = None if pattern is None else np.zeros(shape, bool)
        jacobian = ft.sparse_jacobian(f, pattern=given, mode=mode)
        for _ in range(2):
            out = jacobian(x)
            assert out.shape == shape and out.nnz == 0 and out.dtype == float


def test_options():
    def f(x, w, *, k=1.0):
        return k * w * x**2, {"seen": x + w}

    w = np.arange(1.0, 5.0)
    for pattern in (None, np.eye(4, dtype=bool)):
        jacobian = functools.partial(ft.sparse_jacobian, f, pattern=pattern, has_aux=True)
        for options, expected in [({}, 2 * w * X), ({"argnums": 1}, X**2), ({"argnums": -1}, X**2)]:
            out, aux = jacobian(**options)(X, w)
            same_as_dense(out, np.diag(expected))
            equal(aux["seen"], X + w)
        same_as_dense(jacobian()(X, w, k=2.0)[0], np.diag(4 * w * X))
        same_as_dense(jacobian(argnames="w")(X, w=w)[0], np.diag(X**2))
    for find in (ft.jacobian_pattern(f, 1, True), ft.jacobian_pattern(f, 0, True, argnames="w")):
        found, aux = find(X, w)
        equal(found.toarray(), np.eye(4, dtype=bool))
        equal(aux["seen"], X + w)
    both = ft.sparse_jacobian(f, argnums=(1, 0), has_aux=True)(X, w)[0]
    same_as_dense(both, np.hstack([np.diag(X**2), np.diag(2 * w * X)]))


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_trees(mode):
    """Leaves follow each other: rows those of the result, columns those of the input."""

    def f(p):
        return {"y": p["a"] * p["b"][0], "z": [np.sum(p["b"][0]), p["a"][:, 0]]}

    p = {"a": X.reshape(2, 2), "b": [np.float64(3.0)]}
    out = ft.sparse_jacobian(f, mode=mode)(p)
    rows = []
    for leaf in optree.tree_leaves(
        ft.jacrev(f)(p), is_leaf=lambda t: isinstance(t, dict) and "a" in t
    ):
        size = np.size(leaf["b"][0])
        rows.append(np.hstack([leaf["a"].reshape(size, 4), leaf["b"][0].reshape(size, 1)]))
    same_as_dense(out, np.vstack(rows))
    assert out.shape == (7, 5)
    assert ft.sparse_jacobian(lambda x: (), mode=mode)(X).shape == (0, 4)


# ---- dtypes ----


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_real_dtypes(dtype, mode):
    x = X.astype(dtype)
    for f in (lambda x: x[1:] * x[:-1], lambda x: np.sum(x) * np.ones(2, x.dtype)):
        jacobian = ft.sparse_jacobian(f, mode=mode)
        for _ in range(2):
            same_as_dense(jacobian(x), ft.jacfwd(f)(x), 1e-2 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_the_dtype_is_that_of_the_output(mode):
    def widened(x):
        return np.astype(x, np.float64) * 2

    out = ft.sparse_jacobian(widened, mode=mode)(np.float32([1, 2]))
    same_as_dense(out, ft.jacfwd(widened)(np.float32([1, 2])))
    rounded = ft.sparse_jacobian(lambda x: np.astype(x, int), mode=mode)(X)
    same_as_dense(rounded, ft.jacfwd(lambda x: np.astype(x, int))(X))


def test_complex():
    z = X + 1j * X[::-1]

    def f(z):
        return z[1:] * np.exp(z[:-1])

    for mode in ("auto", "fwd", "rev"):
        jacobian = ft.sparse_jacobian(f, mode=mode, holomorphic=True)
        for point in (z, 2 * z):
            same_as_dense(jacobian(point), ft.jacfwd(f, holomorphic=True)(point))

    def turned(x):
        return x[1:] * np.exp(1j * x[:-1])

    for mode in ("auto", "fwd"):
        same_as_dense(ft.sparse_jacobian(turned, mode=mode)(X), ft.jacfwd(turned)(X))

    def length(z):
        return np.abs(z[1:] * z[:-1])

    jacobian = ft.sparse_jacobian(length, mode="rev")  # the convention of jacrev
    for point in (z, 2 * z):
        same_as_dense(jacobian(point), ft.jacrev(length)(point))


def test_complex_numbers_that_would_lose_half():
    z = X + 1j

    raises(TypeError, lambda: ft.sparse_jacobian(model)(z), "sparse_jacobian(model)", "args[0]")
    raises(
        TypeError,
        lambda: ft.sparse_jacobian(lambda x: x * 1j, pattern=np.eye(4), mode="rev")(X),
        "the result has dtype complex128 | mode='fwd'",
    )
    raises(
        TypeError,
        lambda: ft.sparse_jacobian(np.abs, holomorphic=True)(z),
        "sparse_jacobian(absolute) | complex result",
    )
    raises(TypeError, lambda: ft.sparse_jacobian(model, holomorphic=True)(X), "complex input")


# ---- how many products ----


def test_a_large_tridiagonal_function_takes_three_products(products):
    n = 100_000
    x = np.random.default_rng(0).normal(size=n)
    jacobian = ft.sparse_jacobian(tridiagonal, pattern=bands(n, -1, 0, 1))
    out = jacobian(x)

    assert products["fwd"] == [3] and not products["rev"] and not products["probes"]
    assert out.shape == (n, n) and out.nnz == 3 * n - 2
    close(out.diagonal(), np.exp(x) - 2)
    equal(out.diagonal(1), np.ones(n - 1))
    equal(out.diagonal(-1), np.ones(n - 1))

    probed = ft.sparse_jacobian(tridiagonal)
    assert abs(probed(x) - out).max() == 0
    assert products["probes"] == 1 and sum(products["fwd"]) < 120
    products["fwd"].clear()
    assert abs(probed(x + 1) - jacobian(x + 1)).max() == 0
    assert products["fwd"] == [4, 3] and products["probes"] == 1  # one to compare with


def test_products_in_chunks(products):
    jacobian = ft.sparse_jacobian(tridiagonal, pattern=bands(8, -1, 0, 1), chunk_size=2)
    x = np.linspace(0, 1, 8)
    same_as_dense(jacobian(x), ft.jacfwd(tridiagonal)(x))
    assert products["fwd"] == [2, 1]
    same_as_dense(jacobian(x), ft.jacfwd(tridiagonal)(x))
    assert products["fwd"] == [2, 1] * 2


def test_an_arrow_takes_three_products(products):
    n = 300
    x = np.random.default_rng(0).normal(size=n)
    jacobian = ft.sparse_jacobian(arrow)
    same_as_dense(jacobian(x), ft.jacfwd(arrow)(x))
    assert sum(products["fwd"]) + sum(products["rev"]) < 60
    products.update(fwd=[], rev=[])
    same_as_dense(jacobian(x + 1), ft.jacfwd(arrow)(x + 1))
    assert products["fwd"] == [3] and products["rev"] == [1] and products["probes"] == 1


def test_the_function_is_called_once_for_each_mode():
    calls = []

    def f(x):
        calls.append(1)
        return tridiagonal(x)

    for mode in ("auto", "fwd", "rev"):
        jacobian = ft.sparse_jacobian(f, pattern=bands(4, -1, 0, 1), mode=mode)
        assert not calls
        jacobian(X)
        assert len(calls) == 1
        calls.clear()


# ---- a pattern that is not given is right at every point ----

KINKED = {
    "square": lambda x: x**2 * x[::-1],
    "where": lambda x: np.where(x > 0, x * x[::-1], x[0]),
    "maximum": lambda x: np.maximum(x, np.roll(x, 1)),
    "sort": lambda x: np.sort(x),
    "branch": lambda x: x**2 if x[0] > 0 else np.sum(x) * x,
    "clip": lambda x: np.clip(x, -1, 1),
}


@pytest.mark.parametrize("f", KINKED.values(), ids=KINKED)
@given(mode=modes, data=st.data())
def test_entries_that_depend_on_the_point(f, mode, data):
    values = st.sampled_from([-2.0, -0.5, 0.0, 0.0, 0.5, 1.5, 3.0])
    points = st.lists(st.lists(values, min_size=5, max_size=5), min_size=2, max_size=5)
    jacobian = ft.sparse_jacobian(f, mode=mode)
    for point in data.draw(points):
        x = np.array(point)
        same_as_dense(jacobian(x), ft.jacfwd(f)(x))


def test_one_entry_more_is_probed_once(products):
    def f(x):
        return np.where(x > 0, x, 0) ** 2

    jacobian = ft.sparse_jacobian(f)
    some = np.array([1.0, -1.0, 1.0, -1.0])
    assert jacobian(some).nnz == 2
    assert jacobian(-some).nnz == 4  # both pieces, in one product
    assert products["probes"] == 2
    for x in (some, -some, some + 3, some - 3):
        same_as_dense(jacobian(x), ft.jacfwd(f)(x))
    assert products["probes"] == 2


def test_a_pattern_that_wanders_does_not_fill_up(products):
    """Former entries are dropped if they would take many products."""
    jacobian = ft.sparse_jacobian(lambda x, k: np.roll(x, k) ** 2, mode="fwd")
    x = np.arange(1.0, 31.0)
    for k in range(30):
        same_as_dense(jacobian(x, k), ft.jacfwd(lambda x: np.roll(x, k) ** 2)(x))
    assert max(products["fwd"]) <= 9


def test_patterns_are_kept_by_shape(products):
    jacobian = ft.sparse_jacobian(lambda x: x[1:] * x[:-1])
    for _ in range(3):
        for n in range(3, 9):
            assert jacobian(np.ones(n)).shape == (n - 1, n)
    assert products["probes"] == 6
    for n in range(20, 40):
        jacobian(np.ones(n))
    jacobian(np.ones(3))  # has been dropped
    assert products["probes"] == 27


def test_a_result_of_another_size(products):
    keep = [3]
    jacobian = ft.sparse_jacobian(lambda x: x[: keep[0]] ** 2)
    assert jacobian(X).shape == (3, 4)
    keep[0] = 2
    assert jacobian(X).shape == (2, 4)
    same_as_dense(jacobian(X), np.diag(2 * X)[:2])
    assert products["probes"] == 2


def test_a_function_that_rounds_much_is_not_probed_for_ever(products):
    """A missing entry and a rounding error look alike, until it is probed."""
    x = np.random.default_rng(0).normal(size=3000)
    jacobian = ft.sparse_jacobian(lambda x: np.diff(np.cumsum(np.exp(x))))
    for k in range(8):
        out = jacobian(x + k)
        assert out.nnz == 2999
        close(out.diagonal(1), np.exp(x + k)[1:], 1e-8)
    assert 1 < products["probes"] < 5


# ---- infinite and NaN ----


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_what_is_not_finite_is_an_entry(mode, products):
    def f(x):
        return np.sqrt(x) + x[::-1] * 2 + np.log(x)

    finite, bad = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 0, 3, 4, 5])
    jacobian = ft.sparse_jacobian(f, mode=mode)
    here = jacobian(bad).toarray()
    assert not np.isfinite(here[1, 1])
    fine = np.ix_([0, 2, 4], [0, 2, 4])
    equal(here[fine], ft.jacfwd(f)(bad)[fine])
    same_as_dense(jacobian(finite), ft.jacfwd(f)(finite))
    assert jacobian(finite).nnz == 9  # the pattern of the bad point was not kept
    probes = products["probes"]
    again = jacobian(bad)
    assert not np.isfinite(again.toarray()[1, 1]) and again.nnz == 9
    same_as_dense(jacobian(finite + 1), ft.jacfwd(f)(finite + 1))
    assert products["probes"] == probes  # nor is one that is kept lost at a bad point


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_large_pattern_of_nans_is_refused():
    raises(
        ValueError,
        lambda: ft.sparse_jacobian(np.exp)(np.full(9000, np.nan)),
        "sparse_jacobian(exp) | not finite in 9000 of 9000 rows | pass a pattern",
    )
    out = ft.sparse_jacobian(np.log, pattern=sp.eye_array(9000))(np.zeros(9000))
    assert out.nnz == 9000 and np.all(np.isinf(out.data))


# ---- Hessians ----


def energy(x):
    return np.sum(np.diff(x) ** 4) + np.sum(np.cos(x))


def weighted(x, w):
    """Every element meets the first: a full row and a full column."""
    return np.sum(w * x**3) + x[0] * np.sum(np.sin(x))


@pytest.mark.parametrize("chunk", [None, 1, 2])
@pytest.mark.parametrize("pattern", [None, bands(6, -1, 0, 1)])
def test_hessians(chunk, pattern, products):
    x = np.linspace(-1, 2, 6)
    hessian = ft.sparse_hessian(energy, pattern=pattern, chunk_size=chunk)
    for point in (x, x + 1):
        same_as_dense(hessian(point), ft.hessian(energy)(point))
    assert not products["rev"]
    if pattern and chunk is None:
        assert products["fwd"] == [3, 3]


def test_a_hessian_with_a_full_row_takes_three_products(products):
    n = 200
    x, w = np.random.default_rng(0).normal(size=(2, n))
    hessian = ft.sparse_hessian(weighted)
    dense = ft.hessian(weighted)
    same_as_dense(hessian(x, w), dense(x, w))
    assert sum(products["fwd"]) < 60
    products["fwd"].clear()
    same_as_dense(hessian(x + 1, w), dense(x + 1, w))
    assert sum(products["fwd"]) == 4 and not products["rev"]
