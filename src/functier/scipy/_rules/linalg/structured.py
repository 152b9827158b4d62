"""Rules for the matrices of `scipy.linalg` that are constant along their diagonals,
and the product of Khatri and Rao.

SciPy's own code serves for matrices of another structure, such as Hankel's and blocks.
"""

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Shape, Value
from ...._rules.axes import as_array
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
