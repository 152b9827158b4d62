"""Rules for singular values in `scipy.linalg`, and for least squares, norms and spaces.

NOTE [a basis]
    `null_space` and `orth` return a basis of a space, chosen by LAPACK. Their derivatives are
    those of the basis that turns as little as it has to. They are right for what depends on the
    space alone, such as the projector onto it, or the singular values of products with the basis.
    Other functions of a basis have no derivative: reverse mode refuses them, and forward mode does
    not see them. The rank is taken to stay the same.
"""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value, align
from ...._rules.linalg.gaps import check_choice
from ...._rules.linalg.lstsq import least_squares
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import op, primitive
from ..declare import declare, declare_composite, dispatching, record_of
from .equations import sylvester
from .stacks import (
    LAPACK,
    as_lapack,
    at_once,
    checked,
    each_vmap,
    for_each,
    keeping,
    lapack_dtype,
    matrices,
    refuse,
)


def svd_of_one(
    a: Value, full_matrices: bool = True, compute_uv: bool = True, driver: str = "gesdd"
) -> Any:
    return sl.svd(a, full_matrices, compute_uv, check_finite=False, lapack_driver=driver)


def _svd(
    a: Value, full_matrices: bool = True, compute_uv: bool = True, driver: str = "gesdd"
) -> Any:
    """Return the decomposition of a matrix or of each of a stack, or the values alone."""
    if a.ndim > 2 and not compute_uv and a.dtype.char in LAPACK:
        return np.linalg.svd(a, compute_uv=False)
    return for_each(svd_of_one, 1, (a, full_matrices, compute_uv, driver), {})


svd = primitive(_svd)
op(
    svd,
    "a full_matrices compute_uv driver",
    vmap=at_once(svd),
    jvp=record_of(np.linalg.svd).jvp,
    vjp=record_of(np.linalg.svd).vjp,
)


@declare_composite(sl, "svd")
def _scipy_svd(
    a: Value,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2 or lapack_driver not in ("gesdd", "gesvd"):
        refuse(sl.svd, a, lapack_driver=lapack_driver)
    return svd(a, full_matrices, compute_uv, lapack_driver)


@declare_composite(sl, "svdvals")
def _svdvals(a: Value, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    (a,) = matrices(check_finite, a)
    if a.ndim < 2:
        refuse(sl.svdvals, a)
    return svd(a, True, False)


RULES: Any = record_of(least_squares)


def lstsq(a: Value, b: Value, rcond: float, driver: str | None = None) -> tuple:
    x, residuals, rank, _ = sl.lstsq(a, b, rcond, check_finite=False, lapack_driver=driver)
    return x, residuals, np.int64(rank)


def _solution(a: Value, b: Value, rcond: float, driver: str | None = None) -> tuple:
    """Return the solution, the residuals and the rank, also for stacks of matrices."""
    return for_each(lstsq, 2, (a, b, rcond, driver), {})


solution = primitive(_solution)


def _jvp_a(t: Value, ans: Value, a: Value, b: Value, rcond: float) -> tuple:
    return *RULES.jvp["a"].fn(t, ans, a, b, rcond), None


def _jvp_b(t: Value, ans: Value, a: Value, b: Value, rcond: float) -> tuple:
    return *RULES.jvp["b"].fn(t, ans, a, b, rcond), None


def _both(g: Value, ans: Value, a: Value, b: Value, rcond: float) -> tuple:
    return RULES.joint.fn(g, ans, a, b, rcond)


op(
    solution,
    "a b rcond driver",
    "a b",
    vmap=lambda k, a, b, rcond, driver=None: solution(*align(k, (a, b)), rcond, driver),
    jvp={"a": _jvp_a, "b": _jvp_b},
    vjp={
        "a": lambda g, ans, a, b, rcond: _both(g, ans, a, b, rcond)[0],
        "b": lambda g, ans, a, b, rcond: _both(g, ans, a, b, rcond)[1],
    },
    joint=_both,
    by_value="a",
)


@declare_composite(sl, "lstsq")
def _lstsq(
    a: Value,
    b: Value,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple:
    a, b = matrices(check_finite, a, b)
    vector = b.ndim == 1
    if a.ndim < 2 or b.ndim == 0 or a.shape[-2] != b.shape[0 if vector else -2]:
        refuse(sl.lstsq, a, b)
    dtype = lapack_dtype(a, b)
    a, b = np.astype(a, dtype, copy=False), np.astype(b, dtype, copy=False)
    rcond = float(np.finfo(dtype).eps) if cond is None else cond
    x, residuals, rank = solution(a, b[..., None] if vector else b, rcond, lapack_driver)
    driver = lapack_driver or sl.lstsq.default_lapack_driver
    s = None if driver == "gelsy" else np.linalg.svdvals(a)
    if vector:
        x = x[..., 0]
        residuals = residuals[..., 0] if residuals.shape[-1] else residuals
    return x, residuals, rank, s


# ---- norm ----


@declare_composite(sl, "norm")
def _norm(
    a: Value,
    ord: Value = None,
    axis: Any = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Value:
    """Return NumPy's norm; where SciPy asks BLAS, that is a number in double precision."""
    (a,) = checked(check_finite, a)
    norm = np.linalg.norm(a, ord, axis, keepdims)
    number = ord in (None, 2) if a.ndim == 1 else a.ndim == 2 and ord in (1, np.inf)
    if number and a.dtype.char in "fF" and a.size and axis is None and not keepdims:
        return np.astype(norm, float)
    return norm


# ---- null_space, orth ----


def _inverse(A: Value, rcond: Any) -> Value:
    """Return the pseudo-inverse, with the rank that the basis has."""
    if rcond is None:
        real = np.absolute(as_lapack(A)[..., :0, :0]).dtype
        precise = real if real.kind == "f" else np.dtype(float)
        rcond = float(np.finfo(precise).eps) * max(A.shape[-2:])
    return np.linalg.pinv(as_lapack(A), rcond=rcond)


def _pull_null_space(g: Value, ans: Value, A: Value, rcond: Any = None) -> Value:
    check_choice(adjoint(ans) @ g, (g,), "null_space", "the basis of the space")
    return -adjoint(_inverse(A, rcond)) @ (g @ adjoint(ans))


declare(
    sl,
    "null_space",
    "A rcond overwrite_a check_finite lapack_driver",
    kernel=keeping(sl.null_space),
    vmap=each_vmap(keeping(sl.null_space)),
    by_value="A",
    jvp={"A": lambda t, ans, A, rcond=None: -_inverse(A, rcond) @ (as_lapack(t) @ ans)},
    vjp={"A": _pull_null_space},
)


def _across(x: Value, q: Value) -> Value:
    """Return the part of `x` that is orthogonal to a space with the basis `q`."""
    return x - q @ (adjoint(q) @ x)


def _pull_orth(g: Value, ans: Value, A: Value, rcond: Any = None) -> Value:
    check_choice(adjoint(ans) @ g, (g,), "orth", "the basis of the space")
    return _across(g, ans) @ adjoint(_inverse(A, rcond) @ ans)


declare(
    sl,
    "orth",
    "A rcond",
    vmap=each_vmap(dispatching(sl.orth)),
    by_value="A",
    jvp={
        "A": lambda t, ans, A, rcond=None: _across(as_lapack(t) @ (_inverse(A, rcond) @ ans), ans)
    },
    vjp={"A": _pull_orth},
)


@declare_composite(sl, "subspace_angles")
def _subspace_angles(A: Value, B: Value) -> Value:
    """Take small angles from their sines, and others from their cosines, as SciPy does."""
    A, B = matrices(True, A, B)
    if A.ndim != 2 or B.ndim != 2 or len(A) != len(B):
        sl.subspace_angles(np.eye(*A.shape), np.eye(*B.shape))  # SciPy's error
    a, b = dispatching(sl.orth)(A), dispatching(sl.orth)(B)
    if a.shape[-1] < b.shape[-1]:
        a, b = b, a
    inner = np.matmul(adjoint(a), b)
    cosines = np.linalg.svdvals(inner)[::-1]
    sines = np.linalg.svdvals(b - np.matmul(a, inner))
    small = np.greater_equal(cosines * cosines, 0.5)
    sines, cosines = np.where(small, sines, 0), np.where(small, 0, cosines)
    return np.where(small, np.arcsin(np.clip(sines, -1, 1)), np.arccos(np.clip(cosines, -1, 1)))


# ---- polar: of a matrix of full rank, its adjoint where it is wide. The tangent of the factor
# u is u w plus what is orthogonal to u, with w skew: from h w + w h = u^H t - t^H u ----


class Tall:
    """The polar factors of a matrix of as many rows as columns or more: ``a = u h``."""

    def __init__(self, ans: tuple, side: str):
        u, p = ans
        self.flipped = u.shape[-2] < u.shape[-1]
        self.u = adjoint(u) if self.flipped else u
        self.own = (side == "left") if self.flipped else (side == "right")
        self.h = p if self.own else np.matmul(np.matmul(adjoint(self.u), p), self.u)

    def push(self, t: Value) -> tuple:
        u, h = self.u, self.h
        t = as_lapack(adjoint(t) if self.flipped else t)
        inner = np.matmul(adjoint(u), t)
        turn = sylvester(h, h, inner - adjoint(inner))
        moved_h = inner - np.matmul(turn, h)
        moved_u = np.matmul(u, turn)
        if u.shape[-2] > u.shape[-1]:
            moved_u = moved_u + adjoint(np.linalg.solve(h, adjoint(t - np.matmul(u, inner))))
        if not self.own:
            side = np.matmul(np.matmul(moved_u, h), adjoint(u))
            moved_h = side + adjoint(side) + np.matmul(np.matmul(u, moved_h), adjoint(u))
        return adjoint(moved_u) if self.flipped else moved_u, moved_h

    def pull(self, g: tuple) -> Value:
        u, h = self.u, self.h
        on_u, on_h = adjoint(g[0]) if self.flipped else g[0], g[1]
        if not self.own:
            on_u = on_u + np.matmul(np.matmul(on_h + adjoint(on_h), u), h)
            on_h = np.matmul(np.matmul(adjoint(u), on_h), u)
        inner = np.matmul(adjoint(u), on_u)
        skew = sylvester(h, h, inner - np.matmul(on_h, h))
        c = np.matmul(u, on_h + skew - adjoint(skew))
        if u.shape[-2] > u.shape[-1]:
            c = c + adjoint(np.linalg.solve(h, adjoint(on_u - np.matmul(u, inner))))
        return adjoint(c) if self.flipped else c


declare(
    sl,
    "polar",
    "a side",
    vmap=each_vmap(dispatching(sl.polar)),
    jvp={"a": lambda t, ans, side="right": Tall(ans, side).push(t)},
    vjp={"a": lambda g, ans, side="right": Tall(ans, side).pull(g)},
)


@declare_composite(sl, "orthogonal_procrustes")
def _orthogonal_procrustes(A: Value, B: Value, check_finite: bool = True) -> Value:
    A, B = matrices(check_finite, A, B)
    if A.ndim < 2 or A.shape != B.shape:
        sl.orthogonal_procrustes(np.zeros(A.shape), np.zeros(B.shape))  # SciPy's error
    u, p = dispatching(sl.polar)(np.matmul(adjoint(A), B))
    return u, np.real(np.trace(p, 0, -2, -1))
