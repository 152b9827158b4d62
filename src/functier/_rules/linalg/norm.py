"""Norms of vectors and matrices; the gradient of a 2-norm at zero is zero."""

from math import prod
from typing import Any

import numpy as np

from ..._core.numpy_facts import Axis, Value, dtype_of
from ..._core.rule import SQUARED
from ..axes import as_strong, collapse, expand, is_known_false, normalize, replace_zeros, shift_all
from ..constructors import composite, elementwise_vmap, op, primitive
from ..elementwise import hold, slope
from .contract import conj, ensure_array

# ---- the 2-norm ----


def _norm2(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """Return the square root of the sum of squares over `axis`."""
    if x.dtype.kind == "f" and not keepdims:
        axes = normalize(axis, x.ndim)
        first = x.ndim - len(axes)
        if sorted(axes) == [*range(first, x.ndim)]:
            rows = x.reshape((*x.shape[:first], prod(x.shape[first:])))
            return np.sqrt(np.vecdot(rows, rows))  # a third of the time: no array of squares
    squares = np.square(np.real(x)) + np.square(np.imag(x)) if x.dtype.kind == "c" else np.square(x)
    return np.sqrt(np.sum(squares, axis=axis, keepdims=keepdims))


norm2 = primitive(_norm2, plain=True)


def _push_square(
    t: Value, ans: Value, x: Value, axis: Axis = None, keepdims: bool = False
) -> Value:
    """Return the tangent of half the square."""
    return np.sum(np.real(conj(x) * t), axis=axis, keepdims=keepdims)


def _pull_square(
    g: Value, ans: Value, x: Value, axis: Axis = None, keepdims: bool = False
) -> Value:
    return expand(g, x.shape, axis, keepdims) * x


def _push(t: Value, ans: Value, x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    return slope(_push_square(t, ans, x, axis, keepdims), ans)


def _pull(g: Value, ans: Value, x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    x = hold(x, expand(np.not_equal(ans, 0), x.shape, axis, keepdims))
    return _pull_square(g / replace_zeros(ans), ans, x, axis, keepdims)


op(
    norm2,
    "x axis keepdims",
    vmap=lambda k, x, axis=None, keepdims=False: norm2(x, shift_all(axis, k, x.ndim - k), keepdims),
    jvp={"x": _push},
    vjp={"x": _pull},
    zeros="kink",
)
SQUARED.update({_push: _push_square, _pull: _pull_square})

# ---- vectors ----


@lambda body: composite(np.linalg.vector_norm, body)
def _vector_norm(
    x: Value, /, *, axis: Axis = None, keepdims: bool = False, ord: Value = 2
) -> Value:
    x = _to_inexact(x)
    normalize(axis, x.ndim)  # a norm, unlike a sum, does not take axis 0 of an array without axes
    moves = hasattr(ord, "level")  # by the formula for any order, which depends on it
    if ord is None or (ord == 2 and not moves):
        return norm2(x, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == 0:
        return np.sum(np.astype(x != 0, _real_dtype(x)), axis=axis, keepdims=keepdims)
    size = np.abs(x)
    if ord == np.inf:
        return _with_kink(_largest(size, axis, keepdims), x, axis, keepdims)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if ord == 1 and not moves:
        return _with_kink(np.sum(size, axis=axis, keepdims=keepdims), x, axis, keepdims)
    total = np.sum(np.power(size, ord), axis=axis, keepdims=keepdims)
    if ord < 0:  # the sum of inverses is 0 if it is empty, or for infinities
        return np.where(np.equal(total, 0), np.inf, np.power(replace_zeros(total), 1 / ord))
    exponent = np.reciprocal(ord, dtype=total.dtype)  # in its precision, as in NumPy
    zero = np.equal(total, 0)
    if is_known_false(zero):
        return np.power(total, exponent)
    kink = _kink(x, zero, axis, keepdims)
    return np.where(zero, kink, np.power(replace_zeros(total), exponent))


def _at_zero(x: Value, zero: Value) -> Value:
    """Return the zero that `x` is where `zero`, and 0 elsewhere."""
    return np.zeros_like(np.where(zero, x, 0))[()]


def _only_at(g: Value, zero: Value) -> Value:
    """Return `g` where `zero`, and -0.0 elsewhere, which leaves a zero its sign in a sum."""
    return np.where(zero, g, -dtype_of(g).type(0))[()]


at_zero, only_at = primitive(_at_zero, plain=True), primitive(_only_at, plain=True)
_only = {"x": lambda g, zero: only_at(g, zero)}
for _func in (at_zero, only_at):
    op(_func, "x zero", "x zero", vmap=elementwise_vmap(_func), jvp=_only, vjp=_only)


def _with_kink(size: Value, x: Value, axis: Any, keepdims: bool) -> Value:
    """Return a norm of `x`, whose zero is chosen as that of the 2-norm is."""
    zero = np.equal(size, 0)
    if is_known_false(zero):
        return size
    return np.where(zero, _kink(x, zero, axis, keepdims), size)


def _kink(x: Value, zero: Value, axis: Any, keepdims: bool) -> Value:
    return norm2(at_zero(x, expand(zero, x.shape, axis, keepdims)), axis, keepdims)


def _largest(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """Return the largest of nonnegative elements; 0 for an empty array."""
    if 0 in x.shape:
        return np.max(x, axis=axis, keepdims=keepdims, initial=0)
    return np.max(x, axis=axis, keepdims=keepdims)


def _to_inexact(x: Value) -> Value:
    x = as_strong(ensure_array(x))
    return x if x.dtype.kind in "fcO" else np.astype(x, float)


def _real_dtype(x: Value) -> np.dtype:
    return np.empty(0, x.dtype).real.dtype


# ---- matrices ----


def _matrix_norm(x: Value, ord: Value, axes: tuple, keepdims: bool) -> Value:
    rows, columns = axes
    if ord in (None, "fro", "f"):
        return norm2(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        x_last = np.moveaxis(x, axes, (-2, -1))
        s = np.linalg.svdvals(x_last)
        take: Any = {2: _largest, -2: np.min, "nuc": np.sum}[ord]
        result = take(s, axis=-1)
        result = result if ord == -2 else _with_kink(result, x_last, (-2, -1), False)
        return np.reshape(result, collapse(x.shape, axes)) if keepdims else result
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    inner, outer = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = np.sum(np.abs(x), axis=inner, keepdims=True)
    result = (_largest if ord > 0 else np.min)(sums, axis=outer, keepdims=True)
    result = result if keepdims else np.squeeze(result, axis=axes)
    return result if ord < 0 else _with_kink(result, x, axes, keepdims)


@lambda body: composite(np.linalg.norm, body)
def _norm(x: Value, ord: Value = None, axis: Axis = None, keepdims: bool = False) -> Value:
    x = _to_inexact(x)
    if axis is None and ord is None:
        return norm2(x, None, keepdims)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = shift_all(tuple(axis) if isinstance(axis, (tuple, list)) else (axis,), 0, x.ndim)
    if len(axes) == 1:
        return np.linalg.vector_norm(
            x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord
        )
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return _matrix_norm(x, ord, axes, keepdims)


@lambda body: composite(np.linalg.matrix_norm, body)
def _public_matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Value = "fro") -> Value:
    return np.linalg.norm(x, ord, (-2, -1), keepdims)
