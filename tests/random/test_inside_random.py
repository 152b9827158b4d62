"""Tests of random numbers that look inside."""

from functools import partial

import numpy as np
import pytest

import functier as ft
from functier._rules import velocities
from functier.random import _gamma, default_rng
from support.basics import close, raises

pytestmark = pytest.mark.inside("Formulas of derivatives of draws are compared one by one.")


# ---- random gamma ----


SEED = 13


SHAPES = [0.05, 0.3, 1.0, 1.5, 8.0, 300.0, 1e5]


same = partial(ft.vmap, randomness="same")


different = partial(ft.vmap, randomness="different")


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
