"""Linear filters of images: correlations, averages and the filters that are made of them."""

from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.linalg.contract import conj
from ..declare import declare_composite
from ..signal.convolutions import convolution
from .forms import as_numbers, axes_of, dtype_of, each, widened


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
