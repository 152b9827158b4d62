"""Sparse matrices over tensors: each class, random chains of operations, writes, messages."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from programs_of_functions import calls, verdict
from programs_of_matrices import FIXED, PROGRAMS, X, matrix, random_program

import functier as ft
import functier.numpy as fnp
import functier.scipy as fs
from faults.planted import scipy as faulty
from functier import UnsupportedError
from support.basics import equal, raises


def judge(program, nesting, tolerance=1e-5):
    with warnings.catch_warnings():
        for kind in (sp.SparseEfficiencyWarning, PendingDeprecationWarning):  # of numpy.matrix
            warnings.simplefilter("ignore", kind)
        return verdict(program, nesting, 1.1, tolerance)


QUICK = {"constant csr_matrix", "tensor coo_matrix", "tensor csc_array", "writes lil_matrix"}


def quick_or_slow():
    for case in calls(PROGRAMS, []):
        program, _ = case.values
        kept = program.__name__ in QUICK or "_" not in program.__name__
        yield case if kept else pytest.param(*case.values, marks=pytest.mark.slow)


@pytest.mark.parametrize("program, nesting", list(quick_or_slow()))
def test_matrices(program, nesting):
    assert judge(program, nesting) == "right"


# ---- random chains ----

MODES = "jvp", "grad", "vmap", "vmap of grad"


def run_random(count, start=0):
    """The verdicts on random programs, each under one nesting."""
    counts = {"right": 0, "refused": 0, "wrong": 0}
    for seed in range(start, start + count):
        program = random_program(np.random.default_rng(seed))
        counts[judge(program, MODES[seed % len(MODES)], 1e-4)] += 1
    return counts


def test_random_chains(request):
    count = 400 if request.config.getoption("--slow") else 60
    counts = run_random(count)

    assert counts == {"right": count, "refused": 0, "wrong": 0}


@pytest.mark.parametrize(
    "fault", [faulty.wrong_rule, faulty.wrong_places, faulty.forgotten_sum, faulty.wrong_batch]
)
def test_random_chains_find_faults(fault, monkeypatch):
    fault(monkeypatch)
    try:
        counts = run_random(12)
    except (ValueError, IndexError):
        return

    assert counts["wrong"]


# ---- classes ----


def test_twins_are_the_classes_of_matrices_over_tensors():
    def f(p):
        a = matrix(p, fs, "csc_array")
        assert isinstance(a, fs.sparse.csc_array) and isinstance(a, fs.sparse.sparray)
        assert not isinstance(a, (fs.sparse.csr_array, fs.sparse.csc_matrix))
        assert fs.sparse.issparse(a) and not fs.sparse.isspmatrix(a)
        assert fs.sparse.isspmatrix_csr(matrix(p, fs)) and fs.sparse.issparse(FIXED)
        assert a.format == "csc" and a.shape == (3, 3) and a.nnz == 7 and a.dtype == float
        equal(a.indptr, sp.csc_array(FIXED).indptr)
        return a.data.sum()

    ft.grad(f)(1.1)
    assert isinstance(FIXED, fs.sparse.csr_matrix)
    assert type(fs.sparse.csr_matrix((2, 2))) is sp.csr_matrix


def test_dtypes_are_those_of_scipy():
    for dtype in (np.float32, complex, np.int64, bool):
        given = np.ones(3, dtype), (np.arange(3), np.arange(3))
        plain = sp.csr_array(given)

        def results(a):
            return [a.sum(), a.sum(axis=0), a.toarray(), (a @ a).toarray(), a.diagonal(), a @ X]

        found = []

        def g(v, given=given):
            found.extend(results(fs.sparse.csr_array((v, given[1]))))
            return v

        ft.vmap(g, in_dims=None, axis_size=1)(given[0])
        assert [x.dtype for x in found] == [np.asarray(x).dtype for x in results(plain)]


def test_values_may_lie_in_any_order():
    """SciPy takes values in a row of memory only; an example of a batch may have them apart."""

    def f(v):
        a = fs.sparse.diags([v], [0], format="csc") + fs.sparse.eye(3, format="csc")
        return a @ X + fs.sparse.linalg.spsolve(a, X)

    wide = np.arange(1.0, 19).reshape(3, 6) ** 1.5
    for v in (wide[0, ::2], wide[0, ::-2], np.broadcast_to(2.0, (3,))):
        np.testing.assert_allclose(ft.jacrev(f)(v), ft.jacrev(f)(v.copy()))
        np.testing.assert_allclose(ft.jacfwd(f)(v), ft.jacrev(f)(v.copy()))
    rows = wide[:, ::2].T.copy().T
    for size in (None, 1, 2):
        found = ft.vmap(f, chunk_size=size)(rows)
        np.testing.assert_allclose(found, np.stack([f(v.copy()) for v in rows]))


def test_writes_to_values():
    def f(p):
        a = fs.sparse.csr_matrix((3 * np.ones(3), (np.arange(3), np.arange(3))))
        a.data[1] = 5 * p  # plain until now
        a *= p
        a += FIXED * p
        a.data = a.data * p
        return a.sum()

    whole = 6 + FIXED.sum()
    np.testing.assert_allclose(ft.grad(f)(1.1), 2 * 1.1 * whole + 15 * 1.1**2)


def test_values_of_diagonals_are_not_written_in_vain():
    def f(p):
        a = fs.sparse.diags([p * np.ones(3)], [0])
        a.data[0, 1] = 5.0
        return a.sum()

    raises(ValueError, lambda: ft.grad(f)(1.0), "read-only")


def test_a_plain_matrix_inside_a_level_is_scipys_to_other_code():
    def f(p):
        a = fs.sparse.csr_matrix(FIXED)
        assert a.max() == 6.0 and (a > 1).nnz == 3
        return (a * p).sum()

    assert ft.grad(f)(1.0) == FIXED.sum()


# ---- messages ----


def use(action):
    return lambda p: action(fs.sparse.csr_matrix(FIXED) * p, p)


REFUSED = [
    (lambda a, p: a.max(), AttributeError, "'max' is not supported", "write A.toarray()"),
    (lambda a, p: a > 0, UnsupportedError, "comparison is not supported", "write A.toarray()"),
    (lambda a, p: a / a, UnsupportedError, "write A.toarray() / B.toarray()"),
    (lambda a, p: a.power(-1), UnsupportedError, "write A.toarray() ** n"),
    (lambda a, p: FIXED.multiply(p * X), UnsupportedError, "sparse.csr_array(A).multiply(x)"),
    (lambda a, p: fs.sparse.csr_array(a)[0], UnsupportedError, "write A[[i], :]"),
    (lambda a, p: np.asarray(a), TypeError, "write A.toarray()"),
    (lambda a, p: fs.sparse.linalg.eigs(a), UnsupportedError, "eigs of tensors is not supported"),
    (lambda a, p: fs.sparse.linalg.spilu(a.tocsc()), UnsupportedError, "has no derivative"),
    (lambda a, p: a.resize((5, 5)), UnsupportedError, "resize (a change in place)"),
    (lambda a, p: a.nothing, AttributeError, "'csr_matrix' object has no attribute 'nothing'"),
    (lambda a, p: a + 1, NotImplementedError, "a nonzero scalar", "write A.toarray() + c"),
]


@pytest.mark.parametrize("action, kind, texts", [(a, k, t) for a, k, *t in REFUSED])
def test_refusals(action, kind, texts):
    raises(kind, functools.partial(ft.grad(use(action)), 1.0), *texts)


def test_a_matrix_is_no_result_and_places_are_plain():
    raises(TypeError, lambda: ft.vmap(use(lambda a, p: a))(X), "write x.toarray()")

    def f(i):
        return fs.sparse.csr_matrix((np.ones(2), (i, i)), shape=(3, 3)).toarray()

    indices = np.array([[0, 1], [1, 2]])
    raises(UnsupportedError, lambda: ft.vmap(f)(indices), "the same for all examples")


def test_indices_that_are_the_same_for_all_examples_are_plain():
    def f(x, places):
        table = fnp.zeros((3, 2))
        table[:, 0], table[:, 1] = places, x  # one array, as a package has it
        a = fs.sparse.csr_matrix((table[:, 1], (range(3), table[:, 0])), shape=(3, 3))
        return a @ np.arange(1.0, 4.0)

    x, places = np.array([0.5, 1.0, 2.0]), np.array([2, 0, 1])
    wanted = np.diag([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(ft.jacrev(f)(x, places), wanted)
    np.testing.assert_array_equal(ft.jacfwd(f)(x, places), wanted)
    batch = ft.vmap(f, (0, None))(np.stack([x, 2 * x]), places)
    np.testing.assert_array_equal(batch, [wanted @ x, wanted @ x * 2])
    compiled = ft.compile(f)
    for given in (places, places, places[::-1]):
        np.testing.assert_array_equal(compiled(x, given), f(x, given))


def graph(values):
    return fs.sparse.csr_matrix((values, ([0, 1], [1, 2])), shape=(3, 3))


def test_graphs_of_plain_matrices_are_searched():
    csgraph = fs.sparse.csgraph

    def f(x):
        a = graph(fnp.array([1.0, 2.0]))
        count, _ = csgraph.connected_components(a)
        return x * csgraph.shortest_path(a, unweighted=True, directed=False)[0, 2] * count

    assert ft.grad(f)(1.5) == 2.0
    equal(ft.vmap(f)(np.arange(3.0)), [0.0, 2.0, 4.0])
    equal(csgraph.shortest_path(graph([1.0, 2.0])), sp.csgraph.shortest_path(graph([1.0, 2.0])))


def test_graphs_of_tensors_are_refused_with_what_works():
    def f(x, stop=lambda weights: weights):
        return fs.sparse.csgraph.shortest_path(graph(stop(x * np.ones(2))))[0, 2] * x

    raises(UnsupportedError, lambda: ft.grad(f)(1.5), "csgraph.shortest_path", "stop_gradient")
    assert ft.grad(lambda x: f(x, ft.stop_gradient))(1.5) == 3.0
