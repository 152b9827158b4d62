"""Reductions where a size or a tie decides how their derivative is made."""

import numpy as np
import pytest

import functier as ft
from support import equal

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
