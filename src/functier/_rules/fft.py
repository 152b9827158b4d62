"""Discrete Fourier transforms, and the shifts of their results.

NOTE [the adjoint of a transform is its inverse, scaled as the transform]
    A transform is a matrix of roots of unity, so its adjoint is the matrix of the inverse
    without the factor 1/n, which `norm` moves from one to the other (Oppenheim and
    Schafer, *Discrete-Time Signal Processing*, 2010, section 8.2). The elements that
    `n` has cut off or padded are padded or cut off again in the cotangent.
    Half of a Hermitian spectrum stands for the whole: each of its elements but the first
    and, for an even length, the last (which are their own mirror images) stands for two.
    So the cotangent of such a half is twice that of the whole, and on the way back each
    such element counts half.

NumPy imports `numpy.fft` on demand: `find` imports this file for its first function.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import fft
from numpy.lib.array_utils import normalize_axis_index

from .._core.errors import MutationError
from .._core.numpy_facts import Axis, Function, Shape, Value, name_of
from .axes import normalize, shift
from .constructors import composite, linear
from .pad import pad_with

# ---- along one axis ----

INVERSE_NORM = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The `norm` of the inverse that gives it the scaling which `norm` gives the transform."""

DOUBLED = np.array([1.0, 2.0, 1.0])
HALVED = np.array([1.0, 0.5, 1.0])
"""Weights of half a spectrum: of its first element, of those between, and of the last."""


def _weigh(spectrum: Value, weights: Value, n: int, axis: int) -> Value:
    """Weigh the elements of half the spectrum of `n` points."""
    weights = np.astype(weights, np.finfo(spectrum.dtype).dtype)
    row = np.repeat(weights, (1, (n - 1) // 2, 1 - n % 2))
    return spectrum * np.reshape(row, (-1,) + (1,) * (spectrum.ndim - axis - 1))


def resize(x: Value, n: int, axis: int) -> Value:
    """Return the first `n` elements along an axis, with zeros where there are fewer."""
    lacking = n - x.shape[axis]
    if lacking < 0:
        return x[(slice(None),) * axis + (slice(n),)]
    if lacking > 0:
        return pad_with(x, [(0, lacking if i == axis else 0) for i in range(x.ndim)], 0)
    return x


def declare_transform(
    func: Function,
    inverse: Function,
    half_result: bool = False,
    half_operand: bool = False,
    call: Function | None = None,
    params: str = "a n axis norm out",
    along: Function | None = None,
) -> Function:
    """Declare a transform and its inverse: see NOTE [the adjoint ...].

    `call` is the function that rules and kernels call, if `func` does not dispatch; it is returned.
    A transform along several axes has a function ``along(shape, s, axes)``, which returns their
    lengths and the axes, none of them negative. Half of a spectrum is along the last of these.
    """
    call = call or func
    operand, length, place = params.split()[:3]
    default = -1 if along is None else None

    def adjoint(
        g: Value,
        shape: Shape,
        dtype: np.dtype,
        n: Any = None,
        axis: Any = default,
        norm: str | None = None,
        workers: int | None = None,
    ) -> Value:
        if along is None:
            axes = [normalize_axis_index(axis, len(shape))]
            lengths = [shape[axes[0]] if n is None else n]
        else:
            lengths, axes = along(shape, n, axis)
        if half_result:
            g = _weigh(g, HALVED, lengths[-1], axes[-1])
        else:
            lengths = [g.shape[axis] for axis in axes]
        options = {} if workers is None else {"workers": workers}
        where = (lengths, axes) if along is not None else (lengths[0], axes[0])
        c = inverse(g, *where, INVERSE_NORM[norm], **options)
        if half_operand:
            # The engine does not look where operand and result have one form.
            c = _weigh(c if dtype.kind == "c" else np.real(c), DOUBLED, lengths[-1], axes[-1])
            c = np.astype(c, dtype, copy=False)
        for axis in axes:
            c = resize(c, shape[axis], axis)
        return c

    def batched(k: int, x: Value, **options: Any) -> Value:
        n, axis = options.pop(length, None), options.pop(place, default)
        if along is None:
            axis = shift(axis, k, np.ndim(x) - k)
        else:
            n, axes = along(np.shape(x)[k:], n, axis)
            axis = [axis + k for axis in axes]
        return call(x, n, axis, **options)

    needs = f"{operand}_shape", f"{operand}_dtype", length, place, "norm", "workers"
    linear(func, params, kernel=call, vmap=batched, vjp={operand: (adjoint, *needs)})
    return call


declare_transform(fft.fft, fft.ifft)
declare_transform(fft.ifft, fft.fft)
declare_transform(fft.rfft, fft.irfft, half_result=True)
declare_transform(fft.irfft, fft.rfft, half_operand=True)
declare_transform(fft.hfft, fft.ihfft, half_operand=True)
declare_transform(fft.ihfft, fft.hfft, half_result=True)

# ---- along several axes: one after the other ----


def _lengths(shape: Shape, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple:
    """Return the length of each transform (None: that of the operand), and its axis."""
    if s is None:
        axes = range(len(shape)) if axes is None else axes
        return [shape[axis] for axis in axes], list(axes)
    axes = range(-len(s), 0) if axes is None else axes
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [shape[axis] if n == -1 else n for n, axis in zip(s, axes)], list(axes)


def _declare_along_axes(
    func: Function, one: Function, last: Function | None = None, axes: Sequence[int] | None = None
) -> None:
    """Declare the transform along `axes` by `one`, or `last` for the last of them.

    The last axis comes first, except for a half spectrum as the operand: its transform
    has a real result.
    """
    default, to_real = axes, last is fft.irfft

    def body(
        a: Value,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = default,
        norm: str | None = None,
        out: Value | None = None,
    ) -> Value:
        if out is not None:
            raise MutationError(f"{name_of(func)} would write to out; write y = {func.__name__}(a)")
        lengths, axes = _lengths(np.shape(a), s, axes)
        transforms = [one] * len(axes)
        if last is not None:
            transforms[-1] = last
            if to_real and s is None:
                lengths = [*lengths[:-1], None]
        steps = list(zip(transforms, lengths, axes))
        for transform, n, axis in steps if to_real else reversed(steps):
            a = transform(a, n, axis, norm)
        return a

    composite(func, body).boxes = True  # along no axis, it is the array of a number


_declare_along_axes(fft.fftn, fft.fft)
_declare_along_axes(fft.ifftn, fft.ifft)
_declare_along_axes(fft.rfftn, fft.fft, fft.rfft)
_declare_along_axes(fft.irfftn, fft.ifft, fft.irfft)
_declare_along_axes(fft.fft2, fft.fft, axes=(-2, -1))
_declare_along_axes(fft.ifft2, fft.ifft, axes=(-2, -1))
_declare_along_axes(fft.rfft2, fft.fft, fft.rfft, axes=(-2, -1))
_declare_along_axes(fft.irfft2, fft.ifft, fft.irfft, axes=(-2, -1))

# ---- the zero frequency to the middle, and back ----


def _roll_by_half(x: Value, axes: Axis, sign: int) -> Value:
    shape = np.shape(x)
    axes = normalize(axes, len(shape))
    return np.roll(x, [sign * (shape[axis] // 2) for axis in axes], axes)


composite(fft.fftshift, lambda x, axes=None: _roll_by_half(x, axes, 1))
composite(fft.ifftshift, lambda x, axes=None: _roll_by_half(x, axes, -1))
