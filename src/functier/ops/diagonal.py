"""Diagonals and triangles of matrices."""

import numpy as np

from ._families import composite, linear, primitive, shift


@primitive
def from_diagonal(d, shape, offset=0):
    """Matrices of `shape` with the last axis of `d` on a diagonal, and zero elsewhere."""
    rows, columns = shape
    start = offset if offset >= 0 else -offset * columns
    stop = start + d.shape[-1] * (columns + 1)
    out = np.zeros((*d.shape[:-1], rows * columns), d.dtype)
    out[..., start : stop : columns + 1] = d
    return out.reshape((*d.shape[:-1], rows, columns))


linear(
    from_diagonal,
    "d shape offset",
    vmap=lambda k, d, shape, offset=0: from_diagonal(d, shape, offset),
    vjp={"d": lambda g, offset=0: np.diagonal(g, offset, -2, -1)},
)


def _diagonal_vmap(k, a, offset=0, axis1=0, axis2=1):
    ndim = a.ndim - k
    return np.diagonal(a, offset, shift(axis1, k, ndim), shift(axis2, k, ndim))


def _diagonal_vjp(g, a_shape, offset=0, axis1=0, axis2=1):
    whole = from_diagonal(g, (a_shape[axis1], a_shape[axis2]), offset)
    return np.moveaxis(whole, (-2, -1), (axis1, axis2))


linear(np.diagonal, "a offset axis1 axis2", vmap=_diagonal_vmap, vjp={"a": _diagonal_vjp})
composite(np.linalg.diagonal, lambda x, /, *, offset=0: np.diagonal(x, offset, -2, -1))


@lambda body: composite(np.trace, body)
def _trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype)


composite(np.linalg.trace, lambda x, /, *, offset=0, dtype=None: np.trace(x, offset, -2, -1, dtype))


@lambda body: composite(np.diag, body)
def _diag(v, k=0):
    if v.ndim == 1:
        return np.diagflat(v, k)
    if v.ndim == 2:
        return np.diagonal(v, k)
    raise ValueError("Input must be 1- or 2-d.")


@lambda body: composite(np.diagflat, body)
def _diagflat(v, k=0):
    n = v.size + abs(k)
    return from_diagonal(v if v.ndim == 1 else np.ravel(v), (n, n), k)


def _triangle(func):
    """tril and triu: zero on one side of a diagonal of the last two axes."""

    def rule(depth, m, k=0):  # `k` is NumPy's name for the diagonal
        if m.ndim == depth:
            raise ValueError(f"{func.__name__} needs an array of 1 or more dimensions")
        if m.ndim == depth + 1:  # each row of the result is a part of the vector
            n = m.shape[-1]
            m = np.broadcast_to(np.reshape(m, (*m.shape[:-1], 1, n)), (*m.shape[:-1], n, n))
        return func(m, k)

    linear(func, "m k", vmap=rule, vjp={"m": lambda g, k=0: func(g, k)})


_triangle(np.tril)
_triangle(np.triu)
