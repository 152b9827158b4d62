"""Interpolants: those of plain data, errors of data, and what is refused."""

import numpy as np
import pytest
import scipy.interpolate

import functier as ft
import functier.numpy as fnp
from functier.scipy import interpolate

XS = np.array([0.2, 0.9, 1.4, 2.3, 3.1, 3.6])
YS = np.array([1.0, -0.3, 0.4, 1.9, 0.7, 0.2])
POINTS = np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.0], [1.1, 1.2], [0.4, 0.5], [0.7, 0.2]])
PLAIN = {
    "interp1d": {},
    "CubicSpline": {"bc_type": "periodic"},
    "PchipInterpolator": {},
    "Akima1DInterpolator": {"method": "makima"},
    "UnivariateSpline": {"s": 0.5},
    "InterpolatedUnivariateSpline": {"k": 3},
    "make_interp_spline": {"k": 4},
}


@pytest.mark.parametrize("kind", ["linear", "nearest", "zero", "slinear", "cubic"])
@pytest.mark.parametrize("of_x", "bhqfd")
@pytest.mark.parametrize("of_y", "efdF")
def test_a_table_has_the_dtype_of_scipys(kind, of_x, of_y):
    x, y = np.arange(6).astype(of_x), YS.astype(of_y)
    for q in (np.array([1, 3], np.int8), np.array([1.5], np.float32), np.array([1.5])):
        wanted = scipy.interpolate.interp1d(x, y, kind)(q)
        made = [ft.jvp(lambda y: interpolate.interp1d(x, y, kind)(q), (y,), (y,))[0]]
        made += [ft.vmap(interpolate.interp1d(x, y, kind))(q)]
        for value in made:
            assert value.dtype == wanted.dtype
            np.testing.assert_allclose(value, wanted, rtol=1e-6 if of_y != "e" else 1e-2)


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


TABLES = [
    lambda y: interpolate.interp1d(XS, y),
    lambda y: interpolate.interp1d(XS, y, kind="cubic"),
    lambda y: interpolate.CubicSpline(XS, y),
    lambda y: interpolate.CubicSpline(XS, y).derivative(),
    lambda y: interpolate.PchipInterpolator(XS, y).antiderivative(),
    lambda y: interpolate.Akima1DInterpolator(XS, y),
    lambda y: interpolate.CubicHermiteSpline(XS, y, y),
    lambda y: interpolate.PPoly(y[None], np.arange(7.0)),
    lambda y: interpolate.BSpline(np.arange(9.0), y, 2),
    lambda y: interpolate.BSpline(np.arange(9.0), y, 2).derivative(),
    lambda y: interpolate.UnivariateSpline(XS, y, s=0),
    lambda y: interpolate.make_interp_spline(XS, y),
    lambda y: interpolate.make_smoothing_spline(XS, y, lam=0.1),
    lambda y: lambda q: interpolate.splev(q, interpolate.splrep(XS, y)),
    lambda y: lambda q: interpolate.RectBivariateSpline(XS, XS, y * np.eye(6)).ev(q, 1.1),
    lambda y: lambda q: interpolate.interpn((XS,), y, [q]),
    lambda y: lambda q: interpolate.RBFInterpolator(POINTS, y)(np.array([[q, 0.2]])),
    lambda y: lambda q: interpolate.LinearNDInterpolator(POINTS, y)(q / 9, q / 9),
    lambda y: interpolate.KroghInterpolator(XS, y),
    lambda y: lambda q: interpolate.RegularGridInterpolator((XS, XS), y * np.eye(6))([[q, 1.1]]),
]


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_tensors_outside_of_transforms(number):
    """A tensor of no level is read as its array is."""
    make = TABLES[number]
    np.testing.assert_allclose(np.asarray(make(ft.Tensor(YS))(2.7)), make(YS)(2.7), rtol=1e-9)
    np.testing.assert_allclose(
        np.asarray(make(YS)(ft.Tensor(np.array(2.7)))), make(YS)(2.7), rtol=1e-9
    )


def test_places_beyond_the_table():
    def read(q, **options):
        return interpolate.interp1d(XS, YS, **options)(q)

    with pytest.raises(ValueError, match="above the interpolation range"):
        ft.grad(read)(5.0)
    with pytest.raises(ValueError, match="strictly increasing"):
        ft.grad(lambda x: interpolate.CubicSpline(x, YS)(0.5))(XS[::-1].copy())
    assert ft.grad(lambda q: read(q, fill_value=(0.0, 1.0), bounds_error=False))(5.0) == 0.0


@pytest.mark.parametrize("extrapolate", [False, "periodic"])
def test_polynomials_of_a_spline_end_where_it_does(extrapolate):
    def read(y, *given):
        spline = interpolate.BSpline(np.arange(9.0), y, 2, extrapolate=extrapolate)
        return interpolate.PPoly.from_spline(spline, *given)(np.array([-1.0, 3.5, 10.0]))

    for given in ((), (True,)):
        value = ft.jvp(lambda y, given=given: read(y, *given), (YS,), (YS,))[0]
        np.testing.assert_allclose(value, read(YS, *given))


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
        (lambda y: interpolate.CubicSpline(XS, y, bc_type="periodic")(1.0), "must be identical"),
        (lambda y: interpolate.make_smoothing_spline(XS, y)(1.0), "give lam"),
        (lambda y: interpolate.BSpline(np.arange(9.0), y, 2).insert_knot(3.5), "plain arrays"),
        (lambda y: interpolate.RBFInterpolator(POINTS, y, neighbors=3)(POINTS), "leave it out"),
        (lambda y: interpolate.griddata(POINTS, y, POINTS, "cubic"), "RBFInterpolator"),
        (lambda y: interpolate.LinearNDInterpolator(POINTS, y, rescale=True), "scale the points"),
        (lambda y: interpolate.RectBivariateSpline(XS, XS, y * np.eye(6), s=1.0), "write s=0"),
        (lambda y: interpolate.splev(1.0, interpolate.splrep(XS, y, s=1.0)), "write s=0"),
    ],
)
def test_what_is_refused_says_what_to_write(make, remedy):
    with pytest.raises((ft.UnsupportedError, ValueError), match=remedy):
        ft.grad(make)(YS)


def test_roots_move_with_the_table():
    """The root of the line through (0, -a) and (1, b) is a / (a + b), to the third order."""

    def root(a):
        return interpolate.PPoly(fnp.stack([a + 2.0, -a])[:, None], [0.0, 1.0]).roots()[0]

    f = root
    for order, expected in enumerate([1 / 3, 2 / 9, -4 / 27, 12 / 81]):
        np.testing.assert_allclose(f(1.0), expected, rtol=1e-12, err_msg=str(order))
        f = ft.grad(f)
    with pytest.raises(ft.UnsupportedError, match="brentq for one of them"):
        ft.vmap(root)(np.array([1.0, 2.0]))


def test_points_of_triangles_are_of_all_examples():
    def read(points):
        return fnp.sum(interpolate.LinearNDInterpolator(points, YS)(0.45, 0.38))

    slope = ft.grad(read)(POINTS)
    for index in ((4, 0), (5, 1), (0, 1)):
        step = np.zeros_like(POINTS)
        step[index] = 1e-6
        difference = (read(POINTS + step) - read(POINTS - step)) / 2e-6
        np.testing.assert_allclose(slope[index], difference, rtol=1e-6, atol=1e-9)
    with pytest.raises(ft.UnsupportedError, match="sequential_vmap"):
        ft.vmap(read)(np.stack([POINTS, POINTS + 0.1]))
    one_by_one = ft.vmap(ft.sequential_vmap(read))(np.stack([POINTS, POINTS]))
    np.testing.assert_allclose(one_by_one, read(POINTS))


def test_interp1d_takes_lists_of_tensors_for_what_is_outside():
    x = np.arange(5.0)

    def f(y, at):
        ends = [y[0]], [y[-1]]
        return interpolate.interp1d(x, y, bounds_error=False, fill_value=ends)(at).sum()

    for at, place in ((-1.0, 0), (9.0, 4)):
        np.testing.assert_array_equal(ft.grad(f)(x**2, at), np.eye(5)[place])
