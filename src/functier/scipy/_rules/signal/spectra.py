"""Trends, smoothing and frequency responses."""

import math
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
