"""Products of a sparse matrix with an array: linear in the values of the matrix and in the array.

NOTE [a batch of sparse matrices]
    The examples of a batch share the pattern, so a batch of matrices is one of values. A product
    with one matrix has the examples as further columns of the array. A product with a matrix for
    each example is one of values with rows of the array, whose sums over the places in a row
    are a product with a plain matrix.
"""

from math import prod

import numpy as np

from ...._core.numpy_facts import Value
from ...._rules.linalg.contract import conj
from ....protocol import linear, primitive
from .patterns import Pattern


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
