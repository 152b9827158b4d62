"""Signals at another rate: `upfirdn`.

NOTE [the adjoint of a polyphase filter]
    ``y[k] = sum(h[k * down - m * up] * x[m])`` is bilinear. Its adjoint in `x` is the same
    operation with the reversed filter, and with `up` and `down` exchanged. The adjoint in `h` is
    a correlation of the two signals after zeros have been put between their samples.
"""

import operator
from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array, normalize
from ...._rules.linalg.contract import conj
from ....protocol import linear, primitive
from ..declare import declare_composite
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


def _vjp_x(g: Value, h: Value, x_shape: tuple, up: int, down: int) -> Value:
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


def _vjp_h(g: Value, x: Value, h_shape: tuple, up: int, down: int) -> Value:
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

# ---- SciPy's function ----

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
