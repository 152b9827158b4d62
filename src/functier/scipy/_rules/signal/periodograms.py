"""Spectra of windowed segments of a signal: `welch`, `csd`, `spectrogram`, `stft` and the like.

NOTE [frequencies and checks are SciPy's]
    Frequencies, times, the form and the dtype of a result depend on the form of the signal only.
    So SciPy's function is called on zeros of this form. It also checks the other arguments, which
    have no derivatives. The segments of the signal are one index, and their transform is NumPy's.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ..declare import declare_composite, dispatching


def _like_zeros(x: Value, axis: int) -> np.ndarray:
    """Return one signal of zeros, with the number of axes of `x`."""
    shape = [n if i == axis else min(n, 1) for i, n in enumerate(np.shape(x))]
    return np.zeros(shape, x.dtype)


def _window(window: Any, nperseg: Any, n: int) -> np.ndarray:
    """Return the weights of a segment; SciPy has checked them."""
    if isinstance(window, str | tuple):
        size = min(256 if nperseg is None else int(nperseg), n)
        return signal.get_window(window, size)
    return as_array(window)


def _segments(
    x: Value, axis: int, weights: np.ndarray, step: int, nfft: int, detrend: Any, onesided: bool
) -> Value:
    """Return the transforms of the segments, with the axes of segments and frequencies last."""
    x, size = np.moveaxis(x, axis, -1), np.size(weights)
    n = (np.shape(x)[-1] - size) // step + 1
    rows = x[..., step * np.arange(n)[:, None] + np.arange(size)]
    if callable(detrend):
        rows = np.moveaxis(detrend(np.moveaxis(rows, -1, axis)), axis, -1)
    elif detrend:
        rows = dispatching(signal.detrend)(rows, type=detrend)
    rows = rows * np.astype(weights, np.result_type(rows, np.float32), copy=False)
    return (np.fft.rfft if onesided else np.fft.fft)(rows, nfft)


def _scale(weights: np.ndarray, fs: Value, scaling: str) -> Value:
    """Return the factor of the power of a segment."""
    if scaling == "spectrum":
        return 1.0 / np.sum(weights) ** 2
    return 1.0 / (fs * np.sum(weights * weights))


def _twice(power: Value, nfft: int) -> Value:
    """Return the power at the frequencies above zero with that below zero added, on the last
    axis."""
    bins = np.arange(np.shape(power)[-1])
    alone = (bins == 0) | (2 * bins == nfft)
    return power * np.where(alone, 1.0, 2.0).astype(np.real(np.zeros(0, power.dtype)).dtype)


# ---- powers ----


def _mean_power(
    name: str, x: Value, y: Value, fs: Value, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
    detrend: Any, return_onesided: bool, scaling: str, axis: int, average: str,
) -> tuple:  # fmt: skip
    """Return frequencies and the averaged cross power of two signals; of one, where `y` is None."""
    x = as_array(x)
    (own,) = normalize(axis, np.ndim(x))
    options = {
        "fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft,
        "detrend": False if callable(detrend) else detrend, "return_onesided": return_onesided,
        "scaling": scaling, "axis": axis, "average": average,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        if y is None:
            frequencies, like = getattr(signal, name)(_like_zeros(x, own), **options)
            other = None
        else:
            other = as_array(y)
            (place,) = normalize(axis, np.ndim(other))
            pair = _like_zeros(x, own), _like_zeros(other, place)
            frequencies, like = getattr(signal, name)(*pair, **options)
    if not np.size(x) or (other is not None and not np.size(other)):
        return dispatching(getattr(signal, name))(np.zeros(np.shape(x)), **options)
    n = np.shape(x)[own]
    if other is not None:
        place = normalize(axis, np.ndim(other))[0]
        n = max(n, np.shape(other)[place])
        x, other = _lengthened(x, own, n), _lengthened(other, place, n)
    weights = _window(window, nperseg, n)
    size = np.size(weights)
    step = size - (size // 2 if noverlap is None else int(noverlap))
    length = size if nfft is None else int(nfft)
    onesided = return_onesided and np.result_type(x, x if other is None else other).kind != "c"
    rows = _segments(x, own, weights, step, length, detrend, onesided)
    if other is None:
        power = np.square(np.real(rows)) + np.square(np.imag(rows))
    else:
        power = np.conj(rows) * _segments(other, place, weights, step, length, detrend, onesided)
    power = power * _scale(weights, fs, scaling)
    power = _twice(power, length) if onesided else power
    count = np.shape(power)[-2]
    if average == "median" and count > 1:
        middle: Any = np.median(np.real(power), axis=-2)
        if power.dtype.kind == "c":
            middle = middle + 1j * np.median(np.imag(power), axis=-2)
        power = middle / _bias(count)
    else:
        power = np.mean(power, axis=-2)
    power = np.astype(power, like.dtype, copy=False)
    return frequencies, np.moveaxis(power, -1, axis)


def _lengthened(x: Value, axis: int, n: int) -> Value:
    """Return a signal with zeros up to the length `n`."""
    widths = [(0, n - np.shape(x)[i] if i == axis else 0) for i in range(np.ndim(x))]
    return np.pad(x, widths) if any(after for _, after in widths) else x


def _bias(count: int) -> float:
    """Return the mean of the median of `count` powers of noise, with mean 1."""
    n = (count - 1) // 2
    even = 2 * np.arange(n) + 2
    return 1 + np.sum(1 / (even + 1) - 1 / even)


@declare_composite(signal, "welch")
def _welch(
    x: Value, fs: Value = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple:  # fmt: skip
    return _mean_power(
        "welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
        axis, average,
    )  # fmt: skip


@declare_composite(signal, "csd")
def _csd(
    x: Value, y: Value, fs: Value = 1.0, window: Any = "hann", nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple:  # fmt: skip
    return _mean_power(
        "csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip


@declare_composite(signal, "periodogram")
def _periodogram(
    x: Value, fs: Value = 1.0, window: Any = "boxcar", nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1,
) -> tuple:  # fmt: skip
    x = as_array(x)
    (axis_of_x,) = normalize(axis, np.ndim(x))
    n = np.shape(x)[axis_of_x]
    if not np.size(x):
        return np.empty(np.shape(x)), np.empty(np.shape(x))
    if nfft is not None and nfft < n:
        x = x[(slice(None),) * axis_of_x + (slice(nfft),)]
        n, nfft = nfft, None
    window = "boxcar" if window is None else window
    if hasattr(window, "size") and window.size != n:
        raise ValueError(
            "the size of the window must be the same size of the input on the specified axis"
        )
    return _welch(x, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)


@declare_composite(signal, "coherence")
def _coherence(
    x: Value, y: Value, fs: Value = 1.0, window: Any = "hann", nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant", axis: int = -1,
) -> tuple:  # fmt: skip
    options = {
        "fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft,
        "detrend": detrend, "axis": axis,
    }  # fmt: skip
    frequencies, own = _welch(x, **options)
    other, both = _welch(y, **options)[1], _csd(x, y, **options)[1]
    return frequencies, np.abs(both) ** 2 / own / other


# ---- one spectrum a segment ----


def _each(
    func: Callable, x: Value, fs: Value, window: Any, nperseg: Any, noverlap: Any, nfft: Any,
    detrend: Any, return_onesided: bool, scaling: str, axis: int, power: bool,
    boundary: str | None = None, padded: bool = False, **more: Any,
) -> tuple:  # fmt: skip
    """Return frequencies, times and the spectra of all segments."""
    (own,) = normalize(axis, np.ndim(x))
    plain = _like_zeros(x, own)
    options = {
        "fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft,
        "detrend": False if callable(detrend) else detrend, "return_onesided": return_onesided,
        "scaling": scaling, "axis": axis, **more,
    }  # fmt: skip
    if func is signal.stft:
        options |= {"boundary": boundary, "padded": padded}
    frequencies, times, like = func(plain, **options)
    if not np.size(x):
        return frequencies, times, like
    weights = _window(window, nperseg, np.shape(x)[own])
    size = np.size(weights)
    step = size - (noverlap if noverlap is not None else size // 8 if power else size // 2)
    edge = size // 2
    if boundary is not None:
        x = _with_edges(x, own, edge, boundary)
    if padded:
        lacking = (-(np.shape(x)[own] - size) % step) % size
        x = np.pad(x, [(0, lacking if i == own else 0) for i in range(np.ndim(x))])
    length = size if nfft is None else int(nfft)
    onesided = return_onesided and x.dtype.kind != "c"
    rows = _segments(x, own, weights, step, length, detrend, onesided)
    scale = _scale(weights, fs, "spectrum" if scaling == "spectrum" else "density")
    if power:
        rows = (np.square(np.real(rows)) + np.square(np.imag(rows))) * scale
        rows = _twice(rows, length) if onesided else rows
    else:
        rows = rows * np.sqrt(scale)
    rows = np.astype(rows, like.dtype, copy=False)
    return frequencies, times, np.moveaxis(np.swapaxes(rows, -1, -2), -2, axis - (axis < 0))


def _with_edges(x: Value, axis: int, edge: int, boundary: str) -> Value:
    """Return a signal with more samples at both ends."""
    if edge < 1:
        return x
    x = np.moveaxis(x, axis, -1)
    if boundary == "zeros":
        sides = [np.zeros((*np.shape(x)[:-1], edge), x.dtype)] * 2
    elif boundary == "constant":
        sides = [np.repeat(v, edge, axis=-1) for v in (x[..., :1], x[..., -1:])]
    else:
        sides = [x[..., edge:0:-1], x[..., -2 : -(edge + 2) : -1]]
        if boundary == "odd":
            sides = [2 * x[..., :1] - sides[0], 2 * x[..., -1:] - sides[1]]
    return np.moveaxis(np.concatenate([sides[0], x, sides[1]], axis=-1), -1, axis)


@declare_composite(signal, "stft")
def _stft(
    x: Value, fs: Value = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None,
    nfft: Any = None, detrend: Any = False, return_onesided: bool = True,
    boundary: str | None = "zeros", padded: bool = True, axis: int = -1,
    scaling: str = "spectrum",
) -> tuple:  # fmt: skip
    return _each(
        signal.stft, as_array(x), fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, axis, False, boundary=boundary, padded=padded,
    )  # fmt: skip


@declare_composite(signal, "spectrogram")
def _spectrogram(
    x: Value, fs: Value = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> tuple:  # fmt: skip
    x = as_array(x)
    if noverlap is None:
        noverlap = np.size(_window(window, nperseg, np.shape(x)[axis])) // 8
    frequencies, times, rows = _each(
        signal.spectrogram, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, axis, mode == "psd", mode=mode if mode not in ("phase", "angle", "magnitude") else
        "complex",
    )  # fmt: skip
    if mode == "magnitude":
        rows = np.abs(rows)
    elif mode in ("angle", "phase"):
        rows = np.angle(rows)
        rows = np.unwrap(rows, axis=axis - (axis < 0)) if mode == "phase" else rows
    return frequencies, times, rows


@declare_composite(signal, "istft")
def _istft(
    Zxx: Value, fs: Value = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
    freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple:  # fmt: skip
    z = as_array(Zxx)
    options = {
        "fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft,
        "input_onesided": input_onesided, "boundary": boundary, "time_axis": time_axis,
        "freq_axis": freq_axis, "scaling": scaling,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times, like = signal.istft(np.zeros(np.shape(z), z.dtype), **options)
    places = normalize((freq_axis, time_axis), np.ndim(z))
    z = np.moveaxis(z, places, (-1, -2))
    bins, count = np.shape(z)[-1], np.shape(z)[-2]
    whole = 2 * (bins - 1) if input_onesided else bins
    size = whole if nperseg is None else int(nperseg)
    length = nfft
    if nfft is None:
        length = size if input_onesided and size == whole + 1 else whole
    step = size - (size // 2 if noverlap is None else int(noverlap))
    weights = _window(window, size, size)
    rows = (np.fft.irfft if input_onesided else np.fft.ifft)(z, length)[..., :size] * weights
    total = np.sum(weights) if scaling == "spectrum" else np.sqrt(fs * np.sum(weights**2))
    n = size + (count - 1) * step
    parts: list = []
    squares: list = []
    for i in range(count):
        widths = [(0, 0)] * (np.ndim(z) - 2) + [(i * step, n - size - i * step)]
        parts.append(np.pad(rows[..., i, :], widths))
        squares.append(np.pad(weights**2, widths[-1]))
    x, norm = sum(parts[1:], parts[0]) * total, sum(squares[1:], squares[0])
    if boundary:
        inner = slice(size // 2, n - size // 2)
        x, norm = x[..., inner], norm[inner]
    if np.any(norm <= 1e-10):
        warnings.warn(
            "NOLA condition failed, STFT may not be invertible."
            + ("" if boundary else " Possibly due to missing boundary"),
            stacklevel=2,
        )
    x = np.astype(x / np.where(norm > 1e-10, norm, 1.0), like.dtype, copy=False)
    if np.ndim(x) > 1 and places[1] != np.ndim(z) - 1:
        x = np.moveaxis(x, -1, places[1] - (places[0] < places[1]))
    return times, x
