"""Rules for the banded matrices of `scipy.linalg`, without a whole matrix where SciPy has none.

NOTE [diagonal form]
    The element ``a[i, j]`` of a matrix with `l` diagonals below and `u` above the main one is
    ``ab[u + i - j, j]``. The corners of `ab` that no element of the matrix has are ignored. A
    Hermitian matrix is given by its upper (`lower`) diagonals; of its main diagonal the real part
    counts, and what the others have is the derivative by both elements that they stand for.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.linalg.contract import conj
from ..declare import declare, declare_composite, dispatching, record_of
from .eigen import eigh, eigvalsh, like_scipys, part_of
from .stacks import declare_of_pair, each_vmap, keeping, lapack_dtype, matrices, refuse

# ---- matrices in diagonal form ----


def shift(x: Value, by: int, axis: int) -> Value:
    """Move the elements along an axis by some places; zeros come in."""
    if not by:
        return x
    n = x.shape[axis]
    zeros = np.zeros_like(x)
    part = (slice(None),) * (axis % x.ndim)
    k = min(abs(by), n)
    if by > 0:
        return np.concatenate([zeros[(*part, slice(0, k))], x[(*part, slice(0, n - k))]], axis)
    return np.concatenate([x[(*part, slice(k, None))], zeros[(*part, slice(0, k))]], axis)


def _times(upper: int, ab: Value, x: Value) -> Value:
    """Multiply columns by the matrix."""
    terms = (shift(ab[..., r, :, None] * x, r - upper, -2) for r in range(ab.shape[-2]))
    return functools.reduce(np.add, terms)


def _outer(lower: int, upper: int, z: Value, x: Value) -> Value:
    """Return the band of ``z x^H``, of columns: the cotangent of the matrix in `_times`."""
    rows = [np.sum(shift(z, upper - r, -2) * conj(x), -1) for r in range(lower + upper + 1)]
    return np.stack(rows, axis=-2)


def _adjoint(lower: int, upper: int, ab: Value) -> Value:
    """Return the conjugate transpose, which has `upper` diagonals below and `lower` above."""
    ab = conj(ab)
    rows = [shift(ab[..., lower + upper - r, :], lower - r, -1) for r in range(lower + upper + 1)]
    return np.stack(rows, axis=-2)


def _hermitian(ab: Value, lower: bool) -> Value:
    """Return the diagonal form of the whole of a Hermitian matrix."""
    n = ab.shape[-2] - 1
    main = np.real(ab[..., :1, :] if lower else ab[..., n:, :])
    rest = ab[..., 1:, :] if lower else ab[..., :n, :]
    zeros = np.zeros_like(rest)
    if lower:
        half = np.concatenate([zeros, np.zeros_like(main), rest], axis=-2)
    else:
        half = np.concatenate([rest, np.zeros_like(main), zeros], axis=-2)
    return half + _adjoint(n, n, half) + np.concatenate([zeros, main, zeros], axis=-2)


def _fold(g: Value, lower: bool) -> Value:
    """Return the cotangent of half of the diagonals, given that of all: see `_hermitian`."""
    n = g.shape[-2] // 2
    both = g + _adjoint(n, n, g)
    main = np.real(g[..., n : n + 1, :])
    parts = [main, both[..., n + 1 :, :]] if lower else [both[..., :n, :], main]
    return np.concatenate(parts, axis=-2)


def _columns(x: Value, b_shape: Any) -> Value:
    """Return vectors, where the right-hand side is one, as matrices of one column."""
    return x[..., None] if len(b_shape) == 1 else x


def _solve(call: Callable, b: Value, ab: Value, rank: int) -> Value:
    """Solve for stacks of vectors too, where the right-hand side of the call was a vector."""
    if rank == 1 and b.ndim > 1:
        return call(ab, b[..., None])[..., 0]
    return call(ab, b)


def _require_diagonals(name: str, ab: Value) -> None:
    """Raise for one diagonal without its axis, of which SciPy reads the first number only."""
    if ab.ndim < 2:
        raise ValueError(
            f"scipy.linalg.{name}: expected diagonals with two axes, got the shape {ab.shape}; "
            f"write ab[None] for a matrix with one diagonal"
        )


# ---- solve_banded ----


def _general(l_and_u: Any, ab: Value, b: Value, rank: int) -> Value:
    return _solve(lambda a, b: dispatching(sl.solve_banded)(l_and_u, a, b), b, ab, rank)


def _banded_ab_jvp(t: Value, ans: Value, l_and_u: Any, ab: Value, b_shape: Any) -> Value:
    moved = _times(l_and_u[1], t, _columns(ans, b_shape))
    moved = moved[..., 0] if len(b_shape) == 1 else moved
    return -_general(l_and_u, ab, moved, len(b_shape))


def _banded_b_vjp(g: Value, l_and_u: Any, ab: Value, b_shape: Any) -> Value:
    lower, upper = l_and_u
    return _general((upper, lower), _adjoint(lower, upper, ab), g, len(b_shape))


def _banded_both(g: Value, ans: Value, l_and_u: Any, ab: Value, b_shape: Any) -> tuple:
    z = _banded_b_vjp(g, l_and_u, ab, b_shape)
    lower, upper = l_and_u
    return -_outer(lower, upper, _columns(z, b_shape), _columns(ans, b_shape)), z


def _banded_form(l_and_u: Any, ab: Value, b: Value, **params: Any) -> Value:
    return np.zeros(b.shape, np.result_type(ab, b, np.float32))


declare(
    sl,
    "solve_banded",
    "l_and_u ab b overwrite_ab overwrite_b check_finite",
    "ab b",
    kernel=keeping(sl.solve_banded),
    vmap=each_vmap(keeping(sl.solve_banded), _banded_form),
    jvp={
        "ab": _banded_ab_jvp,
        "b": lambda t, l_and_u, ab, b_shape: _general(l_and_u, ab, t, len(b_shape)),
    },
    vjp={
        "ab": lambda g, ans, l_and_u, ab, b_shape: _banded_both(g, ans, l_and_u, ab, b_shape)[0],
        "b": _banded_b_vjp,
    },
    joint=_banded_both,
)

# ---- solveh_banded ----


def _definite(ab: Value, b: Value, rank: int, lower: bool) -> Value:
    call = dispatching(sl.solveh_banded)
    return _solve(lambda a, b: call(a, b, lower=lower), b, ab, rank)


def _solve_definite(ab: Value, b: Value, **params: Any) -> Value:
    _require_diagonals("solveh_banded", ab)
    return keeping(sl.solveh_banded)(ab, b, **params)


def _definite_ab_jvp(t: Value, ans: Value, ab: Value, b_shape: Any, lower: bool = False) -> Value:
    moved = _times(ab.shape[-2] - 1, _hermitian(t, lower), _columns(ans, b_shape))
    moved = moved[..., 0] if len(b_shape) == 1 else moved
    return -_definite(ab, moved, len(b_shape), lower)


def _definite_both(g: Value, ans: Value, ab: Value, b_shape: Any, lower: bool = False) -> tuple:
    z = _definite(ab, g, len(b_shape), lower)
    n = ab.shape[-2] - 1
    return -_fold(_outer(n, n, _columns(z, b_shape), _columns(ans, b_shape)), lower), z


declare(
    sl,
    "solveh_banded",
    "ab b overwrite_ab overwrite_b lower check_finite",
    "ab b",
    kernel=_solve_definite,
    vmap=each_vmap(_solve_definite, lambda ab, b, **params: _banded_form(None, ab, b)),
    jvp={
        "ab": _definite_ab_jvp,
        "b": lambda t, ab, b_shape, lower=False: _definite(ab, t, len(b_shape), lower),
    },
    vjp={
        "ab": lambda g, ans, ab, b_shape, lower=False: _definite_both(g, ans, ab, b_shape, lower)[
            0
        ],
        "b": lambda g, ab, b_shape, lower=False: _definite(ab, g, len(b_shape), lower),
    },
    joint=_definite_both,
)

# ---- cholesky_banded: that of the whole matrix, Murray, Differentiation of the Cholesky
# decomposition (2016) ----


def _places(n: int, size: int) -> tuple:
    """Return row and column of each element of the lower diagonal form, and which are there."""
    rows = np.arange(n + 1)[:, None] + np.arange(size)
    columns = np.broadcast_to(np.arange(size), rows.shape)
    return np.minimum(rows, size - 1), columns, rows < size


def _to_lower(ab: Value, lower: bool) -> Value:
    """Return the lower diagonal form of the lower triangle, or of the upper one's adjoint."""
    n = ab.shape[-2] - 1
    return (
        ab
        if lower
        else np.stack([shift(conj(ab[..., n - r, :]), -r, -1) for r in range(n + 1)], axis=-2)
    )


def _from_lower(ab: Value, lower: bool) -> Value:
    """Return the inverse of `_to_lower`, with zeros in the corner."""
    n = ab.shape[-2] - 1
    return (
        ab
        if lower
        else np.stack([shift(conj(ab[..., n - r, :]), n - r, -1) for r in range(n + 1)], axis=-2)
    )


def _whole(ab: Value) -> Value:
    """Return the lower triangle, from its lower diagonal form."""
    n, size = ab.shape[-2] - 1, ab.shape[-1]
    band = np.arange(size)[:, None] - np.arange(size)
    there = (band >= 0) & (band <= n)
    picked = ab[..., np.clip(band, 0, n), np.arange(size)]
    return np.where(there, picked, 0)


def _band(a: Value, n: int) -> Value:
    """Return the lower diagonal form of a lower triangle: the inverse of `_whole`."""
    rows, columns, there = _places(n, a.shape[-1])
    return np.where(there, a[..., rows, columns], 0)


def _corner(ab: Value, lower: bool) -> Value:
    """Return the elements that SciPy copies, as the matrix does not have them."""
    n, size = ab.shape[-2] - 1, ab.shape[-1]
    there = _places(n, size)[2]
    return np.where(there if lower else there[::-1, ::-1], 0, ab)


CHOLESKY: Any = record_of(np.linalg.cholesky)


def _cholesky_jvp(t: Value, ans: Value, lower: bool = False) -> Value:
    t_whole, whole = (_whole(_to_lower(x, lower)) for x in (t, ans))
    moved = _band(CHOLESKY.jvp["a"].fn(t_whole, whole), ans.shape[-2] - 1)
    return _from_lower(moved, lower) + _corner(t, lower)


def _cholesky_vjp(g: Value, ans: Value, lower: bool = False) -> Value:
    g_whole, whole = (_whole(_to_lower(x, lower)) for x in (g, ans))
    moved = _band(CHOLESKY.vjp["a"].fn(g_whole, whole), ans.shape[-2] - 1)
    return _from_lower(moved, lower) + _corner(g, lower)


declare(
    sl,
    "cholesky_banded",
    "ab overwrite_ab lower check_finite",
    "ab",
    kernel=keeping(sl.cholesky_banded),
    vmap=each_vmap(
        keeping(sl.cholesky_banded),
        lambda ab, **params: np.zeros(ab.shape, np.result_type(ab, np.float32)),
    ),
    jvp={"ab": _cholesky_jvp},
    vjp={"ab": _cholesky_vjp},
)


@declare_of_pair("cho_solve_banded", "cb_and_lower b overwrite_b check_finite")
def _cho_solve_banded(
    cb_and_lower: tuple, b: Value, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """Solve with one triangle after the other."""
    cb, b = matrices(check_finite, cb_and_lower[0], b)
    _require_diagonals("cho_solve_banded", cb)
    n, rank = cb.shape[-2] - 1, b.ndim
    b = np.astype(b, lapack_dtype(cb, b), copy=False)
    if cb_and_lower[1]:
        first, second = cb, _adjoint(n, 0, cb)
    else:
        first, second = _adjoint(0, n, cb), cb
    return _general((0, n), second, _general((n, 0), first, b, rank), rank)


# ---- eigenvalues: those of the whole matrix ----


@declare_composite(sl, "eig_banded")
def _eig_banded(
    a_band: Value,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Sequence | None = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    (a_band,) = matrices(check_finite or not eigvals_only, a_band)
    chosen = {"select": select, "select_range": select_range}
    if a_band.ndim < 2:
        refuse(sl.eig_banded, a_band)
    if a_band.shape[-1]:  # SciPy's error
        sl.eig_banded(np.ones((1, a_band.shape[-1])), eigvals_only=True, **chosen)
    a_band = np.astype(a_band, lapack_dtype(a_band), copy=False)
    matrix = _whole(_to_lower(a_band, lower))
    if eigvals_only:
        w = eigvalsh(matrix)
        return w[..., part_of(w, **chosen)]
    if matrix.dtype.kind == "c":
        raise UnsupportedError(
            "scipy.linalg.eig_banded of a complex tensor is not supported, because LAPACK gives "
            "its vectors an arbitrary phase; write scipy.linalg.eigvals_banded(a_band), or "
            "scipy.linalg.eigh of the whole matrix"
        )
    w, v = eigh(matrix)
    part = part_of(w, **chosen)

    def scipys(a_band: Value, _: Value) -> Value:
        return sl.eig_banded(a_band, lower, max_ev=max_ev, **chosen)[1]

    return w[..., part], like_scipys(v[..., part], a_band, a_band, scipys)


@declare_composite(sl, "eigvals_banded")
def _eigvals_banded(
    a_band: Value,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Sequence | None = None,
    check_finite: bool = True,
) -> Value:
    return _eig_banded(a_band, lower, True, False, select, select_range, check_finite=check_finite)
