"""Convolutions and correlations of any number of axes.

NOTE [one operation for all of them]
    `convolution` is the full convolution along some axes, or the part of it where the second
    operand lies inside of the first one. It is bilinear: its adjoint in either operand is the
    correlation with the other one, which is the same operation with a reversed operand.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.signal as signal  # type: ignore[import-untyped]

from ...._core.numpy_facts import Shape, Value, align, sum_to
from ...._rules.axes import as_array, normalize
from ...._rules.linalg.contract import conj
from ....protocol import linear, primitive
from ..declare import declare_composite

# ---- the operation ----


@primitive
def convolution(
    in1: Value, in2: Value, axes: tuple[int, ...], mode: str = "full", method: str = "fft"
) -> Value:
    """Return the convolution along `axes`; the other axes broadcast.

    `mode` is "full" or "valid", which needs a first operand that is as large as the second one.
    `method` names SciPy's function: "direct" and "image" (`convolve2d`) for all axes, "fft" or "oa"
    (`oaconvolve`).
    """
    if not in1.size or not in2.size:
        sizes = enumerate(zip(in1.shape, in2.shape))
        turn = 1 if mode == "full" else -1
        shape = [
            max(n + turn * (m - 1), 0) if i in axes else n if m == 1 else m for i, (n, m) in sizes
        ]
        return np.zeros(shape, np.result_type(in1, in2))
    if method == "image":
        if in1.ndim == 2:  # a tenth of the time
            return signal.convolve2d(in1, in2, mode)
        method = "direct"
    if method == "direct":
        return signal.convolve(in1, in2, mode, "direct")
    return (signal.oaconvolve if method == "oa" else signal.fftconvolve)(in1, in2, mode, axes)


def _convolution_vmap(
    k: int,
    in1: Value,
    in2: Value,
    axes: tuple[int, ...],
    mode: str = "full",
    method: str = "fft",
) -> Value:
    in1, in2 = align(k, (in1, in2))
    axes = tuple(axis + k for axis in axes)
    if method not in ("direct", "image"):
        return convolution(in1, in2, axes, mode, method)
    batches = tuple(zip(np.shape(in1)[:k], np.shape(in2)[:k]))
    every_pair = any(n != 1 != m for n, m in batches)
    half = np.result_type(in1, in2).char == "e"  # which SciPy takes along one axis alone
    if every_pair or half or 0 in np.shape(in1)[:k] + np.shape(in2)[:k]:
        return _spelled_out(in1, in2, axes, mode)
    every = tuple(range(np.ndim(in1)))
    if mode == "valid" and any(m != 1 for _, m in batches):
        whole = convolution(in1, in2, every, "full", method)
        return whole[_valid_part(axes, np.shape(in1), np.shape(in2))]
    return convolution(in1, in2, every, mode, method)


def _valid_part(axes: Sequence[int], s1: Shape, s2: Shape) -> tuple:
    """Return the index of the valid part of a full convolution."""
    return tuple(slice(s2[i] - 1, n) if i in axes else slice(None) for i, n in enumerate(s1))


def _spelled_out(in1: Value, in2: Value, axes: tuple[int, ...], mode: str) -> Value:
    """Return the convolution along the last axes, `axes`, as a sum of few products."""
    lead = (slice(None),) * axes[0]
    if mode == "full" and _size(in2, axes) > _size(in1, axes):
        in1, in2 = in2, in1
    n, m = ([np.shape(x)[i] for i in axes] for x in (in1, in2))
    dtype, sizes = np.result_type(in1, in2), [i - j + 1 for i, j in zip(n, m)]
    in2 = in2 if mode == "full" else np.flip(in2, axes)
    if mode == "valid" and math.prod(sizes) < math.prod(m):
        rows = [
            np.sum(_part(in1, lead, place, m) * in2, axis=axes, dtype=dtype)
            for place in np.ndindex(*sizes)
        ]
        return np.reshape(np.stack(rows, axis=-1), (*np.shape(rows[0]), *sizes))
    total = None
    for place in np.ndindex(*m):
        factor = _part(in2, lead, place, [1] * len(m))
        if mode == "full":
            widths = [(0, 0)] * len(lead) + [(i, j - 1 - i) for i, j in zip(place, m)]
            term = np.pad(in1 * factor, widths)
        else:
            term = _part(in1, lead, place, sizes) * factor
        total = term if total is None else total + term
    return total


def _size(x: Value, axes: tuple[int, ...]) -> int:
    return math.prod(np.shape(x)[i] for i in axes)


def _part(x: Value, lead: tuple, place: Sequence[int], sizes: Sequence[int]) -> Value:
    return x[(*lead, *(slice(i, i + n) for i, n in zip(place, sizes)))]


def _reversed(x: Value, axes: tuple[int, ...]) -> Value:
    return conj(np.flip(x, axes))


def _vjp_in1(
    g: Value,
    in2: Value,
    in1_shape: Shape,
    axes: tuple[int, ...],
    mode: str = "full",
    method: str = "fft",
) -> Value:
    return sum_to(convolution(g, _reversed(in2, axes), axes, _other(mode), method), in1_shape)


def _vjp_in2(
    g: Value,
    in1: Value,
    in2_shape: Shape,
    axes: tuple[int, ...],
    mode: str = "full",
    method: str = "fft",
) -> Value:
    if mode == "full":
        whole = convolution(g, _reversed(in1, axes), axes, "valid", method)
    else:
        whole = np.flip(convolution(conj(in1), np.flip(g, axes), axes, "valid", method), axes)
    return sum_to(whole, in2_shape)


def _other(mode: str) -> str:
    return "valid" if mode == "full" else "full"


linear(
    convolution,
    "in1 in2 axes mode method",
    "in1 in2",
    jvp="multilinear",
    vmap=_convolution_vmap,
    vjp={"in1": _vjp_in1, "in2": _vjp_in2},
)

# ---- modes ----


def _centred(whole: Value, sizes: Shape) -> Value:
    """Return the middle part of all axes."""
    starts = [(n - size) // 2 for n, size in zip(np.shape(whole), sizes)]
    return whole[tuple(slice(i, i + size) for i, size in zip(starts, sizes))]


def _in_mode(in1: Value, in2: Value, axes: tuple[int, ...], mode: str, method: str) -> Value:
    """Return the part of a convolution that `mode` asks for."""
    if mode not in ("full", "same", "valid"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    if _is_swapped(mode, np.shape(in1), np.shape(in2), axes):
        in1, in2 = in2, in1
    if not axes:
        whole = in1 * in2
    else:
        whole = convolution(in1, in2, axes, "valid" if mode == "valid" else "full", method)
    return _centred(whole, np.shape(in1)) if mode == "same" else whole


def _is_swapped(mode: str, s1: Shape, s2: Shape, axes: tuple[int, ...]) -> bool:
    """Return whether the second operand is the longer one, for ``mode="valid"``."""
    if mode != "valid" or all(s1[i] >= s2[i] for i in axes):
        return False
    if not all(s2[i] >= s1[i] for i in axes):
        raise ValueError(
            "For 'valid' mode, one must be at least as large as the other in every dimension"
        )
    return True


def _same_rank(in1: Value, in2: Value) -> tuple[Value, Value]:
    in1, in2 = as_array(in1), as_array(in2)
    if np.ndim(in1) != np.ndim(in2):
        raise ValueError("in1 and in2 should have the same dimensionality")
    return in1, in2


def _by_frequencies(in1: Value, in2: Value, mode: str, axes: Value, method: str = "fft") -> Value:
    in1, in2 = _same_rank(in1, in2)
    if not np.ndim(in1):
        return in1 * in2
    if not np.size(in1) or not np.size(in2):
        return np.zeros(0)
    if axes is not None and not np.size(axes):
        raise ValueError("when provided, axes cannot be empty")
    axes = normalize(axes if axes is None else tuple(np.ravel(axes).tolist()), np.ndim(in1))
    s1, s2 = np.shape(in1), np.shape(in2)
    axes = tuple(sorted(i for i in axes if s1[i] != 1 != s2[i]))
    if any(s1[i] != s2[i] and 1 not in (s1[i], s2[i]) for i in set(range(len(s1))) - {*axes}):
        raise ValueError(f"incompatible shapes for in1 and in2: {s1} and {s2}")
    return _in_mode(in1, in2, axes, mode, method)


@declare_composite(signal, "fftconvolve")
def _fftconvolve(in1: Value, in2: Value, mode: str = "full", axes: Value = None) -> Value:
    return _by_frequencies(in1, in2, mode, axes)


@declare_composite(signal, "oaconvolve")
def _oaconvolve(in1: Value, in2: Value, mode: str = "full", axes: Value = None) -> Value:
    return _by_frequencies(in1, in2, mode, axes, "oa")


# ---- any method ----


def _chosen_method(in1: Value, in2: Value, mode: str, method: str) -> str:
    """Return the method; SciPy chooses by the dtypes and the shapes, for integers by values."""
    if method != "auto":
        return method
    if in1.dtype.kind in "biu" or in2.dtype.kind in "biu":
        return "direct"
    forms = (np.broadcast_to(np.zeros((), x.dtype), np.shape(x)) for x in (in1, in2))
    return signal.choose_conv_method(*forms, mode=mode)


def _convolved(in1: Value, in2: Value, mode: str, method: str) -> Value:
    if mode not in ("full", "same", "valid"):
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    method = _chosen_method(in1, in2, mode, method)
    if method == "direct":
        dtype = np.result_type(in1, in2)
        if dtype.char == "e" and np.ndim(in1) > 1:
            ones = np.ones((2,) * np.ndim(in1), dtype)
            signal.convolve(ones, ones, method="direct")  # SciPy's error
        return _in_mode(in1, in2, tuple(range(np.ndim(in1))), mode, method)
    if method != "fft":
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    dtype = np.result_type(in1, in2)
    result = _by_frequencies(in1, in2, mode, None)
    if dtype.kind in "iu":
        result = np.round(result)
    return np.astype(result, dtype, copy=False)


@declare_composite(signal, "convolve")
def _convolve(in1: Value, in2: Value, mode: str = "full", method: str = "auto") -> Value:
    in1, in2 = as_array(in1), as_array(in2)
    if np.ndim(in1) != np.ndim(in2):
        raise ValueError("volume and kernel should have the same dimensionality")
    return _convolved(in1, in2, mode, method) if np.ndim(in1) else in1 * in2


@declare_composite(signal, "correlate")
def _correlate(in1: Value, in2: Value, mode: str = "full", method: str = "auto") -> Value:
    in1, in2 = _same_rank(in1, in2)
    if not np.ndim(in1):
        return in1 * conj(in2)
    return _convolved(in1, _reversed(in2, tuple(range(np.ndim(in2)))), mode, method)


# ---- images ----

BOUNDARIES = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap",
              "symm": "symmetric", "symmetric": "symmetric"}  # fmt: skip


def _two_images(in1: Value, in2: Value, mode: str, name: str) -> tuple[Value, Value, bool]:
    """Return the images, the larger one first for ``mode="valid"``, and True if it was second."""
    in1, in2 = as_array(in1), as_array(in2)
    if not np.ndim(in1) == np.ndim(in2) == 2:
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    swapped = _is_swapped(mode, np.shape(in1), np.shape(in2), (0, 1))
    return (in2, in1, True) if swapped else (in1, in2, False)


def _in_two(
    in1: Value, in2: Value, mode: str, boundary: str, fillvalue: Value, shift: int
) -> Value:
    """Convolve two images; SciPy repeats the first one around itself by `boundary`.

    `shift` moves the middle part of a kernel of an even size.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    if boundary not in BOUNDARIES:
        raise ValueError(
            "Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or "
            "'symm')."
        )
    dtype = np.result_type(in1, in2)
    if dtype.char in "?e":
        raise ValueError("convolve2d not available for this type.")
    in1 = np.astype(in1, dtype, copy=False)  # what fills it may need that
    s1, s2 = np.shape(in1), np.shape(in2)
    widths = [(m - 1, m - 1) for m in s2]
    options: dict[str, Any] = (
        {"constant_values": fillvalue} if BOUNDARIES[boundary] == "constant" else {}
    )
    wide = in1
    if mode != "valid":
        wide = np.pad(in1, widths, BOUNDARIES[boundary], **options)  # type: ignore[call-overload]
    whole = convolution(wide, in2, (0, 1), "valid", "image")
    if mode != "same":
        return whole
    start = [(m - 1 + shift) // 2 for m in s2]
    return whole[tuple(slice(i, i + n) for i, n in zip(start, s1))]


@declare_composite(signal, "convolve2d")
def _convolve2d(
    in1: Value, in2: Value, mode: str = "full", boundary: str = "fill", fillvalue: Value = 0
) -> Value:
    in1, in2, _ = _two_images(in1, in2, mode, "convolve2d")
    return _in_two(in1, in2, mode, boundary, fillvalue, 0)


@declare_composite(signal, "correlate2d")
def _correlate2d(
    in1: Value, in2: Value, mode: str = "full", boundary: str = "fill", fillvalue: Value = 0
) -> Value:
    in1, in2, swapped = _two_images(in1, in2, mode, "correlate2d")
    result = _in_two(in1, _reversed(in2, (0, 1)), mode, boundary, fillvalue, 1)
    return np.flip(result, (0, 1)) if swapped else result
