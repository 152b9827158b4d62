"""Older functions of `scipy.optimize`: values are SciPy's, derivatives those of the equation."""

from collections import deque

import numpy as np
import pytest
import scipy.optimize

import functier as ft
import functier.numpy as fnp
import functier.scipy.optimize as fo

XS = np.arange(6.0)
YS = np.array([0.3, 1.9, 4.2, 5.8, 8.3, 9.7])


def line(y, **options):
    return fo.leastsq(lambda p: p[0] * XS + p[1] - y, np.array([1.0, 0.0]), **options)


def test_least_squares_of_minpack():
    slope, offset = scipy.optimize.leastsq(lambda p: p[0] * XS + p[1] - YS, [1.0, 0.0])[0]
    np.testing.assert_allclose(line(YS)[0], [slope, offset])
    exact = np.linalg.pinv(np.stack([XS, np.ones(6)], axis=1))
    np.testing.assert_allclose(ft.jacrev(lambda y: line(y)[0])(YS), exact, atol=1e-8)
    np.testing.assert_allclose(ft.jacfwd(lambda y: line(y)[0])(YS), exact, atol=1e-8)
    batch = np.stack([YS, YS**1.1])
    fits, flags = ft.vmap(line)(batch)
    np.testing.assert_allclose(fits, [line(y)[0] for y in batch])
    assert flags.shape == (2,)


def test_full_output():
    def numbers(y):
        x, covariance, report, message, flag = line(y, full_output=True)
        assert "relative" in message
        return x, covariance, report["fvec"], flag

    x, covariance, rest, flag = ft.vmap(numbers)(YS[None])
    plain = scipy.optimize.leastsq(lambda p: p[0] * XS + p[1] - YS, [1.0, 0.0], full_output=True)
    np.testing.assert_allclose(x[0], plain[0])
    np.testing.assert_allclose(covariance[0], plain[1])
    np.testing.assert_allclose(rest[0], plain[2]["fvec"])
    assert flag == plain[4]


@pytest.mark.parametrize("name", ["fmin", "fmin_powell", "fmin_cg", "fmin_bfgs"])
def test_minima(name):
    def lowest(a):
        def value(x):
            return fnp.sum((x - a) ** 2 * (1 + 0.3 * (x - a) ** 2)) + x[0] * x[1]

        return getattr(fo, name)(value, np.array([0.3, 0.4]), disp=False)

    a = np.array([1.0, 0.7])
    slope = ft.jacfwd(lowest)(a)
    exact = ft.jacfwd(minimum)(a)
    np.testing.assert_allclose(slope, exact, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ft.vmap(lowest)(a[None])[0], lowest(a))


def minimum(a):
    def value(x):
        return fnp.sum((x - a) ** 2 * (1 + 0.3 * (x - a) ** 2)) + x[0] * x[1]

    return fo.minimize(value, np.array([0.3, 0.4]), tol=1e-12).x


def test_fixed_points():
    def point(a):
        return fo.fixed_point(lambda x: fnp.cos(a * x), 0.5)

    x = point(0.7)
    slope = -x * np.sin(0.7 * x) / (1 + 0.7 * np.sin(0.7 * x))
    np.testing.assert_allclose(ft.grad(point)(0.7), slope, rtol=1e-7)
    np.testing.assert_allclose(ft.vmap(ft.grad(point))(np.array([0.7])), [slope], rtol=1e-7)


def test_what_is_refused():
    def full(a):
        return fo.fmin_bfgs(lambda x: fnp.sum((x - a) ** 2), [0.0], full_output=True, disp=False)[1]

    with pytest.raises(ft.UnsupportedError, match=r"write scipy\.optimize\.minimize"):
        ft.grad(full)(1.0)
    with pytest.raises(ft.UnsupportedError, match="or has no slope"):
        ft.grad(lambda a: fo.fixed_point(lambda x: a * x, 1.0))(1.0)


def test_a_queue_of_tensors_is_an_array():
    def turned(x):
        queue = deque(x)
        queue.rotate(1)
        return fnp.array(queue) * np.arange(3.0)

    x = np.array([0.3, 1.0, 2.0])
    np.testing.assert_array_equal(ft.jvp(turned, (x,), (x,))[1], [0.0, 0.3, 2.0])
