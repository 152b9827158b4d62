"""Rules for the factorizations of `scipy.linalg`: Cholesky, LU, QR and RQ.

See NOTE [SciPy's function at the bottom]. The derivatives are those of `_rules.linalg`; for LU
they follow from the same reasoning (see `_lu_parts`). A matrix has to have full rank in its
first rows and columns, of LU but the last; else a factor is singular: `LinAlgError`.
"""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import UnsupportedError
from ...._core.numpy_facts import Value
from ...._rules.axes import as_array
from ...._rules.linalg.contract import conj
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import constant, op, primitive
from ..declare import declare_composite, record_of
from .solves import solve_triangle, system
from .stacks import at_once, lapack_dtype, matrices, refuse, require_square, stacking, triangle

# ---- cholesky ----

cholesky = primitive(
    stacking(
        "cholesky",
        lambda a, upper=False: sl.cholesky(a, lower=not upper, check_finite=False),
        lambda a, upper=False: np.linalg.cholesky(a, upper=upper),
    )
)
op(
    cholesky,
    "a upper",
    vmap=at_once(cholesky),
    jvp=record_of(np.linalg.cholesky).jvp,
    vjp=record_of(np.linalg.cholesky).vjp,
)


@declare_composite(sl, "cholesky")
def _cholesky(
    a: Value, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Value:
    (a,) = matrices(check_finite, a)
    require_square(sl.cholesky, a)
    return cholesky(a, not lower)


KEEPS_TRIANGLE = bool(sl.cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0][1, 0])
"""Tell if `cho_factor` leaves the triangle without the factor as it was, as before SciPy 1.18."""


@declare_composite(sl, "cho_factor")
def _cho_factor(
    a: Value, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple:
    """Return the factor in its triangle, and in the other one zeros, or what was there."""
    (a,) = matrices(check_finite, a)
    require_square(sl.cho_factor, a)
    factor = cholesky(a, not lower)
    return factor + triangle(a, not lower, 1) if KEEPS_TRIANGLE else factor, lower


@declare_composite(sl, "cho_solve")
def _cho_solve(
    c_and_lower: tuple, b: Value, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    factor, lower = c_and_lower
    factor, b = matrices(check_finite, factor, b)
    _require_rows(factor, b, lambda c, b: sl.cho_solve((c, lower), b))
    first, second = (0, 2) if lower else (2, 0)
    x = solve_triangle(factor, b, lower, trans=first)
    return solve_triangle(factor, x, lower, trans=second)


def _require_rows(a: Value, b: Value, func: Any) -> None:
    """Raise SciPy's error where a square matrix and right-hand sides do not fit."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or b.ndim == 0:
        refuse(func, a, b)
    if b.shape[0 if b.ndim == 1 else -2] != a.shape[-1]:
        refuse(func, a, b)


# ---- lu ----


def _row_order(pivots: Value, n: int) -> Value:
    """Return the order of rows that exchanges of row ``i`` with row ``pivots[i]`` make."""
    order = np.broadcast_to(np.arange(n), (*pivots.shape[:-1], n)).copy()
    for i in range(pivots.shape[-1]):
        there = pivots[..., i : i + 1]
        moved = np.take_along_axis(order, there, -1)
        np.put_along_axis(order, there, order[..., i : i + 1].copy(), -1)
        order[..., i : i + 1] = moved
    return order


row_order = primitive(_row_order)
constant(row_order, "pivots n", vmap=lambda k, pivots, n: row_order(pivots, n))


def take_rows(a: Value, order: Value) -> Value:
    """Return matrices with their rows in another order."""
    lead = np.broadcast_shapes(a.shape[:-2], order.shape[:-1])
    a = np.broadcast_to(a, lead + a.shape[-2:])
    order = np.broadcast_to(order, lead + order.shape[-1:])
    return np.take_along_axis(a, order[..., None], -2)


def unpack(packed: Value) -> tuple:
    """Return both factors of the form in which LAPACK stores them, as it stands."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = np.tril(packed[..., :k], -1) + np.eye(m, k, dtype=packed.dtype)
    return lower, np.triu(packed[..., :k, :])


def _lu_parts(packed: Value, pivots: Value) -> tuple:
    """Return both factors as square matrices, what `U` divides by, and the order of rows.

    Of ``P a = L U`` the derivative is ``P da = dL U + L dU``. So ``inner = L^-1 P da U^-1`` is
    ``L^-1 dL``, which is strictly lower triangular, plus ``dU U^-1``, which is upper triangular.
    A factor that is not square is completed by columns (rows) of the identity: what is found
    for these is zero in `dL`, or not part of `dU`. The last column of a square `L` is constant, so
    nothing is divided by the last pivot: a 1 stands for it, and may do so where it is zero.
    """
    m, n = packed.shape[-2:]
    lower, upper = unpack(packed)
    if m > n:
        rest = np.broadcast_to(
            np.eye(m, m - n, -n, dtype=packed.dtype), (*packed.shape[:-1], m - n)
        )
        lower = np.concatenate([lower, rest], axis=-1)
    if n > m:
        rest = np.broadcast_to(np.eye(n - m, n, m, dtype=packed.dtype),
                               (*packed.shape[:-2], n - m, n))  # fmt: skip
        upper = np.concatenate([upper, rest], axis=-2)
    rows, columns = (np.arange(size) == m - 1 for size in upper.shape[-2:])
    divisor = np.where(rows[:, np.newaxis] & columns, 1.0, upper)
    return lower, upper, divisor, row_order(pivots, m)


def _lu_jvp(t: Value, ans: tuple) -> tuple:
    lower, upper, divisor, order = _lu_parts(*ans)
    moved = system(lower, take_rows(t, order), "lower")
    inner = np.tril(system(divisor.mT, moved.mT, "lower").mT, -1)
    return np.matmul(lower, inner) + np.triu(moved - np.matmul(inner, upper)), None


def _lu_vjp(g: tuple, ans: tuple) -> Value:
    lower, upper, divisor, order = _lu_parts(*ans)
    on_upper = np.triu(g[0])
    inner = np.matmul(adjoint(lower), np.tril(g[0], -1)) - np.matmul(on_upper, adjoint(upper))
    inner = adjoint(system(divisor, adjoint(np.tril(inner, -1)), "upper"))
    moved = system(adjoint(lower), on_upper + inner, "upper")
    return take_rows(moved, np.argsort(order, axis=-1))


lu_factor = primitive(stacking("lu_factor", lambda a: sl.lu_factor(a, check_finite=False)))
op(lu_factor, "a", vmap=at_once(lu_factor), jvp={"a": _lu_jvp}, vjp={"a": _lu_vjp})


@declare_composite(sl, "lu_factor")
def _lu_factor(a: Value, overwrite_a: bool = False, check_finite: bool = True) -> tuple:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2:
        refuse(sl.lu_factor, a)
    return lu_factor(a)


@declare_composite(sl, "lu")
def _lu(
    a: Value,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2:
        refuse(sl.lu, a)
    packed, pivots = lu_factor(a)
    m = a.shape[-2]
    order = row_order(pivots, m)
    lower, upper = unpack(packed)
    back = np.argsort(order, axis=-1)
    if permute_l:
        return take_rows(lower, back), upper
    if p_indices:
        example = np.eye(*(min(n, 2) for n in a.shape[-2:]))
        return np.astype(back, sl.lu(example, p_indices=True)[0].dtype), lower, upper
    real = np.finfo(packed.dtype).dtype
    return take_rows(np.eye(m, dtype=real), back), lower, upper


@declare_composite(sl, "lu_solve")
def _lu_solve(
    lu_and_piv: tuple,
    b: Value,
    trans: Any = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    packed, pivots = lu_and_piv
    packed, b = matrices(check_finite, packed, b)
    pivots = as_array(pivots)

    def scipys(packed: Value, b: Value) -> Value:
        return sl.lu_solve((packed, np.arange(packed.shape[-1])), b, trans=trans)

    _require_rows(packed, b, scipys)
    if trans not in (0, 1, 2):
        refuse(scipys, packed, b)
    vector = b.ndim == 1
    b = b.reshape((*b.shape, 1)) if vector else b
    order = row_order(pivots, packed.shape[-1])
    if trans:
        x = solve_triangle(packed, b, False, trans=trans)
        x = take_rows(solve_triangle(packed, x, True, True, trans), np.argsort(order, axis=-1))
    else:
        x = solve_triangle(packed, take_rows(b, order), True, True)
        x = solve_triangle(packed, x, False)
    return x.reshape(x.shape[:-1]) if vector else x


for func, pair in ((sl.cho_solve, "c_and_lower"), (sl.lu_solve, "lu_and_piv")):
    record_of(func).variadic = pair  # a tuple of two, and not an array

# ---- qr ----

MODES = {"reduced": "economic", "complete": "full"}
"""SciPy's names of NumPy's modes."""


def _qr_one(a: Value, mode: str = "reduced") -> tuple:
    return sl.qr(a, mode=MODES[mode], check_finite=False)


qr = primitive(stacking("qr", _qr_one, lambda a, mode="reduced": tuple(np.linalg.qr(a, mode))))
op(
    qr,
    "a mode",
    vmap=at_once(qr),
    jvp=record_of(np.linalg.qr).jvp,
    vjp=record_of(np.linalg.qr).vjp,
)


def _column_order(a: Value) -> Value:
    return sl.qr(a, mode="r", pivoting=True, check_finite=False)[1]


column_order = primitive(stacking("column_order", _column_order))
constant(column_order, "a", vmap=at_once(column_order))

FULL = ("full", "qr", "r")
"""The modes in which the second factor has as many rows as the matrix."""


def _refuse_raw(name: str, mode: str) -> None:
    if mode == "raw":
        raise UnsupportedError(
            f"scipy.linalg.{name} of a tensor does not take mode='raw', which gives LAPACK's own "
            f"form of the factors; write scipy.linalg.{name}(a), or mode='economic'"
        )


@declare_composite(sl, "qr")
def _qr(
    a: Value,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2 or mode not in (*FULL, "economic", "raw"):
        refuse(sl.qr, a, mode=mode)
    _refuse_raw("qr", mode)
    order: tuple = ()
    if pivoting:
        order = (column_order(a),)
        a = take_rows(a.mT, order[0]).mT
    q, r = qr(a, "complete" if mode == "full" else "reduced")
    if mode == "r":
        m, k = a.shape[-2], r.shape[-2]
        q, r = None, np.concatenate([r, np.zeros_like(a[..., k:m, :])], axis=-2) if m > k else r
    return ((r,) if mode == "r" else (q, r)) + order


@declare_composite(sl, "rq")
def _rq(
    a: Value,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Factorize the adjoint, with its rows and columns in reverse: ``a = (q r)^H`` of that."""
    (a,) = matrices(check_finite, a)
    if a.ndim < 2 or mode not in ("full", "r", "economic"):
        refuse(sl.rq, a, mode=mode)
    q, r = qr(adjoint(a)[..., ::-1, ::-1], "reduced" if mode == "economic" else "complete")
    r = adjoint(r)[..., ::-1, ::-1]
    return r if mode == "r" else (r, adjoint(q)[..., ::-1, ::-1])


@declare_composite(sl, "qr_multiply")
def _qr_multiply(
    a: Value,
    c: Value,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple:
    a, c = matrices(True, a, c)
    left, vector = mode == "left", c.ndim == 1
    fits = a.ndim > 1 and c.ndim and mode in ("left", "right")
    if not fits or c.shape[-2 if left and not vector else -1] != (
        min(a.shape[-2:]) if left else a.shape[-2]
    ):
        refuse(lambda a, c: sl.qr_multiply(a, c, mode), a, c)
    a, c = (
        x if x.dtype.kind in "biu" else np.astype(x, lapack_dtype(x), copy=False) for x in (a, c)
    )
    q, *rest = _qr(a, mode="economic", pivoting=pivoting)
    if conjugate:
        q = conj(q)
    if vector:
        c = c[..., None] if left else c[..., None, :]
    product = np.matmul(q, c) if left else np.matmul(c, q)
    product = product.reshape((*q.shape[:-2], -1)) if vector else product
    if c.dtype.kind != "c" or q.dtype.kind == "c":
        product = np.astype(product, q.dtype)
    return product, *rest


# ---- a matrix of singular values ----


@declare_composite(sl, "diagsvd")
def _diagsvd(s: Value, M: int, N: int) -> Value:
    s = as_array(s)
    n = s.shape[-1] if s.ndim else -1
    if n not in (M, N) or n > min(M, N):
        refuse(lambda s: sl.diagsvd(s, M, N), s)
    square = np.where(np.eye(n, dtype=bool), s[..., None, :], np.zeros((), s.dtype))
    padding = [(0, 0)] * (s.ndim - 1) + [(0, M - n), (0, N - n)]
    return np.pad(square, padding)
