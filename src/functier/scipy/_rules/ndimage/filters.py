"""Linear filters of images: correlations, averages, Gaussians, and products in frequency."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.linalg.contract import conj
from ..declare import declare_composite
from ..signal.convolutions import convolution

PADDING = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip
"""NumPy's names of what is around an image."""


def dtype_of(func: Callable, x: Value, *args: Any, output: Any = None, **options: Any) -> np.dtype:
    """Return the dtype of a result; SciPy checks the other arguments on an image of one pixel."""
    if isinstance(output, np.ndarray):
        raise UnsupportedError(
            f"scipy.ndimage.{func.__name__}: output= is a plain array, which has no "
            f"derivative; write y = scipy.ndimage.{func.__name__}(...) without it"
        )
    like = np.zeros((1,) * np.ndim(x), x.dtype)
    return func(like, *[plain(v) for v in args], output=output, **options).dtype


def plain(value: Any) -> Any:
    """Return an argument for a check of its form: zeros for an array or a tensor."""
    return np.zeros(np.shape(value), value.dtype) if hasattr(value, "dtype") else value


def axes_of(axes: Any, x: Value) -> tuple[int, ...]:
    return normalize(None if axes is None else axes, np.ndim(x))


def each(value: Any, count: int) -> list:
    """Return a list of one value for each axis."""
    several = not isinstance(value, str) and np.ndim(value) > 0
    if several and len(value) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return [value[i] for i in range(count)] if several else [value] * count


def widened(x: Value, axis: int, before: int, after: int, mode: str, cval: Value) -> Value:
    """Return an image with more pixels along one axis."""
    widths = [(before, after) if i == axis else (0, 0) for i in range(np.ndim(x))]
    options: dict[str, Any] = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return np.pad(x, widths, PADDING[mode], **options)  # type: ignore[call-overload]


def as_numbers(x: Value) -> Value:
    """Return an image in the dtype that SciPy computes with."""
    return np.astype(x, complex if x.dtype.kind == "c" else float, copy=False)


def windows(
    x: Value, shape: Sequence[int], origins: Sequence[int], modes: Sequence[str], cval: Value
) -> list[tuple[tuple[int, ...], Value]]:
    """Return the shifted images: for each place of a window, the pixels that it sees there."""
    sizes = np.shape(x)
    for axis, (n, origin, mode) in enumerate(zip(shape, origins, modes)):
        before = n // 2 + origin
        if n > 1 or origin:
            x = widened(x, axis, before, n - 1 - before, mode, cval)
    return [
        (place, x[tuple(slice(i, i + n) for i, n in zip(place, sizes))])
        for place in np.ndindex(*shape)
    ]


def correlated(
    x: Value, weights: Value, axis: int, mode: str, cval: Value, origin: int = 0
) -> Value:
    """Return the correlation with weights along one axis, in double precision."""
    n = np.shape(weights)[0]
    before = n // 2 + origin
    wide = np.moveaxis(widened(as_numbers(x), axis, before, n - 1 - before, mode, cval), axis, -1)
    form = (*(1,) * (np.ndim(x) - 1), n)
    kernel = np.reshape(np.flip(as_numbers(weights), 0), form)
    axes = tuple(range(np.ndim(x)))
    return np.moveaxis(convolution(wide, kernel, axes, "valid", "direct"), -1, axis)


def stored(x: Value, dtype: np.dtype) -> Value:
    """Return a result in its dtype; that of integers would depend on the last bit."""
    if dtype.kind in "iu" and x.dtype.kind in "fc":
        raise UnsupportedError(
            "scipy.ndimage: a filter whose result has integers is not supported for tensors, "
            "because rounding would decide them; write image.astype(float)"
        )
    return np.astype(x, dtype, copy=False)


@declare_composite(ndimage, "correlate1d")
def correlate1d(
    input: Value, weights: Value, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Value = 0.0, origin: int = 0,
) -> Value:  # fmt: skip
    x, weights = as_array(input), as_array(weights)
    dtype = dtype_of(ndimage.correlate1d, x, weights, axis, output=output, mode=mode, origin=origin)
    (axis,) = normalize(axis, np.ndim(x))
    return stored(correlated(x, conj(weights), axis, mode, cval, origin), dtype)


@declare_composite(ndimage, "convolve1d")
def convolve1d(
    input: Value, weights: Value, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Value = 0.0, origin: int = 0,
) -> Value:  # fmt: skip
    x, weights = as_array(input), as_array(weights)
    dtype = dtype_of(ndimage.convolve1d, x, weights, axis, output=output, mode=mode, origin=origin)
    (axis,) = normalize(axis, np.ndim(x))
    even = 1 - np.shape(weights)[0] % 2
    return stored(correlated(x, np.flip(weights, 0), axis, mode, cval, -origin - even), dtype)


@declare_composite(ndimage, "uniform_filter1d")
def uniform_filter1d(
    input: Value, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Value = 0.0, origin: int = 0,
) -> Value:  # fmt: skip
    x = as_array(input)
    options = {"output": output, "mode": mode, "origin": origin}
    dtype = dtype_of(ndimage.uniform_filter1d, x, size, axis, **options)
    (axis,) = normalize(axis, np.ndim(x))
    return stored(correlated(x, np.full(size, 1.0 / size), axis, mode, cval, origin), dtype)


@declare_composite(ndimage, "uniform_filter")
def _uniform_filter(
    input: Value, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Value = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Value:  # fmt: skip
    x = as_array(input)
    more = {"mode": mode, "origin": origin, **({} if axes is None else {"axes": axes})}
    dtype = dtype_of(ndimage.uniform_filter, x, size, output=output, **more)
    axes = axes_of(axes, x)
    options = [each(v, len(axes)) for v in (size, mode, origin)]
    for axis, n, edge, start in zip(axes, *options):
        if n > 1:
            x = uniform_filter1d(x, int(n), axis, dtype, edge, cval, start)
    return stored(x, dtype)


# ---- several axes ----


def _declare(name: str) -> None:
    func = getattr(ndimage, name)

    @declare_composite(ndimage, name)
    def body(
        input: Value, weights: Value, output: Any = None, mode: str = "reflect",
        cval: Value = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Value:  # fmt: skip
        x, weights = as_array(input), as_array(weights)
        more = {} if axes is None else {"axes": axes}
        dtype = dtype_of(func, x, weights, output=output, mode=mode, origin=origin, **more)
        axes = axes_of(axes, x)
        starts = each(origin, len(axes))
        every = tuple(range(np.ndim(weights)))
        if name == "convolve":
            weights = np.flip(weights, every)
            starts = [-s - (1 - n % 2) for s, n in zip(starts, np.shape(weights))]
        else:
            weights = conj(weights)
        wide, form = as_numbers(x), [1] * np.ndim(x)
        for axis, n, start in zip(axes, np.shape(weights), starts):
            wide = widened(wide, axis, n // 2 + start, n - 1 - n // 2 - start, mode, cval)
            form[axis] = n
        kernel = np.reshape(as_numbers(np.flip(weights, every)), form)
        every = tuple(range(np.ndim(x)))
        return stored(convolution(wide, kernel, every, "valid", "direct"), dtype)


_declare("correlate")
_declare("convolve")


# ---- differences ----


def _declare_difference(name: str, smooth: np.ndarray) -> None:
    """Declare the difference along one axis, smoothed along the others."""
    func = getattr(ndimage, name)

    @declare_composite(ndimage, name)
    def body(
        input: Value, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Value = 0.0
    ) -> Value:
        x = as_array(input)
        dtype = dtype_of(func, x, axis, output=output, mode=mode)
        (axis,) = normalize(axis, np.ndim(x))
        modes = each(mode, np.ndim(x))
        x = correlate1d(x, np.array([-1, 0, 1]), axis, dtype, modes[axis], cval)
        for other in range(np.ndim(x)):
            if other != axis:
                x = correlate1d(x, smooth, other, dtype, modes[other], cval)
        return x


_declare_difference("sobel", np.array([1, 2, 1]))
_declare_difference("prewitt", np.array([1, 1, 1]))


@declare_composite(ndimage, "laplace")
def _laplace(
    input: Value, output: Any = None, mode: Any = "reflect", cval: Value = 0.0, *, axes: Any = None
) -> Value:
    x = as_array(input)
    more = {} if axes is None else {"axes": axes}
    dtype = dtype_of(ndimage.laplace, x, output=output, mode=mode, **more)
    axes = axes_of(axes, x)
    second = np.array([1, -2, 1])
    terms = [
        correlate1d(x, second, axis, dtype, edge, cval)
        for axis, edge in zip(axes, each(mode, len(axes)))
    ]
    return sum(terms[1:], terms[0]) if terms else stored(x, dtype)


def _kernel(sigma: Value, order: int, radius: int) -> Value:
    """Return a Gaussian, or one of its derivatives, at integers, reversed.

    With ``f = p * phi`` the derivative is ``(p' - x p / sigma**2) * phi``; `factors` are those of
    the powers in `p`.
    """
    if order < 0:
        raise ValueError("order must be non-negative")
    n = 2 * radius + 1
    x = np.arange(n) - radius
    phi = np.exp(-0.5 / (sigma * sigma) * x**2)
    phi = phi / np.sum(phi)
    factors: list = [1.0]
    for _ in range(order):
        slopes = [*[i * f for i, f in enumerate(factors)][1:], 0.0, 0.0]
        moved = [0.0] + [-f / (sigma * sigma) for f in factors]
        factors = [a + b for a, b in zip(slopes, moved)]
    return np.flip(sum(f * x**i for i, f in enumerate(factors)) * phi, 0)


def check_plain(sigma: Value) -> float:
    """Return the width that the number of weights depends on, or raise for a tensor."""
    if hasattr(sigma, "level"):
        raise UnsupportedError(
            "scipy.ndimage.gaussian_filter1d: sigma is a tensor, and the number of weights depends "
            "on it; write radius=, the number of pixels on each side"
        )
    return sigma


@declare_composite(ndimage, "gaussian_filter1d")
def gaussian_filter1d(
    input: Value, sigma: Value, axis: int = -1, order: int = 0, output: Any = None,
    mode: str = "reflect", cval: Value = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Value:  # fmt: skip
    x = as_array(input)
    dtype = dtype_of(ndimage.gaussian_filter1d, x, 1.0, axis, 0, output=output, mode=mode)
    (axis,) = normalize(axis, np.ndim(x))
    if radius is None:
        radius = int(truncate * check_plain(sigma) + 0.5)
    if radius < 0 or radius != int(radius):
        raise ValueError("Radius must be a nonnegative integer.")
    return stored(correlated(x, _kernel(sigma, order, int(radius)), axis, mode, cval), dtype)


@declare_composite(ndimage, "gaussian_filter")
def gaussian_filter(
    input: Value, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Value = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Value:  # fmt: skip
    x = as_array(input)
    dtype = dtype_of(ndimage.uniform_filter, x, 1, output=output, mode="reflect")
    axes = axes_of(axes, x)
    options = [each(v, len(axes)) for v in (sigma, order, mode, radius)]
    for axis, width, power, edge, far in zip(axes, *options):
        if width > 1e-15:
            x = gaussian_filter1d(
                x, width, axis, power, dtype, edge, cval, truncate, radius=far
            )  # fmt: skip
    return stored(x, dtype)


def _derivatives(
    input: Value, sigma: Any, power: int, output: Any, mode: Any, cval: Value, options: dict
) -> list:
    """Return the derivatives of a smoothed image along each axis, of one order."""
    x = as_array(input)
    dtype = dtype_of(ndimage.uniform_filter, x, 1, output=output, mode="reflect")
    axes = axes_of(options.pop("axes", None), x)
    found, widths = [], each(sigma, len(axes))
    for place, edge in enumerate(each(mode, len(axes))):
        orders = [power if i == place else 0 for i in range(len(axes))]
        found.append(
            gaussian_filter(x, widths, orders, dtype, edge, cval, axes=axes, **options)
        )  # fmt: skip
    return found or [stored(x, dtype)]


@declare_composite(ndimage, "gaussian_laplace")
def _gaussian_laplace(
    input: Value, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Value = 0.0,
    **options: Any,
) -> Value:  # fmt: skip
    terms = _derivatives(input, sigma, 2, output, mode, cval, options)
    return sum(terms[1:], terms[0])


@declare_composite(ndimage, "gaussian_gradient_magnitude")
def _gaussian_gradient_magnitude(
    input: Value, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Value = 0.0,
    **options: Any,
) -> Value:  # fmt: skip
    terms = [np.square(t) for t in _derivatives(input, sigma, 1, output, mode, cval, options)]
    return np.sqrt(sum(terms[1:], terms[0]))


def _filtered(
    func: Callable, factor: Callable, input: Value, values: Value, n: int, axis: int, output: Any
) -> Value:
    """Return an image times ``factor(frequency, value)`` along each axis.

    The transform of a real image has half of the frequencies along `axis`, if `n` is its length.
    """
    x = as_array(input)
    dtype = dtype_of(func, x, 1.0, output=output)
    values = np.real(as_array(values))
    for i, (size, value) in enumerate(zip(np.shape(x), each(values, np.ndim(x)))):
        half = n >= 0 and i == axis % np.ndim(x)
        frequencies = np.arange(size) / n if half else np.fft.fftfreq(size)
        form = [size if j == i else 1 for j in range(np.ndim(x))]
        x = x * np.reshape(factor(frequencies, value), form)
    return np.astype(x, dtype, copy=False)


def _gaussian(frequencies: Value, sigma: Value) -> Value:
    return np.exp(-2 * (math.pi * sigma * frequencies) ** 2)


def _uniform(frequencies: Value, size: Value) -> Value:
    return np.sinc(size * frequencies)


def _shift(frequencies: Value, shift: Value) -> Value:
    return np.exp(-2j * math.pi * shift * frequencies)


@declare_composite(ndimage, "fourier_gaussian")
def _fourier_gaussian(
    input: Value, sigma: Value, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    return _filtered(ndimage.fourier_gaussian, _gaussian, input, sigma, n, axis, output)


@declare_composite(ndimage, "fourier_uniform")
def _fourier_uniform(
    input: Value, size: Value, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    return _filtered(ndimage.fourier_uniform, _uniform, input, size, n, axis, output)


@declare_composite(ndimage, "fourier_shift")
def _fourier_shift(
    input: Value, shift: Value, n: int = -1, axis: int = -1, output: Any = None
) -> Value:
    return _filtered(ndimage.fourier_shift, _shift, input, shift, n, axis, output)
