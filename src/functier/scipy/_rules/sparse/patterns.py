"""The places of the values of a sparse matrix, which are plain."""

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value

COMPRESSED = "csr", "csc"


class Pattern:
    """The places of the stored values of a matrix of SciPy in the format csr, csc or coo.

    `template` is such a matrix, whose values do not count. A value may be stored twice for one
    place, and then they add up.
    """

    def __init__(self, template: Any):
        if template.format not in (*COMPRESSED, "coo"):
            raise TypeError(f"a pattern has the format csr, csc or coo, not {template.format!r}")
        self.template = template
        self.shape: tuple[int, int] = template.shape
        self.format: str = template.format

    @functools.cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The row and the column of each stored value."""
        coo = self.template.tocoo(copy=False)
        return coo.row, coo.col

    @property
    def size(self) -> int:
        """Number of stored values."""
        return int(np.shape(self.template.data)[0])

    @functools.cached_property
    def shared(self) -> bool:
        """True where SciPy leaves the arrays of places alone, as they are sorted."""
        return self.format == "coo" or self.template.has_canonical_format

    def fill(self, values: Value) -> Any:
        """Return SciPy's matrix of these values."""
        t = self.template
        if not values.flags.c_contiguous:
            values = values.copy()
        if self.format == "coo":
            return type(t)((values, (t.row, t.col)), shape=t.shape)
        places = t.indices, t.indptr
        if not self.shared:
            places = t.indices.copy(), t.indptr.copy()
            values = values.copy()
        return type(t)((values, *places), shape=t.shape)

    @functools.cached_property
    def transposed(self) -> "Pattern":
        """The places of the transposed matrix, for the values in the same order."""
        return Pattern(self.template.T)

    @functools.cached_property
    def rows(self) -> "Pattern":
        """The matrix that adds up the values of each row."""
        return summing(self.places[0], self.shape[0])

    @functools.cached_property
    def elements(self) -> "Pattern":
        """The matrix that adds up the values at each place of the dense matrix, in its order."""
        row, col = self.places
        m, n = self.shape
        return summing(row.astype(np.int64) * n + col, m * n)


def summing(places: np.ndarray, size: int) -> Pattern:
    """Return the matrix whose product with values has at each place the sum of those there."""
    ones, numbers = np.ones(places.shape[0], np.int8), np.arange(places.shape[0])
    shape = size, places.shape[0]
    return Pattern(sp.csc_array((ones, places, np.append(numbers, len(numbers))), shape=shape))


def pattern_of(matrix: Any) -> tuple[np.ndarray, Pattern]:
    """Return the values and the pattern of a sparse matrix of SciPy."""
    if matrix.format not in (*COMPRESSED, "coo"):
        matrix = matrix.tocsr()
    return matrix.data, Pattern(matrix)
