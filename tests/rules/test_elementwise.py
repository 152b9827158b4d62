"""Elementwise rules whose form depends on the values: ties of extrema, powers; reductions."""

import numpy as np
import pytest

import functier as ft
from support.basics import close, equal

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


# ---- Reductions where a size or a tie decides how their derivative is made ----


RNG = np.random.default_rng(3)
SIZES = [(3, 4), (200, 60), (300, 500)]
"""A rule fills, repeats or broadcasts a cotangent, as it has few, more or many elements."""


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_gradient_of_a_sum_at_every_size(shape, axis, keepdims):
    x = RNG.normal(size=shape)
    sums = np.sum(x, axis=axis, keepdims=keepdims)
    w = RNG.normal(size=np.shape(sums))[()]

    y, pullback = ft.vjp(lambda x: np.sum(x, axis=axis, keepdims=keepdims), x)

    equal(y, sums)
    whole = w if keepdims or axis is None else np.expand_dims(w, axis)
    equal(pullback(w)[0], np.broadcast_to(whole, shape))


@pytest.mark.parametrize("func", [np.max, np.min])
@pytest.mark.parametrize("shape", [(4, 3), (200, 6), (2, 100, 7), (60, 90)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_extrema_of_few_and_of_many_rows(func, shape, keepdims):
    x = RNG.normal(size=shape)
    x[0, ..., 1] = np.nan
    x[1, ..., 2] = -np.inf
    expected = func(x, axis=-1, keepdims=keepdims)

    y, pullback = ft.vjp(lambda x: func(x, axis=-1, keepdims=keepdims), x)

    equal(y, expected)
    equal(pullback(np.ones(y.shape))[0], 1.0 * (x == func(x, axis=-1, keepdims=True)))
    x = np.where(np.isnan(x), 0.0, x)
    w = RNG.normal(size=y.shape)
    (gradient,) = ft.vjp(lambda x: func(x, axis=-1, keepdims=keepdims), x)[1](w)
    w = w if keepdims else w[..., None]
    equal(gradient, np.where(x == func(x, axis=-1, keepdims=True), w, 0))


def test_ties_beside_a_row_whose_extremum_is_the_initial_value():
    x = np.array([[2.0, 2.0], [0.0, 0.0]])

    def f(x):
        return np.sum(np.max(x, axis=1, initial=1.0))

    equal(ft.grad(f)(x), np.array([[0.5, 0.5], [0.0, 0.0]]))
    equal(ft.jvp(f, (x,), (np.array([[1.0, 3.0], [5.0, 7.0]]),))[1], np.float64(2.0))
    equal(ft.vmap(ft.grad(f))(np.stack([x, x])), np.stack([[[0.5, 0.5], [0.0, 0.0]]] * 2))


@pytest.mark.parametrize("axis", [0, 1, (0, 1), None], ids=str)
def test_ties_in_some_examples_of_a_batch(axis):
    xs = RNG.integers(0, 2, (5, 3, 4)).astype(float)
    xs[0] = RNG.normal(size=(3, 4))
    mask = np.array([True, False, True, True])

    for where, initial in ((True, np._NoValue), (mask, -1.0)):

        def f(x, where=where, initial=initial):
            return np.sum(np.max(x, axis=axis, where=where, initial=initial))

        equal(ft.vmap(ft.grad(f))(xs), np.stack([ft.grad(f)(x) for x in xs]))


def test_slices_beside_one_that_is_zero():
    """Of reduceat, whose slices of one element are the elements themselves."""
    x = np.array([1.0, 0.0, 1.0])

    def f(v):
        return np.divide.reduceat(v, [0, 1, 2])

    np.testing.assert_array_equal(ft.vjp(f, x)[1](np.ones(3))[0], np.ones(3))
    np.testing.assert_array_equal(ft.jacrev(f)(x), np.eye(3))
    np.testing.assert_array_equal(ft.jacfwd(f)(x), np.eye(3))
