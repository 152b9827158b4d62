"""Boundary value problems beside closed forms, under several nestings."""

import numpy as np
import pytest
import scipy.integrate

import functier as ft
import functier.numpy as fnp
import functier.scipy.integrate as fi
from faults.planted import scipy as faulty
from support.basics import close, equal, raises

X = np.linspace(0, 1, 20)


def solved(a, x=X, **options):
    """``y'' = a^2 y`` from 0 to 1: ``sinh(a x) / sinh(a)``."""
    return fi.solve_bvp(
        lambda x, y: np.vstack((y[1], a * a * y[0])), lambda ya, yb: (ya[0], yb[0] - 1),
        x, np.ones((2, len(x))), **{"tol": 1e-4, **options},
    )  # fmt: skip


def middle(a):
    return solved(a).sol(0.5)[0]


def closed(a):
    return np.sinh(0.5 * a) / np.sinh(a)


def frequency(c):
    """``y'' = -c k^2 y`` with 0 at both ends and the slope k: ``k = pi / sqrt(c)``."""
    start = np.stack([np.sin(np.pi * X), np.pi * np.cos(np.pi * X)])
    found = fi.solve_bvp(
        lambda x, y, p: [y[1], -c * p[0] ** 2 * y[0]],
        lambda ya, yb, p: fnp.array([ya[0], yb[0], ya[1] - p[0]]), X, start, p=[3.0], tol=1e-4,
    )  # fmt: skip
    return found.p[0]


NESTINGS = {
    "grad": ft.grad,
    "jvp": ft.jacfwd,
    "grad of grad": lambda f: ft.grad(ft.grad(f)),
    "jvp of grad": lambda f: ft.jacfwd(ft.grad(f)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize(
    "program, expected", [(middle, closed), (frequency, lambda c: np.pi / np.sqrt(c))]
)
def test_derivatives_are_right(program, expected, nesting):
    transform = NESTINGS[nesting]
    close(transform(program)(1.3), transform(expected)(1.3), 3e-6)


def test_examples_on_a_common_mesh():
    a = np.array([1.2, 1.3])
    close(ft.vmap(ft.grad(middle))(a), ft.vmap(ft.grad(closed))(a), 1e-6)
    close(ft.grad(lambda a: np.sum(ft.vmap(middle)(a)))(a), ft.vmap(ft.grad(closed))(a), 1e-6)
    y, success, yp = ft.vmap(lambda a: [getattr(solved(a), k) for k in ("y", "success", "yp")])(a)
    plain = scipy.integrate.solve_bvp(
        lambda x, y: np.vstack((y[1], 1.44 * y[0])), lambda ya, yb: (ya[0], yb[0] - 1),
        X, np.ones((2, len(X))), tol=1e-4,
    )  # fmt: skip
    close(y[0], plain.y)
    close(yp[0], plain.yp)
    assert success.all()


def test_jacobians_and_results_without_tensors():
    asked = []

    def slopes(x, y):
        asked.append(y)
        return np.array([[0 * x, 0 * x + 1], [0 * x + 1.69, 0 * x]])

    def f(a):
        return fi.solve_bvp(
            lambda x, y: np.vstack((y[1], a * y[0])), lambda ya, yb: np.stack([ya[0], yb[0] - 1]),
            X, np.ones((2, len(X))), tol=1e-4, fun_jac=slopes,
            bc_jac=lambda ya, yb: (np.array([[1.0, 0], [0, 0]]), np.array([[0, 0], [1.0, 0]])),
        ).y[0, 10]  # fmt: skip

    def same(a):
        return ft.grad(lambda b: np.sinh(np.sqrt(b) * X[10]) / np.sinh(np.sqrt(b)))(a)

    close(ft.grad(f)(1.69), same(1.69), 1e-6)
    assert asked and all(type(y) is np.ndarray for y in asked)
    results = []
    ft.grad(lambda p: (results.append(solved(1.0)), p)[1])(1.0)
    equal(results[0].y, solved(1.0).y)


def test_what_is_refused():
    raises(
        ft.UnsupportedError,
        lambda: ft.vmap(lambda a: solved(a, X[::5], tol=1e-7).y)(np.array([0.1, 9.0])),
        "common mesh", "finer",
    )  # fmt: skip
    raises(
        ft.UnsupportedError, lambda: ft.grad(lambda b: solved(1.0, X * b).y[0, 3])(1.0),
        "x has a derivative", "a + (b - a) * s",
    )  # fmt: skip
    singular = np.zeros((2, 2))
    raises(ft.UnsupportedError, lambda: ft.grad(lambda a: solved(a, S=singular).p)(1.0), "S has")


def test_a_planted_fault_is_found(monkeypatch):
    faulty.steps_twice_as_long(monkeypatch)
    raises(ft.UnsupportedError, lambda: ft.grad(middle)(1.3), "implicit function theorem")
    monkeypatch.undo()
    faulty.residuals_without_derivatives(monkeypatch)
    assert abs(ft.grad(middle)(1.3) - ft.grad(closed)(1.3)) > 1e-3
