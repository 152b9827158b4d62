"""Limits at which an integrand is infinite, by which the integral is differentiated."""

import numpy as np
import pytest

import functier as ft
from functier.scipy import integrate


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
    with pytest.raises(ft.UnsupportedError, match="not finite at the limit b"):
        ft.grad(logarithmic)(t)


@pytest.mark.parametrize("t", [0.4, 1.0, 3.2, 7.5])
def test_an_integrand_with_an_infinite_slope_behind_the_limit_has_its_derivative(t):
    step = 1e-5
    expected = (rooted(t + step) - rooted(t - step)) / (2 * step)
    np.testing.assert_allclose(ft.grad(rooted)(t), expected, rtol=1e-6)
