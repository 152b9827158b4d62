"""`functier.scipy.ndimage`: options for each axis have to be as many as the axes."""

import numpy as np
import pytest

import functier as ft
import functier.scipy.ndimage as nd

X = np.random.default_rng(0).normal(size=(4, 3))
CALLS = {
    "shift": lambda x, values: nd.shift(x, values),
    "zoom": lambda x, values: nd.zoom(x, values),
    "uniform_filter": lambda x, values: nd.uniform_filter(x, values),
    "gaussian_filter": lambda x, values: nd.gaussian_filter(x, values),
    "affine_transform": lambda x, values: nd.affine_transform(x, np.eye(2), values),
    "median_filter": lambda x, values: nd.median_filter(x, [int(v) for v in values]),
}


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", CALLS)
def test_options_of_too_few_or_too_many_axes_are_refused_as_by_scipy(name, count):
    for call in (
        lambda: CALLS[name](X, [1.0] * count),
        lambda: ft.jvp(lambda x: CALLS[name](x, [1.0] * count), (X,), (X,)),
        lambda: ft.vmap(lambda x: CALLS[name](x, [1.0] * count))(X[None]),
    ):
        with pytest.raises(RuntimeError, match="sequence argument must have length equal to"):
            call()


def test_a_factor_that_is_a_tensor_has_no_derivative_but_a_shape():
    def f(x, factor):
        return np.sum(nd.zoom(x, factor * 1.0, order=1) ** 2)

    on_x, on_factor = ft.grad(f, argnums=(0, 1))(X, np.array([2.0, 1.3]))
    assert not on_factor.any()
    np.testing.assert_allclose(on_x, ft.grad(f)(X, np.array([2.0, 1.3])))
    rows = ft.vmap(lambda x: nd.zoom(x, np.sum(x) * 0 + 2.0, order=1))(X[None])
    np.testing.assert_allclose(rows[0], nd.zoom(X, 2.0, order=1))


def test_an_image_has_as_wide_a_border_as_scipys():
    """Splines of a high order see where it ends."""

    def read(x):
        places = np.array([[-10.4, -3.2, 0.3, 14.6]])
        return nd.map_coordinates(x, places, order=5, mode="grid-constant")

    found = ft.jvp(read, (X[:, 0],), (X[:, 1],))
    for value, x in zip(found, (X[:, 0], X[:, 1])):
        np.testing.assert_allclose(value, read(x), atol=1e-13)


@pytest.mark.parametrize("mode", ["constant", "grid-constant", "mirror", "wrap", "nearest"])
def test_a_spline_of_order_1_has_a_derivative_of_one_side_at_pixels(mode):
    x = np.array([1.0, 5.0, 2.0, 7.0])

    def read(c):
        return nd.map_coordinates(x, c[None], order=1, mode=mode)

    (slopes,) = ft.jvp(read, (np.arange(4.0),), (np.ones(4),))[1:]
    beyond = {"grid-constant": -7.0, "mirror": -5.0, "nearest": 0.0}
    np.testing.assert_array_equal(slopes, [4.0, -3.0, 5.0, beyond.get(mode, 5.0)])
