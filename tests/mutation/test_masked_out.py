"""``out=`` with ``where=``: what is masked is not computed, so it has no warning and no NaN."""

import warnings

import numpy as np
import pytest

import functier as ft

X = np.array([0.5, -0.8, 0.0, 2.0, -0.3])
UNARY = (np.sqrt, np.log, np.log2, np.log10, np.log1p, np.reciprocal)


def _masked(func, make, mask):
    def f(x):
        return func(x, out=make(x), where=mask(func, x))

    return f


def _inside(func, x):
    return x > 0.0


def _fixed(func, x):
    return X > 0.0


@pytest.mark.parametrize("mask", [_inside, _fixed])
@pytest.mark.parametrize("make", [np.zeros_like, np.ones_like, lambda x: 3.0 * x])
@pytest.mark.parametrize("func", UNARY, ids=lambda f: f.__name__)
def test_what_is_masked_out_has_no_share(func, make, mask):
    f = _masked(func, make, mask)
    chosen = mask(func, X)
    inner = np.where(chosen, X, 2.0)
    step = 1e-6
    slopes = (func(inner + step) - func(inner - step)) / (2 * step)
    expected = np.where(chosen, slopes, (make(X + 1.0) - make(X)))
    with warnings.catch_warnings(action="error"):
        value, tangent = ft.jvp(f, (X,), (np.ones(5),))
        gradient = ft.grad(lambda x: np.sum(f(x)))(X)
        second = ft.grad(lambda x: np.sum(ft.grad(lambda y: np.sum(f(y)))(x)))(X)
        batch = np.stack([X, X])
        rows = ft.vmap(f)(batch)
        both = ft.vmap(ft.grad(lambda x: np.sum(f(x))))(batch)
    np.testing.assert_array_equal(value, f(X.copy()))
    np.testing.assert_allclose(tangent, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)
    assert np.isfinite(second).all()
    np.testing.assert_array_equal(rows, [value, value])
    np.testing.assert_array_equal(both, [gradient, gradient])


def test_a_quotient_by_zero_is_masked_out():
    def ratio(x, y):
        return np.sum(np.divide(x, y, out=np.zeros_like(x), where=y != 0))

    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 4.0])
    with warnings.catch_warnings(action="error"):
        by_x, by_y = ft.grad(ratio, argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(by_x, [0.5, 0.0, 0.25])
    np.testing.assert_array_equal(by_y, [-0.25, 0.0, -3 / 16])


def test_a_mask_that_is_a_tensor_beside_plain_operands():
    import functier.numpy as fnp

    def f(x):
        return np.sum(x * np.sqrt(np.array([4.0, 9.0]), out=fnp.zeros(2), where=x > 0))

    batch = np.array([[1.0, -1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(ft.vmap(f)(batch), [2.0, 13.0])


def test_arrays_that_are_made_inside_have_no_warning():
    import functier.numpy as fnp

    def f(x):
        y = fnp.array([0.0, 2.0])
        with warnings.catch_warnings(action="error"):
            return x * np.divide(1.0, y, out=fnp.ones(2), where=y != 0)

    np.testing.assert_array_equal(ft.vmap(f)(np.array([1.0, 2.0])), [[1.0, 0.5], [2.0, 1.0]])
