"""Rows for `scipy.interpolate`: splines that are fitted, surfaces, and scattered points."""

import numpy as np

import functier.numpy as fnp
import functier.scipy.interpolate as sip

from ._row import normal, row

XS = np.array([0.2, 0.9, 1.4, 2.3, 3.1, 3.6, 4.4])
ENDS = [0.1] * 4, [4.6] * 4
KNOTS = np.array([*ENDS[0], 1.6, 2.5, *ENDS[1]])
INNER = np.array([1.6, 2.5])
READ = np.array([0.7, 2.3, 4.0])
ROUND = np.array([0.4, -0.3, 0.9, 1.2, -0.7, 0.1, 0.4])
GRID = np.arange(5.0), np.array([0.0, 0.9, 2.1, 3.3, 4.2])
TWO = np.array([[1.3, 2.4], [3.2, 0.7]])
POINTS = np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.0], [1.1, 1.2], [0.4, 0.5], [0.7, 0.2],
                   [0.1, 0.6]])  # fmt: skip
INSIDE = np.array([[0.45, 0.38], [0.85, 0.8]])


def of(family, function, *args, **options):
    """A row of a family of composites, of which a quick run has the first row only."""
    return row(function, *args, **{"_name": family, "_like": near, **options})


def near(i, x, rng):
    """Another table, with the same order of places."""
    return x + 0.01 * rng.uniform(-1, 1, size=x.shape)


def closed(i, x, rng):
    """Other values, the first of which is the last."""
    x = near(i, x, rng)
    return np.append(x[:-1], x[:1])


def around(y):
    """Values that stay periodic where each of them moves."""
    return fnp.concatenate([y[:-1], y[:1]])


def beside(t):
    return fnp.concatenate([[0.2, 1.0], t[:2], [4.1]])


def splined(t):
    return fnp.concatenate([ENDS[0], t, ENDS[1]])


ROWS = [
    of("make_lsq_spline", lambda x, y, t, w: sip.make_lsq_spline(x, y, splined(t), w=w)(READ),
       XS, normal(7), INNER, np.linspace(1, 2, 7)),
    of("make_smoothing_spline", lambda x, y, w, a: sip.make_smoothing_spline(x, y, w, a)(READ),
       XS, normal(7), np.linspace(1, 2, 7), np.array(0.3)),
    of("LSQUnivariateSpline",
       lambda y, t: sip.LSQUnivariateSpline(XS, y, t)(READ), normal(7), INNER),
    of("periodic", lambda y: sip.CubicSpline(XS, around(y), bc_type="periodic")(READ + 4), ROUND),
    of("periodic",
       lambda y: sip.make_interp_spline(XS, around(y), 3, bc_type="periodic")(READ), ROUND),
    of("periodic",
       lambda y: sip.make_interp_spline(XS, around(y), 4, bc_type="periodic")(READ), ROUND),
    of("ends", lambda x, y: sip.make_interp_spline(x, y, bc_type="clamped")(READ), XS, normal(7)),
    of("ends", lambda y, v: sip.make_interp_spline(XS, y, bc_type=([(1, v)], [(2, 0.0)]))(READ),
       normal(7), np.array(0.4)),
    of("makima", lambda y: sip.Akima1DInterpolator(XS, y, method="makima")(READ), normal(7)),
    of("operations",
       lambda t, c: sip.BSpline(splined(t), c, 3).derivative()(READ), INNER, normal(6)),
    of("operations", lambda c: sip.BSpline(KNOTS, c, 3).antiderivative(2)(READ), normal(6, 2)),
    of("operations", lambda c, b: sip.BSpline(KNOTS, c, 3, False).integrate(0.1, b), normal(6),
       np.array(2.2)),
    of("operations",
       lambda t: sip.BSpline.basis_element(beside(t))(READ), np.array([1.6, 2.5])),
    of("operations", lambda c, b: sip.splint(0.5, b, (KNOTS, c, 3)), normal(6), np.array(2.2)),
    of("operations", lambda y: sip.splev(READ, sip.splder(sip.splantider(sip.splrep(XS, y), 2))),
       normal(7)),
    of("operations", lambda y: sip.UnivariateSpline(XS, y, s=0).antiderivative().integral(0.5, 2),
       normal(7)),
    of("operations",
       lambda y: sip.PPoly.from_spline(sip.make_interp_spline(XS, y))(READ), normal(7)),
    of("splprep", lambda x, y: sip.splprep([x, y], s=0)[0][1][1], XS, normal(7)),
    of("surfaces", lambda x, z, q: sip.RectBivariateSpline(x, GRID[1], z).ev(q, q + 0.2),
       GRID[0], normal(5, 5), READ[:2]),
    of("surfaces", lambda z: sip.RectBivariateSpline(*GRID, z, kx=2, ky=1)(READ[:2], READ, dx=1),
       normal(5, 5)),
    of("surfaces", lambda z, b: sip.RectBivariateSpline(*GRID, z).integral(0.3, b, 1.0, 3.0),
       normal(5, 5), np.array(2.2)),
    of("grids", lambda v, q: sip.RegularGridInterpolator(GRID, v, "slinear")(q), normal(5, 5), TWO),
    of("grids", lambda q: sip.RegularGridInterpolator(GRID, np.eye(5), "cubic")(q), TWO),
    of("grids", lambda g, q: sip.RegularGridInterpolator((g, GRID[1]), np.eye(5))(q), GRID[0], TWO),
    of("grids", lambda v, q: sip.interpn(GRID, v, q, "splinef2d"), normal(5, 5), TWO),
    *[
        of("radial", lambda y, d, x, kernel=kernel: sip.RBFInterpolator(
            y, d, kernel=kernel, epsilon=1.3)(x), POINTS, normal(7, 2), INSIDE, _order=order)
        for kernel, order in (("thin_plate_spline", 2), ("gaussian", 2), ("quintic", 1))
    ],
    of("radial", lambda d, s, e: sip.RBFInterpolator(POINTS, d, smoothing=s, kernel="multiquadric",
                                                     epsilon=e)(INSIDE),
       normal(7), np.array(0.3), np.array(0.9)),
    of("triangles", lambda v, x: sip.LinearNDInterpolator(POINTS, v)(x), normal(7), INSIDE),
    of("triangles", lambda v, x: sip.griddata(POINTS, v, (x[:, 0], x[:, 1])), normal(7, 2), INSIDE),
    of("triangles", lambda v, x: sip.griddata(POINTS, v, x, "nearest"), normal(7), INSIDE),
    of("polynomials", lambda y: sip.KroghInterpolator(XS[:4], y)(READ), normal(4), _empty=False),
]  # fmt: skip
