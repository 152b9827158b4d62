"""Filters of the Fourier transforms of images: products with a function of the frequency."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ..declare import declare_composite
from .forms import dtype_of, each


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
