"""Signals at another rate: `upfirdn`, `resample_poly`, `resample` and `decimate`.

NOTE [the adjoint of a polyphase filter]
    ``y[k] = sum(h[k * down - m * up] * x[m])`` is bilinear. Its adjoint in `x` is the same
    operation with the reversed filter, and with `up` and `down` exchanged. The adjoint in `h` is
    a correlation of the two signals after zeros have been put between their samples.
"""

import math
import operator
from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.linalg.contract import conj
from ....protocol import linear, primitive
from ..declare import declare_composite, dispatching
from .convolutions import convolution

# ---- the operation, along the last axis ----


@primitive
def polyphase(h: Value, x: Value, up: int, down: int) -> Value:
    """Return the signal with `up - 1` zeros after each sample, filtered, each `down`-th sample."""
    return signal.upfirdn(h, x, up, down)


def _length(taps: int, n: int, up: int, down: int) -> int:
    return -(-((n - 1) * up + taps) // down)


def _spread(x: Value, step: int) -> Value:
    """Return a signal with zeros between its samples."""
    if step == 1:
        return x
    n, lead = np.shape(x)[-1], np.shape(x)[:-1]
    zeros = np.zeros((*lead, n, step - 1), np.result_type(x))
    wide = np.concatenate([np.reshape(x, (*lead, n, 1)), zeros], axis=-1)
    return np.reshape(wide, (*lead, n * step))[..., : (n - 1) * step + 1]


def _polyphase_vmap(k: int, h: Value, x: Value, up: int, down: int) -> Value:
    if all(n == 1 for n in np.shape(h)[:k]):
        return polyphase(np.reshape(h, np.shape(h)[k:]), x, up, down)
    form = np.shape(h)[:k] + (1,) * (np.ndim(x) - k - 1) + np.shape(h)[k:]
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in (h, x)])
    wide = _spread(np.broadcast_to(x, batch + np.shape(x)[k:]), up)
    full = convolution(wide, np.reshape(h, form), (np.ndim(wide) - 1,), "full", "fft")
    return full[..., ::down]


def _vjp_x(g: Value, x_shape: tuple, h: Value, up: int, down: int) -> Value:
    taps, n = np.shape(h)[-1], x_shape[-1]
    before = -(taps - 1) % up  # so that a sample of the result has its place in the sum
    zeros = np.zeros(before, np.result_type(h))
    spread = polyphase(np.concatenate([zeros, conj(h[::-1])]), g, down, up)
    start = (taps - 1 + before) // up
    return _cut(spread, start, n)


def _cut(x: Value, start: int, size: int) -> Value:
    """Return `size` samples from `start` on; zeros follow the signal."""
    x = x[..., start : start + size]
    lacking = size - np.shape(x)[-1]
    if not lacking:
        return x
    return np.concatenate([x, np.zeros((*np.shape(x)[:-1], lacking), np.result_type(x))], axis=-1)


def _vjp_h(g: Value, h_shape: tuple, x: Value, up: int, down: int) -> Value:
    wide, taps = conj(_spread(x, up)), h_shape[-1]
    spread = _cut(_spread(g, down), 0, np.shape(wide)[-1] + taps - 1)
    rows = convolution(spread, np.flip(wide, -1), (np.ndim(wide) - 1,), "valid", "fft")
    return np.sum(np.reshape(rows, (-1, taps)), axis=0)


linear(
    polyphase,
    "h x up down",
    "h x",
    jvp="multilinear",
    vmap=_polyphase_vmap,
    vjp={"h": _vjp_h, "x": _vjp_x},
)

# ---- SciPy's functions ----

PADDING = "constant", "symmetric", "reflect", "edge", "wrap"
"""The modes of SciPy that NumPy's `pad` has, too."""


@declare_composite(signal, "upfirdn")
def _upfirdn(
    h: Value, x: Value, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
    cval: Value = 0,
) -> Value:  # fmt: skip
    h, x = as_array(h), as_array(x)
    if np.ndim(h) != 1 or not np.size(h):
        raise ValueError("h must be 1-D with non-zero length")
    up, down = operator.index(up), operator.index(down)
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    (axis,) = normalize(axis, np.ndim(x))
    dtype = np.result_type(h, x, np.float32)
    h, x = np.astype(h, dtype, copy=False), np.moveaxis(np.astype(x, dtype, copy=False), axis, -1)
    given = 1 if mode == "constant" and type(cval) in (int, float) and not cval else 0
    if mode not in PADDING:
        raise UnsupportedError(
            f"scipy.signal.upfirdn: mode={mode!r} is not supported for tensors; write one of "
            f"{', '.join(map(repr, PADDING))}"
        )
    taps, n = np.shape(h)[0], np.shape(x)[-1]
    size, start = _length(taps, n, up, down), 0
    if not given:
        options: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
        edge = down * -(-taps // (up * down))  # whose samples are whole ones of the result
        widths = [(0, 0)] * (np.ndim(x) - 1) + [(edge, edge)]
        x, start = np.pad(x, widths, mode, **options), edge * up // down  # type: ignore[call-overload]
    return np.moveaxis(_cut(polyphase(h, x, up, down), start, size), -1, axis)


BACKGROUNDS: dict[str, Any] = {
    "mean": np.mean,
    "median": np.median,
    "minimum": np.min,
    "maximum": np.max,
}


@declare_composite(signal, "resample_poly")
def _resample_poly(
    x: Value, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0),
    padtype: str = "constant", cval: Value = None,
) -> Value:  # fmt: skip
    x = as_array(x)
    if padtype not in BACKGROUNDS:  # SciPy's errors
        signal.resample_poly(np.zeros(2), up, down, 0, np.ones(3), padtype, 0 if cval else None)
    elif cval is not None:
        raise ValueError("cval has no effect when padtype is ", padtype)
    else:
        signal.resample_poly(np.zeros(2), up, down, 0, np.ones(3))
    common = math.gcd(int(up), int(down))
    up, down = int(up) // common, int(down) // common
    if up == down == 1:
        return np.copy(x)
    if isinstance(window, str | tuple):
        half = 10 * max(up, down)
        taps = signal.firwin(2 * half + 1, 1.0 / max(up, down), window=window)
        taps = np.astype(taps, x.dtype) if x.dtype.kind in "fc" else taps
    else:
        taps = as_array(window)
        if np.ndim(taps) > 1:
            raise ValueError("window must be 1-D")
        half = (np.size(taps) - 1) // 2
    taps = taps * up
    n, (axis,) = np.shape(x)[axis], normalize(axis, np.ndim(x))
    size, before = -(-n * up // down), down - half % down
    start = (half + before) // down
    taps = np.concatenate([np.zeros(before, np.result_type(taps)), taps])
    lacking = (size + start - 1) * down + 1 - ((n - 1) * up + np.size(taps))
    if lacking > 0:
        taps = np.concatenate([taps, np.zeros(lacking, np.result_type(taps))])
    if padtype in BACKGROUNDS:
        level = BACKGROUNDS[padtype](x, axis=axis, keepdims=True)
        options: dict[str, Any] = {}
    else:
        level, options = None, {"mode": padtype, "cval": 0 if cval is None else cval}
    y = _upfirdn(taps, x if level is None else x - level, up, down, axis, **options)
    y = y[(slice(None),) * axis + (slice(start, start + size),)]
    return y if level is None else y + level


@declare_composite(signal, "decimate")
def _decimate(
    x: Value, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1,
    zero_phase: bool = True,
) -> Value:  # fmt: skip
    x, q = as_array(x), operator.index(q)
    dtype = x.dtype if x.dtype.kind in "fc" and x.dtype.char != "e" else np.dtype(float)
    (axis,) = normalize(axis, np.ndim(x))
    every = (slice(None),) * axis
    if ftype == "fir":
        order = 20 * q if n is None else operator.index(n)
        taps = signal.firwin(order + 1, 1.0 / q, window="hamming")
        taps = np.astype(taps, dtype)
        if zero_phase:
            return _resample_poly(x, 1, q, axis, taps)
        return _upfirdn(taps, x, 1, q, axis)[(*every, slice(-(-np.shape(x)[axis] // q)))]
    if ftype != "iir":
        if isinstance(ftype, signal.dlti):
            raise UnsupportedError(
                "scipy.signal.decimate: a filter of the class dlti is not supported for tensors; "
                "write filtfilt(system.num, system.den, x)[..., ::q]"
            )
        raise ValueError("invalid ftype")
    sections = signal.cheby1(8 if n is None else operator.index(n), 0.05, 0.8 / q, output="sos")
    run = dispatching(signal.sosfiltfilt if zero_phase else signal.sosfilt)
    return run(np.astype(sections, dtype), x, axis=axis)[(*every, slice(None, None, q))]


@declare_composite(signal, "resample")
def _resample(
    x: Value, num: int, t: Value = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter {domain=} not in ('time', 'freq')!")
    x = as_array(x)
    (axis,) = normalize(axis, np.ndim(x))
    x, num = np.moveaxis(x, axis, -1), operator.index(num)
    n = np.shape(x)[-1]
    real = domain == "time" and x.dtype.kind != "c"
    weights = _weights(window, n)
    spectrum = x if domain == "freq" else np.fft.fft(x)
    if weights is not None:
        weights = np.astype(weights, np.real(spectrum).dtype) if real else weights
        spectrum = spectrum * weights
    few = min(n, num)
    half = (few + 1) // 2
    front, back = spectrum[..., :half], spectrum[..., n - (few - half) :]
    if few % 2 == 0 and n != num:
        low, high = spectrum[..., few // 2 : few // 2 + 1], spectrum[..., n - few // 2 :][..., :1]
        rest = back[..., 1:]
        middle = low + high if num < n else 0.5 * low
        if num < n:
            parts = [front, middle, rest]
        else:
            parts = [front, middle, _zeros(x, spectrum, num - few - 1), middle, rest]
    else:
        parts = [front, _zeros(x, spectrum, num - few), back]
    y = np.fft.ifft(np.concatenate(parts, axis=-1) * (num / n))
    y = np.moveaxis(np.real(y) if real else y, -1, axis)
    if t is None:
        return y
    return y, t[0] + (t[1] - t[0]) * (n / num) * np.arange(num)


def _zeros(x: Value, spectrum: Value, size: int) -> Value:
    return np.zeros((*np.shape(x)[:-1], size), spectrum.dtype)


def _weights(window: Any, n: int) -> Value:
    """Return the factors of the frequencies, in the order of the transform."""
    if window is None:
        return None
    if callable(window):
        return window(np.fft.fftfreq(n))
    if hasattr(window, "shape"):
        if window.shape != (n,):
            raise ValueError(
                f"window.shape={window.shape} != ({n},), i.e., window length is not equal to "
                f"number of frequency bins!"
            )
        return window
    return np.fft.fftshift(signal.get_window(window, n))
