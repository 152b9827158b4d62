"""Factorizations of matrices: Cholesky, and those with orthogonal factors.

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

For a QR decomposition the first columns have to have full rank; else the triangular factor is
singular, which raises `LinAlgError` or gives numbers that are not finite. What a singular value 0
would divide counts as zero.

The columns that a matrix does not determine, those that complete a basis
(``mode="complete"``, ``full_matrices=True``), have the derivative of the basis that turns as
little as it has to. It is right for all that depends on the space which they span, such as the
projection onto it. Reverse mode refuses what depends on more; forward mode does not see it.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..._core.errors import NoRuleError
from ..._core.numpy_facts import Value
from ..axes import replace_zeros
from ..constructors import composite, op
from ..elementwise import slope
from .contract import conj
from .gaps import check_choice, counting, over_gaps, share, takes_absent

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


# ---- the columns that complete a basis ----


def extend_tangent(moved: Value, q: Value) -> Value:
    """Return the tangents of all columns of `q`, given those of the first ones."""
    k = moved.shape[-1]
    if k == q.shape[-1]:
        return moved
    rest = np.matmul(q[..., :k], np.matmul(adjoint(moved), q[..., k:]))
    return np.concatenate([moved, -rest], axis=-1)


def restrict_cotangent(g: Value, first: Value, q: Value, name: str) -> Value:
    """Return the cotangent of the first columns of `q`, which the others follow."""
    k = first.shape[-1]
    if k == q.shape[-1]:
        return g
    on_rest, rest = g[..., k:], q[..., k:]
    if k:
        turn = np.matmul(adjoint(rest), on_rest)
        check_choice(turn, (g,), name, "the vectors that complete the basis")
    return g[..., :k] - np.matmul(rest, np.matmul(adjoint(on_rest), first))


# ---- qr: Walter and Lehmann, Algorithmic differentiation of linear algebra (2012); of a
# wide matrix by its square part, Roberts and Roberts, QR and LQ decomposition matrix
# backpropagation algorithms for square, wide, and deep matrices (2020) ----


def _qr_parts(ans: Value, a: Value, mode: str) -> tuple:
    """Return both factors, and the first columns and the square part of these."""
    if mode == "r":
        q, r = np.linalg.qr(a)[0], ans
    elif mode in ("reduced", "complete"):
        q, r = ans
    else:
        raise NoRuleError(
            f"numpy.linalg.qr has no derivative rule for mode={mode!r}, which gives LAPACK's "
            f"own form of the factors; write numpy.linalg.qr(a), or mode='complete'"
        )
    k = min(np.shape(a)[-2:])
    return q, r, q[..., :k], r[..., :k, :k]


def _qr_jvp(t: Value, ans: Value, a: Value, mode: str = "reduced") -> Value:
    q, r, first, square = _qr_parts(ans, a, mode)
    k, n = square.shape[-1], np.shape(a)[-1]
    moved = adjoint(np.linalg.solve(adjoint(square), adjoint(t[..., :k])))
    inner = np.matmul(adjoint(first), moved)
    turn = half_lower(inner)
    turn = turn - adjoint(turn) - inner
    dq, dr = np.matmul(first, turn) + moved, -np.matmul(turn, square)
    if n > k:
        right = np.matmul(adjoint(dq), a[..., k:]) + np.matmul(adjoint(first), t[..., k:])
        dr = np.concatenate([dr, right], axis=-1)
    if r.shape[-2] > k:
        dr = np.concatenate([dr, np.zeros_like(r[..., k:, :])], axis=-2)
    return dr if mode == "r" else (extend_tangent(dq, q), dr)


def _qr_vjp(g: Value, ans: Value, a: Value, mode: str = "reduced") -> Value:
    q, _, first, square = _qr_parts(ans, a, mode)
    k, n = square.shape[-1], np.shape(a)[-1]
    gq, gr = (np.zeros_like(q), g) if mode == "r" else g
    gq, gr, right = restrict_cotangent(gq, first, q, "qr"), gr[..., :k, :k], gr[..., :k, k:]
    if n > k:
        gq = gq + np.matmul(a[..., k:], adjoint(right))
    inner = np.matmul(gr, adjoint(square)) - np.matmul(adjoint(first), gq)
    inner = inner - half_lower(inner - adjoint(inner))
    c = adjoint(np.linalg.solve(square, adjoint(gq + np.matmul(first, inner))))
    return np.concatenate([c, np.matmul(first, right)], axis=-1) if n > k else c


op(
    np.linalg.qr,
    "a mode",
    vmap=stacked_vmap(np.linalg.qr),
    jvp={"a": _qr_jvp},
    vjp={"a": _qr_vjp},
)


# ---- svd: Townsend, Differentiating the singular value decomposition (2016) ----


def _svd_parts(ans: Value, a: Value, compute_uv: bool, hermitian: bool) -> tuple:
    """Return U, s and V of a thin decomposition."""
    if not compute_uv:
        ans = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    u, s, vh = ans
    k = s.shape[-1]
    return u[..., :k], s, adjoint(vh[..., :k, :])


def _signs(u: Value, v: Value) -> Value:
    """Return the signs of the eigenvalues of a Hermitian matrix, whose eigenvectors are `u`."""
    return np.real(np.sum(conj(v) * u, axis=-2))


def _inverse_sums(s: Value) -> Value:
    """Return 1 / (s_i + s_j), with 0 on the diagonal and where both are zero.

    The two bases move together by ``e / (s_j - s_i)``, with the Hermitian part e of
    ``u^H da v``, and against each other by ``k / (s_i + s_j)``, with its skew part k. This is
    Townsend's quotient by ``s_j^2 - s_i^2``, without its cancellation for close values.
    """
    off = 1 - np.eye(s.shape[-1], dtype=s.dtype)
    return reciprocal((as_row(s) + as_column(s)) * off)


def _svd_jvp(
    t: Value,
    ans: Value,
    a: Value,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Value:
    u, s, v = _svd_parts(ans, a, compute_uv, hermitian)
    if hermitian:
        sign = _signs(u, v)
        dw, du = eigh_jvp(t, (s * sign, u))
        return (du, dw * sign, adjoint(du * as_row(sign))) if compute_uv else dw * sign
    inner = np.matmul(np.matmul(adjoint(u), t), v)
    ds = np.real(np.diagonal(inner, 0, -2, -1))
    if not compute_uv:
        return share(ds, s)
    skew = 0.5 * (inner - adjoint(inner))
    mixed, turned = over_gaps(inner - skew, s, "svd"), skew * _inverse_sums(s)
    phase = slope(skew * np.eye(s.shape[-1], dtype=s.dtype), as_row(s))
    du = np.matmul(u, mixed + turned + phase)
    dv = np.matmul(v, mixed - turned)
    m, n = np.shape(a)[-2:]
    if m > n:
        du = du + slope(np.matmul(t, v) - np.matmul(u, inner), as_row(s))
    if n > m:
        back = np.matmul(adjoint(t), u) - np.matmul(v, adjoint(inner))
        dv = dv + slope(back, as_row(s))
    return extend_tangent(du, ans[0]), ds, adjoint(extend_tangent(dv, adjoint(ans[2])))


@takes_absent
def _svd_vjp(
    g: Any,
    ans: Value,
    a: Value,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Value:
    u, s, v = _svd_parts(ans, a, compute_uv, hermitian)
    if hermitian:
        sign = _signs(u, v)
        gu, gs, gv = g if compute_uv else (None, g, None)
        gs = None if gs is None else gs * sign
        gv = None if gv is None else adjoint(gv) * as_row(sign)
        return eigh_vjp((gs, gv if gu is None else gu if gv is None else gu + gv), (s * sign, u))
    if not compute_uv:
        return np.matmul(u * as_row(share(g, s)), adjoint(v))
    gu, gs, gv = g
    if gu is None and gv is None:
        return np.matmul(u * as_row(share(gs, s)), adjoint(v))
    gu = 0 * u if gu is None else restrict_cotangent(gu, u, ans[0], "svd")
    gv = 0 * v if gv is None else restrict_cotangent(adjoint(gv), v, adjoint(ans[2]), "svd")
    eye = np.eye(s.shape[-1], dtype=s.dtype)
    on_u, on_v = np.matmul(adjoint(u), gu), np.matmul(adjoint(v), gv)
    mixed, turned = (0.5 * (k - adjoint(k)) for k in (on_u + on_v, on_u - on_v))
    if mixed.dtype.kind == "c":
        check_choice(eye * (on_u + on_v), (gu, gv), "svd", "the phases of the vectors")
    inner = over_gaps(mixed, s, "svd", counting(mixed, gs, gu, gv)) + turned * _inverse_sums(s)
    inner = inner + slope(eye * (0.5 * (on_u - adjoint(on_u))), as_row(s))
    inner = inner if gs is None else inner + eye * as_row(share(gs, s))
    c = np.matmul(np.matmul(u, inner), adjoint(v))
    m, n = np.shape(a)[-2:]
    if m > n:
        c = c + np.matmul(slope(gu - np.matmul(u, on_u), as_row(s)), adjoint(v))
    if n > m:
        c = c + np.matmul(u, adjoint(slope(gv - np.matmul(v, on_v), as_row(s))))
    return c


op(
    np.linalg.svd,
    "a full_matrices compute_uv hermitian",
    vmap=stacked_vmap(np.linalg.svd),
    jvp={"a": _svd_jvp},
    vjp={"a": _svd_vjp},
)
composite(np.linalg.svdvals, lambda x, /: np.linalg.svd(x, compute_uv=False))
