"""Rules for the eigenvalues and eigenvectors of Hermitian matrices in `scipy.linalg`.

See NOTE [SciPy's function at the bottom]. The derivatives are those of `_rules.linalg`: the
eigenvalues have to be distinct for the derivatives of the vectors.

NOTE [the signs of vectors]
    For a part of the eigenvalues (``subset_by_index``), for two matrices and for a tridiagonal
    matrix the vectors are made from those of another matrix, which has all of them. Each one
    gets the sign that it has in SciPy's own result, which is computed for this purpose. The
    phase of complex vectors agrees, as LAPACK computes by the same steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value, align
from ...._rules.linalg.contract import conj
from ...._rules.linalg.factorization import adjoint
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
