"""Linear systems of `scipy.sparse.linalg`: solvers, factors, operators, and what they report."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from programs_of_functions import calls, verdict
from programs_of_matrices import DENSE, FIXED, SYSTEMS, X, direct, matrix, of_spectra, operators

import functier as ft
import functier.scipy as fs
from support.basics import close, equal, raises

QUICK = {"gmres sparse", "gmres operator", "bicgstab plain"}
LARGE = [direct, operators, of_spectra]


def quick_or_slow():
    for case in calls([*SYSTEMS, *LARGE], []):
        name = case.values[0].__name__
        kept = name in QUICK or " " not in name
        yield case if kept else pytest.param(*case.values, marks=pytest.mark.slow)


def judge(program, nesting):
    with warnings.catch_warnings():
        for kind in (sp.SparseEfficiencyWarning, PendingDeprecationWarning):  # of numpy.matrix
            warnings.simplefilter("ignore", kind)
        return verdict(program, nesting, 1.1, 2e-6)


@pytest.mark.share(3)
@pytest.mark.parametrize("program, nesting", list(quick_or_slow()))
def test_systems(program, nesting):
    if nesting in ("value under jvp", "vmap") and program is of_spectra:
        return  # exponentials and eigenvalues agree to rounding, which the check does not allow
    assert judge(program, nesting) == "right"


def test_what_solvers_report():
    seen = []

    def f(b):
        x, info = fs.sparse.linalg.gmres(
            FIXED, b, rtol=1e-12, callback=seen.append, callback_type="x"
        )
        assert info == 0
        return x

    slope = ft.jacrev(f)(X)
    close(slope, np.linalg.inv(DENSE))
    assert seen and all(type(x) is np.ndarray for x in seen)  # not those of the derivatives
    equal(
        ft.vmap(lambda b: fs.sparse.linalg.cg(FIXED, b, maxiter=1)[1])(np.stack([X, 0 * X])), [1, 0]
    )


def test_a_solver_that_stops_early_has_no_derivative():
    def f(b):
        return fs.sparse.linalg.gmres(FIXED, b, rtol=1e-12, maxiter=1, restart=1)[0].sum()

    def g(p):
        a = fs.sparse.linalg.LinearOperator((3, 3), lambda x: p * (FIXED @ x), dtype=float)
        return fs.sparse.linalg.gmres(a, X, rtol=1e-12, maxiter=1, restart=1)[0].sum()

    for call in (lambda: ft.grad(f)(X), lambda: ft.grad(g)(1.0)):
        raises(ValueError, call, "stopped early, so its result has no derivative", "maxiter")


def test_a_tolerance_that_is_absolute_does_not_stop_derivatives():
    """A cotangent that is smaller than the tolerance has a derivative, too."""

    def f(b):
        return 1e-9 * fs.sparse.linalg.gmres(FIXED, b, rtol=0.0, atol=1e-6)[0].sum()

    close(ft.grad(f)(X) * 1e9, np.linalg.solve(DENSE.T, np.ones(3)), 1e-4)


def test_another_solver_takes_over_where_one_breaks_down():
    """Solvers break down at unit vectors, which the Jacobian has as cotangents."""
    b = np.array([1.0, 0.5, -2.0])
    for name in ("bicg", "bicgstab", "cgs", "qmr", "tfqmr"):
        solver = getattr(fs.sparse.linalg, name)
        close(
            ft.jacrev(lambda b, s=solver: s(DENSE, b, rtol=1e-13)[0])(b),
            np.linalg.inv(DENSE),
            1e-10,
        )


def test_factors_are_computed_once():
    def f(b):
        lu = fs.sparse.linalg.splu(FIXED.tocsc())
        x = lu.solve(b) + lu.solve(b * b) + lu.solve(2 * b)
        assert len(lu._system.factors) == 1
        return x

    close(ft.jvp(f, (X,), (X,))[1], np.linalg.solve(DENSE, 3 * X + 2 * X * X))


def test_values_out_of_order_stay_where_they_are():
    """SciPy's solvers sort the values of a matrix, and their places, in place."""
    places = np.array([2, 0, 1, 2, 1, 0, 0, 2, 1]), np.array([0, 3, 6, 9])
    values = np.array([1.0, 5.0, 0.5, 0.3, 0.2, 6.0, 0.1, 7.0, 0.4])
    given = [x.copy() for x in (*places, values)]

    def f(v):
        return fs.sparse.linalg.spsolve(fs.sparse.csc_array((v, *places), shape=(3, 3)), X)

    slope = ft.jacrev(f)(values)
    for x, before in zip((*places, values), given):
        equal(x, before)
    x, inverse = f(values), np.linalg.inv(sp.csc_array((values, *places)).toarray())
    close(slope, -inverse[:, given[0]] * x[np.repeat([0, 1, 2], 3)])


def test_refusals():
    linalg = fs.sparse.linalg
    for call, kind, text in (
        (lambda p: linalg.gmres(FIXED, X, rtol=p)[0], ft.UnsupportedError, "a tensor as rtol"),
        (lambda p: linalg.gmres(FIXED, p * X[:2])[0], ValueError, "are incompatible"),
        (lambda p: linalg.lsqr(FIXED * p, X)[0], ft.UnsupportedError, "lsqr of tensors"),
        (
            lambda p: linalg.splu(matrix(p, fs, "csc_matrix")).L,
            ft.UnsupportedError,
            "attribute 'L'",
        ),
        (lambda p: linalg.eigsh(FIXED * p, k=1, Minv=FIXED)[0], ft.UnsupportedError, "Minv beside"),
        (lambda p: linalg.eigsh(FIXED * p, k=1, Minv=X)[0], ft.UnsupportedError, "Minv beside"),
    ):
        raises(kind, lambda call=call: ft.jacfwd(call)(1.1), text)


def test_assignments_are_constants():
    cost = np.random.default_rng(0).normal(size=(2, 3, 4))
    rows, columns = ft.vmap(fs.optimize.linear_sum_assignment)(cost)
    expected = [scipy.optimize.linear_sum_assignment(c) for c in cost]
    equal(rows, np.stack([r for r, _ in expected]))
    equal(columns, np.stack([c for _, c in expected]))

    def least(c):
        lists = [[c[i, j] for j in range(4)] for i in range(3)]
        return c[fs.optimize.linear_sum_assignment(lists)].sum()

    slope = ft.grad(least)(cost[0])
    assert slope.sum() == 3.0
    equal(slope[expected[0]], np.ones(3))
