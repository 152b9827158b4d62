"""Rules for similar matrices in `scipy.linalg`: the forms of Schur and Hessenberg, balance.

NOTE [the derivative of Schur's form]
    Of ``a = z t z^H`` the derivative is ``z^H da z = dt + s t - t s``, where ``s = z^H dz`` is
    skew-Hermitian. Below the (quasi-)triangle dt is zero. As t is zero there too, these equations
    have the part of s below the triangle alone, which `solve_below` finds: one column of it
    after the other. In a block of two rows, LAPACK makes both diagonal elements equal: so are
    their derivatives, which gives the rotation of the block. The eigenvalues have to be distinct.
    Of a complex result the phases of the columns of z are arbitrary: LAPACK's jump from one
    matrix to the next. Here they move as little as they have to (the diagonal of s is zero),
    which is right for all that does not depend on the phases.

NOTE [the derivative of Hessenberg's form]
    Of ``a = q h q^H`` the derivative is ``q^H da q = dh + s h - h s``, where ``s = q^H dq`` is
    skew-Hermitian. The first column of q is the first unit vector, so that of s is zero. Below the
    subdiagonal dh is zero: these equations give the part of s below its diagonal, one column after
    the other (`solve_columns`). Of a complex matrix LAPACK makes the subdiagonal real, which gives
    the diagonal of s. Where an element of the subdiagonal is zero, the next columns of q jump.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value, align
from ...._rules.constructors import check_values
from ...._rules.linalg.contract import conj
from ...._rules.linalg.gaps import check_choice
from ...._rules.linalg.orthogonal import adjoint, reciprocal
from ....protocol import constant, op, primitive, unsupported
from ..declare import declare_composite
from .factorizations import take_rows
from .solves import system
from .stacks import (
    as_lapack,
    at_once,
    checked,
    lapack_dtype,
    matrices,
    refuse,
    require_square,
    stacking,
)

# ---- the equation below the triangle ----


def commuted(t: Value, s: Value) -> Value:
    return np.matmul(t, s) - np.matmul(s, t)


def _blocks(t: Value) -> Value:
    """Return 1 for each row that shares a block with the next one, else 0."""
    found = np.not_equal(np.diagonal(t, -1, -2, -1), 0)
    return np.astype(found, np.real(t[..., :0, :0]).dtype)


def on_subdiagonal(x: Value) -> Value:
    """Return the matrices of these numbers below the diagonal."""
    n = x.shape[-1] + 1
    return np.eye(n, n - 1, -1, dtype=x.dtype) * x[..., None, :] @ np.eye(n - 1, n, dtype=x.dtype)


def _below(t: Value, x: Value) -> Value:
    """Return the part of `x` below the (quasi-)triangle of `t`."""
    return np.tril(x, -1) * (1 - on_subdiagonal(_blocks(t)))


def _triangulate(t: Value) -> tuple:
    """Return a triangular matrix and the unitary one that transforms it to a quasi-triangular one.

    The eigenvectors of ``[[a, b], [c, a]]`` with ``b c < 0`` are ``[b, i w]``, ``[i w, b]``, with
    ``w = sqrt(-b c)``.
    """
    blocks = _blocks(t)
    b, c = np.diagonal(t, 1, -2, -1), np.diagonal(t, -1, -2, -1)
    size = np.where(blocks, np.absolute(b) + np.absolute(c), 1)
    along = np.where(blocks, np.sign(b) * np.sqrt(np.absolute(b) / size), 1)
    across = on_subdiagonal(blocks * np.sqrt(np.absolute(c) / size))
    one = np.ones_like(t[..., :1, 0])
    both = np.concatenate([along, one], -1) * np.concatenate([one, along], -1)
    q = np.eye(t.shape[-1]) * both[..., None, :] + 1j * (across + across.mT)
    q = q.astype(np.result_type(t, np.complex64))
    return np.triu(adjoint(q) @ t @ q), q


def _solve_below(t: Value, m: Value, back: bool = False) -> Value:
    """Return the x below the triangle of t for which ``t x - x t`` is `m` there.

    `back`: its transpose, the x for which ``t^H x - x t^H`` is `m` there. The blocks of `t` are
    those of LAPACK, with equal elements on the diagonal.
    """
    m = _below(t, m)
    n = t.shape[-1]
    if n < 2 or not m.size:
        return m
    blocks = _blocks(t)
    if blocks.any():
        _refuse_rotations(blocks, np.diagonal(t, 1, -2, -1), np.diagonal(t, -1, -2, -1))
        triangular, q = _triangulate(t)
        x = _solve_below(triangular, adjoint(q) @ m @ q, back)
        return _below(t, np.real(q @ x @ adjoint(q)))
    w = np.diagonal(t, 0, -2, -1)
    if np.any(np.equal(w[..., None, :], w[..., None]) & ~np.eye(n, dtype=bool)):
        raise np.linalg.LinAlgError(
            "scipy.linalg.schur has no derivative where two eigenvalues are equal, because its "
            "factors jump there"
        )
    x = np.zeros_like(m)
    for j in range(n - 1)[:: -1 if back else 1]:
        rest = slice(j + 1, None)
        gaps = t[..., rest, rest] - np.eye(n - 1 - j) * w[..., j, None, None]
        if back:
            known = x[..., rest, rest] @ conj(t[..., j, rest, None])
        else:
            known = x[..., rest, :j] @ t[..., :j, j, None]
        right = m[..., rest, j, None] + known
        gaps = adjoint(gaps) if back else gaps
        x[..., rest, j] = system(gaps, right, "lower" if back else "upper")[..., 0]
    return x


def _refuse_rotations(blocks: Value, b: Value, c: Value) -> None:
    """Raise for a block ``[[a, b], [-b, a]]``, which any rotation leaves as it is."""
    size = np.absolute(b) + np.absolute(c)
    if np.any(blocks * (np.absolute(b + c) <= 8 * np.finfo(b.dtype).eps * size)):
        raise np.linalg.LinAlgError(
            "scipy.linalg.schur has no derivative here, because a block of two rows is a rotation "
            "(in a skew-symmetric matrix each is one), and its vectors jump; write output='complex'"
        )


solve_below = primitive(_solve_below)


def declare_solver(solve: Callable) -> None:
    """Declare a solver of ``t x - x t = m``, where some elements of x and of m count."""

    def jvp_t(d: Value, ans: Value, t: Value, back: bool = False) -> Value:
        return -solve(t, commuted(adjoint(d) if back else d, ans), back)

    def both(g: Value, ans: Value, t: Value, back: bool = False) -> tuple:
        c = solve(t, g, not back)
        on_t = commuted(adjoint(ans), c)
        return adjoint(on_t) if back else on_t, c

    def vmap(k: int, t: Value, m: Value, back: bool = False) -> Value:
        t, m = align(k, (t, m))
        lead = np.broadcast_shapes(t.shape[:-2], m.shape[:-2])
        t, m = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (t, m))
        return solve(t, m, back)

    op(
        solve,
        "t m back",
        "t m",
        vmap=vmap,
        jvp={"t": jvp_t, "m": lambda d, t, back=False: solve(t, d, back)},
        vjp={
            "t": lambda g, ans, t, back=False: both(g, ans, t, back)[0],
            "m": lambda g, t, back=False: solve(t, g, not back),
        },
        joint=both,
    )


declare_solver(solve_below)


# ---- schur ----


def _schur_one(a: Value, sort: Any = None) -> tuple:
    if sort is None:
        return sl.schur(a, _output(a), check_finite=False)
    t, z, count = sl.schur(a, _output(a), sort=sort, check_finite=False)
    return t, z, np.int64(count)


def _output(a: Value) -> str:
    return "complex" if a.dtype.kind == "c" else "real"


def skew(x: Value) -> Value:
    return x - adjoint(x)


def _slopes(t: Value) -> Value:
    """Return the rotation of each block by the difference of its diagonal elements."""
    sums = np.diagonal(t, -1, -2, -1) + np.diagonal(t, 1, -2, -1)
    return -0.5 * _blocks(t) * reciprocal(sums)


def _kept(t: Value) -> Value:
    """Return 1 for each element that is not zero by the form of the matrix."""
    n = t.shape[-1]
    return np.tri(n, dtype=np.real(t[..., :0, :0]).dtype).T + on_subdiagonal(_blocks(t))


def _schur_jvp(d: Value, ans: tuple) -> tuple:
    t, z = ans[:2]
    moved = np.matmul(np.matmul(adjoint(z), d), z)
    s = skew(-solve_below(t, moved))
    if t.dtype.kind != "c":
        w = np.diagonal(moved + commuted(t, s), 0, -2, -1)
        s = s + skew(on_subdiagonal(_slopes(t) * (w[..., :-1] - w[..., 1:])))
    dt = _kept(t) * (moved + commuted(t, s))
    return dt, np.matmul(z, s), *[None for _ in ans[2:]]


def _schur_vjp(g: tuple, ans: tuple) -> Value:
    t, z = ans[:2]
    on_t, on_z = _kept(t) * g[0], np.matmul(adjoint(z), g[1])
    if t.dtype.kind != "c":
        on_s = skew(on_z + commuted(t.mT, on_t))
        on_gap = _slopes(t) * np.diagonal(on_s, -1, -2, -1)
        zero = np.zeros_like(t[..., :1, 0])
        on_w = np.concatenate([on_gap, zero], -1) - np.concatenate([zero, on_gap], -1)
        on_t = on_t + on_w[..., None, :] * np.eye(t.shape[-1], dtype=t.dtype)
    on_s = on_z + commuted(adjoint(t), on_t)
    if t.dtype.kind == "c":
        on_phases = np.eye(t.shape[-1], dtype=t.dtype) * on_s
        check_choice(on_phases, g[:2], "schur", "the phases of the vectors")
    on_s = skew(on_s)
    return np.matmul(np.matmul(z, on_t - solve_below(t, on_s, True)), adjoint(z))


schur = primitive(stacking("schur", _schur_one))
op(schur, "a sort", vmap=at_once(schur), jvp={"a": _schur_jvp}, vjp={"a": _schur_vjp})

DOUBLE = "ild"
"""The dtypes of real matrices of which SciPy computes a complex form in double precision."""


@declare_composite(sl, "schur")
def _scipy_schur(
    a: Value,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> tuple:
    """Return both factors, and the number of eigenvalues that come first with ``sort=``."""
    (a,) = checked(check_finite, a)
    require_square(sl.schur, a)
    if output not in ("real", "complex", "r", "c") or not (
        sort is None or callable(sort) or sort in ("lhp", "rhp", "iuc", "ouc")
    ):
        refuse(sl.schur, a, output=output, sort=sort)
    if a.dtype.kind in "iu":
        a = np.astype(a, np.float64)
    if output[0] == "c" and a.dtype.char not in "FD":
        a = np.astype(a, np.complex128 if a.dtype.char in DOUBLE else np.complex64)
    return schur(np.astype(a, lapack_dtype(a), copy=False), sort)


# ---- a complex form of a real one ----


@declare_composite(sl, "rsf2csf")
def _rsf2csf(T: Value, Z: Value, check_finite: bool = True) -> tuple:
    """Turn the first row of each block to the eigenvalue that LAPACK finds first.

    What is zero below the diagonal of `T` stays so, as in a result of `schur`.
    """
    Z, T = matrices(check_finite, Z, T)
    n = T.shape[-1] if T.ndim else 0
    if T.ndim < 2 or Z.ndim < 2 or not T.shape[-2] == n == Z.shape[-1] == Z.shape[-2]:
        refuse(sl.rsf2csf, T, Z)
    single = np.result_type(T, Z).char in "fF"
    T, Z = (np.astype(x, np.complex64 if single else np.complex128) for x in (T, Z))
    if n < 2:
        return T, Z
    w, below = np.diagonal(T, 0, -2, -1), np.diagonal(T, -1, -2, -1)
    tiny = np.finfo(float).eps * (np.absolute(w[..., 1:]) + np.absolute(w[..., :-1]))
    blocks = check_values(np.absolute(below) > tiny, _apart, OVERLAP)
    pairs = np.stack(
        [
            np.stack([w[..., :-1], np.diagonal(T, 1, -2, -1)], -1),
            np.stack([below, w[..., 1:]], -1),
        ],
        -2,
    )
    pairs = np.where(blocks[..., None, None], pairs, np.array([[1, 0], [0, 0]], T.dtype))
    mu = np.linalg.eigvals(pairs)[..., 0] - w[..., 1:]
    mu = np.where(blocks, mu, 1)
    s = np.where(blocks, below, 0)
    r = np.sqrt(np.real(mu * conj(mu) + s * conj(s)))
    one = np.ones_like(w[..., :1])
    c, s = mu / r, s / r
    diagonal = np.concatenate([c, one], -1) * np.concatenate([one, conj(c)], -1)
    turn = diagonal[..., None, :] * np.eye(n, dtype=T.dtype)
    turn = turn + on_subdiagonal(s) - on_subdiagonal(s).mT
    return np.triu(np.matmul(np.matmul(adjoint(turn), T), turn)), np.matmul(Z, turn)


OVERLAP = (
    "scipy.linalg.rsf2csf: T is not a real Schur form: two numbers below its diagonal follow each "
    "other; write T, Z = scipy.linalg.schur(a)"
)


def _apart(blocks: Value) -> bool:
    return not np.any(blocks[..., 1:] & blocks[..., :-1])


# ---- forms without a rule ----

for _name, _reason in {
    "qz": "for a regular B write scipy.linalg.schur(scipy.linalg.solve(B, A))",
    "ordqz": "for a regular B write scipy.linalg.schur(scipy.linalg.solve(B, A), sort=...)",
    "ldl": "write scipy.linalg.cholesky of a positive definite matrix, or scipy.linalg.lu",
    "cossin": "write scipy.linalg.svd of the blocks of the matrix",
    "qr_delete": "write scipy.linalg.qr of the matrix without the rows or columns",
    "qr_insert": "write scipy.linalg.qr of the matrix with the rows or columns",
    "qr_update": "write scipy.linalg.qr(Q @ R + numpy.outer(u, numpy.conj(v)))",
}.items():
    unsupported(getattr(sl, _name), f"it has no derivative rule; {_reason}")


# ---- a balanced matrix: its scales are powers of 2, which do not move ----


def _scales_one(a: Value, permute: bool, scale: bool) -> tuple:
    return sl.matrix_balance(a, permute, scale, True)[1]


scales = primitive(stacking("matrix_balance", _scales_one))
constant(scales, "a permute scale", vmap=at_once(scales))


@declare_composite(sl, "matrix_balance")
def _matrix_balance(
    A: Value,
    permute: bool = True,
    scale: bool = True,
    separate: bool = False,
    overwrite_a: bool = False,
) -> tuple:
    (A,) = matrices(True, A)
    require_square(sl.matrix_balance, A)
    size, order = scales(A, permute, scale)
    A = np.astype(A, lapack_dtype(A), copy=False)
    sizes = np.astype(size, np.real(A[..., :0, :0]).dtype)
    balanced = take_rows(take_rows(A, order).mT, order).mT
    balanced = balanced * sizes[..., None, :] / sizes[..., None]
    if separate:
        return balanced, (size, order)
    n = A.shape[-1]
    return balanced, take_rows(np.eye(n) * size[..., None, :], np.argsort(order, axis=-1))


# ---- the equation below the subdiagonal ----


def _solve_columns(h: Value, m: Value, back: bool = False) -> Value:
    """Return the x for which ``h x - x h`` is `m` below the subdiagonal.

    It is zero but for the elements below the diagonal and right of the first column. `back`: its
    transpose, the x below the subdiagonal for which ``h^H x - x h^H`` is `m` in these elements.
    """
    x, n = np.zeros_like(m), m.shape[-1]
    below = np.diagonal(h, -1, -2, -1)
    if not np.all(below if h.dtype.kind == "c" else below[..., : n - 2]):
        raise np.linalg.LinAlgError(
            "scipy.linalg.hessenberg has no derivative where a number below the diagonal of the "
            "result is zero, because the other factor jumps there"
        )
    for j in range(n - 2)[:: -1 if back else 1]:
        if back:
            rows = slice(j + 2, None)
            known = adjoint(h)[..., rows, :] @ x[..., :, j + 1, None]
            known = known - x[..., rows, j + 1 :] @ conj(h[..., j + 1, j + 1 :, None])
            found = known[..., 0] - m[..., rows, j + 1]
            x[..., rows, j] = found / conj(below[..., j, None])
        else:
            rows = slice(j + 2, None)
            known = h[..., rows, :] @ x[..., :, j, None]
            known = known - x[..., rows, : j + 1] @ h[..., : j + 1, j, None]
            x[..., rows, j + 1] = (known[..., 0] - m[..., rows, j]) / below[..., j, None]
    return x


solve_columns = primitive(_solve_columns)
declare_solver(solve_columns)

# ---- hessenberg ----

hessenberg = primitive(
    stacking("hessenberg", lambda a: sl.hessenberg(a, calc_q=True, check_finite=False))
)


def _jvp(d: Value, ans: tuple) -> tuple:
    h, q = ans
    moved = np.matmul(np.matmul(adjoint(q), d), q)
    s = skew(-solve_columns(h, moved))
    if h.dtype.kind == "c":
        turned = np.imag(np.diagonal(moved + commuted(h, s), -1, -2, -1))
        angles = np.cumsum(turned * reciprocal(np.real(np.diagonal(h, -1, -2, -1))), axis=-1)
        angles = np.concatenate([np.zeros_like(angles[..., :1]), angles], axis=-1)
        s = s + 1j * (np.eye(h.shape[-1], dtype=angles.dtype) * angles[..., None, :])
    return np.triu(moved + commuted(h, s), -1), np.matmul(q, s)


def _vjp(g: tuple, ans: tuple) -> Value:
    h, q = ans
    on_h, on_q = np.triu(g[0], -1), np.matmul(adjoint(q), g[1])
    if h.dtype.kind == "c":
        on_angles = np.imag(np.diagonal(on_q + commuted(adjoint(h), on_h), 0, -2, -1))
        on_angles = np.flip(np.cumsum(np.flip(on_angles[..., 1:], -1), axis=-1), -1)
        on_turned = on_angles * reciprocal(np.real(np.diagonal(h, -1, -2, -1)))
        on_h = on_h + 1j * on_subdiagonal(on_turned)
    on_s = skew(on_q + commuted(adjoint(h), on_h))
    return np.matmul(np.matmul(q, on_h - solve_columns(h, on_s, True)), adjoint(q))


op(hessenberg, "a", vmap=at_once(hessenberg), jvp={"a": _jvp}, vjp={"a": _vjp})


@declare_composite(sl, "hessenberg")
def _scipy_hessenberg(
    a: Value, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    (a,) = checked(check_finite, a)
    require_square(sl.hessenberg, a)
    n = a.shape[-1]
    if 0 < n <= 2:  # which SciPy leaves as it is
        return (a, np.broadcast_to(np.eye(n), a.shape)) if calc_q else a
    a = as_lapack(a)
    found = hessenberg(np.astype(a, lapack_dtype(a), copy=False))
    return found if calc_q else found[0]
