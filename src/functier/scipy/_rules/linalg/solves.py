"""Rules for the linear systems, inverses and determinants of `scipy.linalg`.

See NOTE [SciPy's function at the bottom]. The derivatives are those of `_rules.linalg`. Where
SciPy reads a part of the matrix (``assume_a``, ``lower``), a gradient is zero in the rest.
"""

from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value, align
from ...._rules.axes import as_array
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import op, primitive
from ..declare import declare_composite, record_of
from .stacks import (
    LAPACK,
    as_lapack,
    at_once,
    for_each,
    hermitian_of,
    matrices,
    refuse,
    require_square,
    stacking,
    structured,
    triangle,
)

# ---- systems of equations ----

TRANSPOSED = {
    "lower": "upper",
    "upper": "lower",
    "lower triangular": "upper triangular",
    "upper triangular": "lower triangular",
}
"""The kinds of matrices whose transposes are of another kind."""

SMALL = 32
"""The size up to which NumPy solves with triangular matrices: LAPACK's function starts threads."""


def _solve_one(a: Value, b: Value, kind: str | None) -> Value:
    if kind in ("lower", "upper"):
        if b.shape[-1] != 1 and _takes_numpy(a, b, kind):
            with suppress(np.linalg.LinAlgError):  # which SciPy words otherwise
                return _solve_small(a, b, kind)
        return sl.solve_triangular(a, b, lower=kind == "lower", check_finite=False)
    options = {} if kind is None else {"assume_a": kind}
    return sl.solve(a, b, check_finite=False, **options)


def _takes_numpy(a: Value, b: Value, kind: str | None) -> bool:
    """Return whether NumPy solves the systems of a stack in one call."""
    if a.dtype.char not in LAPACK or b.dtype.char not in LAPACK:
        return False
    if kind in ("lower", "upper"):
        return a.shape[-1] <= SMALL
    return (kind or "")[:3] != "pos"  # of which SciPy raises for others


def _solve_small(a: Value, b: Value, kind: str | None) -> Value:
    """Solve by NumPy, in one call.

    The elimination has nothing to do for an upper triangle, so the rows and columns of a lower
    one are reversed: the result is as exact as that of a substitution.
    """
    if kind == "lower":
        return np.linalg.solve(a[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]
    return np.linalg.solve(a, b)


def _system(a: Value, b: Value, kind: str | None = None) -> Value:
    """Solve for the columns of `b`; `kind` is ``assume_a``, or the triangle that `a` is."""
    if a.ndim == 2 == b.ndim:
        return _solve_one(a, b, kind)
    n = a.shape[-1]
    if set(a.shape[:-2]) <= {1}:  # one matrix: all columns at once
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        columns = np.moveaxis(np.broadcast_to(b, lead + b.shape[-2:]), -2, 0)
        x = _solve_one(a.reshape(n, n), columns.reshape(n, prod(columns.shape[1:])), kind)
        return np.moveaxis(x.reshape(columns.shape), 0, -2)
    if _takes_numpy(a, b, kind):
        return _solve_small(a, b, kind)
    return for_each(_solve_one, 2, (a, b, kind), {})


system = primitive(_system)


def _system_jvp_a(t: Value, ans: Value, a: Value, kind: str | None = None) -> Value:
    return -system(a, np.matmul(t, ans), kind)


def _system_vjp_b(g: Value, a: Value, kind: str | None = None) -> Value:
    return system(adjoint(a), g, TRANSPOSED.get(kind or "", kind))


def _system_both(g: Value, ans: Value, a: Value, kind: str | None = None) -> tuple:
    """Return the cotangents of the matrix and of the right-hand sides, from one solve."""
    c = _system_vjp_b(g, a, kind)
    return -np.matmul(c, adjoint(ans)), c


op(
    system,
    "a b kind",
    "a b",
    vmap=lambda k, a, b, kind=None: system(*align(k, (a, b)), kind),
    jvp={"a": _system_jvp_a, "b": lambda t, a, kind=None: system(a, t, kind)},
    vjp={
        "a": lambda g, ans, a, kind=None: _system_both(g, ans, a, kind)[0],
        "b": _system_vjp_b,
    },
    joint=_system_both,
)


def solve_columns(a: Value, b: Value, kind: str | None = None) -> Value:
    """Solve for `b`, a vector or the columns of matrices."""
    if b.ndim > 1:
        return system(a, b, kind)
    x = system(a, b[..., None], kind)
    return x.reshape(x.shape[:-1])


@declare_composite(sl, "solve")
def _solve(
    a: Value,
    b: Value,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Value:
    a, b = matrices(check_finite, a, b)
    options = {"transposed": transposed, **({} if assume_a is None else {"assume_a": assume_a})}
    if a.ndim == 0:
        a = a.reshape((1, 1))
    if b.ndim == 0:
        b = b.reshape(1)
    one = a.shape == (1, 1)
    rows = b.shape[0 if b.ndim == 1 else -2]
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or (rows != a.shape[-1] and not one):
        refuse(sl.solve, a, b, **options)
    if assume_a is not None or (transposed and "c" in (a.dtype.kind, b.dtype.kind)):
        sl.solve(np.eye(2, dtype=a.dtype), np.ones(2, b.dtype), **options)  # SciPy's error
    a = structured(a, assume_a, lower)
    if transposed:
        a, assume_a = a.mT, TRANSPOSED.get(assume_a or "", assume_a)
    if one and rows != 1:
        return system(a, b.reshape((1, prod(b.shape))), assume_a).reshape(b.shape)
    return solve_columns(a, b, assume_a)


TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
"""The values of ``trans``: the matrix itself, its transpose, its adjoint."""


def solve_triangle(a: Value, b: Value, lower: bool, unit: bool = False, trans: Any = 0) -> Value:
    """Solve with a triangle of `a`, of which the diagonal counts as ones where `unit`."""
    if unit:
        a = triangle(a, lower, 1) + np.eye(a.shape[-1], dtype=a.dtype)
    else:
        a = triangle(a, lower)
    form = TRANS[trans]
    if form:
        a, lower = adjoint(a) if form == 2 else a.mT, not lower
    return solve_columns(a, b, "lower" if lower else "upper")


@declare_composite(sl, "solve_triangular")
def _solve_triangular(
    a: Value,
    b: Value,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    a, b = matrices(check_finite, a, b)
    require_square(sl.solve_triangular, a)
    if b.ndim == 0 or b.shape[0 if b.ndim == 1 else -2] != a.shape[-1]:
        refuse(sl.solve_triangular, a, b)
    if trans not in TRANS:
        raise ValueError(
            f"scipy.linalg.solve_triangular: trans has to be one of 0, 1, 2, 'N', 'T' and 'C', "
            f"got {trans!r}"
        )
    return solve_triangle(a, b, lower, unit_diagonal, trans)


# ---- inverses and determinants ----


def _inverse_one(a: Value, kind: str | None = None) -> Value:
    return sl.inv(a, check_finite=False, **({} if kind is None else {"assume_a": kind}))


inverse = primitive(stacking("inverse", _inverse_one, lambda a, kind=None: np.linalg.inv(a)))
op(
    inverse,
    "a kind",
    vmap=at_once(inverse),
    jvp=record_of(np.linalg.inv).jvp,
    vjp=record_of(np.linalg.inv).vjp,
)


@declare_composite(sl, "inv")
def _inv(
    a: Value,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Value:
    (a,) = matrices(check_finite, a)
    require_square(sl.inv, a)
    if assume_a is not None:
        sl.inv(np.eye(2), assume_a=assume_a)  # SciPy's error
    return inverse(structured(a, assume_a, lower), assume_a)


DET: Any = record_of(np.linalg.det)


def _as_double(x: Value) -> Value:
    return np.astype(x, np.result_type(x.dtype, np.float64))


determinant = primitive(
    stacking(
        "determinant",
        lambda a: sl.det(a, check_finite=False),
        lambda a: np.linalg.det(_as_double(a)),
    )
)
op(  # also of single precision a determinant is of double precision
    determinant,
    "a",
    vmap=at_once(determinant),
    jvp={"a": lambda t, ans, a: DET.jvp["a"].fn(_as_double(t), ans, _as_double(a))},
    vjp={"a": lambda g, ans, a: DET.vjp["a"].fn(g, ans, _as_double(a))},
)


@declare_composite(sl, "det")
def _det(a: Value, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    a = as_array(a)
    if a.dtype.char in "gG":
        refuse(sl.det, a)
    (a,) = matrices(check_finite, a)
    require_square(sl.det, a)
    return determinant(a)


# ---- pseudoinverses and least squares ----


def _cutoff(s: Value, shape: tuple, atol: Value, rtol: Value) -> Value:
    """Return the singular value up to which others count as zero, for each matrix."""
    if rtol is None:
        rtol = max(shape) * np.finfo(s.dtype).eps
    return (0.0 if atol is None else atol) + np.max(s, axis=-1, initial=0.0, keepdims=True) * rtol


def _pseudoinverses(a: Value, atol: Value = None, rtol: Value = None) -> Value:
    s = np.linalg.svdvals(a)
    largest = np.max(s, axis=-1, initial=0.0)
    part = _cutoff(s, a.shape[-2:], atol, rtol)[..., 0] / np.where(largest > 0, largest, 1)
    return np.linalg.pinv(a, part)


pseudoinverse = primitive(
    stacking(
        "pseudoinverse",
        lambda a, atol=None, rtol=None: sl.pinv(a, atol=atol, rtol=rtol, check_finite=False),
        _pseudoinverses,
    )
)
op(
    pseudoinverse,
    "a atol rtol",
    vmap=at_once(pseudoinverse),
    jvp=record_of(np.linalg.pinv).jvp,
    vjp=record_of(np.linalg.pinv).vjp,
)


def _with_rank(a: Value, atol: Value, rtol: Value, return_rank: bool) -> Value:
    ans = pseudoinverse(a, atol, rtol)
    if not return_rank:
        return ans
    s = np.linalg.svdvals(as_lapack(a))
    return ans, np.sum(s > _cutoff(s, a.shape[-2:], atol, rtol), axis=-1)


@declare_composite(sl, "pinv")
def _pinv(
    a: Value,
    *,
    atol: Value = None,
    rtol: Value = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Value:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2 or (atol or 0) < 0 or (rtol or 0) < 0:
        refuse(sl.pinv, a, atol=atol, rtol=rtol)
    return _with_rank(a, atol, rtol, return_rank)


@declare_composite(sl, "pinvh")
def _pinvh(
    a: Value,
    atol: Value = None,
    rtol: Value = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Value:
    (a,) = matrices(check_finite, a)
    require_square(sl.pinvh, a)
    if (atol or 0) < 0 or (rtol or 0) < 0:
        refuse(sl.pinvh, a, atol=atol, rtol=rtol)
    return _with_rank(hermitian_of(a, lower), atol, rtol, return_rank)
