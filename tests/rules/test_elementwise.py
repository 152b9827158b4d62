"""Elementwise rules whose form depends on the values: ties of extrema, powers."""

import numpy as np
import pytest

import functier as ft
from support import close, equal

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


INSIDE = {
    np.tanh: lambda x: 1 - np.tanh(x) ** 2,
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.cbrt: lambda x: 1 / (3 * np.cbrt(x) ** 2),
    np.log2: lambda x: 1 / (x * np.log(2)),
    np.log1p: lambda x: 1 / (x + 1),
    np.arctan: lambda x: 1 / (1 + x**2),
    np.arcsin: lambda x: 1 / np.sqrt(1 - x**2),
    np.arctanh: lambda x: 1 / (1 - x**2),
}


TYPED = [
    (func, dtype)
    for func in INSIDE
    for dtype in (np.float32, float, complex)
    if "{0}->{0}".format(np.dtype(dtype).char) in func.types
]


@pytest.mark.parametrize(("func", "dtype"), TYPED, ids=lambda v: v.__name__)
def test_rules_of_large_arrays_write_to_no_value(func, dtype):
    """A pullback runs twice, also on a batch, and finds its values as they were."""
    x = np.linspace(0.1, 0.9, 40_000, dtype=dtype)
    given = x.copy()
    expected = INSIDE[func](x).astype(dtype)
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    y, pullback = ft.vjp(func, x)
    ones = np.ones_like(y)

    for _ in range(2):
        close(pullback(ones)[0], np.conjugate(expected), tolerance)
    twos = ft.vmap(lambda g: pullback(g)[0])(np.stack([ones, 2 * ones]))
    close(twos[1], 2 * np.conjugate(expected), tolerance)
    close(ft.jvp(func, (x,), (ones,))[1], expected, tolerance)
    equal(ones, np.ones_like(y))
    equal(x, given)
    equal(y, func(x))
