"""Rules for the eigenvalues of square matrices of any kind, and of pairs, in `scipy.linalg`.

The derivatives are those of `_rules.linalg.eig`. The values of a pair are those of ``b^-1 a``,
so `b` has to be regular.
"""

from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.errors import NoRuleError, UnsupportedError
from ...._core.numpy_facts import Value, align
from ...._rules.constructors import check_values
from ...._rules.linalg.contract import conj
from ...._rules.linalg.factorization import adjoint
from ....protocol import constant, op, primitive
from ..declare import declare_composite, record_of
from .solves import system
from .stacks import at_once, for_each, matrices, refuse, require_square, stacking

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
