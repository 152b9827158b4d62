"""Minima and fits: values of SciPy, derivatives beside differences, refusals."""

import numpy as np
import pytest
import scipy.optimize
from programs_of_functions import NESTINGS, calls, verdict

import functier as ft
import functier.scipy.optimize as fo
from faults.planted import scipy as faulty
from support.basics import close, equal, raises

TIMES = np.linspace(0, 2, 9)
NOISE = np.random.default_rng(0).normal(size=9) * 0.05
TIGHT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


def minimum(p, s):
    return s.optimize.minimize_scalar(lambda x: (x - p) ** 2 + np.exp(p * x)).x


def lowest_value(p, s):
    return s.optimize.minimize_scalar(
        lambda x, c: (x - c) ** 2 + np.exp(c * x), args=(p,), bracket=(0, 1.0)
    ).fun


def bounded(p, s):
    return s.optimize.minimize_scalar(
        lambda x: np.cosh(x - p), bounds=(p - 1, p + 1.3), method="bounded", options={"xatol": 1e-9}
    ).x


def valley(p):
    return lambda x: (p - x[0]) ** 2 + np.cosh(x[1] - p * x[0])


def minimum_of_several(p, s):
    def gradient(x):
        slope = np.sinh(x[1] - p * x[0])
        return np.stack([2 * (x[0] - p) - p * slope, slope])

    return s.optimize.minimize(valley(p), np.ones(2), jac=gradient, options={"gtol": 1e-11}).x


def with_gradient(p, s):
    def f(x):
        return np.sum(np.cosh(x - p)), np.sinh(x - p)

    return s.optimize.minimize(f, np.zeros(2), jac=True, options={"gtol": 1e-11}).x


def residuals(p, s):
    def f(x, scale):
        return x[0] * np.exp(-x[1] * TIMES * scale) - np.exp(-p * TIMES) - NOISE

    return s.optimize.least_squares(f, np.ones(2), args=(1.2,), **TIGHT)


def nearest(p, s):
    return residuals(p, s).x


def cost(p, s):
    return residuals(p, s).cost


def fit(p, s, i, **options):
    def f(t, a, b):
        return a * np.exp(-b * t)

    y = np.exp(-p * TIMES) + NOISE
    return s.optimize.curve_fit(f, TIMES, y, p0=[1, 1.0], **options, **TIGHT)[i]


def fitted(p, s):
    return fit(p, s, 0, sigma=TIMES + 1)


def covariance(p, s):
    return fit(p, s, 1)


def covariance_by_sigma(p, s):
    return fit(p, s, 1, sigma=TIMES + 1, absolute_sigma=True)


MINIMA = [
    minimum, lowest_value, bounded, minimum_of_several, with_gradient, nearest, cost, fitted,
    covariance, covariance_by_sigma,
]  # fmt: skip


@pytest.mark.parametrize("program, nesting", calls(MINIMA, [lowest_value]))
def test_minima_are_right(program, nesting):
    """The place of a minimum is known to half of the digits, and so are differences of it."""
    exact = NESTINGS[nesting][1] == 0

    assert verdict(program, nesting, 1.1, 1e-13 if exact else 3e-4) == "right"


def test_reports():
    ps = np.array([1.1, 1.4])
    plain = [scipy.optimize.minimize(valley(p), np.ones(2)) for p in ps]
    calls, success, x = ft.vmap(
        lambda p: [fo.minimize(valley(p), np.ones(2))[k] for k in ("nfev", "success", "x")]
    )(ps)

    equal(calls, np.array([r.nfev for r in plain]))
    equal(x, np.stack([r.x for r in plain]))
    assert success.all()
    equal(ft.vmap(lambda p: fo.least_squares(lambda x: x - p, [0.0]).jac)(ps), np.ones((2, 1, 1)))


def test_without_tensors_the_result_is_that_of_scipy():
    found = []

    def f(p):
        found.append(fo.minimize_scalar(np.cosh).x)
        found.append(fo.minimize(lambda x: np.sum(x**2), np.ones(2)).x)
        found.append(fo.curve_fit(lambda t, a: a * t, TIMES, 2 * TIMES)[0])
        return p

    ft.vmap(ft.grad(f))(np.ones(2))

    assert found[0] == scipy.optimize.minimize_scalar(np.cosh).x
    equal(found[1], scipy.optimize.minimize(lambda x: np.sum(x**2), np.ones(2)).x)
    close(found[2], np.array([2.0]), 1e-9)


@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
def test_a_line_through_two_points_has_no_finite_covariance():
    ts, y = TIMES[1:3], TIMES[2:0:-1]
    found = []

    def f(y):
        line, covariance = fo.curve_fit(lambda t, a, b: a * t + b, ts, y)
        found.append(covariance)
        return line

    close(ft.jacrev(f)(y), np.linalg.inv(np.stack([ts, [1.0, 1.0]], axis=1)), 1e-6)
    equal(found[0], np.full((2, 2), np.inf))


def test_what_is_refused():
    def active(p):
        return fo.minimize_scalar(lambda x: (x - p) ** 2, bounds=(0, 1), method="bounded").x

    def robust(p):
        return fo.least_squares(lambda x: x - p, np.zeros(2), loss="soft_l1").x[0]

    def kink(p):
        return fo.minimize_scalar(lambda x: np.abs(x - p)).x

    for f, words in [
        (active, "implicit function theorem"),
        (robust, "loss"),
        (kink, "implicit function theorem"),
    ]:
        raises(ft.UnsupportedError, lambda f=f: ft.grad(f)(1.5), "scipy.optimize.", words)
    close(ft.grad(active)(0.5), np.float64(1.0), 1e-6)


FAULTS = [
    ("_gradient", lambda f: lambda x: 3 * x, nearest),
    ("jacfwd", lambda f: lambda x: np.ones((9, 2)) * x, covariance),
    ("jvp", lambda f, x, t: (0.0, x[0] ** 3), minimum),
    ("grad", lambda f: lambda x: x * 2 - 1, minimum_of_several),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0])
def test_planted_faults_are_found(fault, monkeypatch):
    name, wrong, program = fault
    faulty.faults(monkeypatch, name, wrong)
    with np.errstate(all="ignore"):
        try:
            found = verdict(program, "grad", 1.1, 3e-4)
        except np.linalg.LinAlgError:
            found = "wrong"
    assert found != "right"
