"""Rules for the matrix equations of `scipy.linalg`, with those of Riccati.

The derivative of a solution is the solution of the linear equation that comes of differentiating
the equation; so it takes one more solve. The equations of Lyapunov and Riccati: Kao and Hennequin,
*Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations* (2020); here
with the terms `e` and `s` too.

In the equations of Riccati, with the optimal feedback ``k`` and ``f = a - b k``, the derivative
with respect to ``k`` is zero, so the equations are differentiated as if ``k`` were constant:

    e^H x f + f^H x e - s k - (s k)^H + k^H r k + q = 0         (continuous)
    f^H x f - e^H x e - s k - (s k)^H + k^H r k + q = 0         (discrete)

What remains is an equation of Lyapunov. SciPy requires that `q` and `r` are Hermitian, and returns
a Hermitian solution: the derivatives are with respect to the Hermitian parts.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import op, primitive
from ..declare import declare, dispatching
from .stacks import as_lapack, each_vmap

# ---- Sylvester's equation, for rules: a x + x b = q ----


def _sylvester(a: Value, b: Value, q: Value) -> Value:
    """Solve Sylvester's equation; without a unique solution it raises `LinAlgError`.

    SciPy's function returns numbers then, as LAPACK perturbs the matrices.
    """
    if max(np.ndim(x) for x in (a, b, q)) > 2:
        batch = np.broadcast_shapes(*(np.shape(x)[:-2] for x in (a, b, q)))
        a, b, q = (np.broadcast_to(x, batch + np.shape(x)[-2:]) for x in (a, b, q))
        found = [_sylvester(a[i], b[i], q[i]) for i in np.ndindex(*batch)]
        return np.reshape(np.stack(found) if found else np.empty(q.shape), q.shape)
    dtype = np.result_type(a, b, q)
    if 0 in np.shape(q):
        return np.zeros(np.shape(q), dtype)
    r, u = sl.schur(np.asarray(a, dtype), check_finite=False)
    s, v = sl.schur(adjoint(np.asarray(b, dtype)), check_finite=False)
    f = adjoint(u) @ np.asarray(q, dtype) @ v
    (solve,) = sl.get_lapack_funcs(("trsyl",), (r, s, f))
    y, scale, info = solve(r, s, f, tranb="C")
    if info:
        raise np.linalg.LinAlgError(
            "a derivative solves a Sylvester equation that has no unique solution here; "
            "there is no derivative here, as for a square root at 0"
        )
    return u @ (scale * y) @ adjoint(v)


sylvester = primitive(_sylvester)


def _sylvester_all(g: Value, ans: Value, a: Value, b: Value) -> tuple:
    z = sylvester(adjoint(a), adjoint(b), g)
    return -np.matmul(z, adjoint(ans)), -np.matmul(adjoint(ans), z), z


SYLVESTER: dict[str, Any] = {
    "jvp": {
        "a": lambda t, ans, a, b: -sylvester(a, b, np.matmul(t, ans)),
        "b": lambda t, ans, a, b: -sylvester(a, b, np.matmul(ans, t)),
        "q": lambda t, a, b: sylvester(a, b, t),
    },
    "vjp": {
        "a": lambda g, ans, a, b: _sylvester_all(g, ans, a, b)[0],
        "b": lambda g, ans, a, b: _sylvester_all(g, ans, a, b)[1],
        "q": lambda g, a, b: sylvester(adjoint(a), adjoint(b), g),
    },
    "joint": _sylvester_all,
}

op(sylvester, "a b q", "a b q", vmap=each_vmap(sylvester), **SYLVESTER)


# ---- SciPy's equations ----


def of_one_kind(func: Callable) -> Callable:
    """Return a function that calls `func` on real or on complex matrices, and not on both.

    For both SciPy calls LAPACK's routine for complex matrices with a real Schur form, which it
    misreads where real matrices have complex eigenvalues.
    """

    @functools.wraps(func)
    def kernel(*matrices: Value, **params: Any) -> Value:
        if any(np.iscomplexobj(x) for x in matrices):
            matrices = tuple(x * np.complex64(1) for x in matrices)
        return dispatching(func)(*matrices, **params)

    return kernel


declare(
    sl,
    "solve_sylvester",
    "a b q",
    "a b q",
    kernel=of_one_kind(sl.solve_sylvester),
    vmap=each_vmap(of_one_kind(sl.solve_sylvester)),
    **SYLVESTER,
)


def _lyapunov(a: Value, q: Value) -> Value:
    """Solve ``a x + x a^H = q``; SciPy's function returns numbers where no x is the only one."""
    return sylvester(a, adjoint(a), q)


_stein = dispatching(sl.solve_discrete_lyapunov)


def _continuous_lyapunov_both(g: Value, ans: Value, a: Value) -> tuple:
    z = _lyapunov(adjoint(a), g)
    return -np.matmul(z, adjoint(ans)) - np.matmul(adjoint(z), ans), z


def _continuous_lyapunov_jvp(t: Value, ans: Value, a: Value) -> Value:
    return _lyapunov(a, -np.matmul(t, ans) - np.matmul(ans, adjoint(t)))


declare(
    sl,
    "solve_continuous_lyapunov",
    "a q",
    "a q",
    kernel=of_one_kind(sl.solve_continuous_lyapunov),
    vmap=each_vmap(of_one_kind(sl.solve_continuous_lyapunov)),
    jvp={"a": _continuous_lyapunov_jvp, "q": lambda t, a: _lyapunov(a, t)},
    vjp={
        "a": lambda g, ans, a: _continuous_lyapunov_both(g, ans, a)[0],
        "q": lambda g, a: _lyapunov(adjoint(a), g),
    },
    joint=_continuous_lyapunov_both,
)


def _solve_discrete(a: Value, q: Value, **params: Any) -> Value:
    """Call SciPy's function, which takes a number for any matrix `a` and has another meaning."""
    if a.shape[-2:] == (1, 1) != q.shape[-2:]:
        raise ValueError(
            f"scipy.linalg.solve_discrete_lyapunov: `a` and `q` must have the same shape, got "
            f"{a.shape} and {q.shape}; write a * numpy.eye(len(q)) for `a`"
        )
    return of_one_kind(sl.solve_discrete_lyapunov)(a, q, **params)


def _discrete_lyapunov_both(g: Value, ans: Value, a: Value, method: Any = None) -> tuple:
    z = _stein(adjoint(a), g, method)
    right = np.matmul(np.matmul(z, a), adjoint(ans))
    return right + np.matmul(np.matmul(adjoint(z), a), ans), z


def _discrete_lyapunov_jvp(t: Value, ans: Value, a: Value, method: Any = None) -> Value:
    moved = np.matmul(np.matmul(t, ans), adjoint(a))
    moved = moved + np.matmul(np.matmul(a, ans), adjoint(t))
    return _stein(a, moved, method)


declare(
    sl,
    "solve_discrete_lyapunov",
    "a q method",
    "a q",
    kernel=_solve_discrete,
    vmap=each_vmap(_solve_discrete),
    jvp={
        "a": _discrete_lyapunov_jvp,
        "q": lambda t, a, method=None: _stein(a, t, method),
    },
    vjp={
        "a": lambda g, ans, a, method=None: _discrete_lyapunov_both(g, ans, a, method)[0],
        "q": lambda g, a, method=None: _stein(adjoint(a), g, method),
    },
    joint=_discrete_lyapunov_both,
)


PARTS = ("a", "b", "q", "r", "e", "s")


def _product(*factors: Value) -> Value:
    """Multiply matrices; None is the identity."""
    result = None
    for x in factors:
        if x is not None:
            result = x if result is None else np.matmul(result, x)
    return result


def _hermitian(x: Value) -> Value:
    return 0.5 * (x + adjoint(x))


def _adjoint(x: Value) -> Value:
    return None if x is None else adjoint(x)


class Feedback:
    """The solution of an equation, with its feedback `k` and closed loop `f`."""

    def __init__(self, x: Value, a: Value, b: Value, r: Value, e: Value, s: Value, discrete: bool):
        a, b, r, e, s = (None if v is None else as_lapack(v) for v in (a, b, r, e, s))
        self.x, self.b, self.e, self.discrete = x, b, e, discrete
        weight = r + _product(adjoint(b), x, b) if discrete else r
        right = _product(adjoint(b), x, a if discrete else e)
        self.k = np.linalg.solve(weight, right if s is None else right + adjoint(s))
        self.f = a - np.matmul(b, self.k)
        inverse = None if e is None else np.linalg.inv(e)
        self.inverse, self.loop = inverse, _product(self.f, inverse)
        self.solve = _stein if discrete else _lyapunov

    def push(self, name: str, t: Value) -> Value:
        """Return the tangent of the solution for a tangent of one of the matrices."""
        x, k = self.x, self.k
        outer = self.f if self.discrete else self.e  # of the term that has `a`
        moved = {
            "a": lambda: 2 * _product(_adjoint(outer), x, t),
            "b": lambda: -2 * _product(_adjoint(outer), x, t, k),
            "e": lambda: 2 * _product(adjoint(self.inner()), x, t),
            "s": lambda: -2 * np.matmul(t, k),
            "r": lambda: _product(adjoint(k), t, k),
            "q": lambda: t,
        }[name]()
        moved = _hermitian(_product(_adjoint(self.inverse), _hermitian(moved), self.inverse))
        return self.solve(adjoint(self.loop), moved if self.discrete else -moved)

    def pull(self, g: Value) -> dict[str, Value]:
        """Return the cotangents of all matrices."""
        x, k, g = self.x, self.k, _hermitian(g)
        z = self.solve(self.loop, g if self.discrete else -g)
        w = _hermitian(_product(self.inverse, z, _adjoint(self.inverse)))
        outer = self.f if self.discrete else self.e
        on_a = 2 * _product(x, outer, w)
        return {
            "a": on_a,
            "b": -np.matmul(on_a, adjoint(k)),
            "q": w,
            "r": _product(k, w, adjoint(k)),
            "e": None if self.e is None else 2 * _product(x, self.inner(), w),
            "s": -2 * np.matmul(w, adjoint(k)),
        }

    def inner(self) -> Value:
        """Return the factor of ``x e`` in the equation: that of ``e^H x`` is its adjoint."""
        return -self.e if self.discrete else self.f


def _declare(name: str, discrete: bool) -> None:
    def jvp(part: str) -> Callable:
        def rule(
            t: Value, ans: Value, a: Value, b: Value, r: Value, e: Value = None, s: Value = None
        ) -> Value:
            return Feedback(ans, a, b, r, e, s, discrete).push(part, t)

        return rule

    def vjp(part: str) -> Callable:
        def rule(
            g: Value, ans: Value, a: Value, b: Value, r: Value, e: Value = None, s: Value = None
        ) -> Value:
            return Feedback(ans, a, b, r, e, s, discrete).pull(g)[part]

        return rule

    def joint(
        g: Value, ans: Value, a: Value, b: Value, r: Value, e: Value = None, s: Value = None
    ) -> tuple:
        pulled = Feedback(ans, a, b, r, e, s, discrete).pull(g)
        absent = [name for name, x in (("e", e), ("s", s)) if x is None]
        return tuple(pulled[name] for name in PARTS if name not in absent)

    def form(a: Value, *others: Value, **params: Any) -> Value:
        named = [x for x in params.values() if hasattr(x, "dtype")]
        return np.zeros(a.shape, np.result_type(a, *others, *named, float))

    func = getattr(sl, name)
    declare(
        sl,
        name,
        "a b q r e s balanced",
        "a b q r e s",
        vmap=each_vmap(dispatching(func), form),
        jvp={part: jvp(part) for part in PARTS},
        vjp={part: vjp(part) for part in PARTS},
        joint=joint,
    )


_declare("solve_continuous_are", False)
_declare("solve_discrete_are", True)
