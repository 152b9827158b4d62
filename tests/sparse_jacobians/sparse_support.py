"""Helpers of the two files of tests of sparse Jacobians."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from support.basics import close

X = np.array([0.5, -1.5, 2.0, 0.25])


def of_pattern(mask, seed=0):
    """A function whose Jacobian has entries precisely where `mask` has."""
    rng = np.random.default_rng(seed)
    a, b = [np.where(mask, rng.uniform(0.5, 2, mask.shape), 0.0) for _ in range(2)]
    return lambda x: a @ np.exp(x) + (b @ np.sin(x)) * 0.01


def tridiagonal(x):
    y = np.concatenate([np.zeros(1), x, np.zeros(1)])
    return y[2:] - 2 * x + y[:-2] + np.exp(x)


def bands(n, *offsets):
    """The places of the diagonals of an n by n matrix."""
    i = np.arange(n)
    rows = np.concatenate([i[(i + k >= 0) & (i + k < n)] for k in offsets])
    return rows, np.concatenate([i[(i + k >= 0) & (i + k < n)] + k for k in offsets])


def arrow(x):
    """A full row, a full column and a diagonal."""
    return np.concatenate([np.sum(x**2, keepdims=True), x[1:] ** 2 * x[0]])


masks = st.integers(0, 9).flatmap(
    lambda m: st.integers(0, 9).flatmap(
        lambda n: st.lists(st.booleans(), min_size=m * n, max_size=m * n).map(
            lambda bits: np.array(bits, bool).reshape(m, n)
        )
    )
)
modes = st.sampled_from(["auto", "fwd", "rev"])
chunks = st.sampled_from([None, 1, 2, 3])


def same_as_dense(matrix, dense, tolerance=1e-12):
    """A CSR array of canonical form, equal to what `jacfwd` gave."""
    assert type(matrix) is sp.csr_array
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    assert matrix.copy().has_sorted_indices
    fresh = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), matrix.shape)
    fresh.check_format(full_check=True)
    assert fresh.has_canonical_format
    dense = np.reshape(dense, matrix.shape)
    if dense.dtype == np.float16:  # which SciPy does not have
        dense = dense.astype(np.float32)
    close(matrix.toarray(), dense, tolerance)
