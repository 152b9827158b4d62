"""A compiled gradient through a solver is right however its function gets what it depends on."""

import functools
import warnings

import numpy as np
import pytest

import functier as ft
import functier.scipy.integrate as si
import functier.scipy.interpolate as sip
import functier.scipy.optimize as so
from support.basics import close

TIMES, START = np.linspace(0, 1, 20), [0.5, 0.4]
P, OTHERS = np.array([0.7, 0.4]), np.array([[0.77, 0.44], [0.65, 0.35], [0.91, 0.52]])


def curve(x, a, b):
    return np.exp(-a * x) + b * np.cos(x)


class Curve:
    def __init__(self, p):
        self.p = p

    def value(self, x):
        return curve(x, *self.p)

    __call__ = value


def of_a_dict(p):
    given = {"a": p[0], "b": p[1]}
    return lambda x: curve(x, **given), ()


SPELLINGS = {
    "closure": lambda p: (lambda x: curve(x, p[0], p[1]), ()),
    "args": lambda p: (curve, (p[0], p[1])),
    "partial": lambda p: (functools.partial(curve, a=p[0], b=p[1]), ()),
    "dict": of_a_dict,
    "method": lambda p: (Curve(p).value, ()),
    "object": lambda p: (Curve(p), ()),
    "default": lambda p: (lambda x, a=p[0], b=p[1]: curve(x, a, b), ()),
}
OF_OBJECTS = "method", "object"
"""Spellings that may run as they are: steps take no values of a trace that objects hold."""


def zero(f):
    return lambda x, *args: f(x, *args) - 3 * x


def cost(f):
    return lambda x, *args: np.sum(2 * x * x - f(x, *args) * x)


def of_boundaries(f, args):
    found = si.solve_bvp(
        lambda t, y: np.stack([y[1], -f(t, *args) * y[0]]),
        lambda u, v: np.stack([u[0], v[0] - 1.0]),
        TIMES, np.stack([TIMES, np.ones(20)]), tol=1e-8,
    )  # fmt: skip
    return found.sol(TIMES[::5])


def of_constraints(f, args):
    bounds = [4.0, f(0.5, *args) + 4.0]
    return so.linprog([-1.0, -f(0.3, *args)], A_ub=[[1.0, 2.0], [3.0, 1.0]], b_ub=bounds).fun


SOLVERS = {
    "quad": lambda f, args: si.quad(f, 0.0, 1.0, args=args)[0],
    "fixed_quad": lambda f, args: si.fixed_quad(f, 0.0, 1.0, args=args)[0],
    "quad_vec": lambda f, args: si.quad_vec(f, 0.0, 1.0, args=args)[0],
    "brentq": lambda f, args: so.brentq(zero(f), 0.0, 3.0, args=args),
    "root_scalar": lambda f, args: so.root_scalar(zero(f), args=args, bracket=(0.0, 3.0)).root,
    "newton": lambda f, args: so.newton(zero(f), 0.5, args=args),
    "fsolve": lambda f, args: so.fsolve(zero(f), START, args=args),
    "root": lambda f, args: so.root(zero(f), START, args=args).x,
    "minimize": lambda f, args: so.minimize(cost(f), START, args=args, tol=1e-10).x,
    "minimize_scalar": lambda f, args: so.minimize_scalar(cost(f), args=args, bracket=(0.0, 1.0)).x,
    "least_squares": lambda f, args: (
        so.least_squares(
            lambda q: q[0] * TIMES + q[1] - f(TIMES, *args), START, xtol=1e-12, ftol=1e-12
        ).x
    ),
    "curve_fit": lambda f, args: so.curve_fit(
        lambda t, u, v: u * t + v, TIMES, f(TIMES, *args), [1.0, 1.0]
    )[0],
    "linprog": of_constraints,
    "solve_bvp": of_boundaries,
    "CubicSpline": lambda f, args: sip.CubicSpline(TIMES, f(TIMES, *args))(0.33),
    "interp1d": lambda f, args: sip.interp1d(TIMES, f(TIMES, *args))(0.33),
    "finite_difference": lambda f, args: ft.finite_difference(lambda q: 1.0 / float(q))(
        f(0.5, *args)
    ),
}


def verdict(solver, spelling):
    """Tell if the compiled gradient is that of the function and of differences, or raise."""

    def loss(p):
        return np.sum(SOLVERS[solver](*SPELLINGS[spelling](p)) ** 2)

    gradient = ft.grad(loss)
    compiled = ft.compile(gradient)
    for p in (P, *OTHERS):
        found = compiled(p)
        close(found, gradient(p), 1e-6)
        differences = [(loss(p + h) - loss(p - h)) / 2e-3 for h in 1e-3 * np.eye(2)]
        np.testing.assert_allclose(found, differences, 2e-3, 2e-4)
    return "as it is" if "not watched" in compiled.explain() else "one program"


@pytest.mark.share(4)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "spelling",
    ["closure", *[pytest.param(s, marks=pytest.mark.slow) for s in SPELLINGS if s != "closure"]],
)
def test_compiled_solvers_of_each_spelling(solver, spelling):
    with warnings.catch_warnings(action="ignore"):
        found = verdict(solver, spelling)
    assert found == "one program" or spelling in OF_OBJECTS or solver == "solve_bvp"


def test_a_wrong_gradient_is_found(monkeypatch):
    stopped = lambda p: (lambda x: curve(x, ft.stop_gradient(p[0]), p[1]), ())  # noqa: E731
    monkeypatch.setitem(SPELLINGS, "closure", stopped)
    with pytest.raises(AssertionError):
        verdict("quad", "closure")
