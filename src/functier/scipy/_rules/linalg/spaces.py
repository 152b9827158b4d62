"""Rules for the norms and spaces of `scipy.linalg`, and for the factors that are nearest.

NOTE [a basis]
    `null_space` and `orth` return a basis of a space, chosen by LAPACK. Their derivatives are
    those of the basis that turns as little as it has to. They are right for what depends on the
    space alone, such as the projector onto it, or the singular values of products with the basis;
    other functions of a basis have no derivative. The rank is taken to stay the same.
"""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.linalg.factorization import adjoint
from ..declare import declare, declare_composite, dispatching
from .batches import as_lapack, each_vmap, keeping
from .equations import sylvester
from .stacks import checked, matrices

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


declare(
    sl,
    "null_space",
    "A rcond overwrite_a check_finite lapack_driver",
    kernel=keeping(sl.null_space),
    vmap=each_vmap(keeping(sl.null_space)),
    by_value="A",
    jvp={"A": lambda t, ans, A, rcond=None: -_inverse(A, rcond) @ (as_lapack(t) @ ans)},
    vjp={"A": lambda g, ans, A, rcond=None: -adjoint(_inverse(A, rcond)) @ (g @ adjoint(ans))},
)


def _across(x: Value, q: Value) -> Value:
    """Return the part of `x` that is orthogonal to a space with the basis `q`."""
    return x - q @ (adjoint(q) @ x)


declare(
    sl,
    "orth",
    "A rcond",
    vmap=each_vmap(dispatching(sl.orth)),
    by_value="A",
    jvp={
        "A": lambda t, ans, A, rcond=None: _across(as_lapack(t) @ (_inverse(A, rcond) @ ans), ans)
    },
    vjp={"A": lambda g, ans, A, rcond=None: _across(g, ans) @ adjoint(_inverse(A, rcond) @ ans)},
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
