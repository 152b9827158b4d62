"""Filters of neighbourhoods: medians, ranks and Wiener's filter; analytic images."""

import math
import warnings
from typing import Any

import numpy as np
import scipy.ndimage as ndimage  # type: ignore[import-untyped]
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ..declare import declare_composite, dispatching


def _check_dtype(x: Value, name: str) -> None:
    if x.dtype.kind not in "iu" and x.dtype.char not in "fd":
        raise ValueError(f"dtype={x.dtype} is not supported by {name}")


@declare_composite(signal, "order_filter")
def _order_filter(a: Value, domain: Value, rank: int) -> Value:
    a, domain = as_array(a), as_array(domain)
    if any(n % 2 != 1 for n in np.shape(domain)):
        raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    _check_dtype(a, "order_filter")
    return dispatching(ndimage.rank_filter)(a, rank, footprint=domain, mode="constant")


def _median(x: Value, size: Any) -> Value:
    if np.ndim(x) == 0:
        x = np.reshape(x, (1,))
    _check_dtype(x, "medfilt")
    several = size is not None and np.ndim(size)
    sizes = [int(n) for n in np.ravel(size)] if several else [3 if size is None else int(size)]
    sizes = sizes if several else sizes * np.ndim(x)
    if any(n % 2 != 1 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    if any(k > n for k, n in zip(sizes, np.shape(x))):
        warnings.warn(
            "kernel_size exceeds volume extent: the volume will be zero-padded.", stacklevel=2
        )
    rank = math.prod(sizes) // 2
    return dispatching(ndimage.rank_filter)(x, rank, size=sizes, mode="constant")


@declare_composite(signal, "medfilt")
def _medfilt(volume: Value, kernel_size: Any = None) -> Value:
    return _median(as_array(volume), kernel_size)


@declare_composite(signal, "medfilt2d")
def _medfilt2d(input: Value, kernel_size: Any = 3) -> Value:
    image = as_array(input)
    signal.medfilt2d(np.zeros((1,) * np.ndim(image), image.dtype), 1)  # SciPy's errors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _median(image, kernel_size)


@declare_composite(signal, "wiener")
def _wiener(im: Value, mysize: Any = None, noise: Value = None) -> Value:
    im = as_array(im)
    sizes = [3 if mysize is None else mysize] * np.ndim(im) if not np.ndim(mysize) else mysize
    window = np.ones([int(n) for n in sizes])
    count = float(np.size(window))
    run = dispatching(signal.correlate)
    mean = run(im, window, "same") / count
    variance = run(im**2, window, "same") / count - mean**2
    noise = np.mean(variance) if noise is None else noise
    # SciPy multiplies in place.
    np.multiply(np.ones(0, mean.dtype), np.ones(0, np.result_type(noise)), np.ones(0, mean.dtype))
    flat = variance < noise
    kept = 1 - noise / np.where(flat, 1.0, variance)
    return np.where(flat, mean, (im - mean) * kept + mean)


@declare_composite(signal, "hilbert2")
def _hilbert2(x: Value, N: Any = None, axes: Any = (-2, -1)) -> Value:
    x = as_array(x)
    x = np.reshape(x, (1,) * (2 - np.ndim(x)) + np.shape(x))
    signal.hilbert2(np.zeros(np.shape(x), x.dtype)[:0], 1 if N is None else N, axes) if N else None
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    places = normalize(tuple(axes), np.ndim(x))
    sizes = [np.shape(x)[a] for a in places] if N is None else [N, N] if np.ndim(N) == 0 else N
    spectrum = np.fft.fft2(x, sizes, axes=places)
    for axis, n in zip(places, sizes):
        i = np.arange(n)
        half = (n + 1) // 2
        factors = np.where(i == 0, 1, np.where(i < half, 2, 0))
        factors = np.where(i >= half, 0, factors).astype(np.real(np.zeros(0, spectrum.dtype)).dtype)
        spectrum = spectrum * np.reshape(factors, (-1,) + (1,) * (np.ndim(x) - axis - 1))
    return np.fft.ifft2(spectrum, axes=places)
