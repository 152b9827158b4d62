"""Cases of `scipy.signal` beyond the samples: messages, calls, lists, special points;
options of `scipy.ndimage`.
"""

import warnings

import numpy as np
import pytest
import scipy.signal

import functier as ft
import functier.scipy.ndimage as nd
import functier.scipy.signal as signal
from faults.planted import scipy as faulty

RNG = np.random.default_rng(7)
B, A, X = np.array([0.3, 0.2]), np.array([1.0, -0.4, 0.1]), RNG.normal(size=(3, 8))


def test_a_batch_of_signals_is_one_call_and_so_is_its_gradient(monkeypatch):
    calls = faulty.kernel_calls(monkeypatch, "lfilter")

    def loss(b, a, x):
        return np.sum(np.square(signal.lfilter(b, a, x)))

    with warnings.catch_warnings(action="error"):
        found = ft.vmap(ft.grad(loss, argnums=(0, 1, 2)), (None, None, 0))(B, A, X)
    assert 0 < len(calls) <= 5
    for i, x in enumerate(X):
        for part, own in zip(found, ft.grad(loss, argnums=(0, 1, 2))(B, A, x)):
            np.testing.assert_allclose(part[i], own, rtol=1e-10)


def test_numerators_that_differ_are_one_call(monkeypatch):
    calls = faulty.kernel_calls(monkeypatch, "lfilter")

    found = ft.vmap(lambda b: signal.lfilter(b, A, X[0]))(np.stack([B, 2 * B, B[::-1]]))
    assert len(calls) == 1
    np.testing.assert_allclose(found[2], scipy.signal.lfilter(B[::-1], A, X[0]), rtol=1e-12)


def test_denominators_that_differ_are_computed_in_a_loop_with_a_warning():
    with pytest.warns(ft.FallbackWarning, match="lfilter is applied to one example"):
        found = ft.vmap(lambda a: signal.lfilter(B, a, X[0]))(np.stack([A, 2 * A]))
    np.testing.assert_allclose(found[0], 2 * found[1])


def test_coefficients_in_lists():
    def last(pole):
        return signal.lfilter([1.0], [1.0, -pole], X[0])[-1]

    wanted = np.sum(np.arange(7, 0, -1) * 0.5 ** np.arange(6, -1, -1.0) * X[0, :7])
    np.testing.assert_allclose(ft.grad(last)(0.5), wanted)


def test_a_filter_in_parts_is_the_filter_of_the_whole():
    def in_parts(b, x):
        y, state = signal.lfilter(b, A, x[:5], zi=np.zeros(2))
        return np.concatenate([y, signal.lfilter(b, A, x[5:], zi=state)[0]])

    def whole(b, x):
        return signal.lfilter(b, A, x)

    for argnums in (0, 1):
        found = ft.jacrev(in_parts, argnums=argnums)(B, X[0])
        np.testing.assert_allclose(found, ft.jacfwd(whole, argnums=argnums)(B, X[0]), atol=1e-12)


@pytest.mark.parametrize("method", ["direct", "fft", "auto"])
def test_images_and_kernels_of_a_batch(method):
    images, kernels = RNG.normal(size=(2, 4, 5)), RNG.normal(size=(2, 3, 2))

    found = ft.vmap(lambda x, k: signal.convolve(x, k, "same", method))(images, kernels)
    for y, x, k in zip(found, images, kernels):
        np.testing.assert_allclose(y, scipy.signal.convolve(x, k, "same"), atol=1e-12)


def test_nan_stays_where_a_direct_convolution_has_it():
    x, kernels = np.array([1.0, np.nan, 2.0, 3.0, 4.0]), np.array([[1.0, 2.0], [3.0, 4.0]])

    found = ft.vmap(lambda k: signal.convolve(x, k, method="direct"))(kernels)
    wanted = [scipy.signal.convolve(x, k, method="direct") for k in kernels]
    np.testing.assert_allclose(found, wanted)


REFUSED = [
    (lambda x: signal.lfilter(B[None], A, x), ValueError, "b must be a 1-D array"),
    (lambda x: signal.lfilter(B, A, x, zi=x[:3]), ValueError, "2 numbers along axis 0"),
    (lambda x: signal.lfilter(B, A, x, zi=np.zeros((2, 1))), ValueError, "as many axes as x"),
    (lambda x: signal.lfilter_zi(x, [0.0, 1.0]), ValueError, "leading zeros"),
    (lambda x: signal.filtfilt(B, A, x, padlen=9), ValueError, "greater than padlen"),
    (lambda x: signal.sosfilt(np.full((1, 6), 2.0), x), ValueError, "all ones"),
    (lambda x: signal.sosfilt(np.ones((1, 6)), x, zi=x), ValueError, "must have shape"),
    (lambda x: signal.convolve(x, B, "some"), ValueError, "mode flags"),
    (lambda x: signal.convolve(x, B, method="some"), ValueError, "method flags"),
    (lambda x: signal.correlate(x, B[None]), ValueError, "same dimensionality"),
    (lambda x: signal.convolve2d(x, B), ValueError, "2-D arrays"),
    (lambda x: signal.savgol_filter(x, 9, 2), ValueError, "window_length"),
    (lambda x: signal.hilbert(x + 1j), ValueError, "must be real"),
    (lambda x: signal.freqz(x, fs=None), ValueError, "none"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        ft.jvp(call, (X[0],), (X[1],))


# ---- `functier.scipy.ndimage`: options for each axis have to be as many as the axes ----


X_IMAGES = np.random.default_rng(0).normal(size=(4, 3))
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
        lambda: CALLS[name](X_IMAGES, [1.0] * count),
        lambda: ft.jvp(lambda x: CALLS[name](x, [1.0] * count), (X_IMAGES,), (X_IMAGES,)),
        lambda: ft.vmap(lambda x: CALLS[name](x, [1.0] * count))(X_IMAGES[None]),
    ):
        with pytest.raises(RuntimeError, match="sequence argument must have length equal to"):
            call()


def test_a_factor_that_is_a_tensor_has_no_derivative_but_a_shape():
    def f(x, factor):
        return np.sum(nd.zoom(x, factor * 1.0, order=1) ** 2)

    on_x, on_factor = ft.grad(f, argnums=(0, 1))(X_IMAGES, np.array([2.0, 1.3]))
    assert not on_factor.any()
    np.testing.assert_allclose(on_x, ft.grad(f)(X_IMAGES, np.array([2.0, 1.3])))
    rows = ft.vmap(lambda x: nd.zoom(x, np.sum(x) * 0 + 2.0, order=1))(X_IMAGES[None])
    np.testing.assert_allclose(rows[0], nd.zoom(X_IMAGES, 2.0, order=1))


def test_an_image_has_as_wide_a_border_as_scipys():
    """Splines of a high order see where it ends."""

    def read(x):
        places = np.array([[-10.4, -3.2, 0.3, 14.6]])
        return nd.map_coordinates(x, places, order=5, mode="grid-constant")

    found = ft.jvp(read, (X_IMAGES[:, 0],), (X_IMAGES[:, 1],))
    for value, x in zip(found, (X_IMAGES[:, 0], X_IMAGES[:, 1])):
        np.testing.assert_allclose(value, read(x), atol=1e-13)


@pytest.mark.parametrize("mode", ["constant", "grid-constant", "mirror", "wrap", "nearest"])
def test_a_spline_of_order_1_has_a_derivative_of_one_side_at_pixels(mode):
    x = np.array([1.0, 5.0, 2.0, 7.0])

    def read(c):
        return nd.map_coordinates(x, c[None], order=1, mode=mode)

    (slopes,) = ft.jvp(read, (np.arange(4.0),), (np.ones(4),))[1:]
    beyond = {"grid-constant": -7.0, "mirror": -5.0, "nearest": 0.0}
    np.testing.assert_array_equal(slopes, [4.0, -3.0, 5.0, beyond.get(mode, 5.0)])
