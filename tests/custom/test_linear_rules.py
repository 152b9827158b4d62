"""Rules for forward mode that are not linear are refused at the first use, and draws stay."""

import random

import numpy as np
import pytest

import functier as ft
from faults.planted import transforms as faulty

X = np.array([1.0, 2.0, 3.0])
RNG = np.random.default_rng(3)
OURS = ft.random.default_rng(3)

NOT_LINEAR = {
    "square": lambda x, t: t**2,
    "cube": lambda x, t: x * t**3,
    "absolute": lambda x, t: 2 * x * np.abs(t),
    "affine": lambda x, t: 2 * x * t + 1.0,
    "constant": lambda x, t: np.cos(x),
    "above": lambda x, t: np.where(t > 0.5, 2 * x * t, 0.0),
    "below": lambda x, t: np.where(t < -0.5, 2 * x * t, 0.0),
    "one point": lambda x, t: 2 * x * t if np.any(t) else 0 * x,
    "clip": lambda x, t: np.clip(2 * x * t, -10.0, 10.0),
    "sine": lambda x, t: np.sin(t),
    "no gradient": lambda x, t: ft.no_grad()(lambda: x * t)(),
    "of a float": lambda x, t: x * ft.stop_gradient(t),
}
LINEAR = {
    "usual": lambda x, t: 2 * x * t,
    "zero": lambda x, t: 0.0 * t,
    "of numpy": lambda x, t: np.cumsum(t)[::-1] if np.ndim(t) else t,
    "by a branch": lambda x, t: t * (3.0 if np.all(x > 0) else 2.0),
    "numpy.random": lambda x, t: t * np.random.normal(size=np.shape(t)),  # noqa: NPY002
    "a generator": lambda x, t: t * RNG.normal(),
    "functier.random": lambda x, t: t * OURS.normal(),
    "random": lambda x, t: t * random.random(),
    "infinite": lambda x, t: t / (0.0 * x),
    "another dtype": lambda x, t: (2 * x * t).astype(np.float32),
}


def with_rule(rule, out=lambda x: x**2):
    f = ft.custom_jvp(lambda x: x**2)
    f.defjvp(lambda primals, tangents: (out(*primals), rule(*primals, *tangents)))
    return f


def total(f):
    return lambda x: np.sum(f(x))


WAYS = {
    "grad": lambda f: ft.grad(total(f))(X),
    "of a number": lambda f: ft.grad(f)(1.5),
    "vmap of grad": lambda f: ft.vmap(ft.grad(f))(X),
    "grad of vmap": lambda f: ft.grad(total(ft.vmap(f)))(X),
    "compile": lambda f: ft.compile(ft.grad(total(f)))(X),
    "hessian": lambda f: ft.hessian(total(f))(X),
    "jacrev": lambda f: ft.jacrev(f)(X),
    "float32": lambda f: ft.grad(total(f))(X.astype(np.float32)),
    "complex": lambda f: ft.grad(lambda z: np.sum(f(z)).real)(X + 0j),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_a_rule_that_is_not_linear_is_refused(name, way):
    if way == "complex" and name in ("above", "below", "clip", "absolute"):
        pytest.skip("no order of complex numbers")
    f = with_rule(NOT_LINEAR[name])
    for _ in range(2):  # it is not forgotten
        with pytest.raises(ValueError, match=r"the jvp rule: .* linear function of the tangents"):
            WAYS[way](f)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_rule_is_not(name):
    drawing = "random" in name or name == "a generator"
    for way in WAYS.keys() - (
        {"compile", "vmap of grad", "grad of vmap", "hessian", "jacrev"} if drawing else {}
    ):
        WAYS[way](with_rule(LINEAR[name]))


def test_a_check_draws_no_numbers(monkeypatch):
    def drawn():
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        rng, ours = np.random.default_rng(0), ft.random.default_rng(0)

        def rule(x, t):
            return t * (rng.normal() + ours.normal() + np.random.normal() + random.random())  # noqa: NPY002

        return [ft.grad(total(with_rule(rule)))(X) for _ in range(3)]

    found = drawn()
    faulty.rules_that_nobody_checks(monkeypatch)
    np.testing.assert_array_equal(found, drawn())


def test_forward_mode_does_what_a_rule_says():
    f = with_rule(NOT_LINEAR["square"])
    np.testing.assert_array_equal(ft.jvp(f, (X,), (X,))[1], X**2)


@pytest.mark.parametrize("way", [*WAYS, "jvp"])
def test_a_result_of_another_form_is_refused(way):
    ways = {**WAYS, "jvp": lambda f: ft.jvp(f, (X,), (X,))}
    for out in (lambda x: np.sum(x**2) + np.ones(2), lambda x: (x**2, x)):
        f = ft.custom_jvp(lambda x: x**2)
        f.defjvp(lambda p, t, out=out: ft.jvp(out, p, t))
        with pytest.raises((ValueError, TypeError, IndexError)) as error:
            ways[way](f)
        assert way not in ("jvp", "jacrev") or "the function returns" in str(error.value)


def test_parts_of_a_rule_are_checked():
    f = ft.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: abs(t) * x)
    with pytest.raises(ValueError, match="linear function"):
        ft.grad(f)(1.0, 2.0)


def test_a_rule_is_checked_once():
    calls = []
    f = with_rule(lambda x, t: calls.append(1) or 2 * x * t)
    counts = []
    for _ in range(3):
        calls.clear()
        ft.grad(total(f))(X)
        counts.append(len(calls))
    assert counts == [4, 1, 1]


def test_a_collective_in_a_rule_is_not_judged():
    f = with_rule(lambda x, t: ft.pmean(2 * x * t, "i"))
    xs = np.ones((2, 3))
    found = ft.vmap(ft.grad(total(f)), axis_name="i")(xs)
    np.testing.assert_array_equal(found, 2 * xs)


def test_rules_that_are_not_checked_are_found(monkeypatch):
    faulty.rules_that_are_not_transposed_at_zero(monkeypatch)
    with pytest.raises(pytest.fail.Exception):
        test_a_rule_that_is_not_linear_is_refused("absolute", "grad")
