"""Views and copies beside what the net of shared memory calls: columns, parts, other dtypes."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp


def test_columns_of_an_array_that_has_no_name_are_no_aliases():
    """They share no element, though each lies between the elements of the other."""

    def f(a):
        x, y = np.copy(a).T
        x[0] = 3.0 * a[0, 1]
        y[1] *= 2.0
        return x * y

    a = np.arange(6.0).reshape(3, 2) + 1.0
    np.testing.assert_array_equal(ft.vmap(f)(np.stack([a, a[::-1]])), [f(a), f(a[::-1])])
    np.testing.assert_array_equal(ft.jvp(f, (a,), (a,))[0], f(a))
    np.testing.assert_allclose(ft.jacrev(f)(a), ft.jacfwd(f)(a))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_parts_of_complex_numbers_do_not_spoil_each_other():
    """Infinities, NaN and the signs of zeros stay where they are, and derivatives pass."""

    def f(np, x):
        z = np.zeros(3, complex)
        z.real = x
        z.imag = np.stack([x[0] * 0 + np.inf, x[1], x[2] * 0 + np.nan])
        w = np.conj(z[:2])
        w.imag += x[:2]
        w.real *= -x[:2]
        return z, w

    x = np.array([0.5, -0.0, 2.0])
    for found in (
        [y[0] for y in ft.vmap(lambda x: f(fnp, x))(np.stack([x, x + 1.0]))],
        ft.jvp(lambda x: f(fnp, x), (x,), (x,))[0],
    ):
        for a, b in zip(found, f(np, x), strict=True):
            np.testing.assert_array_equal(a.view(float), b.view(float))
            np.testing.assert_array_equal(np.signbit(a.view(float)), np.signbit(b.view(float)))

    def g(x):
        z = fnp.zeros(2, complex)
        z.real, z.imag = np.sin(x), x * x
        return np.real(np.sum(z * z * (1.0 + 2.0j)))

    y = np.array([0.3, 0.7])
    step = 1e-6 * np.eye(2)
    slopes = [(g(y + e) - g(y - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(ft.grad(g)(y), slopes, rtol=1e-7)
    np.testing.assert_allclose(ft.jvp(g, (y,), (step[0] * 1e6,))[1], slopes[0], rtol=1e-7)


def test_a_view_of_another_dtype_is_a_copy_that_is_noted():
    """The real parts that `numpy.real_if_close` shows have half the items' size."""

    def f(x, n=3, write=None):
        z = fnp.zeros(n, complex)
        z[:2] = 3.0
        r = fnp.real_if_close(z)
        assert r.dtype == float and r.shape == (n,) and r[0] == 3.0
        if write is not None:
            (z if write else r)[0] = 5.0
        y = x * r[0]
        del r
        z[0] = 7.0
        return y * z[0].real

    for n in (1, 3, 10):
        assert ft.jvp(lambda x: f(x, n), (2.0,), (1.0,)) == (42.0, 21.0)
    for write in (False, True):
        with pytest.raises(ft.MutationError, match="real_if_close"):
            ft.grad(lambda x: f(x, write=write))(2.0)
