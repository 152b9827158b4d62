"""Gamma, beta, chi-square, Dirichlet and F numbers, differentiated by their shapes."""

from functools import partial

import numpy as np
import pytest

import functier as ft
from functier._rules import velocities
from functier.random import _gamma, default_rng
from support.basics import close, equal, raises

SEED = 13
SHAPES = [0.05, 0.3, 1.0, 1.5, 8.0, 300.0, 1e5]
same = partial(ft.vmap, randomness="same")
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


def followed_by_scipy(a, z, b):
    """Return the number at the place in the distribution of `b` that `z` has in that of `a`."""
    special = pytest.importorskip("scipy.special", reason="SciPy is an extra")
    low = special.gammaincinv(b, special.gammainc(a, z))
    high = special.gammainccinv(b, special.gammaincc(a, z))
    return np.where(special.gammainc(a, z) < 0.5, low, high)


def check_velocities(a, tolerance):
    """First and second derivatives by the shape, against differences of SciPy's inverse."""
    z = np.random.default_rng(SEED).standard_gamma(a, size=100)
    z = z[z > 1e-30]

    def ends(h):
        return [followed_by_scipy(a, z, a + k * h * a) for k in range(-3, 4)]

    f, g, h = ends(2e-3), ends(1e-2), 2e-3 * a
    first = (-f[0] + 9 * f[1] - 45 * f[2] + 45 * f[4] - 9 * f[5] + f[6]) / (60 * h)
    twice = 2 * g[0] - 27 * g[1] + 270 * g[2] - 490 * g[3] + 270 * g[4] - 27 * g[5] + 2 * g[6]
    second = twice / (180 * (1e-2 * a) ** 2)

    def slope(b):
        return ft.jvp(lambda b: _gamma.follow(z, b), (b,), (1.0,))[1]

    value, curve = ft.jvp(slope, (a,), (1.0,))
    np.testing.assert_allclose(value, first, rtol=tolerance)
    np.testing.assert_allclose(curve, second, atol=100 * tolerance * np.max(np.abs(second)))


@pytest.mark.parametrize("a", SHAPES)
def test_a_number_keeps_its_place_in_the_distribution(a):
    check_velocities(a, 1e-8 if a > 0.1 else 1e-6)  # of SciPy's inverse, too


@pytest.mark.parametrize(("module", "part"), [(velocities, "digamma"), (_gamma, "gamma_velocity")])
def test_the_check_finds_a_wrong_derivative(module, part, monkeypatch):
    original = getattr(module, part)
    monkeypatch.setattr(module, part, lambda *args: original(*args) * (1 + 1e-6))
    with pytest.raises(AssertionError):
        check_velocities(1.5, 1e-8)


def test_digamma():
    special = pytest.importorskip("scipy.special", reason="SciPy is an extra")
    x = np.logspace(-6, 8, 300)
    np.testing.assert_allclose(velocities.digamma(x), special.digamma(x), rtol=2e-14, atol=2e-14)


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


def test_at_every_level():
    shapes = np.array([0.5, 2.0, 9.0])
    z = np.random.default_rng(SEED).standard_gamma(shapes)
    rate = velocities.gamma_velocity(z, shapes)
    for transformed in (
        lambda f: different(ft.grad(f)),
        lambda f: ft.grad(lambda a: np.sum(different(f)(a))),
        lambda f: different(lambda a: ft.jvp(f, (a,), (1.0,))[1]),
    ):
        rng = default_rng(SEED)
        close(transformed(lambda a, rng=rng: rng.standard_gamma(a) ** 2)(shapes), 2 * z * rate)
    alone = np.array([np.random.default_rng(SEED).standard_gamma(a) for a in shapes])
    close(
        same(ft.grad(lambda a: default_rng(SEED).gamma(a, 3.0)))(shapes),
        3 * velocities.gamma_velocity(alone, shapes),
    )
    rows = different(ft.grad(lambda a: default_rng(SEED).dirichlet(np.stack([a, 2 * a]))[0]))(
        shapes
    )
    assert rows.shape == (3,)

    def model(a):
        return np.sum(default_rng(SEED).standard_gamma(a, size=4))

    close(ft.grad(ft.checkpoint(model))(2.0), ft.grad(model)(2.0))
    raises(ft.RandomnessError, lambda: ft.vmap(ft.grad(model))(shapes))


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
