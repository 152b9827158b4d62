"""Elementwise rules whose form depends on the values: ties of extrema, powers."""

import numpy as np
import pytest

import functier as ft
from support import equal

X = np.array([[-1.0, 0.0, 2.0, np.nan, np.inf], [3.0, -0.0, np.nan, -4.0, 1.0]])
Y = np.array([0.0, 0.0, 1.0, 2.0, np.inf])


@pytest.mark.parametrize("func", [np.maximum, np.minimum, np.fmax, np.fmin])
@pytest.mark.parametrize("columns", [[0, 2], [0, 1, 2, 3, 4]], ids=["no ties", "ties"])
def test_operands_of_an_extremum_share_its_gradient(func, columns):
    x, y = X[:, columns], Y[columns]
    ans = func(x, y)
    of_x, of_y = [np.where(x == y, 0.5, v == ans) for v in (x, np.broadcast_to(y, x.shape))]

    def f(x, y):
        return np.sum(func(x, y))

    equal(ft.grad(f)(x, y), of_x)
    equal(ft.grad(f, 1)(x, y), np.sum(of_y, axis=0))
    equal(ft.vmap(ft.grad(f), (0, None))(x, y), of_x)
    equal(ft.jvp(f, (x, y), (np.zeros(x.shape), np.ones(y.shape)))[1], np.sum(of_y))
    for i, part in enumerate(of_x[0]):
        equal(ft.grad(func)(x[0, i], y[i]), np.float64(part))


@pytest.mark.parametrize("exponent", [0.5, -1, -1.0, 1.5, 3, np.float64(0.5)], ids=repr)
@pytest.mark.parametrize("x", [0.0, -1.0, 2.0])
def test_derivative_of_a_power_of_a_python_number(exponent, x):
    with np.errstate(all="ignore"):
        expected = exponent * np.power(np.float64(x), exponent - 1)

        equal(ft.grad(lambda x: np.power(x, exponent))(x), expected)
        equal(ft.grad(lambda x: np.power(x, exponent))(np.float64(x)), expected)
        many = ft.grad(lambda x: np.sum(np.power(x, exponent)))(np.full(3, x))
        np.testing.assert_allclose(many, np.full(3, expected), rtol=1e-15)
