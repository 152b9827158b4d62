"""Roots under every nesting: right, or refused, beside loops and differences."""

import importlib.util
import sys

import numpy as np
import pytest
import scipy.optimize
from programs_of_functions import ROOTS, bracketed, calls, equations, system, verdict

import functier as ft
import functier.scipy.optimize as fo
from faults.planted import scipy as faulty
from support.basics import close, equal, raises

rng = np.random.default_rng(0)


@pytest.mark.parametrize("program, nesting", calls(ROOTS, [ROOTS[0], equations]))
def test_roots_are_right(program, nesting):
    assert verdict(program, nesting, rng.uniform(0.9, 1.3)) == "right"


def test_reports_have_the_root_with_its_derivative():
    ps = np.array([1.0, 2.0])

    def report(p):
        return fo.brentq(lambda x: x**3 - p, 0, 3, full_output=True)[1]

    plain = [scipy.optimize.brentq(lambda x, p=p: x**3 - p, 0, 3, full_output=True)[1] for p in ps]
    close(ft.grad(lambda p: report(p).root)(8.0), np.float64(1 / 12))
    roots, steps = ft.vmap(lambda p: (report(p).root, report(p).iterations))(ps)
    equal(roots, np.array([r.root for r in plain]))
    equal(steps, np.array([r.iterations for r in plain]))


def test_reports_of_systems():
    ps = np.array([1.0, 2.0])
    plain = [scipy.optimize.root(system(p), np.zeros(2)) for p in ps]
    texts = []

    def f(p):
        found = fo.root(system(p), np.zeros(2))
        x, report, code, text = fo.fsolve(system(p), [0, 0.0], full_output=1)
        texts.extend([found.message, text])
        return found.x, found.nfev, x, report["nfev"], code

    x, calls, same_x, same_calls, code = ft.vmap(f)(ps)
    equal(x, np.stack([r.x for r in plain]))
    equal(calls, np.array([r.nfev for r in plain]))
    equal(same_x, x)
    equal(same_calls, calls)
    assert texts == 2 * [plain[0].message] and code.tolist() == [1, 1]


@pytest.mark.parametrize("method", ["hybr", "broyden1", "anderson", "krylov", "df-sane"])
def test_methods_of_root(method):
    def f(p):
        return fo.root(system(p), np.zeros(2), method=method).x

    close(ft.jacrev(f)(1.3), ft.jacrev(lambda p: equations(p, ft.scipy))(1.3), 1e-4)


def test_without_tensors_the_result_is_that_of_scipy():
    results = []

    def f(p):
        results.append(fo.brentq(np.cos, 0, 3))
        results.append(fo.newton(np.cos, 1.0))
        results.append(fo.fsolve(np.cos, 1.0))
        results.append(fo.root_scalar(np.cos, bracket=[0, 3]).root)
        return p

    ft.vmap(ft.grad(f))(np.ones(2))

    assert results[0] == results[3] == scipy.optimize.brentq(np.cos, 0, 3)
    assert results[1] == scipy.optimize.newton(np.cos, 1.0)
    equal(results[2], scipy.optimize.fsolve(np.cos, 1.0))


def test_a_bracket_and_a_start_are_constants():
    def f(p):
        return fo.brentq(lambda x: x**2 - 2, p, 3 * p) + fo.newton(lambda x: x**2 - 2, p)

    equal(ft.grad(f)(1.0), np.float64(0.0))
    close(ft.vmap(f)(np.array([0.8, 1.2])), np.full(2, 8**0.5), 1e-9)


def test_linearize():
    value, along = ft.linearize(lambda p: fo.brentq(lambda x: x**2 - p, 0, 3), 2.0)

    close(along(1.0), 0.5 / value)


def test_errors_of_scipy():
    with pytest.raises(ValueError, match="different signs"):
        ft.grad(lambda p: fo.brentq(lambda x: x * x + p, -1, 1))(0.3)
    with pytest.raises(RuntimeError, match="converge"):
        ft.vmap(lambda p: fo.newton(lambda x: x * x + p, 1.0))(np.array([-1.0, 1.0]))


def test_a_result_that_is_no_smooth_root_is_refused():
    for f in (lambda x, p: np.sign(x - p) + 0.1 * x, lambda x, p: np.sign(x - p)):
        raises(
            ft.UnsupportedError,
            lambda f=f: ft.grad(lambda p: fo.brentq(f, -1, 1, args=(p,)))(0.3),
            "scipy.optimize.brentq", "implicit function theorem",
        )  # fmt: skip
    raises(
        ft.UnsupportedError,
        lambda: ft.jacrev(lambda p: fo.root(lambda x: np.tile(x[0] * p, 2), np.ones(2)).x)(1.0),
        "scipy.optimize.root",
    )


FAULTS = [
    ("stop_gradient", lambda x: x, bracketed("brentq"), "grad"),
    ("jvp", lambda f, x, t: (f(*x), 2.0), bracketed("brentq"), "jvp"),
    ("jacfwd", lambda f: lambda x: np.eye(2), equations, "grad"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0])
def test_planted_faults_are_found(fault, monkeypatch):
    name, wrong, program, nesting = fault
    assert verdict(program, nesting, 1.1) == "right"
    faulty.faults_in_roots(monkeypatch, name, wrong)

    assert verdict(program, nesting, 1.1) == "wrong"


def test_too_few_steps_are_found(monkeypatch):
    """One chord step is right to first order only."""

    faulty.too_few_steps(monkeypatch)
    assert verdict(bracketed("brentq"), "grad", 1.1) == "right"
    assert verdict(bracketed("brentq"), "grad of grad", 1.1) == "wrong"


ADOPTED = """
import math
from scipy import optimize
from scipy.integrate import quad

def density(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

def price(spot, strike, spread):
    def payoff(x):
        return max(spot * math.exp(spread * x - spread**2 / 2) - strike, 0.0) * density(x)
    return quad(payoff, -9, 9, limit=200)[0]

def closed(spot, strike, spread):
    d = math.log(spot / strike) / spread + spread / 2
    below = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))
    return spot * below(d) - strike * below(d - spread)

def implied(value, spot, strike):
    return optimize.brentq(lambda v: closed(spot, strike, v) - value, 1e-3, 3, xtol=1e-14)
"""


def test_adopted_code_integrates_and_solves(tmp_path):
    """The slope of a payoff jumps at a place that moves, so its second derivative is refused."""
    name = "adoptee_with_scipy"
    (tmp_path / f"{name}.py").write_text(ADOPTED)
    spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    values, at = np.array([12.0, 15.0]), (100.0, 95.0)
    expected = [module.implied(v, *at) for v in values]
    try:
        with ft.adopt(module):
            equal(ft.vmap(lambda v: module.implied(v, *at))(values), np.array(expected))
            vega = ft.grad(module.closed, argnums=2)(*at, expected[0])
            close(ft.grad(module.implied)(12.0, *at), 1 / vega, 1e-9)
            for i in range(3):
                slope = ft.grad(module.closed, argnums=i)(*at, 0.2)
                close(ft.grad(module.price, argnums=i)(*at, 0.2), slope, 1e-6)
            gamma = ft.grad(ft.grad(module.price))
            raises(ft.UnsupportedError, lambda: gamma(*at, 0.2), "scipy.integrate.quad", "jumps")
    finally:
        del sys.modules[name]
