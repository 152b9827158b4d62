"""Linear systems, determinants, inverses, and functions made of these and of factorizations.

The formulas are those of Giles, *An extended collection of matrix derivative results*
(2008), and Magnus and Neudecker, *Matrix Differential Calculus*, unless a rule names
another source.
A singular matrix raises `LinAlgError` in the backward pass of
`slogdet`, and in that of `det` for matrices larger than 3 by 3.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..._core.numpy_facts import Shape, Value, align
from ..._core.rule import FORMS
from ..._core.table import OPS
from ..axes import is_known_false
from ..constructors import composite, constant, op, primitive
from ..own_code import by_own_code
from .contract import conj, contract, ensure_array
from .gaps import check_cut
from .orthogonal import (
    adjoint,
    as_column,
    as_factor,
    complete_hermitian,
    fold_triangle,
    linalg_dtype,
    stacked_vmap,
)

# ---- an inverse that derivative rules share ----


class Inverse:
    """The inverse of a matrix's adjoint, shared by the rules of a backward pass.

    The rule of `slogdet` needs the inverse. The rule of `solve` would factorize the matrix
    again, since NumPy does not return its factors; where another rule needs the inverse it
    multiplies by that.
    """

    def __init__(self, a: Value):
        self.a = a
        self.value: Value = None
        self.needed = self.shared = False

    def owning(self, copy: Callable[[Value], Value]) -> "Inverse":
        """Return one for a copy of the matrix, for a tape that outlives the call."""
        own = Inverse(copy(self.a))
        own.value, own.needed, own.shared = copy(self.value), self.needed, self.shared
        return own

    def get(self) -> Value:
        """Return the inverse; the first call computes it, and keeps it where others may follow."""
        if self.value is not None:
            return self.value
        INVERSES.pop(id(self.a), None)  # a later operation may find another matrix in this memory
        value = np.linalg.inv(adjoint(self.a))
        if self.shared:
            self.value = value
        return value


INVERSES: WeakValueDictionary[int, Inverse] = WeakValueDictionary()
"""Inverses that tapes hold and have not computed, by the identity of their matrices."""


def _require_inverse(a: Value) -> Inverse:
    """Return the inverse of `a` for a rule that needs it."""
    found = _share_inverse(a)
    found.needed = True
    return found


def _share_inverse(a: Value) -> Inverse:
    """Return the inverse of `a` for a rule that can use it."""
    found = INVERSES.get(id(a))
    if found is None:
        return INVERSES.setdefault(id(a), Inverse(a))
    found.shared = True
    return found


FORMS.update(
    inverse=_require_inverse, shared=_share_inverse
)  # saved by a rule under the names `a_inverse`, `a_shared`

# ---- solve, inv ----


def _solve_vmap(k: int, a: Value, b: Value) -> Value:
    a, b = ensure_array(a), ensure_array(b)
    if a.ndim - k < 2 or b.ndim == k:
        return np.linalg.solve(*(np.broadcast_to(1.0, x.shape[k:]) for x in (a, b)))
    vector = b.ndim - k == 1
    if vector:
        b = as_column(b)
    a, b = align(k, (a, b))
    if a.shape[-1] == b.shape[-2] and set(a.shape[:-2]) == {1} != set(b.shape[:-2]):
        x = _solve_once(a, b)
    else:
        x = np.linalg.solve(a, b)
    return x.reshape(x.shape[:-1]) if vector else x


def _solve_once(a: Value, b: Value) -> Value:
    """Solve with one matrix for all right-hand sides: as its columns, it is factorized once."""
    n = b.ndim
    b = b.transpose((n - 2, *range(n - 2), n - 1))
    x = np.linalg.solve(a.reshape(a.shape[-2:]), b.reshape((b.shape[0], prod(b.shape[1:]))))
    return x.reshape(b.shape).transpose((*range(1, n - 1), 0, n - 1))


def _solve(a: Value, b: Value, vector: bool) -> Value:
    """Solve for `b`, vectors in its last axis where `vector`."""
    if not vector or b.ndim == 1:
        return np.linalg.solve(a, b)
    x = np.linalg.solve(a, as_column(b))
    return x.reshape(x.shape[:-1])


def _apply(a: Value, x: Value, vector: bool) -> Value:
    """Multiply `x`, vectors in its last axis where `vector`, by matrices."""
    if not vector or x.ndim == 1:
        return np.matmul(a, x)
    y = np.matmul(a, as_column(x))
    return y.reshape(y.shape[:-1])


def _solve_jvp_a(t: Value, ans: Value, a: Value, b_shape: Shape) -> Value:
    vector = len(b_shape) == 1
    return -_solve(a, _apply(t, ans, vector), vector)


def _solve_both(g: Value, ans: Value, b_shape: Shape, a_shared: Inverse) -> tuple:
    """Return the cotangents of the matrix and of the right-hand side, from one solve."""
    vector = len(b_shape) == 1
    if a_shared.needed:
        c = _apply(a_shared.get(), g, vector)
    else:
        c = _solve(adjoint(a_shared.a), g, vector)
    if not vector:
        return -np.matmul(c, adjoint(ans)), c
    n = c.ndim
    stack = tuple(range(n - 1))
    return contract(-c, conj(ans), ((*stack, n), (*stack, n + 1), (*stack, n, n + 1))), c


def _solve_a(g: Value, ans: Value, b_shape: Shape, a_shared: Inverse) -> Value:
    return _solve_both(g, ans, b_shape, a_shared)[0]


op(
    np.linalg.solve,
    "a b",
    "a b",
    vmap=_solve_vmap,
    jvp={
        "a": _solve_jvp_a,
        "b": lambda t, ans, a, b_shape: _solve(a, t, len(b_shape) == 1),
    },
    vjp={
        "a": _solve_a,
        "b": lambda g, a, b_shape: _solve(adjoint(a), g, len(b_shape) == 1),
    },
    joint=_solve_both,
)
op(
    np.linalg.inv,
    "a",
    vmap=stacked_vmap(np.linalg.inv),
    jvp={"a": lambda t, ans: -np.matmul(np.matmul(ans, t), ans)},
    vjp={"a": lambda g, ans: -np.matmul(np.matmul(adjoint(ans), g), adjoint(ans))},
)

# ---- det, slogdet ----


def _adjugate(ans: Value, a: Value) -> Value:
    """Return the transposed cofactors; up to 3 by 3 also of a singular matrix.

    These take the recursion of Faddeev and LeVerrier (Gantmacher, *The Theory of Matrices*,
    IV.5), which does not divide; larger ones are the determinant times the inverse.
    """
    a = ensure_array(a)
    n = a.shape[-1]
    if n > 3:
        return as_factor(ans) * np.linalg.inv(a)
    if n < 2:
        return np.ones_like(a)
    eye = np.eye(n, dtype=a.dtype)
    first = a - as_factor(np.trace(a, 0, -2, -1)) * eye
    if n == 2:
        return -first
    second = np.matmul(a, first)
    return second - as_factor(0.5 * np.trace(second, 0, -2, -1)) * eye


op(
    np.linalg.det,
    "a",
    vmap=stacked_vmap(np.linalg.det),
    jvp={"a": lambda t, ans, a: np.sum(_adjugate(ans, a).mT * t, axis=(-2, -1))},
    vjp={"a": lambda g, ans, a: as_factor(g) * adjoint(_adjugate(ans, a))},
)


def _slogdet_jvp(t: Value, ans: Value, a: Value) -> Value:
    trace = np.trace(np.linalg.solve(a, t), 0, -2, -1)
    if trace.dtype.kind != "c":
        return None, trace
    return ans[0] * 1j * np.imag(trace), np.real(trace)


def _slogdet_vjp(g: Value, ans: Value, a_inverse: Inverse) -> Value:
    weight = g[1]
    inverse = a_inverse.get()
    if inverse.dtype.kind == "c":
        weight = weight - 1j * np.imag(np.conjugate(g[0]) * ans[0])
    return as_factor(weight) * inverse


op(
    np.linalg.slogdet,
    "a",
    vmap=stacked_vmap(np.linalg.slogdet),
    jvp={"a": _slogdet_jvp},
    vjp={"a": _slogdet_vjp},
)

# ---- pinv, matrix_rank ----


def _pinv_jvp(t: Value, ans: Value, a: Value, hermitian: bool = False) -> Value:
    """Apply Golub and Pereyra, *The differentiation of pseudo-inverses* (1973)."""
    if hermitian:
        t, a = complete_hermitian(t), complete_hermitian(a)
    check_cut(a, ans)
    th, ah = adjoint(t), adjoint(ans)
    right = th - np.matmul(np.matmul(th, a), ans)
    left = th - np.matmul(ans, np.matmul(a, th))
    c = np.matmul(np.matmul(ans, ah), right) + np.matmul(left, np.matmul(ah, ans))
    return c - np.matmul(np.matmul(ans, t), ans)


def _pinv_vjp(g: Value, ans: Value, a: Value, hermitian: bool = False) -> Value:
    if hermitian:
        return fold_triangle(_pinv_vjp(g, ans, complete_hermitian(a)))
    check_cut(a, ans)
    gh, ah = adjoint(g), adjoint(ans)
    left = gh - np.matmul(a, np.matmul(ans, gh))
    right = gh - np.matmul(np.matmul(gh, ans), a)
    c = np.matmul(left, np.matmul(ans, ah)) + np.matmul(np.matmul(ah, ans), right)
    return c - np.matmul(np.matmul(ah, g), ah)


op(
    np.linalg.pinv,
    "a rcond hermitian rtol",
    vmap=stacked_vmap(np.linalg.pinv),
    jvp={"a": _pinv_jvp},
    vjp={"a": _pinv_vjp},
)


def _matrix_rank_vmap(k: int, A: Value, **params: Any) -> Value:
    if A.ndim - k < 2:  # a vector has rank 1 unless it is zero
        return np.astype(np.any(A != 0, axis=tuple(range(k, A.ndim))), int)
    return np.linalg.matrix_rank(A, **params)


constant(np.linalg.matrix_rank, "A tol hermitian rtol", vmap=_matrix_rank_vmap)

# ---- functions made of these ----

by_own_code(np.linalg.matrix_power, np.linalg.tensorinv)


@lambda body: composite(np.linalg.tensorsolve, body)
def _tensorsolve(a: Value, b: Value, axes: Sequence[int] | None = None) -> Value:
    a, b = ensure_array(a), ensure_array(b)
    if axes is not None:
        moved = [i % a.ndim for i in axes]
        a = np.transpose(a, (*(i for i in range(a.ndim) if i not in moved), *moved))
    shape = a.shape[b.ndim :]
    size = prod(shape)
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, size)), np.ravel(b)), shape)


def _inverses(a: Value) -> Value:
    """Return the inverses of stacked matrices, NaN for those that are singular."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        if a.ndim == 2:
            return np.full(a.shape, np.nan, linalg_dtype(a))
        return np.stack([_inverses(x) for x in a])


inverses = primitive(_inverses)
op(
    inverses,
    "a",
    vmap=stacked_vmap(inverses),
    jvp=OPS[np.linalg.inv].jvp,
    vjp=OPS[np.linalg.inv].vjp,
)


def _condition(x: Value, p: Value) -> Value:
    """Return the condition number; for a singular matrix it is infinite, or NaN."""
    with np.errstate(all="ignore"):
        if p is None or p in (2, -2):
            s = np.linalg.svdvals(x)
            ends = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
            lost = np.logical_and(*(np.equal(v, 0) for v in ends))
            return np.where(lost, np.inf, ends[0] / np.where(lost, 1, ends[1]))
        return np.linalg.norm(x, p, (-2, -1)) * np.linalg.norm(inverses(x), p, (-2, -1))


@lambda body: composite(np.linalg.cond, body)
def _cond(x: Value, p: Value = None) -> Value:
    """Return infinity for a singular matrix: where NaN comes of a matrix without NaN."""
    x = ensure_array(x)
    linalg_dtype(x)
    if x.ndim < 2 or (x.shape[-2] != x.shape[-1] and p not in (None, 2, -2)):
        np.linalg.cond(np.broadcast_to(1.0, x.shape), p)  # NumPy's error
    c = _condition(x, p)
    missing = np.logical_and(np.isnan(c), np.logical_not(np.any(np.isnan(x), axis=(-2, -1))))
    if is_known_false(missing):
        return c
    regular = np.where(missing[..., None, None], np.eye(*x.shape[-2:], dtype=x.dtype), x)
    return np.where(missing, np.inf, _condition(regular, p))
