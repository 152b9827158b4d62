"""Factorizations: `numpy.linalg` makes them for stacks of matrices over leading axes.

Eigenvalues and singular values have to be distinct for the derivatives of the vectors; see
NOTE [equal eigenvalues] in `gaps`. The formulas are those of Giles, *An extended collection of
matrix derivative results* (2008), unless a rule names another source.

NOTE [one triangle]
    Of a matrix that it takes to be Hermitian (`cholesky`, `eigh`, `eigvalsh`, and `svd` and
    `pinv` with ``hermitian=True``) NumPy reads one triangle. What is differentiated is that
    function, of any matrix: a tangent is completed from its own triangle, as the matrix is,
    and a gradient stands in the triangle that is read, where an element counts twice, for
    itself and for the one that it is the mirror image of. The gradient of ``f((a + a.mT) / 2)``
    is the symmetric one, which PyTorch and JAX give for ``f(a)``.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..._core.numpy_facts import Value
from ..axes import replace_zeros
from ..constructors import op
from .contract import conj
from .gaps import counting, over_gaps, share, takes_absent

# ---- helpers ----


def linalg_dtype(*arrays: Value) -> np.dtype:
    """Return the dtype of the results of `numpy.linalg`, in single or double precision."""
    found = [np.dtype(float) if x.dtype.kind in "biu" else x.dtype for x in arrays]
    for dtype in found:
        if dtype.char not in "fdFD":
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
    return np.result_type(*found)


def adjoint(x: Value) -> Value:
    """Return the conjugate transpose of the last two axes."""
    return conj(x).mT


def as_column(x: Value) -> Value:
    """Return vectors as matrices of one column."""
    return x.reshape((*x.shape, 1))


def as_row(x: Value) -> Value:
    """Return vectors as matrices of one row."""
    return x.reshape((*x.shape[:-1], 1, x.shape[-1]))


def as_factor(x: Value) -> Value:
    """Return scalars as factors of matrices: a stack of them as matrices of one element."""
    return x.reshape((*x.shape, 1, 1)) if np.ndim(x) else x


def half_lower(x: Value) -> Value:
    """Return the lower triangle with half of the diagonal."""
    n = x.shape[-1]
    return x * (np.tri(n, dtype=x.dtype) - 0.5 * np.eye(n, dtype=x.dtype))


def _half(x: Value, upper: bool) -> Value:
    return adjoint(half_lower(adjoint(x))) if upper else half_lower(x)


def complete_hermitian(t: Value, upper: bool = False) -> Value:
    """Return the Hermitian matrix with this triangle: see NOTE [one triangle]."""
    half = _half(t, upper)
    return half + adjoint(half)


def fold_triangle(g: Value, upper: bool = False) -> Value:
    """Return the gradient by the triangle that is read: the transpose of `complete_hermitian`."""
    return _half(g + adjoint(g), upper)


def is_upper(UPLO: Literal["L", "U"]) -> bool:
    return UPLO in ("U", "u")


def reciprocal(x: Value) -> Value:
    """Return 1 / x, with 0 for 0."""
    return np.not_equal(x, 0) / replace_zeros(x)


def stacked_vmap(func: Callable) -> Callable:
    """Return the batching rule of a function of the last two axes, which NumPy batches."""

    def rule(k: int, a: Value, **params: Any) -> Value:
        if a.ndim - k < 2:  # a batch axis must not be taken for an axis of the matrix
            return func(np.broadcast_to(1.0, a.shape[k:]), **params)
        return func(a, **params)

    return rule


# ---- cholesky: Murray, Differentiation of the Cholesky decomposition (2016) ----


def _cholesky_jvp(t: Value, ans: Value, upper: bool = False) -> Value:
    lower = adjoint(ans) if upper else ans
    inverse = np.linalg.inv(lower)
    inner = np.matmul(np.matmul(inverse, complete_hermitian(t, upper)), adjoint(inverse))
    moved = np.matmul(lower, half_lower(inner))
    return adjoint(moved) if upper else moved


def _cholesky_vjp(g: Value, ans: Value, upper: bool = False) -> Value:
    lower, g = (adjoint(ans), adjoint(g)) if upper else (ans, g)
    inverse = np.linalg.inv(lower)
    inner = half_lower(np.matmul(adjoint(lower), g))
    return fold_triangle(np.matmul(np.matmul(adjoint(inverse), inner), inverse), upper)


op(
    np.linalg.cholesky,
    "a upper",
    vmap=stacked_vmap(np.linalg.cholesky),
    jvp={"a": _cholesky_jvp},
    vjp={"a": _cholesky_vjp},
)

# ---- eigenvalues ----


def _phase(v: Value) -> tuple:
    """Return the place of the element of each complex vector that LAPACK made real, and 1 over it.

    LAPACK fixes the phase of a vector by a real row, the first or the last one. Where no
    element is real the phase is unknown, and taken to be constant.
    """
    exact = np.equal(np.imag(v), 0)
    place = np.argmax(np.absolute(v) * exact, axis=-2, keepdims=True)
    return place, reciprocal(np.real(np.take_along_axis(v * exact, place, -2)))


def eigh_jvp(t: Value, ans: Value, UPLO: Literal["L", "U"] = "L") -> Value:
    w, v = ans
    inner = np.matmul(np.matmul(adjoint(v), complete_hermitian(t, is_upper(UPLO))), v)
    moved = np.matmul(v, over_gaps(inner, w, "eigh"))
    if v.dtype.kind == "c" and v.shape[-1]:
        place, scale = _phase(v)
        moved = moved - v * (1j * (np.imag(np.take_along_axis(moved, place, -2)) * scale))
    return np.real(np.diagonal(inner, 0, -2, -1)), moved


def _values_vjp(g: Value, w: Value, v: Value, UPLO: Literal["L", "U"]) -> Value:
    """Return the cotangent of a matrix with the eigenvectors `v` from that of its eigenvalues."""
    g = share(g, w)
    return fold_triangle(np.matmul(v * as_row(g), adjoint(v)), is_upper(UPLO))


@takes_absent
def eigh_vjp(g: tuple, ans: Value, UPLO: Literal["L", "U"] = "L") -> Value:
    w, v = ans
    if g[1] is None:
        return _values_vjp(g[0], w, v, UPLO)
    on_moved = g[1]
    if v.dtype.kind == "c" and v.shape[-1]:
        place, scale = _phase(v)
        turn = as_row(np.sum(np.imag(conj(v) * on_moved), axis=-2)) * scale
        here = np.equal(as_column(np.arange(v.shape[-1])), place)
        on_moved = on_moved - 1j * (here * turn)
    mixed = np.matmul(adjoint(v), on_moved)
    mixed = 0.5 * (mixed - adjoint(mixed))  # the gaps are skew, and the result is Hermitian
    inner = over_gaps(mixed, w, "eigh", counting(mixed, g[0], on_moved))
    if g[0] is not None:
        inner = inner + as_row(share(g[0], w)) * np.eye(w.shape[-1], dtype=w.dtype)
    return fold_triangle(np.matmul(np.matmul(v, inner), adjoint(v)), is_upper(UPLO))


def _eigvalsh_jvp(t: Value, a: Value, UPLO: Literal["L", "U"] = "L") -> Value:
    w, v = np.linalg.eigh(a, UPLO)
    moved = np.matmul(complete_hermitian(t, is_upper(UPLO)), v)
    return share(np.real(np.sum(conj(v) * moved, axis=-2)), w)


def _eigvalsh_vjp(g: Value, a: Value, UPLO: Literal["L", "U"] = "L") -> Value:
    return _values_vjp(g, *np.linalg.eigh(a, UPLO), UPLO)


op(
    np.linalg.eigh,
    "a UPLO",
    vmap=stacked_vmap(np.linalg.eigh),
    jvp={"a": eigh_jvp},
    vjp={"a": eigh_vjp},
)
op(
    np.linalg.eigvalsh,
    "a UPLO",
    vmap=stacked_vmap(np.linalg.eigvalsh),
    jvp={"a": _eigvalsh_jvp},
    vjp={"a": _eigvalsh_vjp},
)
