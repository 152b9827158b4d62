"""Trends, smoothing and frequency responses."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]
from numpy.lib.array_utils import normalize_axis_index

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ....protocol import linear
from ..declare import declare_composite, dispatching
from .convolutions import convolution

# ---- trends: what is left is a projection, which is its own adjoint ----


def _detrended(x: Value, axis: int, type: str, bp: Value) -> Value:
    """Return what is left; of no signals, which SciPy does not take, nothing."""
    if 0 in np.shape(x):
        return np.zeros(np.shape(x), x.dtype if x.dtype.char in "fdFD" else float)
    return dispatching(signal.detrend)(x, axis, type, bp)


def _detrend_vmap(
    k: int, data: Value, axis: int = -1, type: str = "linear", bp: Value = 0, **more: Any
) -> Value:
    return _detrended(data, k + normalize_axis_index(axis, np.ndim(data) - k), type, bp)


def _detrend_vjp(g: Value, axis: int = -1, type: str = "linear", bp: Value = 0) -> Value:
    return _detrended(g, axis, type, bp)


linear(
    signal.detrend,
    "data axis type bp overwrite_data",
    kernel=lambda data, axis=-1, type="linear", bp=0, **more: _detrended(data, axis, type, bp),
    vmap=_detrend_vmap,
    vjp={"data": _detrend_vjp},
)

# ---- smoothing ----

PADDING = {"mirror": "reflect", "constant": "constant", "nearest": "edge", "wrap": "wrap",
           "interp": "constant"}  # fmt: skip


def _edge_matrix(length: int, places: np.ndarray, polyorder: int, deriv: int) -> np.ndarray:
    """Return the matrix from a window to its fitted polynomial, or a derivative, at `places`."""
    size, middle = polyorder + 1, (length - 1) / 2
    powers = np.arange(size)
    fit = np.linalg.pinv((np.arange(length)[:, None] - middle) ** powers)
    factors = np.stack([math.perm(power, deriv) for power in range(size)])
    slopes = factors * (places[:, None] - middle) ** np.maximum(powers - deriv, 0)
    return slopes @ fit


@declare_composite(signal, "savgol_filter")
def _savgol_filter(
    x: Value,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: Value = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: Value = 0.0,
) -> Value:
    if mode not in PADDING:
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    x = as_array(x)
    dtype = x.dtype if x.dtype.char in "fd" else np.dtype(float)
    (axis,) = normalize(axis, np.ndim(x))
    x = np.moveaxis(np.astype(x, float, copy=False), axis, -1)
    n, m = np.shape(x)[-1], window_length
    coefficients = signal.savgol_coeffs(m, polyorder, deriv=deriv)
    if mode == "interp" and m > n:
        raise ValueError(
            "If mode is 'interp', window_length must be less than or equal to the size of x."
        )
    widths = [(0, 0)] * (np.ndim(x) - 1) + [((m - 1) // 2, m // 2)]
    options: dict[str, Any] = {}
    if PADDING[mode] == "constant":
        options = {"constant_values": cval if mode == "constant" else 0.0}
    padded = np.pad(x, widths, PADDING[mode], **options)  # type: ignore[call-overload]
    form = (*(1,) * (np.ndim(x) - 1), m)
    axes = tuple(range(np.ndim(x)))
    y = convolution(padded, np.reshape(coefficients, form), axes, "valid", "direct")
    if mode == "interp":
        half, places = m // 2, np.arange(window_length) + 0.0
        first = _edge_matrix(m, places[:half], polyorder, deriv)
        last = _edge_matrix(m, places[m - half :], polyorder, deriv)
        y = np.concatenate(
            [x[..., :m] @ first.T, y[..., half : n - half], x[..., n - m :] @ last.T], axis=-1
        )
    y = y / delta**deriv if deriv else y
    return np.moveaxis(np.astype(y, dtype, copy=False), -1, axis)


# ---- frequency responses ----


def _horner(x: Value, c: Value) -> Value:
    """Return the polynomial with coefficients along the first axis, the lowest first."""
    total = np.astype(c[-1:][0], np.result_type(c, x))
    total = np.broadcast_to(total, np.broadcast_shapes(np.shape(c)[1:], np.shape(x)))
    for i in range(2, np.shape(c)[0] + 1):
        total = c[-i] + total * x
    return total


@declare_composite(signal, "freqz")
def _freqz(
    b: Value,
    a: Value = 1,
    worN: Value = 512,
    whole: bool = False,
    plot: Callable | None = None,
    fs: Value = 2 * np.pi,
    include_nyquist: bool = False,
) -> tuple:
    b, a, worN = (as_array(v) for v in (b, a, 512 if worN is None else worN))
    a = np.astype(a, float) if a.dtype.kind in "biu" else a
    dtype = np.result_type(b, a)
    if dtype.char == "G":
        signal.freqz(np.ones(1, dtype), worN=1)  # SciPy's error
    real = np.real(np.zeros(0, dtype)).dtype if dtype.kind in "fc" else np.dtype(float)
    b, a = (c if np.ndim(c) else np.reshape(c, (1,)) for c in (b, a))
    if fs is None:
        raise ValueError("Sampling frequency can not be none.")
    if np.ndim(fs):
        raise ValueError("Sampling frequency fs must be a single scalar.")
    h = None
    if not np.ndim(worN) and worN.dtype.kind in "iu":
        n = operator.index(worN[()])
        if n < 0:
            raise ValueError(f"worN must be nonnegative, got {n}")
        ends = include_nyquist and not whole
        length = 2 * np.pi if whole else np.pi
        w = np.linspace(0, length, n, endpoint=ends, dtype=real)
        h = _response_on_grid(b, a, n, n if whole else 2 * (n - ends), whole)
    else:
        w = np.reshape(np.real(worN), (-1,)) if not np.ndim(worN) else worN
        w = np.astype(w, dtype, copy=False) if w.dtype != dtype else w
        w = 2 * np.pi * w / fs
    if h is None:
        z = np.exp(-1j * w)
        h = _horner(z, b) / _horner(z, a)
    w = w * (fs / (2 * np.pi))
    if plot is not None:
        plot(w, h)
    return w, h


def _response_on_grid(b: Value, a: Value, n: int, size: int, whole: bool) -> Value:
    """Return the response of a filter without a denominator by a transform, else None."""
    one_filter = np.ndim(b) == 1 or np.shape(b)[-1] == 1
    if np.size(a) != 1 or not one_filter or size < np.shape(b)[0] or not size:
        return None
    is_real = b.dtype.kind == "f" == a.dtype.kind and not whole
    h = (np.fft.rfft if is_real else np.fft.fft)(b, size, axis=0)[:n]
    h = np.astype(h / np.reshape(a, ()), h.dtype, copy=False)
    return np.moveaxis(h[..., 0], 0, -1) if np.ndim(b) > 1 else h
