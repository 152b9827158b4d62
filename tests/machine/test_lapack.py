"""Systems, determinants and Cholesky factors, against NumPy."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.linalg import blas, factors, systems
from support.routine_calls import block, load, operand

pytestmark = pytest.mark.inside("Calls of LAPACK are compared one by one.")

SIZES = 1, 2, 3, 8, 33, factors.LARGEST + 1, factors.LARGEST + 27


def matrices(size, dtype=np.float64, batch=(), seed=0):
    """Return matrices whose layout depends on the size."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(*batch, size, size)).astype(dtype)
    return [a, a.swapaxes(-1, -2), np.repeat(a, 2, -1)[..., ::2], a[..., ::-1, ::-1]][size % 4]


def factored(cases, vector=64):
    """Return layouts and factors of arrays, and the statuses of the kernels."""
    found = [factors.factorize(operand(a), vector) for a in cases]
    memory = [block(layout.bytes) for _, layout in found]
    runs = load([kernel for kernel, _ in found])
    statuses = [run(a, m) for run, a, m in zip(runs, cases, memory)]
    return [layout for _, layout in found], memory, statuses


def residual(a, x, b):
    """Return the error of a solution, in units of the rounding of its parts."""
    wide = np.longdouble
    size = np.abs(a).astype(wide) @ np.abs(x) + np.abs(b)
    error = np.abs(a.astype(wide) @ x - b) / np.where(size == 0, 1, size)
    return float(error.max(initial=0) / np.finfo(x.dtype).eps)


@pytest.mark.parametrize(("dtype", "vector"), [(np.float64, 64), (np.float32, 32)])
def test_solutions(dtype, vector, sizes=SIZES):
    """One right-hand side, several, and the inverse; of the matrix and of its transpose."""
    cases = [matrices(size, dtype) for size in sizes]
    layouts, memory, statuses = factored(cases, vector)
    assert not any(statuses)
    rng, jobs = np.random.default_rng(1), []
    for number, (a, layout, m) in enumerate(zip(cases, layouts, memory)):
        for many in (1, [3, 9][number % 2], None):
            turned = bool(number % 3) ^ (many == 1)
            size = len(a)
            b = None if many is None else rng.normal(size=(size, many)).astype(dtype)
            out = np.full((size, many or size), np.nan, dtype, order="CF"[number % 2])
            given = None if b is None else operand(b)
            kernel = systems.solve(layout, given, operand(out), turned)
            arrays = (m, out) if b is None else (m, b, out)
            jobs.append((kernel, arrays, a.T if turned else a, b, out))
    for run, (_, arrays, a, b, out) in zip(load([job[0] for job in jobs]), jobs):
        run(*arrays)
        b = np.eye(len(a), dtype=dtype) if b is None else b
        known = residual(a, np.linalg.solve(a, b), b)
        assert residual(a, out, b) <= 4 * known + 8


def test_determinants():
    cases = [matrices(size) for size in SIZES]
    layouts, memory, _ = factored(cases)
    results = np.full((len(cases), 3), np.nan)
    one = operand(results[0, 0:1].reshape(()))
    kernels = [systems.determinant(layout, one) for layout in layouts]
    kernels += [systems.slogdet(layout, one, one) for layout in layouts]
    runs = load(kernels)
    for k, m in enumerate(memory):
        assert runs[k](m, results[k, :1]) == 0
        runs[k + len(cases)](m, results[k, 1:2], results[k, 2:])
        det, (sign, logarithm) = np.linalg.det(cases[k]), np.linalg.slogdet(cases[k])
        assert np.allclose(results[k], [det, sign, logarithm], rtol=1e-12, atol=1e-12)


def test_a_determinant_that_is_out_of_range_is_numpys():
    for value in (1e-200, 1e200):
        (layout,), (m,), _ = factored([np.diag([value, 1.0, value])])
        out = np.empty(())
        (run,) = load([systems.determinant(layout, operand(out))])
        assert run(m, out) == 1


def test_cholesky():
    kernels, jobs = [], []
    for size in SIZES:
        for upper in (False, True):
            a = matrices(size)
            a = np.asarray(a @ a.T + np.eye(size), order="CF"[size % 2])
            given = np.triu(a) if upper else np.tril(a)  # the other triangle is not read
            out = np.full(a.shape, np.nan)
            kernels.append(systems.cholesky(operand(given), operand(out), upper))
            jobs.append((given, out, np.linalg.cholesky(a, upper=upper)))
    for run, (given, out, expected) in zip(load(kernels), jobs):
        assert run(given, out) == 0
        assert np.allclose(out, expected, rtol=1e-13, atol=1e-13)


def test_stacks():
    """Stacks of matrices and of right-hand sides broadcast."""
    rng = np.random.default_rng(0)
    a = matrices(5, batch=(3, 1))
    (layout,), (m,), _ = factored([a])
    b = rng.normal(size=(2, 5, 4))
    out, inverse, det = np.empty((3, 2, 5, 4)), np.empty((3, 1, 5, 5)), np.empty((3, 1))
    spd = a @ a.swapaxes(-1, -2) + np.eye(5)
    lower = np.empty_like(spd)
    runs = load([
        systems.solve(layout, operand(b), operand(out)),
        systems.solve(layout, None, operand(inverse)),
        systems.determinant(layout, operand(det)),
        systems.cholesky(operand(spd), operand(lower)),
    ])  # fmt: skip
    for run, arrays in zip(runs, [(m, b, out), (m, inverse), (m, det), (spd, lower)]):
        assert run(*arrays) == 0
    assert np.allclose(out, np.linalg.solve(a, b), rtol=1e-12)
    assert np.allclose(inverse, np.linalg.inv(a), rtol=1e-12)
    assert np.allclose(det, np.linalg.det(a), rtol=1e-12)
    assert np.allclose(lower, np.linalg.cholesky(spd), rtol=1e-12)


BAD = [
    np.zeros((3, 3)), np.ones((5, 5)), np.arange(9.0).reshape(3, 3), np.full((2, 2), np.nan),
    np.array([[1, np.nan], [0, 1]]), np.array([[np.inf, 1], [0, 1]]), np.zeros((1, 1)),
    np.array([[2.0, 1, np.nan], [1, 3, 1], [1, 1, 2]]), np.diag([1.0, 1e-310]),
    np.stack([np.eye(3), np.ones((3, 3)), np.eye(3)]), np.zeros((130, 130)),
    np.sin(np.arange(130.0) * np.arange(130.0)[:, None] ** 2)[[*range(129), 0]],
    np.full((101, 101), np.nan), np.diag([*[1.0] * 130, 1e-310]),
]  # fmt: skip


def test_matrices_without_an_answer_have_a_status():
    _, memory, statuses = factored(BAD)
    assert all(statuses)
    for a, m in zip(BAD, memory):  # kernels may follow: the orders of the rows are in range
        layout = factors.Factors(a.shape[:-2], a.shape[-1], a.dtype, 64)
        orders = np.stack([
            m[k * layout.each + layout.order :][: 8 * layout.size].view(np.int64)
            for k in range(layout.bytes // layout.each)
        ])  # fmt: skip
        assert ((orders >= 0) & (orders < layout.size)).all()


def test_matrices_without_a_cholesky_factor_have_a_status():
    cases = [-np.eye(3), np.array([[1.0, 2], [2, 1]]), *BAD]
    kernels = [systems.cholesky(operand(a), operand(np.empty_like(a))) for a in cases]
    for run, a in zip(load(kernels), cases):
        symmetric = np.array_equal(a, a.swapaxes(-1, -2)) and a.ndim == 2
        assert run(a, np.empty_like(a)) == 1 or not symmetric


def test_inverses_of_large_triangles():
    kernels, jobs = [], []
    for size in SIZES[-2:]:
        for upper in (False, True):
            a = np.tril(matrices(size) + size * np.eye(size))
            a = a.T if upper else a
            out = np.full(a.shape, np.nan)
            kernels.append(systems.inverse(operand(a), operand(out), upper))
            jobs.append((a, out))
    for run, (a, out) in zip(load(kernels), jobs):
        assert run(a, out) == 0
        assert np.allclose(out, np.linalg.inv(a), rtol=1e-12, atol=1e-14)


def other_unit(*args, unit, right=blas.trsm):
    right(*args, unit=not unit)


FAULTS = {
    "pivot": (factors, "larger", lambda rows, known, size, index: [*known], SIZES[2:4]),
    "order": (systems.Block, "source", lambda self, i, ordered: i, SIZES[2:4]),
    "order of a large matrix": (factors, "swap_numbers", lambda *args: None, SIZES[-2:]),
    "diagonal of a large triangle": (blas, "trsm", other_unit, SIZES[-2:]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(monkeypatch, fault):
    """Rows that are never swapped, and a transpose whose rows stay in the wrong order."""
    *place, sizes = FAULTS[fault]
    monkeypatch.setattr(*place)
    with pytest.raises(AssertionError):
        test_solutions(np.float64, 64, sizes)
