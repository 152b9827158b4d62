"""Rules for the matrices of a structure of `scipy.linalg`: their elements are those of vectors.

The matrices that are made of numbers alone, such as those of Hadamard and Hilbert, take no
tensors, and are SciPy's.
"""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Shape, Value
from ...._rules.axes import as_array
from ...._rules.constructors import check_values
from ..declare import declare_composite
from .batches import refuse_stacks


def as_vectors(x: Value) -> Value:
    """Return an argument as an array of one axis or more."""
    x = as_array(x)
    return np.reshape(x, (1,)) if x.ndim == 0 else x


def from_places(values: Value, places: np.ndarray) -> Value:
    """Return the matrix that has at each place an element of the last axis of `values`."""
    return np.take(values, places, axis=-1)


def differences(shape: Shape) -> np.ndarray:
    """Return the row minus the column of each element of a matrix."""
    return np.arange(shape[0])[:, None] - np.arange(shape[1])


def _beside(x: Value, y: Value) -> Value:
    """Concatenate along the last axis; the axes before it broadcast."""
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    return np.concatenate([np.broadcast_to(v, batch + v.shape[-1:]) for v in (x, y)], axis=-1)


# ---- constant along diagonals ----


@declare_composite(sl, "toeplitz")
def toeplitz(c: Value, r: Value = None) -> Value:
    c = as_vectors(c)
    r = np.conjugate(c) if r is None else as_vectors(r)
    refuse_stacks(sl.toeplitz, "write numpy.ravel(c)", (c, 1), (r, 1))
    m, n = c.shape[-1], r.shape[-1]
    return from_places(_beside(c[..., ::-1], r[..., 1:]), m - 1 - differences((m, n)))


@declare_composite(sl, "circulant")
def _circulant(c: Value) -> Value:
    c = as_vectors(c)
    n = c.shape[-1]
    if c.ndim > 1 and sl.circulant(np.zeros((1, 2))).ndim == 2:  # before SciPy 1.15
        refuse_stacks(sl.circulant, "write numpy.ravel(c)", (c, 1))
    return from_places(c, differences((n, n)) % max(n, 1))


@declare_composite(sl, "hankel")
def _hankel(c: Value, r: Value = None) -> Value:
    c = as_array(c)
    r = np.zeros(c.shape, c.dtype) if r is None else as_array(r)
    if c.ndim > 1 or r.ndim > 1:
        form = sl.hankel(np.zeros(c.shape, c.dtype), np.zeros(r.shape, r.dtype))  # it may warn
        if form.ndim == 2:
            c, r = np.ravel(c), np.ravel(r)
    if not c.ndim or not r.ndim:
        sl.hankel(np.zeros(c.shape), np.zeros(r.shape))  # SciPy's error
    m, n = c.shape[-1], r.shape[-1]
    return from_places(_beside(c, r[..., 1:]), differences((m, n))[:, ::-1] + (n - 1))


@declare_composite(sl, "convolution_matrix")
def _convolution_matrix(a: Value, n: int, mode: str = "full") -> Value:
    a = as_array(a)
    m = a.shape[-1] if a.ndim else 0
    rows = sl.convolution_matrix(np.zeros(m if a.ndim else ()), n, mode).shape[0]  # or an error
    skipped = 0 if mode == "full" else min(n, m) - 1
    top = skipped // 2 if mode == "same" else skipped
    places = differences((rows, n)) + top
    padded = np.concatenate([a, np.zeros((*a.shape[:-1], 1), a.dtype)], axis=-1)
    return from_places(padded, np.where((places >= 0) & (places < m), places, m))


# ---- of polynomials and populations ----


def _first_is_not_zero(message: str) -> Any:
    return lambda first: np.all(first != 0), message


@declare_composite(sl, "companion")
def _companion(a: Value) -> Value:
    a = as_vectors(a)
    n = a.shape[-1]
    if n < 2:
        sl.companion(np.ones(a.shape))  # SciPy's error
    message = "The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero."
    first = check_values(a[..., :1], *_first_is_not_zero(message))
    row = -a[..., 1:] / (1.0 * first)
    ones = np.broadcast_to(np.eye(n - 2, n - 1, dtype=row.dtype), (*a.shape[:-1], n - 2, n - 1))
    return np.concatenate([row[..., None, :], ones], axis=-2)


@declare_composite(sl, "fiedler_companion")
def _fiedler_companion(a: Value) -> Value:
    a = as_vectors(a)
    n = a.shape[-1] - 1
    if n < 1:
        return np.zeros((*a.shape[:-1], 0), a.dtype)
    if n == 1:
        return -(a / a[..., :1])[..., -1:, None]
    first = check_values(a[..., :1], *_first_is_not_zero("Leading coefficient is zero."))
    a = a / first
    numbers = np.broadcast_to(np.array([0, 1], a.dtype), (*a.shape[:-1], 2))
    return from_places(np.concatenate([numbers, -a[..., 1:]], axis=-1), _fiedler_places(n))


def _fiedler_places(n: int) -> np.ndarray:
    """Return for each element of the matrix its place in ``[0, 1, -a[1], ..., -a[n]]``.

    They are read off SciPy's matrix of other numbers.
    """
    numbers = np.arange(1.0, n + 2)  # the matrix has -2, ..., -(n + 1), and 0 and 1
    c = sl.fiedler_companion(numbers)
    return np.where(c < 0, -c, c).astype(int)


@declare_composite(sl, "leslie")
def _leslie(f: Value, s: Value) -> Value:
    f, s = as_vectors(f), as_vectors(s)
    n = f.shape[-1]
    if n != s.shape[-1] + 1 or n < 2:
        sl.leslie(np.zeros(f.shape), np.zeros(s.shape))  # SciPy's error
    refuse_stacks(sl.leslie, "use functier.vmap", (f, 1), (s, 1))
    batch = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    f, s = (np.broadcast_to(x, batch + x.shape[-1:]) for x in (f, s))
    below = np.where(np.eye(n - 1, n, dtype=bool), s[..., None], np.zeros((), s.dtype))
    return np.concatenate([f[..., None, :], below], axis=-2)


@declare_composite(sl, "fiedler")
def _fiedler(a: Value) -> Value:
    a = as_vectors(a)
    if a.size < 2:  # of fixed numbers
        return sl.fiedler(np.zeros(a.shape))
    refuse_stacks(sl.fiedler, "use functier.vmap", (a, 1))
    return np.abs(a[..., :, None] - a[..., None, :])


# ---- of blocks ----


@declare_composite(sl, "block_diag")
def _block_diag(*arrs: Value) -> Value:
    blocks = [as_array(x) for x in arrs]
    blocks = [np.reshape(x, (1,) * (2 - x.ndim) + x.shape) for x in blocks]
    refuse_stacks(sl.block_diag, "use functier.vmap", *((x, 2) for x in blocks))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
    dtype = np.result_type(*blocks)
    width, left, bands = sum(x.shape[-1] for x in blocks), 0, []
    for x in blocks:
        m, n = x.shape[-2:]
        x = np.broadcast_to(np.astype(x, dtype), (*batch, m, n))
        sides = [np.zeros((*batch, m, k), dtype) for k in (left, width - left - n)]
        bands.append(np.concatenate([sides[0], x, sides[1]], axis=-1))
        left += n
    return np.concatenate(bands, axis=-2)


@declare_composite(sl, "khatri_rao")
def _khatri_rao(a: Value, b: Value) -> Value:
    a, b = as_array(a), as_array(b)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-1]:
        sl.khatri_rao(np.zeros(a.shape), np.zeros(b.shape))  # SciPy's error
    refuse_stacks(sl.khatri_rao, "use functier.vmap", (a, 2), (b, 2))
    rows: Shape = (a.shape[-2] * b.shape[-2], a.shape[-1])
    c = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(c, c.shape[:-3] + rows)


declare_composite(sl, "kron")(lambda a, b: np.kron(as_array(a), as_array(b)))  # before SciPy 1.17
