"""Sparse matrices whose values are tensors: what follows from the places of the values alone.

NOTE [numbers for values]
    What SciPy does to the places of a matrix (slices, formats, blocks) does not depend on the
    values. So it is done to a plain matrix that has their numbers, from 1 on, for values. The
    numbers in the result say which value is at which place; 0 is a place without a value.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]

from ._rules.sparse.patterns import COMPRESSED, Pattern, summing
from ._rules.sparse.products import multiply


def numbered(pattern: Pattern, start: int = 0) -> Any:
    """Return SciPy's matrix of the numbers of the values, each larger by `start`."""
    return pattern.fill(np.arange(start + 1, start + 1 + pattern.size))


def chosen(values: Any, numbers: np.ndarray) -> Any:
    """Return the values of these numbers, all of which are places with a value."""
    size = np.shape(values)[0]
    if numbers.shape[0] == size and np.array_equal(numbers, np.arange(1, size + 1)):
        return values
    return np.take(values, numbers - 1)


def dense(values: Any, numbers: np.ndarray) -> Any:
    """Return an array of values, with 0 where the number is 0."""
    nothing = np.zeros(1, values.dtype)
    return np.take(np.concatenate([nothing, values]), numbers)


def found_at(values: Any, found: Any) -> tuple[Any, Pattern]:
    """Return values and pattern of a sparse matrix of numbers."""
    if found.format not in (*COMPRESSED, "coo"):
        found = found.tocsr()
    if not np.all(found.data):  # a block has places without a value
        found = found.copy()
        found.eliminate_zeros()
    return chosen(values, found.data), Pattern(found)


def keys_of(pattern: Pattern) -> np.ndarray:
    """Return the position of each value in the dense matrix as one row."""
    row, col = pattern.places
    return row.astype(np.int64) * pattern.shape[1] + col


def has_repeats(pattern: Pattern) -> bool:
    if pattern.format != "coo":
        return not pattern.template.has_canonical_format
    return np.unique(keys_of(pattern)).shape[0] < pattern.size


def from_keys(keys: np.ndarray, shape: tuple[int, int], is_array: bool) -> Pattern:
    """Return the pattern of values in the order of their positions, in the format csr."""
    make = sp.csr_array if is_array else sp.csr_matrix
    rows, columns = np.divmod(keys, max(shape[1], 1))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return Pattern(make((np.ones(keys.shape[0], np.int8), columns, ends), shape=shape))


def added(values: Any, places: np.ndarray, size: int) -> Any:
    """Return the sums of the values at each place."""
    if values.dtype.kind == "b":
        return added(np.astype(values, int), places, size) > 0
    ones = np.ones(places.shape[0], bool)
    total = multiply(ones, values, summing(places, size))
    return np.astype(total, values.dtype, copy=False)


def collected(values: Any, keys: np.ndarray, shape: Any, is_array: bool) -> tuple[Any, Pattern]:
    """Return a matrix of values at positions, where those at one position add up."""
    places, index = np.unique(keys, return_inverse=True)
    if places.shape[0] == keys.shape[0]:
        values = np.take(values, np.argsort(keys, kind="stable"))
    else:
        values = added(values, index, places.shape[0])
    return values, from_keys(places, shape, is_array)


def canonical(values: Any, pattern: Pattern) -> tuple[Any, Pattern]:
    """Return a matrix with one value for each place."""
    if not has_repeats(pattern):
        return values, pattern
    is_array = isinstance(pattern.template, sp.sparray)
    return collected(values, keys_of(pattern), pattern.shape, is_array)


def product(a: tuple[Any, Pattern], b: tuple[Any, Pattern], is_array: bool) -> tuple[Any, Pattern]:
    """Return the product of two sparse matrices.

    It is the sum of the products of each value of the first one with the values of a row of the
    second one.
    """
    (x, of_x), (y, of_y) = a, canonical(*b)
    row, col = of_x.places
    by_row = numbered(of_y).tocsr() if of_y.format != "csr" else numbered(of_y)
    counts = np.diff(by_row.indptr)[col]
    first = np.repeat(np.arange(row.shape[0]), counts)
    starts = np.repeat(by_row.indptr[col] - np.cumsum(counts) + counts, counts)
    second = starts + np.arange(starts.shape[0])
    shape = of_x.shape[0], of_y.shape[1]
    keys = row[first].astype(np.int64) * shape[1] + by_row.indices[second]
    terms = np.take(x, first) * np.take(y, by_row.data[second] - 1)
    return collected(terms, keys, shape, is_array)


def kronecker(
    a: tuple[Any, Pattern], b: tuple[Any, Pattern], is_array: bool
) -> tuple[Any, Pattern]:
    """Return the Kronecker product of two sparse matrices."""
    (x, of_x), (y, of_y) = a, b
    (row, col), (row_of_y, col_of_y) = of_x.places, of_y.places
    (m, n), (p, q) = of_x.shape, of_y.shape
    rows = row.astype(np.int64)[:, None] * p + row_of_y
    columns = col.astype(np.int64)[:, None] * q + col_of_y
    keys = np.ravel(rows * (n * q) + columns)
    return collected(np.ravel(x[:, None] * y), keys, (m * p, n * q), is_array)
