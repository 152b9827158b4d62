"""Contractions of two arrays, with own tiles and by BLAS, against NumPy."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
import functier.numpy as fnp
from functier._programs.graph import Node
from functier._programs.machine.linalg import blas, products, tiles
from functier._programs.machine.linalg.contractions import (
    Axis,
    Labels,
    contraction_of,
    is_product,
    joined,
)
from support.routine_calls import load, operand

pytestmark = pytest.mark.inside("Plans of products are compared one by one.")


def layout(rng, shape, dtype):
    """Return an array with random numbers, and a random layout."""
    order = rng.permutation(len(shape))
    how = rng.integers(0, 5)
    large = [shape[k] * (2 if how == 0 else 1) for k in order]
    values = rng.integers(0 if dtype.kind == "u" else -50, 50, large)
    values = rng.normal(size=large) if dtype.kind == "f" else values
    step = {0: 2, 1: -1}.get(how, 1)
    found = values.astype(dtype)[tuple([slice(None, None, step)] * len(shape))]
    found = found.transpose(np.argsort(order))
    if how == 2 and found.size:
        axis = rng.integers(0, len(shape)) if shape else 0
        found = np.broadcast_to(found.take([0], axis), shape) if shape else found
    return found


class Case:
    """A random contraction."""

    def __init__(self, seed, limit):
        rng = np.random.default_rng(seed)
        labels = [*range(rng.integers(1, 5))]
        sizes = rng.choice([0, 1, 2, 3, 5, 7, 8, 9, 16, 19], len(labels), p=[0.02, *[0.98 / 9] * 9])
        uses = rng.integers(0, 4, len(labels))
        parts = [
            [k for k, use in zip(labels, uses) if use != 1],
            [k for k, use in zip(labels, uses) if use != 0],
            [k for k in labels if rng.random() < 0.6],
        ]
        parts = [tuple(int(k) for k in rng.permutation(part)) for part in parts]
        self.labels = Labels(*parts)
        dtype = np.dtype(rng.choice(["f8", "f8", "f4", "i8", "u1"]))
        self.a, self.b, out = [layout(rng, [sizes[k] for k in part], dtype) for part in parts]
        self.out = np.copy(out, order=rng.choice(["C", "F"]))
        self.count = np.prod(sizes[[k for k in labels if k not in parts[2]]], dtype=float)
        given = operand(self.a), operand(self.b), operand(self.out)
        vector = int(rng.choice([64, 64, 32, 16]))
        self.kernel = products.contract(self.labels, *given, vector=vector)

    def is_right(self):
        """Tell if the result is NumPy's, up to the rounding of sums in another order."""
        if not self.out.size:  # NumPy's einsum of long doubles then writes behind the empty result
            return True
        a, b, labels = self.a, self.b, self.labels
        exact = np.longdouble if a.dtype.kind == "f" else a.dtype

        def value(x, y):
            return np.einsum(x.astype(exact), labels.a, y.astype(exact), labels.b, labels.out)

        error = np.abs(self.out - value(a, b))
        if a.dtype.kind != "f":
            return not error.any()
        size = value(np.abs(a), np.abs(b))
        bound = np.finfo(a.dtype).eps * (4 + self.count**0.5) * size
        return bool(np.all(error <= bound))


def wrong(seeds):
    """Return the cases whose result is not right."""
    cases = [Case(seed, 1) for seed in seeds]
    for case, run in zip(cases, load([case.kernel for case in cases])):
        assert run(case.a, case.b, case.out) == 0
    return [seed for seed, case in zip(seeds, cases) if not case.is_right()]


def test_random_contractions():
    assert not wrong(range(16))


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("begin", range(100, 2100, 100))
def test_many_random_contractions(begin):
    assert not wrong(range(begin, begin + 100))


def short(real):
    """Return `slots` with a lane too few at the end of a row."""

    def slots(size, width):
        found = real(size, width)
        return [x if x.lanes == x.width else x._replace(lanes=x.lanes - 1) for x in found]

    return slots


def forgetful(real):
    """Return a sum that forgets the second of two vectors."""
    return lambda self, x, y, width: x


@pytest.mark.parametrize(("place", "name", "fault"), [
    (tiles, "slots", short), (tiles.Tiles, "add", forgetful),
])  # fmt: skip
def test_a_fault_is_found(monkeypatch, place, name, fault):
    monkeypatch.setattr(place, name, fault(getattr(place, name)))
    assert wrong(range(10))


MATMUL = Labels((0, 1), (1, 2), (0, 2))


def call(a, b, out, labels=MATMUL):
    kernel = products.contract(labels, operand(a), operand(b), operand(out))
    (run,) = load([kernel])
    run(a, b, out)
    return kernel


@pytest.mark.skipif(not blas.addresses(), reason="NumPy has another library")
def test_large_products_are_calls_of_blas():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(70, 70)), rng.normal(size=(70, 70))
    ways = (lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: np.repeat(x, 2, 1)[:, ::2])
    kernels, cases = [], []
    for left in ways:
        for right in ways[:3]:
            a, b = left(base[0]), right(base[1])
            for order in "CF":
                out = np.full((70, 70), np.nan, order=order)
                kernels.append(products.contract(MATMUL, operand(a), operand(b), operand(out)))
                cases.append((a, b, out))
    for (a, b, out), kernel, run in zip(cases, kernels, load(kernels)):
        assert "scipy_cblas_dgemm64_" in kernel.texts
        run(a, b, out)
        assert np.allclose(out, a @ b, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not blas.addresses(), reason="NumPy has another library")
def test_products_above_the_limit_are_calls_of_blas(monkeypatch):
    given = [operand(np.empty(shape)) for shape in ((6, 5), (5, 4), (6, 4))]
    for limit, calls in ((119, True), (120, False)):
        monkeypatch.setattr(products, "LIMIT", limit)
        assert ("scipy_cblas_dgemm64_" in products.contract(MATMUL, *given).texts) is calls


def test_a_sum_of_nothing_is_zero():
    for order in "CF":
        out = np.full((3, 4), np.nan, order=order)
        call(np.empty((3, 0)), np.empty((0, 4)), out)
        assert np.array_equal(out, np.zeros((3, 4)))


@pytest.mark.skipif(not blas.addresses(), reason="NumPy has another library")
def test_a_matrix_and_its_transpose():
    rng = np.random.default_rng(0)
    kernels, cases = [], []
    for a in (rng.normal(size=(70, 90)), rng.normal(size=(90, 70)).T):
        for order in "CF":
            out = np.full((70, 70), np.nan, order=order)
            given = operand(a), operand(a.T), operand(out)
            kernels.append(products.contract(MATMUL, *given, same=True))
            cases.append((a, out))
    for (a, out), kernel, run in zip(cases, kernels, load(kernels)):
        assert "scipy_cblas_dsyrk64_" in kernel.texts
        run(a, a, out)
        assert np.allclose(out, a @ a.T, rtol=1e-12, atol=1e-12)
        assert np.array_equal(out, out.T)
    a, out = rng.normal(size=(70, 70)), np.empty((70, 70))
    kernel = products.contract(MATMUL, operand(a), operand(a), operand(out), same=True)
    assert "scipy_cblas_dgemm64_" in kernel.texts


@pytest.mark.skipif(not blas.addresses(), reason="NumPy has another library")
def test_large_matrices_and_vectors():
    rng = np.random.default_rng(0)
    large, v = rng.normal(size=(600, 500)), rng.normal(size=1200)
    kernels, cases = [], []
    for a in (large, np.asfortranarray(large), large[::-1]):
        for left, right in ((a, v[:1000:2]), (v[::2], a), (a, v[499::-1])):
            out = np.full((2, (left @ right).size), np.nan)[0]
            labels, *_ = contraction_of(Node(np.matmul, (left, right), {}, None))
            kernels.append(products.contract(labels, *map(operand, (left, right, out))))
            cases.append((left, right, out))
    assert sum(["scipy_cblas_dgemv64_" in kernel.texts for kernel in kernels]) == 4
    for (a, b, out), run in zip(cases, load(kernels)):
        run(a, b, out)
        assert np.allclose(out, a @ b, rtol=1e-12, atol=1e-12)


def test_stacks_broadcast_by_blas_and_by_tiles(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 1, 9, 8)), rng.normal(size=(2, 8, 11))
    node = Node(np.matmul, (a, b), {}, None)
    labels, *_ = contraction_of(node)
    for limit in (10, 10**6):
        monkeypatch.setattr(products, "LIMIT", limit)
        out = np.empty((3, 2, 9, 11))
        call(a, b, out, labels)
        assert np.allclose(out, a @ b, rtol=1e-13)


SCATTERED = {
    "sums over three axes": ("iajb,jbka->ik", (12, 8, 13, 9), (13, 9, 24, 8)),
    "columns apart": ("iajb,jbka->ki", (12, 8, 13, 9), (13, 9, 24, 8)),
    "rows apart": ("iajm,jka->imk", (12, 8, 13, 9), (13, 24, 8)),
    "stacks": ("sabi,sbka->sik", (5, 8, 13, 6), (5, 13, 24, 8)),
    "a strided result": ("ijs,jks->iks", (40, 40, 3), (40, 40, 3)),
}
"""Contractions whose operands BLAS does not take as they are."""


@pytest.mark.skipif(not blas.addresses(), reason="NumPy has another library")
@pytest.mark.parametrize("name", SCATTERED)
def test_packed_operands_and_results(name, monkeypatch):
    monkeypatch.setattr(products, "LIMIT", 100)
    monkeypatch.setattr(products, "NO_BLAS", 200)
    rng = np.random.default_rng(0)
    text, *shapes = SCATTERED[name]
    a, b = [rng.normal(size=shape) for shape in shapes]
    expected = np.einsum(text, a, b)
    labels, *_ = contraction_of(Node(np.einsum, (text, a, b), {}, None))
    for left, right in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b))):
        out = np.ones(expected.shape)
        kernel = products.contract(labels, *map(operand, (left, right, out)))
        assert "scipy_cblas_dgemm64_" in kernel.texts
        (run,) = load([kernel])
        run(left, right, out)
        assert np.allclose(out, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.skipif(not blas.addresses(), reason="NumPy has another library")
def test_large_contractions_are_calls_of_blas():
    text, shapes = "iajb,jbka->ki", ((16, 24, 16, 24), (16, 24, 16, 24))
    labels, *_ = contraction_of(Node(np.einsum, (text, *map(np.empty, shapes)), {}, None))
    kernel = products.contract(labels, *[operand(np.empty(s)) for s in (*shapes, (16, 16))])

    assert "scipy_cblas_dgemm64_" in kernel.texts


def test_nan_and_infinity():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(9, 17)), rng.normal(size=(17, 13))
    a[2, 3], a[4, 5], b[6, 7], b[8, 12], a[0, 6] = np.nan, np.inf, -np.inf, np.nan, 0
    for right in (b, np.asfortranarray(b)):
        out = np.empty((9, 13))
        call(a, right, out)
        with np.errstate(invalid="ignore"):
            assert np.array_equal(np.isnan(out), np.isnan(a @ b))
            assert np.array_equal(np.isinf(out), np.isinf(a @ b))


def test_a_library_that_is_not_known(monkeypatch):
    """Own tiles serve up to a size; NumPy's call does the rest."""
    monkeypatch.setattr(blas, "address", lambda name: 0)
    shapes = operand(np.empty((80, 80)))
    kernel = products.contract(MATMUL, shapes, shapes, shapes)
    assert not any("cblas" in name for name in kernel.texts)
    shapes = operand(np.empty((800, 800)))
    assert products.contract(MATMUL, shapes, shapes, shapes) is None
    assert not blas.addresses()


def test_refused_operands():
    labels = MATMUL
    real, single = operand(np.empty((2, 2))), operand(np.empty((2, 2), np.float32))
    assert products.contract(labels, real, single, real) is None
    other = operand(np.empty((2, 2), complex))
    assert products.contract(labels, other, other, other) is None
    assert products.contract(labels, operand(np.empty((3, 3))), real, real) is None


CALLS = [
    (np.matmul, [(3,), (3,)]), (np.matmul, [(2, 3), (3,)]), (np.matmul, [(3,), (3, 2)]),
    (np.matmul, [(4, 1, 2, 3), (5, 3, 2)]), (np.matmul, [(3,), (5, 3, 2)]),
    (np.matmul, [(5, 2, 3), (3,)]), (np.dot, [(3,), (3,)]), (np.dot, [(2, 3), (4, 3, 2)]),
    (np.dot, [(4, 3), (3,)]), (np.dot, [(3,), (4, 3, 2)]), (np.inner, [(2, 3), (4, 3)]),
    (np.inner, [(3,), (4, 3)]), (np.outer, [(2,), (3,)]), (np.vdot, [(3,), (3,)]),
    (np.vecdot, [(4, 1, 3), (2, 3)]),
    (np.tensordot, [(2, 3, 4), (3, 4, 5)]), (np.tensordot, [(2, 3), (4, 5)], 0),
    (np.tensordot, [(2, 3), (2, 4)], ([0], [0])), (np.tensordot, [(2, 3), (4, 3)], (1, -1)),
]  # fmt: skip
if hasattr(np, "matvec"):
    CALLS += [(np.matvec, [(4, 2, 3), (3,)]), (np.vecmat, [(4, 2), (2, 3)])]


def by_labels(node):
    labels, a, b = contraction_of(node)
    return np.einsum(a, labels.a, b, labels.b, labels.out)


@pytest.mark.parametrize("row", CALLS)
def test_labels_are_those_of_the_function(row):
    func, shapes, *rest = row
    rng = np.random.default_rng(0)
    a, b = [rng.integers(-9, 9, shape) for shape in shapes]
    assert np.array_equal(by_labels(Node(func, (a, b, *rest), {}, None)), func(a, b, *rest))


@pytest.mark.parametrize(
    "text",
    [
        "ij,jk",
        "ij,kj->ik",
        "bij,bjk->bki",
        "ab,a->b",
        "ab,ab->",
        "i,j",
        "...a,ab",
        "a...,...k->ka...",
        "ab...,b",
        "...,...",
    ],
)
def test_labels_of_einsum(text):
    rng = np.random.default_rng(0)
    sizes = dict(zip("abijk", (2, 3, 4, 5, 6)))
    first, second = text.partition("->")[0].split(",")
    parts = first.replace("...", "ij"), second.replace("...", "j")
    a, b = [rng.integers(-9, 9, [sizes[x] for x in part]) for part in parts]
    assert np.array_equal(by_labels(Node(np.einsum, (text, a, b), {}, None)), np.einsum(text, a, b))


def test_calls_that_are_no_contractions():
    a = np.ones((3, 3))
    for func, args, kwargs in [
        (np.einsum, ("ij,jk,kl", a, a, a), {}), (np.einsum, ("ii,ij", a, a), {}),
        (np.einsum, ("...i,...", a, a, a), {}), (np.einsum, ("i,j", a, a), {}),
        (np.matmul, (a, a), {"axes": [0, 1, 2]}),
        (np.einsum, ("ij,k->ik", a, a[0]), {}),
        (np.dot, (2.0, a), {}), (np.outer, (a, a), {}), (np.add, (a, a), {}),
        (np.tensordot, (a, a, ([0, 0], [0, 1])), {}),
    ]:  # fmt: skip
        assert contraction_of(Node(func, args, kwargs, None)) is None
    assert is_product(Labels((0,), (1,), (0, 1)), (3,), (4,))
    assert is_product(MATMUL, (3, 1), (1, 4))
    assert not is_product(MATMUL, (3, 2), (2, 4))


def test_axes_that_lie_like_one_are_joined():
    axes = [Axis(2, 96, 0, 96, False), Axis(3, 32, 0, 32, False), Axis(4, 8, 8, 0, True)]
    assert joined(axes) == [Axis(4, 8, 8, 0, True), Axis(6, 32, 0, 32, False)]


@pytest.mark.parametrize("dtype, other", [(np.float32, float), (float, np.float32)])
def test_a_product_of_another_dtype_is_added_to_an_array(dtype, other):
    def f(x, v):
        a = fnp.array(x)
        a[:, 0] += x @ v
        return fnp.copy(a)

    x, v = np.arange(20.0).reshape(2, 10).astype(dtype), np.arange(10.0).astype(other)
    assert np.array_equal(ft.compile(f, backend="llvm", warm=True)(x, v), f(x, v))
