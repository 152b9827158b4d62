"""Rules for the matrices of a structure of `scipy.linalg`, and products and systems with them.

These matrices are constant along their diagonals; the product of Khatri and Rao is here, too.
SciPy's own code serves for matrices of another structure, such as Hankel's and blocks.
"""

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Shape, Value
from ...._rules.axes import as_array
from ...._rules.linalg.contract import conj
from ....protocol import unsupported
from ..declare import declare_composite
from .stacks import declare_of_pair, matrices, refuse_stacks


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


@declare_composite(sl, "khatri_rao")
def _khatri_rao(a: Value, b: Value) -> Value:
    a, b = as_array(a), as_array(b)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-1]:
        sl.khatri_rao(np.zeros(a.shape), np.zeros(b.shape))  # SciPy's error
    refuse_stacks(sl.khatri_rao, "use functier.vmap", (a, 2), (b, 2))
    rows: Shape = (a.shape[-2] * b.shape[-2], a.shape[-1])
    c = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(c, c.shape[:-3] + rows)


# ---- systems: the element r[0] is ignored ----


def _column_and_row(c_or_cr: Value) -> tuple:
    if isinstance(c_or_cr, tuple):
        c, r = (as_array(x) for x in c_or_cr)
        return c, r
    c = as_array(c_or_cr)
    return c, conj(c)


@declare_of_pair("solve_toeplitz", "c_or_cr b check_finite")
def _solve_toeplitz(c_or_cr: Value, b: Value, check_finite: bool = True) -> Value:
    c, r, b = matrices(check_finite, *_column_and_row(c_or_cr), as_array(b))
    refuse_stacks(sl.solve_toeplitz, "use functier.vmap", (c, 1), (r, 1), (b, 2))
    if c.shape[-1:] != r.shape[-1:] or b.shape[-2 if b.ndim > 1 else -1 :][:1] != c.shape[-1:]:
        sl.solve_toeplitz((np.zeros(c.shape), np.zeros(r.shape)), np.zeros(b.shape))  # its error
    dtype = np.result_type(c, r, b, float)
    matrix, b = np.astype(toeplitz(c, r), dtype), np.astype(b, dtype)
    if b.ndim == 1:
        return np.linalg.solve(matrix, b[..., None])[..., 0]
    return np.linalg.solve(matrix, b)


# ---- products, by Fourier transforms, as SciPy has them ----


@declare_of_pair("matmul_toeplitz", "c_or_cr x check_finite workers")
def _matmul_toeplitz(
    c_or_cr: Value, x: Value, check_finite: bool = False, workers: int | None = None
) -> Value:
    c, r, x = matrices(check_finite, *_column_and_row(c_or_cr), as_array(x))
    refuse_stacks(sl.matmul_toeplitz, "use functier.vmap", (c, 1), (r, 1), (x, 2))
    vector = x.ndim == 1
    if vector:
        x = x[..., None]
    m, n = c.shape[-1], r.shape[-1]
    if x.ndim < 2 or x.shape[-2] != n:
        sl.matmul_toeplitz((np.zeros(c.shape), np.zeros(r.shape)), np.zeros(x.shape))  # its error
    size = m + n - 1
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = (np.broadcast_to(v, batch + v.shape[-1:]) for v in (c, r))
    if 0 in x.shape:
        shape = (*np.broadcast_shapes(batch, x.shape[:-2]), m, x.shape[-1])
        y = np.zeros(shape, np.result_type(c, r, x, float))
        return y[..., 0] if vector else y
    ring = np.concatenate([c, r[..., :0:-1]], axis=-1)[..., None]
    if np.result_type(ring, x).kind == "c":
        dtype = np.dtype(complex)
        forward = [np.fft.fft(np.astype(v, dtype), n=size, axis=-2) for v in (ring, x)]
        y = np.fft.ifft(forward[0] * forward[1], n=size, axis=-2)
    else:
        dtype = np.dtype(float)
        forward = [np.fft.rfft(np.astype(v, dtype), n=size, axis=-2) for v in (ring, x)]
        y = np.fft.irfft(forward[0] * forward[1], n=size, axis=-2)
    y = y[..., :m, :]
    return y[..., 0] if vector else y


unsupported(
    sl.solve_circulant,
    "write numpy.fft.ifft(numpy.fft.fft(b) / numpy.fft.fft(c)), and numpy.real of it for real "
    "arguments, or scipy.linalg.solve(scipy.linalg.circulant(c), b)",
)
