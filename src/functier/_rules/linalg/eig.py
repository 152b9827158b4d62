"""Eigenvalues and eigenvectors of square matrices of any kind.

The derivatives are those of Giles, *An extended collection of matrix derivative results*
(2008), section 2.3, with the length and the phase that LAPACK gives a vector: its
Euclidean norm is 1, and its element of largest modulus is real. So what is differentiated
is what NumPy returns, and a function of it need not be free of the phase. Where two
elements of a complex vector are equally large, NumPy's choice between them is kept.

The eigenvalues have to be distinct for the derivatives of the vectors; where two are
equal, the mixing of their vectors counts as zero. A defective matrix has no derivative: it
raises `LinAlgError`, or what comes out is large, or not a number. A real matrix has real
eigenvalues or pairs of complex ones, and NumPy's result is real or complex accordingly
(from NumPy 2.5 on complex); under vmap it is complex where any example needs that.
"""

import numpy as np

from ..._core.numpy_facts import Value
from ..constructors import op
from .contract import conj
from .gaps import alike, counting, over_gaps, takes_absent
from .orthogonal import adjoint, as_column, as_row, stacked_vmap


def _real_place(v: Value) -> Value:
    """Return the place of the element of each complex eigenvector that LAPACK has made real."""
    exact = np.equal(np.imag(v), 0)
    return np.argmax(np.absolute(v) + exact, axis=-2, keepdims=True)


def _eig_jvp(t: Value, ans: Value) -> Value:
    w, v = ans
    inner = np.linalg.solve(v, np.matmul(t, v))
    mixed = np.matmul(v, over_gaps(inner, w, "eig"))
    shift = as_row(np.sum(np.real(conj(v) * mixed), axis=-2))  # keeps the length
    if v.dtype.kind == "c" and v.size:  # and the phase
        place = _real_place(v)
        turn = np.imag(np.take_along_axis(mixed, place, -2))
        shift = shift + 1j * turn / np.real(np.take_along_axis(v, place, -2))
    return np.diagonal(inner, 0, -2, -1), mixed - v * shift


@takes_absent
def _eig_vjp(g: tuple, ans: Value) -> Value:
    w, v = ans
    if g[1] is None:
        return _values_vjp(g[0], w, v)
    along = np.sum(conj(g[1]) * v, axis=-2)
    on_mixed = g[1] - v * as_row(np.real(along))
    if v.dtype.kind == "c" and v.size:
        place = _real_place(v)
        turn = as_row(np.imag(along)) / np.real(np.take_along_axis(v, place, -2))
        here = np.equal(as_column(np.arange(v.shape[-1])), place)
        on_mixed = on_mixed + 1j * (here * turn)
    inner = np.matmul(adjoint(v), on_mixed)
    # A function of a matrix has a zero for the vectors of equal values, where nothing jumps.
    counts = counting(inner, None, on_mixed) if g[0] is None else np.ones_like(np.absolute(inner))
    inner = over_gaps(inner, conj(w), "eig", counts)
    if g[0] is not None:
        inner = inner + as_row(alike(g[0], w)) * np.eye(w.shape[-1], dtype=w.dtype)
    return np.linalg.solve(adjoint(v), np.matmul(inner, adjoint(v)))


op(
    np.linalg.eig,
    "a",
    vmap=stacked_vmap(np.linalg.eig),
    jvp={"a": _eig_jvp},
    vjp={"a": _eig_vjp},
)


def _eigvals_jvp(t: Value, a: Value) -> Value:
    v = np.linalg.eig(a)[1]
    return np.diagonal(np.linalg.solve(v, np.matmul(t, v)), 0, -2, -1)


def _values_vjp(g: Value, w: Value, v: Value) -> Value:
    """Return the cotangent of a matrix with the eigenvectors `v` from that of its eigenvalues."""
    v = adjoint(v)
    return np.linalg.solve(v, as_column(alike(g, w)) * v)


op(
    np.linalg.eigvals,
    "a",
    vmap=stacked_vmap(np.linalg.eigvals),
    jvp={"a": _eigvals_jvp},
    vjp={"a": lambda g, a: _values_vjp(g, *np.linalg.eig(a))},
)
