"""Rules for eigenvalues and eigenvectors in `scipy.linalg`, of matrices and of pairs.

See NOTE [SciPy's function at the bottom]. The derivatives are those of `_rules.linalg`: the
eigenvalues have to be distinct for the derivatives of the vectors.

NOTE [the signs of vectors]
    For a part of the eigenvalues (``subset_by_index``), for two matrices and for a tridiagonal
    matrix the vectors are made from those of another matrix, which has all of them. Each one
    gets the sign that it has in SciPy's own result, which is computed for this purpose. The
    phase of complex vectors agrees, as LAPACK computes by the same steps.

NOTE [pairs]
    The values of a pair of matrices ``(a, b)`` are those of ``b^-1 a``, so `b` has to be regular.
    The derivatives are those of `_rules.linalg.eig`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import NoRuleError, UnsupportedError
from ...._core.numpy_facts import Value, align
from ...._rules.constructors import check_values
from ...._rules.linalg.contract import conj
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import constant, op, primitive
from ..declare import declare_composite, record_of
from .factorizations import cholesky
from .solves import system
from .stacks import at_once, for_each, hermitian_of, matrices, refuse, require_square, stacking

# ---- one Hermitian matrix ----


def _eigh_one(a: Value, UPLO: str = "L", driver: str | None = None) -> tuple:
    return sl.eigh(a, lower=UPLO == "L", driver=driver, check_finite=False)


def _eigvalsh_one(a: Value, UPLO: str = "L", driver: str | None = None) -> Value:
    return sl.eigvalsh(a, lower=UPLO == "L", driver=driver, check_finite=False)


eigh = primitive(stacking("eigh", _eigh_one))
eigvalsh = primitive(
    stacking(
        "eigvalsh", _eigvalsh_one, lambda a, UPLO="L", driver=None: np.linalg.eigvalsh(a, UPLO)
    )
)
for func, numpys in ((eigh, record_of(np.linalg.eigh)), (eigvalsh, record_of(np.linalg.eigvalsh))):
    op(func, "a UPLO driver", vmap=at_once(func), jvp=numpys.jvp, vjp=numpys.vjp)


# ---- SciPy's vectors: see NOTE [the signs of vectors] ----


def _signs(v: Value, a: Value, b: Value, call: Callable) -> Value:
    """Return the signs that vectors have in what ``call(a, b)`` finds, also for stacks."""

    def of_one(v: Value, a: Value, b: Value) -> Value:
        along = np.real(np.sum(conj(v) * call(a, b), axis=-2))
        return np.where(along < 0, -1, 1).astype(np.int8)

    return for_each(of_one, 3, (v, a, b), {})


signs = primitive(_signs)
constant(
    signs, "v a b call", "v a b", vmap=lambda k, v, a, b, call: signs(*align(k, (v, a, b)), call)
)


def like_scipys(v: Value, a: Value, b: Value, call: Callable) -> Value:
    """Return vectors with the signs that SciPy's have."""
    return v * signs(v, a, b, call)[..., None, :]


# ---- a part of the eigenvalues ----


def _part(w: Value, index: Sequence | None, value: Sequence | None) -> Any:
    """Return the places of the eigenvalues of a subset; those by value have to be known."""
    if index is not None:
        first, last = index
        return slice(int(first), int(last) + 1)
    if value is None:
        return slice(None)
    low, high = value
    return np.flatnonzero(np.logical_and(w > low, w <= high))


# ---- two Hermitian matrices ----


def _as_standard(a: Value, b: Value, lower: bool, kind: int) -> tuple:
    """Return the matrix with the eigenvalues of a pair, and a function that makes its vectors.

    As LAPACK does it: with ``b = f f^H``, the vectors of ``f^-1 a f^-H`` or of ``f^H a f``.
    """
    factor = cholesky(b, not lower)
    if not lower:
        factor = adjoint(factor)
    a = hermitian_of(a, lower)
    if kind == 1:
        c = system(factor, adjoint(system(factor, a, "lower")), "lower")
    else:
        c = np.matmul(np.matmul(adjoint(factor), a), factor)
    if kind == 3:
        return c, lambda y: np.matmul(factor, y)
    return c, lambda y: system(adjoint(factor), y, "upper")


def _examine(func: Callable, a: Value, b: Value, **options: Any) -> None:
    """Raise SciPy's error for arguments that it does not take."""
    require_square(func, a)
    if b is not None and b.shape[-2:] != a.shape[-2:]:
        refuse(func, a, b)
    if any(v is not None and v != 1 for v in options.values()) and a.shape[-1]:
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        func(eye, None if b is None else eye, eigvals_only=True, **options)


@declare_composite(sl, "eigh")
def _eigh(
    a: Value,
    b: Value = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence | None = None,
    subset_by_value: Sequence | None = None,
    driver: str | None = None,
) -> Any:
    if b is None:
        (a,) = matrices(check_finite, a)
    else:
        a, b = matrices(check_finite, a, b)
    options: dict[str, Any] = {
        "type": type,
        "driver": driver,
        "subset_by_index": subset_by_index,
        "subset_by_value": subset_by_value,
    }
    _examine(sl.eigh, a, b, **options)
    UPLO = "L" if lower else "U"
    whole = subset_by_index is None and subset_by_value is None
    if b is None and whole:
        return eigvalsh(a, UPLO, driver) if eigvals_only else eigh(a, UPLO, driver)
    matrix, finish = (a, lambda y: y) if b is None else _as_standard(a, b, lower, type)
    if eigvals_only:
        w = eigvalsh(matrix, UPLO)
        return w[..., _part(w, subset_by_index, subset_by_value)]
    w, y = eigh(matrix, UPLO)
    part = _part(w, subset_by_index, subset_by_value)

    def scipys(a: Value, b: Value) -> Value:
        return sl.eigh(a, None if alone else b, lower=lower, check_finite=False, **options)[1]

    alone = b is None
    return w[..., part], like_scipys(finish(y[..., part]), a, a if alone else b, scipys)


@declare_composite(sl, "eigvalsh")
def _eigvalsh(a: Value, b: Value = None, **options: Any) -> Value:
    return _eigh(a, b, eigvals_only=True, **options)


# ---- tridiagonal matrices ----


def _tridiagonal(d: Value, e: Value) -> Value:
    """Return the lower half of the symmetric matrix with these diagonals."""
    n = d.shape[-1]
    below = np.concatenate([e, np.zeros_like(d[..., :1])], axis=-1)
    return (
        np.eye(n, dtype=d.dtype) * d[..., None, :]
        + np.eye(n, k=-1, dtype=d.dtype) * below[..., None, :]
    )


def part_of(w: Value, select: Any = "a", select_range: Sequence | None = None) -> Any:
    """Return the places of the eigenvalues that SciPy's ``select`` chooses."""
    name = str(select).lower()[0]
    index, value = (select_range if name in names else None for names in (("i", "2"), ("v", "1")))
    return _part(w, index, value)


@declare_composite(sl, "eigh_tridiagonal")
def _eigh_tridiagonal(
    d: Value,
    e: Value,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Sequence | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    d, e = matrices(check_finite, d, e)
    options = {"tol": tol, "lapack_driver": lapack_driver}
    chosen = {"select": select, "select_range": select_range, **options}
    fits = d.ndim and e.ndim and d.shape[-1] == e.shape[-1] + 1
    if not fits or d.dtype.kind == "c" or e.dtype.kind == "c":
        refuse(sl.eigh_tridiagonal, d, e)
    one = np.arange(d.shape[-1], dtype=float)
    sl.eigh_tridiagonal(one, one[1:], eigvals_only=eigvals_only, **chosen)  # SciPy's error
    matrix = _tridiagonal(d, e)
    if eigvals_only:
        w = eigvalsh(matrix)
        return w[..., part_of(w, select, select_range)]
    w, v = eigh(matrix)
    part = part_of(w, select, select_range)

    def scipys(d: Value, e: Value) -> Value:
        return sl.eigh_tridiagonal(d[:, 0], e[:, 0], check_finite=False, **chosen)[1]

    return w[..., part], like_scipys(v[..., part], d[..., None], e[..., None], scipys)


@declare_composite(sl, "eigvalsh_tridiagonal")
def _eigvalsh_tridiagonal(d: Value, e: Value, *args: Any, **options: Any) -> Value:
    return _eigh_tridiagonal(d, e, True, *args, **options)


RULES: Any = record_of(np.linalg.eig)


def _jvp(t: Value, ans: tuple, left: bool = False) -> tuple:
    """Apply NumPy's rule; the vectors of the left side are those of the adjoint."""
    w, v = ans
    w = conj(w) if left else w
    if v.dtype.kind != "c":
        w = np.real(w)
    dw, dv = RULES.jvp["a"].fn(adjoint(t) if left else t, (w, v))
    dw = np.astype(dw, ans[0].dtype, copy=False)
    return conj(dw) if left else dw, dv


def _vjp(g: tuple, ans: tuple, left: bool = False) -> Value:
    w, v = ans
    gw = g[0]
    if left:
        w, gw = conj(w), conj(gw)
    if v.dtype.kind != "c":
        w, gw = np.real(w), np.real(gw)
    c = RULES.vjp["a"].fn((gw, g[1]), (w, v))
    return adjoint(c) if left else c


eig = primitive(
    stacking("eig", lambda a, left=False: sl.eig(a, None, left, not left, check_finite=False))
)
op(eig, "a left", vmap=at_once(eig), jvp={"a": _jvp}, vjp={"a": _vjp})


# ---- pairs ----


def _pair(a: Value, b: Value, left: bool = False) -> tuple:
    def scipys(a: Value, b: Value) -> tuple:
        w, *v = sl.eig(a, b, left, True, check_finite=False)
        return w, v[0]

    return for_each(scipys, 2, (a, b), {})


pair = primitive(_pair)


def _quotient(ans: tuple, a: Value, b: Value, left: bool) -> tuple:
    """Return ``b`` and ``b^-1 a`` for the vectors of a side, if these are real."""
    if ans[1].dtype.kind == "c":
        raise NoRuleError(
            "scipy.linalg.eig of two matrices has no derivative rule for complex vectors, whose "
            "phase is arbitrary; write scipy.linalg.eigvals(a, b) for the eigenvalues, or "
            "scipy.linalg.eig(scipy.linalg.solve(b, a))"
        )
    if left:
        a, b = adjoint(a), adjoint(b)
    return b, system(b, a)


def _pair_jvp_a(t: Value, ans: tuple, a: Value, b: Value, left: bool = False) -> tuple:
    b, _ = _quotient(ans, a, b, left)
    return _jvp(system(b, adjoint(t) if left else t), ans)


def _pair_jvp_b(t: Value, ans: tuple, a: Value, b: Value, left: bool = False) -> tuple:
    b, c = _quotient(ans, a, b, left)
    return _jvp(-system(b, np.matmul(adjoint(t) if left else t, c)), ans)


def _pair_both(g: tuple, ans: tuple, a: Value, b: Value, left: bool = False) -> tuple:
    """Return the cotangents of both matrices."""
    b, c = _quotient(ans, a, b, left)
    on_a = system(adjoint(b), _vjp(g, ans))
    on_b = -np.matmul(on_a, adjoint(c))
    return (adjoint(on_a), adjoint(on_b)) if left else (on_a, on_b)


op(
    pair,
    "a b left",
    "a b",
    vmap=lambda k, a, b, left=False: pair(*align(k, (a, b)), left),
    jvp={"a": _pair_jvp_a, "b": _pair_jvp_b},
    vjp={
        "a": lambda g, ans, a, b, left=False: _pair_both(g, ans, a, b, left)[0],
        "b": lambda g, ans, a, b, left=False: _pair_both(g, ans, a, b, left)[1],
    },
    joint=_pair_both,
)


def _order_of_values(w: Value, a: Value, b: Value) -> Value:
    """Return the order of eigenvalues in which SciPy gives those of a pair."""

    def order(w: Value, a: Value, b: Value) -> Value:
        wanted = sl.eigvals(a, b, check_finite=False)
        distance = np.abs(w - wanted[:, None])
        found = np.empty(len(wanted), int)
        for i in range(len(wanted)):
            found[i] = np.argmin(distance[i])
            distance[:, found[i]] = np.inf
        return found

    return for_each(order, 3, (w, a, b), {})


order_of_values = primitive(_order_of_values)
constant(
    order_of_values,
    "w a b",
    "w a b",
    vmap=lambda k, w, a, b: order_of_values(*align(k, (w, a, b))),
)


def _values(a: Value, b: Value) -> Value:
    """Return the eigenvalues of a pair, in SciPy's order."""
    w = eig(system(b, a))[0]
    order = order_of_values(w.reshape((*w.shape[:-1], 1, w.shape[-1])), a, b)
    return np.take_along_axis(w, order, -1)


# ---- SciPy's functions ----


@declare_composite(sl, "eig")
def _eig(
    a: Value,
    b: Value = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    if b is None:
        (a,) = matrices(check_finite, a)
        require_square(sl.eig, a)
    else:
        a, b = matrices(check_finite, a, b)
        if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-2:] != b.shape[-2:]:
            refuse(sl.eig, a, b)
        if homogeneous_eigvals:
            raise UnsupportedError(
                "scipy.linalg.eig(a, b, homogeneous_eigvals=True) of a tensor is not supported, "
                "because numerators and denominators share an arbitrary factor; leave it out"
            )
        if left and not right:
            raise UnsupportedError(
                "scipy.linalg.eig(a, b, left=True, right=False) of a tensor is not supported, "
                "because SciPy scales these vectors differently; write left=True alone"
            )
    sides = [side for side, wanted in ((True, left), (False, right)) if wanted]
    if sides:
        found = [eig(a, side) if b is None else pair(a, b, side) for side in sides]
        w = found[-1][0]
    else:
        found, w = [], eig(a)[0] if b is None else _values(a, b)
    if homogeneous_eigvals:
        w = np.stack([w, np.ones_like(w)], axis=-2)
    return (w, *[v for _, v in found]) if found else w


@declare_composite(sl, "eigvals")
def _eigvals(
    a: Value,
    b: Value = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Value:
    return _eig(a, b, False, False, False, False, check_finite, homogeneous_eigvals)


# ---- pairs of complex values as blocks of two rows ----


@declare_composite(sl, "cdf2rdf")
def _cdf2rdf(w: Value, v: Value) -> tuple:
    """Return real matrices: each pair of neighbours is a block ``[[a, b], [-b, a]]``."""
    w, v = matrices(True, w, v)
    n = w.shape[-1] if w.ndim else 0
    if not w.ndim or v.ndim != w.ndim + 1 or v.shape[-2:] != (n, n):
        refuse(sl.cdf2rdf, w, v)
    turning = np.not_equal(np.imag(w), 0)
    before = np.cumsum(turning, axis=-1) - turning
    first, second = turning & (before % 2 == 0), turning & (before % 2 == 1)
    paired = np.equal(first[..., :-1], second[..., 1:])
    check_values(np.concatenate([paired, ~first[..., -1:]], -1), np.all, PAIRS)
    eye, after = np.eye(n), np.eye(n, k=1)
    real = np.real(w)
    above = (first * np.imag(w))[..., None] * after
    below = (second * np.imag(w))[..., None] * after.T
    blocks = np.astype(real[..., None] * eye + above + below, real.dtype)
    main = np.where(first, 0.5j, np.where(second, 0.5, 1.0))
    turn = main[..., None] * eye + (first * 0.5)[..., None] * after
    turn = turn + (second * -0.5j)[..., None] * after.T
    return blocks, np.real(np.matmul(v, turn))


PAIRS = (
    "scipy.linalg.cdf2rdf: expected complex-conjugate pairs of eigenvalues, one beside the other, "
    "as scipy.linalg.eig of a real matrix returns them"
)
