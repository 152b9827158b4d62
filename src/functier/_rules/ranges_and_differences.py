"""Functions that are made of others: comparison, ranges, differences, interpolation."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Axis, Function, Index, Value
from .axes import as_array, as_strong, convert_lists, normalize, promotion_operand, replace_zeros
from .by_value import STRIPPED, kept
from .constructors import check_values, composite
from .own_code import by_own_code


def _is_inexact(x: Value) -> bool:
    return np.result_type(x).kind in "fc"


def _slice_along(x: Value, axis: Axis, part: Value) -> Value:
    """Return a part of `x` along one axis: with 1 and ``slice(2, None)`` it is ``x[:, 2:]``."""
    (axis,) = normalize(axis, np.ndim(x))
    return x[(slice(None),) * axis + (part,)]


# ---- closeness and equality: their results are constants ----


@lambda body: composite(np.isclose, body)
def _isclose(
    a: Value, b: Value, rtol: float = 1.0e-5, atol: float = 1.0e-8, equal_nan: bool = False
) -> Value:
    a, b = (as_strong(as_array(x)) for x in (a, b))
    b = np.astype(b, np.result_type(b, 1.0), copy=False)
    with np.errstate(invalid="ignore"):  # inf - inf
        near = np.less_equal(np.absolute(a - b), atol + rtol * np.absolute(b))
    close = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
    if equal_nan:
        close = np.logical_or(close, np.logical_and(np.isnan(a), np.isnan(b)))
    return close


composite(np.allclose, lambda *args, **kwargs: np.all(np.isclose(*args, **kwargs)))


@lambda body: composite(np.array_equal, body)
def _array_equal(a1: Value, a2: Value, equal_nan: bool = False) -> Value:
    if np.shape(a1) != np.shape(a2):
        return False
    a1, a2 = convert_lists(a1, a2)
    same = np.equal(a1, a2)
    if equal_nan and _is_inexact(a1) and _is_inexact(a2):
        same = np.logical_or(same, np.logical_and(np.isnan(a1), np.isnan(a2)))
    return np.all(same)


@lambda body: composite(np.array_equiv, body)
def _array_equiv(a1: Value, a2: Value) -> Value:
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return np.all(np.equal(a1, a2))


# ---- parts of numbers ----


by_own_code(np.iscomplex, np.isreal)


@lambda body: composite(np.angle, body)
def _angle(z: Value, deg: int = False) -> Value:
    y, x = (np.imag(z), np.real(z)) if np.iscomplexobj(z) else (0, z)
    angle = np.arctan2(y, x)
    return angle * (180 / np.pi) if deg else angle


@lambda body: composite(np.nan_to_num, body)
def _nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value = None, neginf: Value = None
) -> Value:
    if np.iscomplexobj(x):
        real, imag = (
            np.nan_to_num(part, copy, nan, posinf, neginf) for part in (np.real(x), np.imag(x))
        )
        return real + 1j * imag
    if not _is_inexact(x):
        return x
    info = np.finfo(np.result_type(x))
    x = np.where(np.isnan(x), nan, x)
    x = np.where(np.isposinf(x), info.max if posinf is None else posinf, x)
    return np.where(np.isneginf(x), info.min if neginf is None else neginf, x)


# ---- ranges between two ends, which may be tensors ----


def _range_body(between: Function) -> Function:
    """Return the body of a range whose element i of 0 to n is ``between(start, stop, i, n)``."""

    def body(
        start: Value, stop: Value, num: int, endpoint: bool, dtype: DTypeLike | None, axis: int
    ) -> Value:
        start, stop = convert_lists(start, stop)
        natural = np.result_type(promotion_operand(start), promotion_operand(stop), float(num))
        dtype = natural if dtype is None else np.dtype(dtype)
        # In the precision of the ends, along a new first axis, in front of theirs.
        i = np.arange(num, dtype=np.empty(0, natural).real.dtype)
        i = np.reshape(i, (num,) + (1,) * max(np.ndim(start), np.ndim(stop)))
        n = max(num - 1 if endpoint else num, 1)
        y = between(start, stop, i, n)
        if endpoint and num > 1:
            y = np.where(np.equal(i, n), stop, y)
        if dtype.kind in "iu":
            y = np.floor(y)
        return np.moveaxis(y.astype(dtype), 0, axis)

    return body


linear_range = _range_body(
    lambda start, stop, i, n: start + i * (np.subtract(stop, start * 1.0) / n)
)
geometric_range = _range_body(
    lambda start, stop, i, n: start * np.power(np.divide(stop, start), i / n)
)


@lambda body: composite(np.linspace, body)
def _linspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Value:
    y = linear_range(start, stop, num, endpoint, dtype, axis)
    if not retstep:
        return y
    start, stop = convert_lists(start, stop)
    div = num - 1 if endpoint else num
    if div <= 0:
        return y, np.nan
    natural = np.result_type(promotion_operand(start), promotion_operand(stop), float(num))
    return y, np.astype(np.subtract(stop, start * 1.0) / div, natural, copy=False)


def _is_nonzero(x: Value) -> bool:
    return not np.any(np.equal(x, 0))


@lambda body: composite(np.geomspace, body)
def _geomspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Value:
    start, stop = (
        check_values(v * np.float64(1), _is_nonzero, "Geometric sequence cannot include zero")
        for v in convert_lists(start, stop)
    )  # no float32, as in NumPy
    return geometric_range(start, stop, num, endpoint, dtype, axis)


@lambda body: composite(np.logspace, body)
def _logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: Value = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Value:
    if np.ndim(base):
        ndim = max(np.ndim(v) for v in (start, stop, base))
        start, stop, base = (
            np.reshape(v, (1,) * (ndim - np.ndim(v)) + np.shape(v)) for v in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    y = np.power(base, linear_range(start, stop, num, endpoint, None, axis))
    return y if dtype is None else y.astype(dtype)


@lambda body: composite(np.vander, body)
def _vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = np.arange(np.shape(x)[0] if N is None else N)
    return np.power(np.reshape(x, (-1, 1)), powers if increasing else powers[::-1])


# ---- differences and integrals ----

by_own_code(np.diff, np.trapezoid)


@lambda body: composite(np.ediff1d, body)
def _ediff1d(ary: Value, to_end: Value = None, to_begin: Value = None) -> Value:
    ary = np.ravel(ary)
    steps = np.subtract(ary[1:], ary[:-1])
    parts = []
    for name, part in (("to_begin", to_begin), ("", steps), ("to_end", to_end)):
        if part is None:
            continue
        part = np.ravel(part)
        if not np.can_cast(np.result_type(part), steps.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        parts.append(part.astype(steps.dtype))
    return np.concatenate(parts) if len(parts) > 1 else steps


@lambda body: composite(np.gradient, body)
def _gradient(f: Value, *varargs: Value, axis: Axis = None, edge_order: int = 1) -> Value:
    f, *varargs = convert_lists(f, *varargs)  # type: ignore[assignment]
    axes = normalize(axis, np.ndim(f))
    if len(varargs) not in (0, 1, len(axes)) or (
        len(varargs) == 1 < len(axes) and np.ndim(varargs[0]) > 0
    ):
        raise TypeError("invalid number of arguments")
    spacings = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    results = tuple(_slope(f, h, i, edge_order) for h, i in zip(spacings, axes))
    return results[0] if len(axes) == 1 else results


ONES: Any = (1.0, 1.0, 1.0, 1.0)


def _slope(f: Value, spacing: Value, axis: int, edge_order: int) -> Value:
    """Return differences of second order inside, and of `edge_order` at both ends.

    The formulas are those of Quarteroni (2007).
    """
    n = np.shape(f)[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    dtype = np.result_type(f) if _is_inexact(f) else np.dtype(float)
    f = f.astype(float) if np.result_type(f).kind in "iu" else f
    # A difference refuses truth values.
    rise = _slice_along(f, axis, slice(1, None)) - _slice_along(f, axis, slice(None, -1))
    if np.ndim(spacing) == 0:
        rise, (a, b, c, d) = rise / spacing, ONES  # only their ratios matter
        inside = _slice_along(f, axis, slice(2, None)) - _slice_along(f, axis, slice(None, -2))
        inside = inside / (2.0 * spacing)
    else:
        if np.result_type(spacing).kind == "b":
            raise TypeError("numpy.gradient: the spacing is of dtype bool; pass numbers")
        whole = np.result_type(spacing).kind in "iu"  # whose differences may wrap around
        steps = np.diff(spacing.astype(float) if whole else spacing)
        h = np.reshape(steps, (-1,) + (1,) * (np.ndim(f) - axis - 1))
        if np.shape(h)[0] != n - 1:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension"
            )
        rise, left, right = rise / h, h[:-1], h[1:]
        # In NumPy's order, which decides what infinities give.
        inside = _slice_along(f, axis, slice(None, -2)) * (-right / (left * (left + right)))
        inside = inside + _slice_along(f, axis, slice(1, -1)) * ((right - left) / (left * right))
        inside = inside + _slice_along(f, axis, slice(2, None)) * (left / (right * (left + right)))
        a, b, c, d = h[:1], h[1:2], h[-2:-1], h[-1:]
    first, last = [_slice_along(rise, axis, part) for part in (slice(1), slice(-1, None))]
    if edge_order == 2:
        first = first + a * (first - _slice_along(rise, axis, slice(1, 2))) / (a + b)
        last = last + d * (last - _slice_along(rise, axis, slice(-2, -1))) / (c + d)
    return np.concatenate([first, inside, last], axis, dtype=dtype)


@lambda body: composite(np.unwrap, body)
def _unwrap(p: Value, discont: Value = None, axis: int = -1, *, period: Value = 2 * np.pi) -> Value:
    steps = np.diff(p, axis=axis)
    dtype = np.result_type(steps, period)
    discont = period / 2 if discont is None else discont
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    wrapped = np.mod(steps - low, period) + low
    if ambiguous:
        wrapped = np.where(np.equal(wrapped, low) & np.greater(steps, 0), high, wrapped)
    jumps = np.where(np.less(np.absolute(steps), discont), 0, wrapped - steps)
    rest = _slice_along(p, axis, slice(1, None)) + np.cumsum(jumps, axis=axis)
    parts = [np.astype(part, dtype) for part in (_slice_along(p, axis, slice(None, 1)), rest)]
    return np.concatenate(parts, axis)


# ---- interpolation ----


def _gather(x: Value, index: Index) -> Value:
    """Return ``x[index]``, where either may be a tensor."""
    return np.reshape(np.take_along_axis(x, np.ravel(index), 0), np.shape(index))


def _to_double(x: Value, strict: bool) -> Value:
    """Return `x` in double precision, as NumPy interpolates; `strict`: only if the cast is safe."""
    dtype = np.result_type(x)
    wide = np.dtype(complex if dtype.kind == "c" else float)
    if strict and not np.can_cast(dtype, wide):
        raise TypeError(f"numpy.interp: cannot cast {dtype} to {wide} safely")
    if dtype.char in "dD":
        return x
    return np.multiply(x, 1.0).astype(wide)


@lambda body: composite(np.interp, body)
def _interp(
    x: Value, xp: Value, fp: Value, left: Value = None, right: Value = None, period: Value = None
) -> Value:
    x, xp, fp = convert_lists(x, xp, fp)
    if np.iscomplexobj(x) or np.iscomplexobj(xp):
        raise TypeError("numpy.interp: x and xp are complex; pass their real parts")
    x, xp, fp = (_to_double(v, period is None) for v in (x, xp, fp))
    n = np.shape(xp)[0]
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = np.mod(x, period), np.mod(xp, period)
        order = np.argsort(xp)
        xp, fp = _gather(xp, order), _gather(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        n += 2
    if n == 1:  # all points have its value, except for NaN
        x = np.where(np.isnan(x), xp[0], x)
        xp, fp, n = np.concatenate([xp, xp]), np.concatenate([fp, fp]), 2
    i = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 2)
    x0, x1, y0, y1 = (_gather(v, j) for v in (xp, fp) for j in (i, i + 1))
    slope = (y1 - y0) / replace_zeros(x1 - x0)
    last = np.equal(x, x1)  # NumPy does not interpolate at the last point
    y = np.where(last, y1, y0) + slope * (x - np.where(last, x1, x0))
    y = np.where(np.less(x, xp[0]), fp[0] if left is None else left, y)
    return np.where(np.greater(x, xp[-1]), fp[-1] if right is None else right, y)


# ---- parts at places that depend on the data ----


@lambda body: composite(np.trim_zeros, body)
def _trim_zeros(filt: Value, trim: str = "fb", axis: Axis = None) -> Value:
    if trim.lower() not in ("f", "b", "fb", "bf"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    places = np.nonzero(filt)  # refuses a batch: the shape depends on the data
    if np.size(filt) and not np.size(places[0]):
        raise UnsupportedError(STRIPPED)
    index = [slice(None)] * np.ndim(filt)
    for i in normalize(axis, np.ndim(filt)):
        start, stop = 0, 0
        if np.size(places[i]):
            if "f" in trim.lower():
                start = int(np.min(places[i]))
            last = np.max(places[i]) if "b" in trim.lower() else np.shape(filt)[i] - 1
            stop = int(last) + 1
        index[i] = slice(start, stop)
    return kept(filt, tuple(index))
