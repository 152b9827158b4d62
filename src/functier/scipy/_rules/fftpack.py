"""Transforms of `scipy.fftpack`, the older module, by those of `scipy.fft`.

They have no `norm` for Fourier transforms, and `rfft` keeps its result in one real array: the
first number, then real and imaginary parts in turn.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft as sf  # type: ignore[import-untyped]
import scipy.fftpack as fp  # type: ignore[import-untyped]

from ..._core.numpy_facts import Value
from ..._rules.axes import as_array
from .declare import declare_composite, dispatching
from .fft import TRANSPOSED

FFT, IFFT, FFTN, IFFTN, RFFT, IRFFT = (
    dispatching(getattr(sf, name)) for name in ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft")
)


def _along(name: str, transform: Callable) -> None:
    """Declare a Fourier transform along one axis."""

    @declare_composite(fp, name)
    def body(x: Value, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Value:
        return transform(x, n, axis)


def _along_axes(name: str, transform: Callable, last: Any = None) -> None:
    """Declare a Fourier transform along several axes, without `axes` those that are `last`."""

    @declare_composite(fp, name)
    def body(x: Value, shape: Any = None, axes: Any = last, overwrite_x: bool = False) -> Value:
        return transform(x, shape, axes)


_along("fft", FFT)
_along("ifft", IFFT)
_along_axes("fftn", FFTN)
_along_axes("ifftn", IFFTN)
_along_axes("fft2", FFTN, (-2, -1))
_along_axes("ifft2", IFFTN, (-2, -1))


def _real(x: Value) -> Value:
    """Return the operand of a real transform, as an array; SciPy's errors are the caller's."""
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError("1st argument must be real sequence")
    return x


@declare_composite(fp, "rfft")
def _rfft(x: Value, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Value:
    x = _real(x)
    length = x.shape[axis] if n is None else n
    y = np.moveaxis(RFFT(x, n, axis), axis, -1)
    parts = np.stack((y.real, y.imag), axis=-1)
    flat = np.reshape(parts, (*y.shape[:-1], -1))
    packed = np.concatenate((flat[..., :1], flat[..., 2 : length + 1]), axis=-1)
    return np.moveaxis(packed, -1, axis)


@declare_composite(fp, "irfft")
def _irfft(x: Value, n: Any = None, axis: int = -1, overwrite_x: bool = False) -> Value:
    x = np.moveaxis(_real(x), axis, -1)
    length = x.shape[-1] if n is None else n
    if length > x.shape[-1]:
        added = np.zeros((*x.shape[:-1], length - x.shape[-1]), x.dtype)
        x = np.concatenate((x, added), axis=-1)
    x = x[..., :length]
    zero = np.zeros_like(x[..., :1])
    ends = (zero,) if length % 2 == 0 else ()
    pairs = np.concatenate((x[..., :1], zero, x[..., 1:], *ends), axis=-1)
    pairs = np.reshape(pairs, (*x.shape[:-1], -1, 2))
    return np.moveaxis(IRFFT(pairs[..., 0] + 1j * pairs[..., 1], length, -1), -1, axis)


def _cosines(name: str, inverse: bool) -> None:
    """Declare a cosine or sine transform along one axis, and along several.

    The inverse of a type is its transpose, which leaves out the factor without `norm`.
    """
    one, several = dispatching(getattr(sf, name)), dispatching(getattr(sf, f"{name}n"))
    names = (f"i{name}", f"i{name}n") if inverse else (name, f"{name}n")

    def kind(type: int) -> int:
        return TRANSPOSED[type] if inverse else type

    @declare_composite(fp, names[0])
    def along(
        x: Value, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
        overwrite_x: bool = False,
    ) -> Value:  # fmt: skip
        return one(x, kind(type), n, axis, norm)

    @declare_composite(fp, names[1])
    def along_axes(
        x: Value, type: int = 2, shape: Any = None, axes: Any = None, norm: Any = None,
        overwrite_x: bool = False,
    ) -> Value:  # fmt: skip
        return several(x, kind(type), shape, axes, norm)


for _name in ("dct", "dst"):
    _cosines(_name, inverse=False)
    _cosines(_name, inverse=True)
