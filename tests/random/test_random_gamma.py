"""Gamma, beta, chi-square, Dirichlet and F numbers, differentiated by their shapes."""

from functools import partial

import numpy as np
import pytest

import functier as ft
from functier.random import default_rng
from support.basics import close, equal, raises

SEED = 13
different = partial(ft.vmap, randomness="different")

MADE = {
    "beta": (2.0, np.array([0.5, 3.0])),
    "chisquare": (np.array([0.5, 3.0, 20.0]),),
    "dirichlet": (np.array([0.5, 2.0, 4.0]),),
    "f": (3.0, np.array([[4.0], [0.5]])),
    "gamma": (np.array([0.5, 3.0]), 2.0),
    "standard_gamma": (np.array([0.5, 3.0]),),
}
"""The methods, each with the parameters by which it is differentiated."""


@pytest.mark.parametrize("name", MADE)
def test_the_numbers_are_numpys(name):
    args = MADE[name]
    whole = np.broadcast_shapes(*[np.shape(a) for a in args])
    for size in (None, (2, *whole)) if name != "dirichlet" else (None, 4, (2, 3)):
        expected = getattr(np.random.default_rng(SEED), name)(*args, size=size)
        for i, p in enumerate(args):

            def f(q, i=i, size=size):
                params = (*args[:i], q, *args[i + 1 :])
                return getattr(default_rng(SEED), name)(*params, size=size)

            value, tangent = ft.jvp(f, (p,), (np.ones_like(p)[()],))
            close(value, expected, 1e-13)
            assert tangent.shape == value.shape and np.all(np.isfinite(tangent))
            assert np.any(tangent)
            close(ft.jacrev(f)(p).sum(tuple(range(-np.ndim(p), 0)) or None) if np.ndim(p)
                  else ft.jacrev(f)(p), tangent, 1e-11)  # fmt: skip


MEANS = {
    "beta": (lambda a, b: a / (a + b), (2.0, 0.5)),
    "chisquare": (lambda df: df, (3.0,)),
    "f": (lambda n, d: d / (d - 2) + 0 * n, (3.0, 40.0)),
    "gamma": (lambda a, scale: a * scale, (0.7, 2.0)),
    "standard_gamma": (lambda a: a, (0.3,)),
}


@pytest.mark.parametrize("name", MEANS)
def test_the_derivatives_of_means(name):
    mean, params = MEANS[name]
    n = 20_000

    def draws(*params):
        return getattr(default_rng(SEED), name)(*params, size=n)

    for i, p in enumerate(params):
        rates = ft.jvp(lambda q, i=i: draws(*params[:i], q, *params[i + 1 :]), (p,), (1.0,))[1]
        exact = ft.grad(mean, argnums=i)(*params)
        assert abs(np.mean(rates) - exact) < 5 * np.std(rates) / np.sqrt(n), (name, i)


def test_the_derivatives_of_dirichlet_moments():
    alpha, n = np.array([0.5, 2.0, 4.0]), 20_000

    def moments(alpha):
        x = default_rng(SEED).dirichlet(alpha, n)
        return np.mean(x**2, axis=0)

    def exact(alpha):
        total = np.sum(alpha)
        return alpha * (alpha + 1) / (total * (total + 1))

    np.testing.assert_allclose(
        ft.jacfwd(moments, randomness="same")(alpha), ft.jacfwd(exact)(alpha), atol=4e-3
    )


def test_types_and_ends():
    value, tangent = ft.jvp(
        lambda a: default_rng(SEED).standard_gamma(a, 3, np.float32), (2.0,), (1.0,)
    )
    assert value.dtype == tangent.dtype == np.float32
    equal(value, np.random.default_rng(SEED).standard_gamma(2.0, 3, np.float32))
    gradient = ft.grad(lambda a: np.sum(default_rng(SEED).gamma(a, 2.0)))(np.float32(2.0))
    assert gradient.dtype == np.float32
    tiny = ft.jvp(lambda a: default_rng(SEED).standard_gamma(a, 50), (1e-3,), (1.0,))
    assert np.any(tiny[0] == 0) and np.all(np.isfinite(tiny[1]))  # numbers below the smallest
    zero = ft.grad(lambda a: np.sum(a + ft.stop_gradient(default_rng(SEED).gamma(a))))(2.0)
    equal(zero, 1.0)


def test_where_numpy_draws_by_rejection_alone():
    for draw, parts in [
        (
            lambda a: default_rng(0).beta(a, 2 * a),
            ["rng.beta(a, b)", "a <= 1 and b <= 1", "x / (x + y)"],
        ),
        (
            lambda a: default_rng(0).dirichlet(np.stack([a, a]) / 9)[0],
            ["below 0.1", "x / numpy.sum(x)"],
        ),
    ]:
        raises(ft.NoRuleError, lambda: ft.grad(draw)(0.5), "grad(<lambda>)", *parts)
        raises(ft.NoRuleError, lambda: different(ft.grad(draw))(np.array([4.0, 0.5])))
    raises(ValueError, lambda: ft.grad(lambda a: default_rng(0).gamma(a, -1.0))(2.0), "scale < 0")
    raises(ValueError, lambda: ft.grad(lambda a: default_rng(0).gamma(a))(-2.0), "shape < 0")
    with pytest.raises(ft.MutationError):
        ft.grad(lambda a: np.sum(default_rng(0).standard_gamma(a, out=np.zeros(2))))(2.0)
