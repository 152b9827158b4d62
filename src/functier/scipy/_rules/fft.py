"""Transforms of `scipy.fft`: Fourier, cosine, sine and Hankel transforms.

Fourier transforms have the formulas of NumPy's, with SciPy's functions, which keep the precision
of their operand.

NOTE [the adjoint of a cosine or sine transform]
    Cosine and sine transforms of types 1 and 4, and the pair of types 2 and 3, are the transposes
    of each other where they are orthogonalized: where the first or last element is scaled by the
    root of 2 (Strang, "The Discrete Cosine Transform", SIAM Review 41, 1999). The factor that
    `norm` gives is the same for both of a pair. Without orthogonalization the transform is
    ``L T R``, with `T` orthogonalized and `L`, `R` diagonal: its transpose is ``R T' L``. SciPy's
    inverses are the forward transforms of the type `TRANSPOSED`, so the rule holds for them too.
    An `overwrite_x` is not passed on: an operand may be in use elsewhere.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.fft as sf  # type: ignore[import-untyped]
from numpy.lib.array_utils import normalize_axis_index
from scipy import special

from ..._core.numpy_facts import PLAIN, Shape, Value, dtype_of
from ..._rules.axes import as_array
from ..._rules.constructors import check_values
from ..._rules.fft import declare_transform
from ...protocol import composite, linear
from .._private import needed
from .declare import declare_composite, dispatching

fhtcoeff = needed("scipy.fft._fftlog_backend.fhtcoeff")
shape_and_axes = needed("scipy.fft._pocketfft.helper._init_nd_shape_and_axes")


def _keeping(func: Callable) -> Callable:
    """Return `func`, which asks tensors and does not overwrite its operand."""
    asks = dispatching(func)

    def call(x: Value, *args: Any, **options: Any) -> Value:
        options.pop("overwrite_x", None)
        return asks(x, *args, **options)

    return call


# ---- Fourier transforms ----

PAIRS = {"fft": "ifft", "rfft": "irfft", "hfft": "ihfft"}
INVERSE = PAIRS | {inverse: name for name, inverse in PAIRS.items()}
TO_HALF, FROM_HALF = ("rfft", "ihfft"), ("irfft", "hfft")

for _name in INVERSE:
    declare_transform(
        getattr(sf, _name),
        _keeping(getattr(sf, INVERSE[_name])),
        _name in TO_HALF,
        _name in FROM_HALF,
        call=_keeping(getattr(sf, _name)),
        params="x n axis norm overwrite_x workers plan",
    )


def _along_axes(shape: Shape, s: Any, axes: Any, to_real: bool = False) -> tuple:
    """Return the lengths of a transform and its axes, none of them negative."""
    lengths, places = shape_and_axes(np.broadcast_to(0.0, shape), s, axes)
    if to_real and s is None and places:
        lengths = (*lengths[:-1], 2 * (lengths[-1] - 1) or 1)  # of one number SciPy makes one
    return lengths, places


def _declare_along_axes(name: str) -> Callable:
    """Declare a transform along several axes: see `_rules.fft`."""
    return declare_transform(
        getattr(sf, f"{name}n"),
        _keeping(getattr(sf, f"{INVERSE[name]}n")),
        name in TO_HALF,
        name in FROM_HALF,
        call=_keeping(getattr(sf, f"{name}n")),
        params="x s axes norm overwrite_x workers plan",
        along=partial(_along_axes, to_real=name in FROM_HALF),
    )


def _declare_along_two(name: str, several: Callable) -> None:
    """Declare the transform along two axes, as SciPy does: `several` along the last two."""

    def body(x: Value, s: Any = None, axes: Any = (-2, -1), *args: Any, **options: Any) -> Value:
        return several(x, s, axes, *args, **options)

    composite(getattr(sf, f"{name}2"), body)


for _name in INVERSE:
    _declare_along_two(_name, _declare_along_axes(_name))

# ---- cosine and sine transforms ----

TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}

SCALED_RESULT = {("dct", 1): (0, -1), ("dct", 2): (0,), ("dst", 2): (-1,)}
"""The elements of the result that orthogonalization divides by the root of 2."""

SCALED_OPERAND = {("dct", 1): (0, -1), ("dct", 3): (0,), ("dst", 3): (-1,)}
"""The elements of the operand that it multiplies by the root of 2."""

HEEDED = np.imag(sf.dct(np.array([0, 1j]), orthogonalize=True))[0] < 1.9
"""True where SciPy heeds `orthogonalize` for complex numbers; SciPy 1.17 does not."""


def _scale(x: Value, places: Sequence[int], factor: float, axis: int) -> Value:
    """Multiply the elements at some places along an axis."""
    if not places:
        return x
    n = x.shape[axis]
    scaled = np.isin(np.arange(n), [place % n for place in places])
    row = np.where(scaled, factor, np.ones((), np.finfo(x.dtype).dtype))
    return x * np.reshape(row, (-1,) + (1,) * (x.ndim - axis - 1))


def _real_adjoint(
    g: Value,
    shape: Shape,
    name: str,
    type: int,
    axes: Sequence[int],
    back: Callable,
    **options: Any,
) -> Value:
    """Return the cotangent of the operand; ``back(g, type, **options)`` is the same transform."""
    own = TRANSPOSED[type] if name[0] == "i" else type
    told = options["orthogonalize"]
    if told is None or not (HEEDED or dtype_of(g).kind != "c"):
        told = options["norm"] == "ortho"
    kind, other = name[-3:], TRANSPOSED[type]
    for axis in () if told else axes:
        g = _scale(g, SCALED_RESULT.get((kind, own), ()), 2, axis)
    c = back(g, other, **options)
    for axis in () if told else axes:
        c = _scale(c, SCALED_OPERAND.get((kind, own), ()), 0.5, axis)
    if c.shape != shape:
        c = c[tuple(map(slice, shape))]
        c = np.pad(c, [(0, n - m) for n, m in zip(shape, c.shape)])
    return c


def _declare_real(name: str) -> None:
    """Declare a cosine or sine transform: see NOTE [the adjoint of a cosine or ...]."""
    func = getattr(sf, name)
    call = _keeping(func)

    def adjoint(
        g: Value,
        x_shape: Shape,
        type: int = 2,
        axis: int = -1,
        norm: str | None = None,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Value:
        axis = normalize_axis_index(axis, len(x_shape))
        options = dict(norm=norm, workers=workers, orthogonalize=orthogonalize)
        back = partial(call, axis=axis)
        return _real_adjoint(g, x_shape, name, type, [axis], back, **options)

    linear(
        func,
        "x type n axis norm overwrite_x workers orthogonalize",
        kernel=call,
        vmap=lambda k, x, type=2, n=None, axis=-1, **options: call(
            x, type, n, k + normalize_axis_index(axis, np.ndim(x) - k), **options
        ),
        vjp={"x": adjoint},
    )


def _declare_real_along_axes(name: str) -> None:
    func = getattr(sf, name)
    call = _keeping(func)

    def batched(
        k: int, x: Value, type: int = 2, s: Any = None, axes: Any = None, **options: Any
    ) -> Value:
        lengths, places = _along_axes(np.shape(x)[k:], s, axes)
        return call(x, type, lengths, [axis + k for axis in places], **options)

    def adjoint(
        g: Value,
        x_shape: Shape,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: str | None = None,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Value:
        places = _along_axes(x_shape, s, axes)[1]
        options = dict(norm=norm, workers=workers, orthogonalize=orthogonalize)
        back = partial(call, axes=places)
        return _real_adjoint(g, x_shape, name[:-1], type, places, back, **options)

    linear(
        func,
        "x type s axes norm overwrite_x workers orthogonalize",
        kernel=call,
        vmap=batched,
        vjp={"x": adjoint},
    )


for _name in ("dct", "idct", "dst", "idst"):
    _declare_real(_name)
    _declare_real_along_axes(f"{_name}n")

# ---- frequencies and shifts, as NumPy has them ----


def _as_number(n: Any) -> Any:
    """Return a count that is a tensor as a number, which all examples share."""
    return operator.index(n) if hasattr(n, "level") else n


@declare_composite(sf, "fftfreq")
def _frequencies(n: int, d: Value = 1.0, *, xp: Any = None, device: Any = None) -> Value:
    return np.fft.fftfreq(_as_number(n), d)


@declare_composite(sf, "rfftfreq")
def _half_frequencies(n: int, d: Value = 1.0, *, xp: Any = None, device: Any = None) -> Value:
    return np.fft.rfftfreq(_as_number(n), d)


composite(sf.fftshift, lambda x, axes=None: np.fft.fftshift(x, axes))
composite(sf.ifftshift, lambda x, axes=None: np.fft.ifftshift(x, axes))

# ---- Hankel transforms: Hamilton, "Uncorrelated modes", MNRAS 312, 2000, appendix B ----

LN_2 = np.log(2.0)
RFFT, IRFFT = _keeping(sf.rfft), _keeping(sf.irfft)
SINGULAR = (
    "scipy.fft.fht or ifht is singular, and has no derivative with respect to its parameters here; "
    "write another bias"
)


def _is_plain(*values: Value) -> bool:
    return all(type(v) in PLAIN for v in values)


def _coefficients(
    n: int, dln: Value, mu: Value, offset: Value, bias: Value, inverse: bool
) -> Value:
    """Return the factors of a Hankel transform in Fourier space: equation B14."""
    if _is_plain(dln, mu, offset, bias):
        return fhtcoeff(n, dln, mu, offset=offset, bias=bias, inverse=inverse)
    y = np.arange(n // 2 + 1) * (np.pi / n) / dln
    up = special.loggamma((mu + 1 + bias) / 2 + 1j * y)
    down = special.loggamma((mu + 1 - bias) / 2 + 1j * y)
    u = np.exp(up - np.conjugate(down) + LN_2 * bias + 2j * y * (LN_2 - offset))
    if n % 2 == 0:
        u = np.where(np.arange(n // 2 + 1) == n // 2, np.real(u), u)
    return check_values(u, _is_regular, SINGULAR)


def _is_regular(u: Value) -> Value:
    return np.all(np.isfinite(u) & (u != 0))


def _hankel(
    a: Value, dln: Value, mu: Value, offset: Value = 0.0, bias: Value = 0.0, inverse: bool = False
) -> Value:
    a = as_array(a)
    n = a.shape[-1]
    tilt = not _is_plain(bias) or bias != 0
    along = (np.arange(n, dtype=np.float64) - (n - 1) / 2) * dln
    before, after = (along + offset, along) if inverse else (along, along + offset)
    if tilt:
        a = a * np.exp((bias if inverse else np.negative(bias)) * before)
    spectrum = RFFT(a)
    u = _coefficients(n, dln, mu, offset, bias, inverse)
    turned = spectrum / np.conjugate(u) if inverse else spectrum * u
    turned = np.astype(turned, spectrum.dtype, copy=False)
    result = np.flip(IRFFT(turned, n), -1)
    if not tilt:
        return result
    factor = np.exp(np.negative(bias) * after)
    return result / factor if inverse else result * factor


@declare_composite(sf, "fht")
def _fht(a: Value, dln: Value, mu: Value, offset: Value = 0.0, bias: Value = 0.0) -> Value:
    return _hankel(a, dln, mu, offset, bias)


@declare_composite(sf, "ifht")
def _ifht(A: Value, dln: Value, mu: Value, offset: Value = 0.0, bias: Value = 0.0) -> Value:
    return _hankel(A, dln, mu, offset, bias, inverse=True)


@declare_composite(sf, "fhtoffset")
def _fhtoffset(dln: Value, mu: Value, initial: Value = 0.0, bias: Value = 0.0) -> Value:
    y = 0.5j * np.pi / dln
    up = special.loggamma((mu + 1 + bias) / 2 + y)
    down = special.loggamma((mu + 1 - bias) / 2 + y)
    turns = (LN_2 - initial) / dln + np.imag(up + down) / np.pi
    return initial + (turns - np.round(turns)) * dln
