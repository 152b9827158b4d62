"""Rules for the algebraic equations of Riccati in `scipy.linalg`.

With the optimal feedback ``k`` and ``f = a - b k`` the derivative by ``k`` is zero, so the
equations are differentiated as if ``k`` were constant:

    e^H x f + f^H x e - s k - (s k)^H + k^H r k + q = 0         (continuous)
    f^H x f - e^H x e - s k - (s k)^H + k^H r k + q = 0         (discrete)

What remains is an equation of Lyapunov; see `equations`. SciPy requires that `q` and `r` are
Hermitian, and returns a Hermitian solution: the derivatives are by the Hermitian parts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Value
from ...._rules.linalg.factorization import adjoint
from ..declare import declare, dispatching
from .batches import as_lapack, each_vmap

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
        self.solve = dispatching(
            sl.solve_discrete_lyapunov if discrete else sl.solve_continuous_lyapunov
        )

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
