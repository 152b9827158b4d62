"""Diagonals and triangles of matrices."""

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Function, Shape, Value
from .axes import as_number, shift
from .constructors import composite, linear
from .indexing import transpose_read


def from_diagonal(d: Value, shape: Shape, offset: int = 0) -> Value:
    """Make matrices of `shape` with the last axis of `d` on a diagonal, and zeros elsewhere."""
    rows, columns = shape
    start = offset if offset >= 0 else -offset * columns
    places = slice(start, start + d.shape[-1] * (columns + 1), columns + 1)
    flat = transpose_read(d, (*d.shape[:-1], rows * columns), (..., places))
    return np.reshape(flat, (*d.shape[:-1], rows, columns))


def _diagonal_vmap(k: int, a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    ndim = a.ndim - k
    return np.diagonal(a, offset, shift(axis1, k, ndim), shift(axis2, k, ndim))


def _diagonal_vjp(
    g: Value, a_shape: Shape, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Value:
    whole = from_diagonal(g, (a_shape[axis1], a_shape[axis2]), offset)
    return np.moveaxis(whole, (-2, -1), (axis1, axis2))


linear(np.diagonal, "a offset axis1 axis2", vmap=_diagonal_vmap, vjp={"a": _diagonal_vjp})
composite(np.linalg.diagonal, lambda x, /, *, offset=0: np.diagonal(x, offset, -2, -1))


@lambda body: composite(np.trace, body)
def _trace(
    a: Value,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Value | None = None,
) -> Value:
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype)


composite(np.linalg.trace, lambda x, /, *, offset=0, dtype=None: np.trace(x, offset, -2, -1, dtype))


@lambda body: composite(np.diag, body)
def _diag(v: Value, k: int = 0) -> Value:
    if v.ndim == 1:
        return np.diagflat(v, k)
    if v.ndim == 2:
        return np.diagonal(v, k)
    raise ValueError("Input must be 1- or 2-d.")


@lambda body: composite(np.diagflat, body)
def _diagflat(v: Value, k: int = 0) -> Value:
    k = as_number(k)
    n = v.size + abs(k)
    return from_diagonal(v if v.ndim == 1 else np.ravel(v), (n, n), k)


def _as_matrix(depth: int, m: Value, name: str) -> Value:
    """Return a matrix; a vector becomes all of its rows, as NumPy has it."""
    if m.ndim == depth:
        raise ValueError(f"{name} needs an array of 1 or more dimensions")
    if m.ndim > depth + 1:
        return m
    n = m.shape[-1]
    return np.broadcast_to(np.reshape(m, (*m.shape[:-1], 1, n)), (*m.shape[:-1], n, n))


def _declare_triangle(func: Function, compare: Function) -> None:
    """Declare tril or triu: zeros on one side of a diagonal of the last two axes."""

    def cut(m: Value, k: Value = 0) -> Value:
        """Call NumPy's function, which does not dispatch on `k`, its name for the diagonal."""
        return varying(0, m, k) if hasattr(k, "level") else func(m, k)

    def varying(depth: int, m: Value, k: Value) -> Value:
        m = _as_matrix(depth, m, func.__name__)
        k = np.reshape(k, np.shape(k) + (1,) * (m.ndim - depth))
        diagonal = np.arange(m.shape[-1]) - np.reshape(np.arange(m.shape[-2]), (-1, 1))
        return np.where(compare(diagonal, k), m, 0)

    def rule(depth: int, m: Value, k: Value = 0) -> Value:
        if not hasattr(k, "size"):
            return func(_as_matrix(depth, m, func.__name__), k)
        if k.size != 1:
            return varying(depth, m, k)
        return cut(_as_matrix(depth, m, func.__name__), np.reshape(k, ()))

    linear(func, "m k", "m k", kernel=cut, vmap=rule, vjp={"m": lambda g, k=0: cut(g, k)})


_declare_triangle(np.tril, np.less_equal)
_declare_triangle(np.triu, np.greater_equal)
