"""Integrals of functions under every nesting: right, or refused, beside loops and differences;
limits at which an integrand is infinite.
"""

import warnings

import numpy as np
import pytest
import scipy.integrate
from programs_of_functions import (
    INTEGRALS,
    JUMPS,
    NESTINGS,
    SLOW_INTEGRALS,
    calls,
    closure,
    double,
    kink,
    limits,
    moving_jump,
    random_integral,
    singular,
    vectors,
    verdict,
)

import functier as ft
import functier.scipy.integrate as fi
from faults.planted import scipy as faulty
from functier.scipy import integrate
from support.basics import close, raises


def small_jump(p, s):
    """A jump in the middle of the range, small beside the steps between nodes.

    Plain differences do not see it either, as the rule does not.
    """
    return s.integrate.quad(lambda x: 1e-3 * np.sign(x - p + 1.1) + p * x**3, -1, 1)[0]


rng = np.random.default_rng(0)
SEVERAL = [
    pytest.param(f, n, marks=[] if n == "jvp" or (f, n) == (double, "grad") else pytest.mark.slow)
    for f in SLOW_INTEGRALS
    for n in NESTINGS
]
REFUSED = {
    ("weighted", True): "weights cannot differ by limits",
    ("principal_value", True): "weights cannot differ by limits",
}


@pytest.mark.parametrize("program, nesting", calls(INTEGRALS, [closure, limits]))
def test_integrals_are_right(program, nesting):
    p = rng.uniform(0.9, 1.3)
    expected = "refused" if (program.__name__, NESTINGS[nesting][2]) in REFUSED else "right"

    assert verdict(program, nesting, p) == expected


@pytest.mark.share(3)
@pytest.mark.parametrize("program, nesting", SEVERAL)
def test_integrals_of_several_dimensions(program, nesting):
    assert verdict(program, nesting, 1.1) == "right"


@pytest.mark.parametrize("p", [0.9, 1.5])  # 1.5: at the end of a subinterval
@pytest.mark.parametrize("nesting", ["jvp", "grad", "vmap", "grad of grad"])
def test_a_jump_that_may_move_is_refused(nesting, p):
    for program in JUMPS:
        apart = program.__name__ == "branch" and NESTINGS[nesting][2]
        allowed = "right" if nesting == "vmap" and not apart else "refused"
        assert verdict(program, nesting, p) == allowed
    assert verdict(kink, nesting, p, tolerance=1e-5) != "wrong"
    assert verdict(kink, "grad", p, tolerance=1e-5) == "right"


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=pytest.mark.slow if s >= 24 else []) for s in range(200)]
)
@pytest.mark.filterwarnings("ignore")
def test_random_integrals_are_never_wrong(seed):
    draws = np.random.default_rng(seed)
    program, smooth = random_integral(draws)
    nesting = list(NESTINGS)[draws.integers(len(NESTINGS))]
    p = draws.choice([0.5, 0.8, 1.0, 1.2, draws.uniform(0.3, 1.5)])  # kinks meet limits and nodes

    found = verdict(program, nesting, p, tolerance=1e-5, careful=True)
    assert found in (("right", "unsure") if smooth else ("right", "refused", "unsure"))


@pytest.mark.parametrize("nesting", ["vmap", "vmap of grad", "grad of vmap"])
def test_examples_that_did_not_choose_an_integral_have_no_errors(nesting):
    def program(p, s):
        inside = lambda p: s.integrate.quad(lambda x: x**p * np.log(x), 0, p)[0]  # noqa: E731
        if s is not ft.scipy:
            return inside(p) if p > 1.2 else p * p
        return ft.cond(p > 1.2, inside, lambda p: p * p, p)

    assert verdict(program, nesting, 1.1) == "right"


def test_a_limit_with_an_infinite_slope():
    def f(p):
        return fi.quad(lambda x: np.sqrt(x), p, 1)[0]

    close(ft.grad(f)(0.0), np.float64(0.0))
    with np.errstate(all="ignore"):
        raises(ft.UnsupportedError, lambda: ft.grad(ft.grad(f))(0.0), "not finite", "limit a")


def test_the_remedies_for_a_jump_are_right():
    def at_a_point(p):
        return fi.quad(
            lambda x: np.where(x < ft.stop_gradient(0.3 * p / p), p, 1.0), 0, 1, points=[0.3]
        )[0]

    def split(p):
        return fi.quad(np.exp, 0, p)[0] + fi.quad(lambda x: 0.0 * x, p, 1)[0]

    close(ft.grad(at_a_point)(0.3), np.float64(0.3))
    close(ft.grad(split)(0.3), np.exp(0.3))


def test_a_jump_at_a_limit_is_refused():
    def f(p):
        return fi.quad(lambda x: np.where(x < p, 1.0, 3.0), 0, p)[0]

    raises(ft.UnsupportedError, lambda: ft.grad(f)(0.3), "jumps")


def test_without_tensors_the_result_is_that_of_scipy():
    results = []

    def f(p):
        results.append(fi.quad(np.sin, 0, 1, full_output=1))
        results.append(fi.quad_vec(lambda x: np.array([x, 1.0]), 0, 1))
        results.append(fi.dblquad(lambda y, x: x * y, 0, 1, 0, 1))
        return p

    ft.vmap(ft.grad(f))(np.ones(2))

    assert results[0][:2] == scipy.integrate.quad(np.sin, 0, 1)
    assert type(results[0][0]) is float and results[0][2]["neval"] == 21
    close(results[1][0], np.array([0.5, 1.0]))
    assert results[2] == scipy.integrate.dblquad(lambda y, x: x * y, 0, 1, 0, 1)


def test_the_error_estimate_is_a_constant_of_each_example():
    ps = np.array([0.5, 1.5])

    def f(p):
        return fi.quad(lambda x: np.exp(-p * x * x), 0, 2)

    expected = [scipy.integrate.quad(lambda x, p=p: np.exp(-p * x * x), 0, 2)[1] for p in ps]
    close(ft.vmap(lambda p: f(p)[1])(ps), np.array(expected))
    close(ft.grad(lambda p: f(p)[1] * p)(0.5), expected[0])


def test_the_integrand_runs_once_for_each_node():
    nodes = []

    def f(q):
        return fi.quad(lambda x: (nodes.append(x), q[0] * x + q[1] * np.sin(q[2] * x))[1], 0, 1)[0]

    ft.grad(f)(np.array([1.0, 2.0, 3.0]))

    assert all(type(x) is float for x in nodes)
    assert len(nodes) == len(set(nodes)) < 35


def test_many_parameters_and_higher_orders():
    qs = rng.uniform(0.5, 2, (3, 3))

    def f(q):
        return fi.quad(lambda x: q[0] * x**2 + q[1] * np.sin(q[2] * x), 0, q[1])[0]

    from functier.testing import check_grads

    check_grads(f, (qs[0],), order=2)
    each = [ft.hessian(f)(q) for q in qs]
    close(ft.vmap(ft.hessian(f))(qs), np.stack(each))
    whole = ft.hessian(lambda qs: np.sum(ft.vmap(f)(qs)))(qs)
    close(whole[1, :, 1], each[1])
    close(whole[1, :, 0], np.zeros((3, 3)))


def test_third_order_by_a_limit():
    def f(p):
        return fi.quad(lambda x: np.exp(x * 2), 0, p)[0]

    close(ft.grad(ft.grad(ft.grad(f)))(0.4), 4 * np.exp(0.8))


def test_what_is_refused():
    def quad(**options):
        return lambda p: fi.quad(lambda x: p * x, 0, p, **options)[0]

    for function, words in [
        (lambda p: fi.quad(lambda x: p * x, 0, 1, points=[p / 2])[0], ("points", "stop_gradient")),
        (quad(weight="cos", wvar=ft.stop_gradient(1.0) * 2), ()),
        (lambda p: fi.quad(lambda x: x, 0, 1, weight="cos", wvar=p)[0], ("wvar", "derivative")),
        (quad(weight="alg", wvar=(0, 0)), ("weight='alg'", "multiply")),
        (lambda p: fi.quad(lambda x: p * (x - 1) ** -0.5, p, 2)[0], ("not finite", "limit a")),
        (lambda p: fi.quad_vec(lambda x: p * x, 0, 1, workers=2)[0], ("workers=1",)),
        (lambda p: np.real(fi.quad_vec(lambda x: p * 1j, 0, 1)[0]), ("complex",)),
    ]:
        if words:
            raises(
                ft.UnsupportedError, lambda f=function: ft.grad(f)(1.0), "scipy.integrate", *words
            )
        else:
            ft.grad(function)(1.0)
    some = np.array([1.0, np.inf])
    raises(
        ft.UnsupportedError,
        lambda: ft.vmap(lambda b: fi.quad(lambda x: np.exp(-x), 0, b)[0])(some),
        "infinite", "separately",
    )  # fmt: skip


def test_errors_and_warnings_are_those_of_scipy():
    def wrong(p):
        return fi.quad(lambda x: p * np.ones(2), 0, 1)[0]

    raises(TypeError, lambda: ft.grad(wrong)(1.0), "0-dim")
    with pytest.raises(ZeroDivisionError):
        ft.grad(lambda p: fi.quad(lambda x: p * (1 / 0), 0, 1)[0])(1.0)
    with pytest.warns(scipy.integrate.IntegrationWarning):
        ft.jvp(lambda p: fi.quad(lambda x: p / x, 0, 1)[0], (1.0,), (1.0,))
    with pytest.raises(ValueError, match="break points"):
        ft.grad(lambda p: fi.quad(lambda x: p * x, 0, np.inf, points=[1])[0])(1.0)


def test_a_tangent_of_linearize_is_refused():
    with pytest.raises(ft.ConversionError, match="jvp"):
        ft.linearize(lambda p: fi.quad(lambda x: p * x, 0, 1)[0], 1.0)


# ---- planted faults ----


FAULTS = {
    "limits": (limits, "grad"), "jumps": (moving_jump, "grad"),
    "small jumps": (small_jump, "grad"), "jumps forward": (moving_jump, "jvp"),
    "sums": (closure, "jvp"), "sums of vectors": (vectors, "grad of vmap"),
    "places": (limits, "vmap"), "ends": (singular, "grad"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    program, nesting = FAULTS[fault]
    before = verdict(program, nesting, 1.1)
    faulty.wrong_quad(fault, monkeypatch)
    with warnings.catch_warnings(action="ignore"):
        after = verdict(program, nesting, 1.1)
    assert after == "wrong" or (program is small_jump and after != "refused")
    assert before == ("refused" if "jump" in program.__name__ else "right")


# ---- Limits at which an integrand is infinite, by which the integral is differentiated ----


def logarithmic(t):
    """Of an integrand that is -inf at the limit, or log(2e-8) where rounding spares it."""
    return integrate.quad(
        lambda y: y * y * np.log(2 * np.abs(np.sin(np.sqrt(t - y * y) / 2))), 0, t**0.5
    )[0]


def rooted(t):
    return integrate.quad(lambda y: np.sqrt(t - y * y), 0, 0.999 * t**0.5)[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("t", [3.2, *np.random.default_rng(0).uniform(0.3, 8, 6).tolist()])
def test_an_integrand_that_grows_towards_a_limit_is_refused(t):
    raises(ft.UnsupportedError, lambda: ft.grad(logarithmic)(t), "not finite at the limit b")


@pytest.mark.parametrize("t", [0.4, 1.0, 3.2, 7.5])
def test_an_integrand_with_an_infinite_slope_behind_the_limit_has_its_derivative(t):
    step = 1e-5
    expected = (rooted(t + step) - rooted(t - step)) / (2 * step)
    np.testing.assert_allclose(ft.grad(rooted)(t), expected, rtol=1e-6)
