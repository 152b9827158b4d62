"""Products with sparse matrices, whose places are plain.

NOTE [a batch of sparse matrices]
    The examples of a batch share the pattern, so a batch of matrices is one of values. A product
    with one matrix has the examples as further columns of the array. A product with a matrix for
    each example is one of values with rows of the array, whose sums over the places in a row
    are a product with a plain matrix.
"""

import functools
import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.linalg.contract import conj
from ....protocol import linear, primitive
from ..._dispatching import put_back

COMPRESSED = "csr", "csc"


class Pattern:
    """The places of the stored values of a matrix of SciPy in the format csr, csc or coo.

    `template` is such a matrix, whose values do not count, and which nobody changes where it is
    its `own`. A value may be stored twice for one place, and then they add up.
    """

    def __init__(self, template: Any, own: bool = False):
        if template.format not in (*COMPRESSED, "coo"):
            raise TypeError(f"a pattern has the format csr, csc or coo, not {template.format!r}")
        self.template = template
        self.shape: tuple[int, int] = template.shape
        self.format: str = template.format
        self.own = own
        self.kept: Pattern | None = None

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
        if not values.flags.c_contiguous:
            values = values.copy()
        if self.shared:
            return self.made(values, self.arrays)
        return self.made(values.copy(), [x.copy() for x in self.arrays])

    def made(self, values: np.ndarray, arrays: Any) -> Any:
        """Return SciPy's matrix of these values, at the places of these arrays."""
        given = (values, tuple(arrays)) if self.format == "coo" else (values, *arrays)
        return type(self.template)(given, shape=self.shape)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of places that the matrix has."""
        t = self.template
        return (t.row, t.col) if self.format == "coo" else (t.indices, t.indptr)

    def owning(self, copy: Callable) -> "Pattern":
        """Return the same places in copies, as the matrix may get others; one object for each."""
        if self.own:
            return self
        arrays = [copy(x) for x in self.arrays]
        if self.kept is None or any(map(operator.is_not, arrays, self.kept.arrays)):
            self.kept = Pattern(self.made(self.template.data, arrays), own=True)
        return self.kept

    @functools.cached_property
    def transposed(self) -> "Pattern":
        """The places of the transposed matrix, for the values in the same order."""
        return Pattern(self.template.T, self.own)

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
    made = sp.csc_array((ones, places, np.append(numbers, len(numbers))), shape=shape)
    return Pattern(made, own=True)


def pattern_of(matrix: Any) -> tuple[np.ndarray, Pattern]:
    """Return the values and the pattern of a sparse matrix of SciPy."""
    if matrix.format not in (*COMPRESSED, "coo"):
        matrix = matrix.tocsr()
    return matrix.data, Pattern(matrix)


@primitive
def multiply(values: Value, x: Value, pattern: Pattern) -> Value:
    """Return the product of a sparse matrix and an array of one or two axes."""
    return pattern.fill(values) @ x


def _multiply_vmap(k: int, values: Value, x: Value, pattern: Pattern) -> Value:
    batch = np.broadcast_shapes(*[np.shape(v)[:k] for v in (values, x)])
    vector = np.ndim(x) == k + 1
    if vector:
        x = x[..., None]
    n, columns = np.shape(x)[k:]
    if prod(np.shape(values)[:k]) == 1:
        own = np.shape(x)[:k]
        wide = np.reshape(np.moveaxis(x, k, 0), (n, prod(own) * columns))
        y = multiply(np.reshape(values, np.shape(values)[k:]), wide, pattern)
        y = np.moveaxis(np.reshape(y, (pattern.shape[0], *own, columns)), 0, k)
    else:
        row, col = pattern.places
        terms = values[..., None] * np.take(x, col, axis=k)
        wide = np.reshape(np.moveaxis(terms, k, 0), (len(row), prod(batch) * columns))
        ones = np.ones(len(row), bool)
        y = multiply(ones, wide, pattern.rows)
        y = np.moveaxis(np.reshape(y, (pattern.shape[0], *batch, columns)), 0, k)
    return y[..., 0] if vector else y


def elements(g: Value, x: Value, pattern: Pattern) -> Value:
    """Return the elements of the product of `g` and the transposed `x` at the places of a pattern.

    It is the transpose of `multiply` by the values.
    """
    row, col = pattern.places
    terms = np.take(g, row, axis=0) * np.take(x, col, axis=0)
    return terms if np.ndim(g) == 1 else np.sum(terms, axis=1)


linear(
    multiply,
    "values x pattern",
    "values x",
    jvp="multilinear",
    vmap=_multiply_vmap,
    vjp={
        "values": lambda g, x, pattern: elements(g, conj(x), pattern),
        "x": lambda g, values, pattern: multiply(conj(values), g, pattern.transposed),
    },
)


@primitive
def expm_product(x: Value, values: Value, pattern: Pattern | None) -> Value:
    """Return the product of a matrix exponential and an array of one or two axes.

    Without a pattern the matrix is dense. It has no derivative with respect to the matrix.
    """
    with put_back():
        return ssl.expm_multiply(values if pattern is None else pattern.fill(values), x)


def _vmap(k: int, x: Value, values: Value, pattern: Pattern | None) -> Value:
    own, form = np.shape(x)[:k], np.shape(x)[k:]
    if 0 in own:
        return x
    wide = np.reshape(np.moveaxis(x, k, 0), (form[0], prod(own) * prod(form[1:])))
    y = expm_product(wide, values, pattern)
    return np.moveaxis(np.reshape(y, (form[0], *own, *form[1:])), 0, k)


def _transposed(g: Value, values: Value, pattern: Pattern | None) -> Value:
    if pattern is None:
        return expm_product(g, np.conjugate(values).T, None)
    return expm_product(g, np.conjugate(values), pattern.transposed)


linear(expm_product, "x values pattern", "x", vmap=_vmap, vjp={"x": _transposed})
