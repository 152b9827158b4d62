"""Arguments at the edge of what NumPy takes: no axis, no element, infinities, mixed dtypes."""

import numpy as np
import pytest

import functier as ft
from support.basics import alike, equal, raises, silent

F32 = np.float32


@pytest.fixture(autouse=True)
def quiet():
    """NumPy warns of some of these, of divisions by zero for one."""
    with silent():
        yield


def pulled(f, *points):
    """The cotangents of a result's own value."""
    value, pullback = ft.vjp(f, *points)
    return pullback(value)


# ---- arrays without axes, which NumPy lets be reduced along 0 or -1 ----


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize(
    "func",
    [
        np.sum, np.prod, np.max, np.ptp, np.any, np.count_nonzero, np.nanmin, np.cumsum,
        np.cumprod, np.argmax, np.argsort, np.squeeze, np.maximum.reduce, np.fmin.reduce,
    ],
)  # fmt: skip
def test_axis_of_what_has_none(func, axis):
    x = np.array([2.5, -1.0])

    alike(ft.vmap(lambda v: func(v, axis=axis))(x), np.stack([func(v, axis=axis) for v in x]))
    if np.result_type(func(x[0], axis=axis)).kind == "f":
        assert pulled(lambda v: func(v, axis=axis), x[0])[0].shape == ()


@pytest.mark.parametrize("func", [np.mean, np.var, np.sort, np.linalg.vector_norm, np.average])
def test_axis_of_what_has_none_where_numpy_refuses(func):
    x = np.array([2.5, -1.0])

    raises(np.exceptions.AxisError, lambda: ft.vmap(lambda v: func(v, axis=0))(x))


def test_take_of_what_has_no_axis():
    equal(ft.vmap(lambda v: np.take(v, [0, 0], axis=0))(np.arange(2.0)), [[0.0, 0.0], [1.0, 1.0]])


def test_places_along_no_axis():
    x, places = np.arange(12.0).reshape(2, 2, 3), np.array([5, 0])

    def f(v):
        return np.take_along_axis(v, places, None)

    equal(ft.vmap(f)(x), np.stack([f(v) for v in x]))
    table = places[None]
    raises(ValueError, lambda: ft.vmap(lambda v: np.take_along_axis(v, table, None))(x), "single")


# ---- nothing, or nothing left ----


def test_weights_of_nothing_are_counted_in_integers():
    x, weights = np.zeros(0, int), np.zeros((2, 0))

    equal(ft.vmap(lambda w: np.bincount(x, w, 3))(weights), np.zeros((2, 3), int))


@pytest.mark.parametrize("size", [0, 1])
def test_bins_of_one_number_and_of_none(size):
    x = np.array([[2.0], [5.0]])[:, :size]
    counts, edges = zip(*[np.histogram(v, 2) for v in x])

    alike(ft.vmap(lambda v: np.histogram(v, 2))(x), (np.stack(counts), np.stack(edges)))


def test_bins_keep_their_infinities_to_themselves():
    x, weights = np.array([0, 1, 1]), np.array([[1.0, np.inf, 2.0], [3.0, np.nan, 1.0]])

    equal(ft.vmap(lambda w: np.bincount(x, w))(weights), [[1.0, np.inf], [3.0, np.nan]])


def test_no_degrees_of_freedom():
    x = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, 4.0]])

    alike(ft.vmap(lambda v: np.nanvar(v, ddof=2))(x), np.array([np.nanvar(v, ddof=2) for v in x]))
    alike(ft.vmap(np.cov)(x[:, :1]), np.array([np.cov(v) for v in x[:, :1]]))
    equal(ft.jvp(np.cov, (np.zeros((0, 3)),), (np.zeros((0, 3)),))[0], np.zeros((0, 0)))


@pytest.mark.parametrize("f", [np.std, np.var, np.nanstd, np.nanvar])
@pytest.mark.parametrize("x", [np.array(3.0), np.array([3.0]), np.array([3.0, 4.0])])
def test_a_spread_without_degrees_of_freedom_does_not_move(f, x):
    for ddof in (x.size, x.size + 1):
        alike(ft.vmap(lambda x, n=ddof: f(x, ddof=n))(x[None]), f(x, ddof=ddof)[None])
        for jacobian in (ft.jacfwd, ft.jacrev):
            equal(jacobian(lambda x, n=ddof: f(x, ddof=n))(x), np.zeros(x.shape))


@pytest.mark.parametrize("p", [1, -1, np.inf, "fro", "nuc"])
def test_condition_numbers_of_matrices_that_are_not_square_are_refused_as_by_numpy(p):
    for shape in ((2, 3), (3, 2)):
        for call in (np.linalg.cond, ft.vmap(np.linalg.cond, (0, None))):
            raises(np.linalg.LinAlgError, lambda: call(np.ones((4, *shape)), p), "square")


@pytest.mark.parametrize("empty", [np.zeros(0), np.zeros(0, F32), [], np.zeros(0, bool)])
def test_an_open_mesh_of_nothing_has_numpys_dtypes(empty):
    def f(x):
        given = x if isinstance(empty, np.ndarray) else empty
        found.append([a.dtype for a in np.ix_(given, [1, 2])])
        return x

    found = []
    ft.vmap(f, axis_size=1)(np.asarray(empty)[None])
    assert found == [[a.dtype for a in np.ix_(empty, [1, 2])]]


def test_one_row_is_one_observation():
    x = np.array([[[1.0, 2.0, 4.0]], [[3.0, 0.0, 1.0]]])

    def f(v):
        return np.cov(v, rowvar=False, ddof=0)

    alike(ft.vmap(f)(x), np.stack([f(v) for v in x]))
    if f(x[0]).ndim:  # from NumPy 2.2 on, and not for the second set of variables
        raises(ValueError, lambda: ft.vmap(lambda v: np.cov(v, v, rowvar=False))(x))


def test_eigenvalues_of_nothing():
    a = np.zeros((2, 0, 0), complex)

    assert pulled(np.linalg.eigvals, a)[0].shape == a.shape
    assert ft.jvp(np.linalg.eig, (a,), (a,))[1][1].shape == a.shape


def test_largest_of_nothing():
    x = np.zeros((3, 0, 2))

    for order in (1, 2, np.inf):
        equal(ft.vmap(lambda v: np.linalg.norm(v, order))(x), np.zeros(3))
    equal(ft.vmap(lambda v: np.linalg.norm(v, -1))(np.zeros((2, 0))), [np.inf, np.inf])
    equal(ft.vmap(lambda v: np.linalg.vector_norm(v, ord=np.inf, axis=0))(x), np.zeros((3, 2)))


def test_polynomials_without_coefficients():
    a, none = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(0)

    alike(ft.vmap(lambda v: np.polymul(none, v))(a), np.stack([np.polymul(none, v) for v in a]))
    raises(IndexError, lambda: ft.vmap(lambda v: np.polydiv(v, none))(a))


def test_one_point_is_everywhere():
    """NumPy gives its value at NaN, too."""
    x = np.array([[np.nan, 0.0], [2.0, 5.0]])

    equal(ft.vmap(lambda v: np.interp(v, [1.0], [7.0]))(x), np.full((2, 2), 7.0))


# ---- what NumPy looks for in the values ----


def test_weights_that_sum_to_zero():
    x, weights = np.ones((2, 3)), np.array([[1.0, 2.0, 1.0], [1.0, -1.0, 0.0]])

    raises(
        ValueError, lambda: ft.vmap(lambda v, w: np.average(v, weights=w))(x, weights), "weights"
    )
    raises(ValueError, lambda: ft.vjp(lambda v: np.average(v, weights=weights[1]), x[1]), "weights")


def test_weights_of_another_shape_than_the_axes():
    """Also of as many elements."""
    x = np.ones((2, 2, 3))

    for axis, shape in (((0, 1), (3, 2)), (0, (3,)), (1, (3, 1))):
        raises(
            ValueError, lambda: ft.vmap(lambda v: np.average(v, axis, np.ones(shape)))(x), "weights"
        )


def test_range_of_data_that_is_not_finite():
    x = np.array([[1.0, 2.0], [np.inf, 0.0]])

    raises(ValueError, lambda: ft.vmap(lambda v: np.histogram(v, 2)[0])(x), "range")
    raises(ValueError, lambda: ft.jvp(np.histogram_bin_edges, (x[1],), (x[1],)), "range")


def test_exponents_that_are_negative_in_one_example():
    """A batch is of one dtype: that of a loop's results, stacked."""
    x, p = np.array([2.0, 3.0]), np.array([[2, 1], [-1, 2]])

    alike(ft.vmap(lambda q: np.emath.power(x, q))(p), np.stack([np.emath.power(x, q) for q in p]))


def test_mask_with_more_elements_than_what_is_reduced():
    x, mask = np.array(1.5), np.array([True, False])

    raises(ValueError, lambda: np.minimum.reduce(x, keepdims=True, where=mask, initial=2))
    with pytest.raises(ValueError):
        ft.jvp(lambda v: np.minimum.reduce(v, keepdims=True, where=mask, initial=2), (x,), (x,))


def test_reduce_that_begins_with_a_truth_value():
    x = np.array([[0.0, 0.0], [0.0, 3.0]])

    for method in (np.logical_or.reduce, np.logical_and.reduce):
        for initial in (True, False):
            alike(
                ft.vmap(lambda v: method(v, initial=initial))(x),
                np.array([method(v, initial=initial) for v in x]),
            )
    equal(ft.vmap(lambda v: np.maximum.reduce(v, dtype=F32))(x), np.array([0, 3], F32))


@pytest.mark.parametrize("method", [np.hypot.reduce, np.subtract.reduce])
def test_reduce_that_begins_with_a_number(method):
    x, t = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, 1.5]]), np.array([[1.0, 2.0, 3.0]] * 2)

    def f(v):
        return method(v, 1, initial=2.0)

    def g(v):
        return method(np.concatenate([np.full((2, 1), 2.0), v], 1), 1)

    alike(ft.jvp(f, (x,), (t,)), ft.jvp(g, (x,), (t,)))
    alike(pulled(f, x), pulled(g, x))


# ---- dtypes that differ ----


def test_gradient_has_the_dtype_of_its_operand():
    """Also where `dtype=` is that of one of two operands."""
    x, y = np.array([0.5, 2.0]), np.array([1.5, -1.0], F32)
    pair = pulled(lambda x, y: np.arctan2(y, x, dtype=F32), x, y)

    assert [c.dtype for c in pair] == [x.dtype, y.dtype]


def test_second_derivative_of_a_half_precision_transform():
    x = np.array([1.0, 0.5, -2.0], np.float16)

    def moved(v):
        return ft.jvp(lambda v: np.fft.irfft(v) ** 2, (v,), (x,))[1]

    assert pulled(moved, x)[0].dtype == np.float16


def test_small_integers_do_not_overflow_in_a_derivative():
    x, y = np.array([100, -90], np.int8), np.array([30.0, 50.0])
    wide = ft.jvp(lambda v: np.arctan2(x.astype(float), v), (y,), (y,))[1]

    alike(ft.jvp(lambda v: np.arctan2(x, v), (y,), (y,))[1], wide)
    alike(
        pulled(lambda v: np.arctan2(x, v), y), pulled(lambda v: np.arctan2(x.astype(float), v), y)
    )


def test_exponent_of_lower_precision():
    x, p = np.array([1.5, 2.5]), np.array([0.67724609375, 1.3], np.float16)

    def second(p):
        slope = lambda v: ft.jvp(lambda v: v**p, (v,), (np.ones(2),))[1]  # noqa: E731
        return ft.jvp(slope, (x,), (np.ones(2),))[1]

    alike(second(p), second(p.astype(float)))


def test_exponent_that_is_zero_moves_the_slope():
    """The slope of x^y by x is y x^(y-1), and its own by y is 1 / x where y is 0."""
    x, y = np.array([2.0, 0.0]), np.zeros(2)
    one = np.ones(2)

    def slope(y):
        return ft.jvp(lambda x: x**y, (x,), (one,))[1]

    equal(ft.jvp(slope, (y,), (one,))[1], [0.5, 0.0])


def test_complex_power_of_a_negative_number():
    x, p = np.array([-2.0]), np.array([1.5 + 0.5j])
    expected = (x + 0j) ** p * np.log(x + 0j)

    alike(ft.jvp(lambda p: x**p, (p,), (np.ones(1, complex),))[1], expected)


@pytest.mark.parametrize(
    "func", [np.arcsin, np.arccosh, np.log, lambda x, dtype: np.power(x, x, dtype=dtype)]
)
def test_real_numbers_that_are_computed_with_as_complex_ones(func):
    x = np.array([-1.5, 1.75, 0.25])

    expected = ft.jvp(lambda z: func(z, dtype=complex), (x + 0j,), (np.ones(3, complex),))[1]
    alike(ft.jvp(lambda x: func(x, dtype=complex), (x,), (np.ones(3),))[1], expected)


def test_product_in_a_dtype_without_imaginary_part():
    """Parts that NumPy drops on the way have no part in the derivative."""
    z, t = np.array([1.0 + 2j, -3.0 + 1j, 0.5j]), np.array([1.0 + 1j, 2.0, 3.0 - 1j])

    for func in (np.prod, np.cumprod, np.float_power.accumulate):
        f = lambda z: func(z, dtype=float)  # noqa: E731
        real = lambda x: func(x)  # noqa: E731
        alike(ft.jvp(f, (z,), (t,))[1], ft.jvp(real, (z.real,), (t.real,))[1])
        alike(pulled(f, z)[0], pulled(real, z.real)[0].astype(complex))


def test_number_that_is_appended_is_no_weak_one():
    x = np.ones((2, 1), F32)

    alike(ft.vmap(lambda v: np.append(v, 1.5))(x), np.stack([np.append(v, 1.5) for v in x]))


def test_sum_of_the_weights_has_the_dtype_of_the_average():
    for x in (np.ones((2, 3), F32), np.ones((2, 3), complex)):
        mapped = ft.vmap(lambda v: np.average(v, returned=True))(x)
        alike(mapped[1], np.stack([np.average(v, returned=True)[1] for v in x]))


def test_index_that_names_nothing():
    x = np.arange(6.0).reshape(2, 3)

    equal(ft.vmap(lambda v: np.delete(v, []))(x), x)
    equal(ft.vmap(lambda v: np.insert(v, [], []))(x), x)


def test_widths_by_axis():
    """Compared with pairs, as the oldest NumPy has no dict of them."""
    x = np.arange(12.0).reshape(2, 2, 3)

    for mode in ("constant", "edge"):
        wanted = np.stack([np.pad(v, ((2, 2), (0, 1)), mode) for v in x])
        equal(ft.vmap(lambda v: np.pad(v, {0: 2, -1: (0, 1)}, mode))(x), wanted)
        equal(ft.vmap(lambda v: np.pad(v, {1: (0, 1), 0: (2, 2)}, mode))(x), wanted)


@pytest.mark.parametrize("func", [np.mean, np.average, np.max, np.min, np.nanmax])
def test_more_elements_than_half_precision_counts(func):
    x = np.ones((256, 257), np.float16)

    g = ft.grad(func)(x)
    assert g.dtype == np.float16
    assert g.min() > 0 and g.astype(float).sum() == pytest.approx(1, rel=1e-3)
    assert ft.jvp(func, (x,), (x,))[1] == 1
