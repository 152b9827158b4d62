"""Rules for the matrices of a structure of `scipy.linalg`, and products and systems with them.

These matrices are constant along their diagonals.
SciPy's own code serves for matrices of another structure, such as Hankel's and blocks.
"""

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Shape, Value
from ...._rules.axes import as_array
from ...._rules.linalg.contract import conj
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
