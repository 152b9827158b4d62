"""Interpolants: those of plain data, errors of data, and what is refused."""

import numpy as np
import pytest
import scipy.interpolate

import functier as ft
import functier.numpy as fnp
from functier.scipy import interpolate

XS = np.array([0.2, 0.9, 1.4, 2.3, 3.1, 3.6])
YS = np.array([1.0, -0.3, 0.4, 1.9, 0.7, 0.2])
PLAIN = {
    "interp1d": {},
    "CubicSpline": {"bc_type": "periodic"},
    "PchipInterpolator": {},
    "Akima1DInterpolator": {"method": "makima"},
    "UnivariateSpline": {"s": 0.5},
    "InterpolatedUnivariateSpline": {"k": 3},
    "make_interp_spline": {"k": 4},
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_data_and_places_that_vary(name):
    """Any interpolant of plain data can be read at tensors, also a smoothing one."""
    y = np.append(YS[:-1], YS[0]) if name == "CubicSpline" else YS
    made = getattr(interpolate, name)(XS, y, **PLAIN[name])
    plain = getattr(scipy.interpolate, name)(XS, y, **PLAIN[name])
    assert isinstance(made, type(plain))
    np.testing.assert_array_equal(made(XS), plain(XS))
    q = np.array([0.4, 1.3, 2.8])
    value, slope = ft.jvp(made, (q,), (np.ones(3),))
    np.testing.assert_allclose(value, plain(q), rtol=1e-12)
    differences = (plain(q + 1e-6) - plain(q - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, differences, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ft.vmap(ft.grad(made))(q), slope)


def test_places_beyond_the_table():
    def read(q, **options):
        return interpolate.interp1d(XS, YS, **options)(q)

    with pytest.raises(ValueError, match="above the interpolation range"):
        ft.grad(read)(5.0)
    with pytest.raises(ValueError, match="strictly increasing"):
        ft.grad(lambda x: interpolate.CubicSpline(x, YS)(0.5))(XS[::-1].copy())
    assert ft.grad(lambda q: read(q, fill_value=(0.0, 1.0), bounds_error=False))(5.0) == 0.0


def test_data_in_any_order():
    order = np.array([3, 0, 5, 1, 4, 2])

    def read(x, y):
        return interpolate.interp1d(x, y)(1.0)

    sorted_ones = ft.grad(read, argnums=(0, 1))(XS, YS)
    for found, expected in zip(ft.grad(read, argnums=(0, 1))(XS[order], YS[order]), sorted_ones):
        np.testing.assert_allclose(found, expected[order])


@pytest.mark.parametrize(
    "make, remedy",
    [
        (lambda y: interpolate.UnivariateSpline(XS, y)(1.0), "write s=0"),
        (lambda y: interpolate.CubicSpline(XS, y, bc_type="periodic")(1.0), "write 'natural'"),
        (lambda y: interpolate.Akima1DInterpolator(XS, y, method="makima")(1.0), "'akima'"),
        (lambda y: fnp.sum(interpolate.CubicSpline(XS, y).roots()), "brentq"),
        (lambda y: interpolate.splev(1.0, interpolate.splrep(XS, y, s=1.0)), "write s=0"),
    ],
)
def test_what_is_refused_says_what_to_write(make, remedy):
    with pytest.raises((ft.UnsupportedError, ValueError), match=remedy):
        ft.grad(make)(YS)
