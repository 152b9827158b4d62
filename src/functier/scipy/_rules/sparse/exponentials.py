"""The product of the exponential of a plain sparse matrix with an array."""

from math import prod

import numpy as np
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ....protocol import linear, primitive
from .patterns import Pattern


@primitive
def expm_product(x: Value, values: Value, pattern: Pattern | None) -> Value:
    """Return the product of a matrix exponential and an array of one or two axes.

    Without a pattern the matrix is dense. It has no derivative with respect to the matrix.
    """
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
