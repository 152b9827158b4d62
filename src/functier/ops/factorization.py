"""Factorizations: `numpy.linalg` makes them for stacks of matrices over leading axes.

What NumPy takes to be Hermitian (`cholesky`, `eigh`, `eigvalsh`, of which it reads one
triangle) has a Hermitian gradient, as in PyTorch. Eigenvalues and singular values have to
be distinct for the derivatives of the vectors; where two are equal their mixing counts as
zero. The formulas are those of Giles, *An extended collection of matrix derivative
results* (2008), unless a rule names another source.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import NoRuleError
from ._contract import conj
from ._families import composite, op

# ---- helpers ----


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return conj(x).mT


def hermitian(x: Any) -> Any:
    """The Hermitian part."""
    return (x + adjoint(x)) * 0.5


def column(x: Any) -> Any:
    """Vectors as matrices of one column."""
    return x.reshape((*x.shape, 1))


def row(x: Any) -> Any:
    """Vectors as matrices of one row."""
    return x.reshape((*x.shape[:-1], 1, x.shape[-1]))


def factor(x: Any) -> Any:
    """Scalars as what multiplies matrices: stacks of them as matrices of one element."""
    return x.reshape((*x.shape, 1, 1)) if np.ndim(x) else x


def half_lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    n = x.shape[-1]
    return x * (np.tri(n, dtype=x.dtype) - 0.5 * np.eye(n, dtype=x.dtype))


def reciprocal(x: Any) -> Any:
    """1 / x, with 0 for 0."""
    zero = np.equal(x, 0)
    return np.where(zero, 0, 1 / np.where(zero, 1, x))


def gaps(w: Any) -> Any:
    """1 / (w_j - w_i), with 0 on the diagonal and for equal values."""
    return reciprocal(row(w) - column(w))


def stacked(func: Callable) -> Callable:
    """The batching rule of what works on the last two axes: NumPy's own."""

    def rule(k: int, a: Any, **params: Any) -> Any:
        if a.ndim - k < 2:  # a batch axis must not be taken for an axis of the matrix
            return func(np.broadcast_to(1.0, a.shape[k:]), **params)
        return func(a, **params)

    return rule


# ---- cholesky: Murray, Differentiation of the Cholesky decomposition (2016) ----


def _cholesky_jvp(t: Any, ans: Any, upper: bool = False) -> Any:
    lower = adjoint(ans) if upper else ans
    inverse = np.linalg.inv(lower)
    inner = np.matmul(np.matmul(inverse, hermitian(t)), adjoint(inverse))
    moved = np.matmul(lower, half_lower(inner))
    return adjoint(moved) if upper else moved


def _cholesky_vjp(g: Any, ans: Any, upper: bool = False) -> Any:
    lower, g = (adjoint(ans), adjoint(g)) if upper else (ans, g)
    inverse = np.linalg.inv(lower)
    inner = half_lower(np.matmul(adjoint(lower), g))
    return hermitian(np.matmul(np.matmul(adjoint(inverse), inner), inverse))


op(
    np.linalg.cholesky,
    "a upper",
    vmap=stacked(np.linalg.cholesky),
    jvp={"a": _cholesky_jvp},
    vjp={"a": _cholesky_vjp},
)

# ---- eigenvalues ----


def _eigh_jvp(t: Any, ans: Any) -> Any:
    w, v = ans
    inner = np.matmul(np.matmul(adjoint(v), hermitian(t)), v)
    return np.real(np.diagonal(inner, 0, -2, -1)), np.matmul(v, gaps(w) * inner)


def _eigh_vjp(g: Any, ans: Any) -> Any:
    w, v = ans
    inner = gaps(w) * np.matmul(adjoint(v), g[1]) + row(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    return hermitian(np.matmul(np.matmul(v, inner), adjoint(v)))


def _eigvalsh_jvp(t: Any, a: Any, UPLO: Any = "L") -> Any:
    v = np.linalg.eigh(a, UPLO)[1]
    return np.real(np.sum(conj(v) * np.matmul(hermitian(t), v), axis=-2))


def _eigvalsh_vjp(g: Any, a: Any, UPLO: Any = "L") -> Any:
    v = np.linalg.eigh(a, UPLO)[1]
    return np.matmul(v * row(g), adjoint(v))


op(
    np.linalg.eigh,
    "a UPLO",
    vmap=stacked(np.linalg.eigh),
    jvp={"a": _eigh_jvp},
    vjp={"a": _eigh_vjp},
)
op(
    np.linalg.eigvalsh,
    "a UPLO",
    vmap=stacked(np.linalg.eigvalsh),
    jvp={"a": _eigvalsh_jvp},
    vjp={"a": _eigvalsh_vjp},
)

# ---- qr: Walter and Lehmann, Algorithmic differentiation of linear algebra (2012) ----


def _thin(func: Any, a: Any, thin: bool) -> None:
    m, n = np.shape(a)[-2:]
    if not thin and m != n:
        raise NoRuleError(f"numpy.linalg.{func} has no derivative rule for {m} by {n}: pass "
                          f"{'full_matrices=False' if func == 'svd' else 'a tall matrix'}, "
                          f"for factors that the matrix determines")  # fmt: skip


def _qr_check(a: Any, mode: str) -> None:
    if mode not in ("reduced", "complete"):
        raise NoRuleError(f"numpy.linalg.qr has no derivative rule for mode={mode!r}; "
                          f"write numpy.linalg.qr(a).R")  # fmt: skip
    m, n = np.shape(a)[-2:]
    _thin("qr", a, mode == "reduced" and m >= n)


def _qr_jvp(t: Any, ans: Any, a: Any, mode: str = "reduced") -> Any:
    _qr_check(a, mode)
    q, r = ans
    moved = adjoint(np.linalg.solve(adjoint(r), adjoint(t)))
    inner = np.matmul(adjoint(q), moved)
    turn = half_lower(inner)
    turn = turn - adjoint(turn) - inner
    return np.matmul(q, turn) + moved, -np.matmul(turn, r)


def _qr_vjp(g: Any, ans: Any, a: Any, mode: str = "reduced") -> Any:
    _qr_check(a, mode)
    q, r = ans
    inner = np.matmul(g[1], adjoint(r)) - np.matmul(adjoint(q), g[0])
    inner = inner - half_lower(inner - adjoint(inner))
    return adjoint(np.linalg.solve(r, adjoint(g[0] + np.matmul(q, inner))))


op(
    np.linalg.qr,
    "a mode",
    vmap=stacked(np.linalg.qr),
    jvp={"a": _qr_jvp},
    vjp={"a": _qr_vjp},
)

# ---- svd: Townsend, Differentiating the singular value decomposition (2016) ----


def _svd_parts(ans: Any, a: Any, full_matrices: bool, compute_uv: bool) -> tuple:
    """U, s, V of a thin decomposition."""
    if not compute_uv:
        ans = np.linalg.svd(a, full_matrices=False)
    else:
        _thin("svd", a, not full_matrices)
    return ans[0], ans[1], adjoint(ans[2])


def _svd_jvp(
    t: Any,
    ans: Any,
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Any:
    u, s, v = _svd_parts(ans, a, full_matrices, compute_uv)
    inner = np.matmul(np.matmul(adjoint(u), t), v)
    ds = np.real(np.diagonal(inner, 0, -2, -1))
    if not compute_uv:
        return ds
    gap, eye = gaps(s * s), np.eye(s.shape[-1], dtype=s.dtype)
    left, right = inner * row(s), column(s) * inner
    phase = 0.5 * (inner - adjoint(inner)) * (eye * row(reciprocal(s)))
    du = np.matmul(u, gap * (left + adjoint(left)) + phase)
    dv = np.matmul(v, gap * (right + adjoint(right)))
    m, n = np.shape(a)[-2:]
    if m > n:
        du = du + (np.matmul(t, v) - np.matmul(u, inner)) * row(reciprocal(s))
    if n > m:
        back = np.matmul(adjoint(t), u) - np.matmul(v, adjoint(inner))
        dv = dv + back * row(reciprocal(s))
    return du, ds, adjoint(dv)


def _svd_vjp(
    g: Any,
    ans: Any,
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Any:
    u, s, v = _svd_parts(ans, a, full_matrices, compute_uv)
    if not compute_uv:
        return np.matmul(u * row(g), adjoint(v))
    gu, gs, gv = g[0], g[1], adjoint(g[2])
    gap, eye = gaps(s * s), np.eye(s.shape[-1], dtype=s.dtype)
    on_u, on_v = np.matmul(adjoint(u), gu), np.matmul(adjoint(v), gv)
    left, right = gap * on_u, gap * on_v
    inner = (left + adjoint(left)) * row(s) + column(s) * (right + adjoint(right))
    inner = inner + eye * (row(gs) + 0.5 * (on_u - adjoint(on_u)) * row(reciprocal(s)))
    c = np.matmul(np.matmul(u, inner), adjoint(v))
    m, n = np.shape(a)[-2:]
    if m > n:
        c = c + np.matmul((gu - np.matmul(u, on_u)) * row(reciprocal(s)), adjoint(v))
    if n > m:
        c = c + np.matmul(u * row(reciprocal(s)), adjoint(gv - np.matmul(v, on_v)))
    return c


op(
    np.linalg.svd,
    "a full_matrices compute_uv hermitian",
    vmap=stacked(np.linalg.svd),
    jvp={"a": _svd_jvp},
    vjp={"a": _svd_vjp},
)
composite(np.linalg.svdvals, lambda x, /: np.linalg.svd(x, compute_uv=False))
