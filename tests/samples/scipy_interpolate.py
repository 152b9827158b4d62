"""Rows for `scipy.interpolate`: each makes an interpolant and reads it at places."""

import numpy as np

import functier.scipy.interpolate as sci

from ._row import normal, row

C = complex
XS = np.array([0.2, 0.9, 1.4, 2.3, 3.1, 3.6])
AT = np.array([0.5, 1.1, 2.9])
BEYOND = np.array([-0.3, 1.2, 4.1])
GRID = np.array([0.0, 0.7, 1.5]), np.array([0.0, 1.0, 1.6, 2.2])
POINTS = np.array([[0.3, 1.2], [1.1, 0.4]])


def near(i, x, rng):
    """Other places in the same pieces; other values in any order."""
    if i == 1 and x.shape != AT.shape:
        return rng.permuted(x)
    return x + 0.02 * rng.uniform(-1, 1, size=x.shape)


def of(name, *args, nu=None, **options):
    """A row of a class of interpolants of `XS`, some values, and places."""

    def read(x, y, q):
        made = getattr(sci, name)(x, y, **options)
        return made(q) if nu is None else made(q, nu)

    return row(read, *args, _name=name, _like=near)


def integral(x, y, q):
    return sci.PchipInterpolator(x, y).integrate(x[0], q[0])


def slope(x, y, q):
    return sci.CubicSpline(x, y).derivative()(q)


def read_tuple(x, y, q):
    return sci.splev(q, sci.splrep(x, y, k=2), ext=3)


def at_points(method, **options):
    def read(values, q):
        return sci.interpn(GRID, values, q, method, **options)

    return read


def close_by(i, x, rng):
    return x + 0.02 * rng.uniform(-1, 1, size=x.shape) if i else rng.permuted(x)


def b_spline(t, c, q):
    return sci.BSpline(t, c, 2, extrapolate=False)(q, 1)


def polynomial(c, q):
    return sci.PPoly(c, np.array([0.0, 1.0, 2.0]))(q, 1)


ROWS = [
    of("interp1d", XS, normal(6), AT),
    of("interp1d", XS, normal(2, 6), BEYOND, bounds_error=False, fill_value=(0.5, -1.0)),
    of("interp1d", XS, normal(6, dtype=C), BEYOND, fill_value="extrapolate", kind="cubic"),
    of("interp1d", XS, normal(6), AT, kind="nearest"),
    of("CubicSpline", XS, normal(6), AT),
    of("CubicSpline", XS, normal(2, 6), BEYOND, axis=1, bc_type="natural", nu=1),
    of("CubicSpline", XS, normal(6), AT, bc_type=((1, 0.3), "not-a-knot"), extrapolate=False),
    of("PchipInterpolator", XS, normal(6), AT),
    of("Akima1DInterpolator", XS, normal(6), AT),
    of("make_interp_spline", XS, normal(6), AT, k=5),
    of("UnivariateSpline", XS, normal(6), AT, s=0, k=4, nu=1),
    of("InterpolatedUnivariateSpline", XS, normal(6), BEYOND, ext=1),
    row(integral, XS, normal(6), AT, _like=near),
    row(slope, XS, normal(6), AT, _like=near),
    row(read_tuple, XS, normal(6), BEYOND, _like=near),
    row(at_points("linear"), normal(3, 4), POINTS, _like=close_by, _name="interpn"),
    row(
        at_points("linear", bounds_error=False, fill_value=None),
        normal(3, 4, 2),
        POINTS + 0.9,
        _like=close_by,
        _name="interpn",
    ),
    row(b_spline, np.arange(8.0) ** 1.1, normal(5), AT + 2.5, _like=near, _order=1),
    row(polynomial, normal(3, 2, 2), AT * 0.6, _like=close_by),
]
