"""Linear systems by SciPy's solvers: each derivative is another solve, by the same solver.

If ``A x = b``, then ``dx = A^-1 (db - dA x)``. The tolerance of a solver holds for its derivatives,
relative to their right-hand sides. Where a solver stops early there is no solution to
differentiate, so the derivative raises. Where it stops early in the system of a derivative, another
solver takes over.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]
import scipy.sparse.linalg as ssl  # type: ignore[import-untyped]

from ...._core.numpy_facts import Shape, Value, name_of
from ...._rules.constructors import check_values
from ...._rules.linalg.contract import conj
from ...._rules.linalg.orthogonal import adjoint
from ....protocol import op, primitive
from ..linalg.stacks import each_vmap
from .products import Pattern, elements, multiply

ONLY_ONCE = "callback", "callback_type", "outer_v", "CU", "show", "check", "x0"
"""Options for the solve that the caller asked for, and not for those of its derivatives."""

FACTORS = ssl.splu, ssl.spilu
"""Functions that return the factors of a matrix, which solve with it."""

DIRECT = ssl.spsolve, ssl.spsolve_triangular, *FACTORS
"""Solvers whose result is the solution alone."""

KEPT = 32
"""The number of matrices whose factors a system keeps."""

SYMMETRIC = ssl.cg, ssl.minres
"""Solvers of Hermitian matrices, whose preconditioners are Hermitian too."""


class System:
    """The facts of a linear system that are not arrays: its solver and options.

    `pattern` is that of the matrix, None for a dense one, and `preconditioner` that of a sparse
    preconditioner. `operator` is a matrix that is not an operand: SciPy's ``LinearOperator``.
    `then` makes a block in which the functions of operators find what they found at first.
    """

    def __init__(
        self, solver: Callable, options: dict, pattern: Pattern | None = None,
        preconditioner: Pattern | None = None, operator: Any = None, derivative: bool = False,
        then: Callable | None = None,
    ):  # fmt: skip
        self.solver, self.options, self.operator = solver, options, operator
        self.pattern, self.preconditioner = pattern, preconditioner
        self.derivative, self.then = derivative, then or contextlib.nullcontext
        self.factors: dict[bytes, Any] = {}

    def owning(self, copy: Callable) -> "System":
        """Return the same system with copies of the patterns, as the matrices may get others."""
        of_a, of_m = [p and p.owning(copy) for p in (self.pattern, self.preconditioner)]
        if of_a is self.pattern and of_m is self.preconditioner:
            return self
        return System(
            self.solver, self.options, of_a, of_m, self.operator, self.derivative, self.then
        )

    @property
    def name(self) -> str:
        return name_of(self.solver)

    def shape(self, a: Value) -> Shape:
        """Return the shape of the matrix."""
        if self.operator is not None:
            return self.operator.shape
        return np.shape(a) if self.pattern is None else self.pattern.shape

    def matrix(self, a: Value) -> Any:
        if self.operator is not None:
            return self.operator
        if self.pattern is not None:
            return self.pattern.fill(a)
        return sp.csc_array(a) if self.derivative and self.solver in DIRECT else a

    def factors_of(self, a: Value) -> Any:
        """Return the factors of a matrix, which are kept for the next right-hand side."""
        key = a.tobytes()
        found = self.factors.get(key)
        if found is None:
            found = self.solver(sp.csc_array(self.matrix(a)), **self.options)
            while len(self.factors) >= KEPT:
                self.factors.pop(next(iter(self.factors)), None)
            self.factors[key] = found
        return found

    def solve(self, a: Value, b: Value, start: Value, m: Value) -> tuple:
        options = dict(self.options)
        if start is not None:
            options["x0"] = start
        if m is not None:
            options["M"] = m if self.preconditioner is None else self.preconditioner.fill(m)
        if self.solver in FACTORS:
            return self.factors_of(a).solve(b), np.int64(0)
        if self.solver in DIRECT:
            return self.solver(self.matrix(a), b, **options), np.int64(0)
        if not self.derivative:
            x, info = self.solver(self.matrix(a), b, **options)
            return x, np.int64(info)
        with self.then():
            with np.errstate(all="ignore"):
                x, info = self.solver(self.matrix(a), b, **options)
            if info:
                x = self._otherwise(a, b, info)
        return x, np.int64(0)

    def _otherwise(self, a: Value, b: Value, info: int) -> Value:
        """Solve the system of a derivative where the solver has failed.

        Solvers that are fast for most right-hand sides break down at some, such as unit vectors.
        """
        matrix = self.matrix(a)
        if self.operator is not None:
            rtol = self.options.get("rtol", 1e-5)
            x, failed = ssl.gmres(matrix, b, rtol=rtol, restart=min(b.shape[0], 200))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ssl.MatrixRankWarning)
                x = ssl.spsolve(sp.csc_array(matrix), b)
            failed = not np.all(np.isfinite(x))
        if failed:
            raise ValueError(
                f"{self.name} stopped early in the system of its derivative, with info={info}; "
                f"pass a larger maxiter, a larger rtol or another preconditioner M"
            )
        return x

    @functools.cached_property
    def of_derivative(self) -> "System":
        """The system with the same matrix whose solution is a derivative."""
        if self.solver in FACTORS:
            return self
        return System(
            self.solver, _for_derivative(self.options), self.pattern, self.preconditioner,
            self.operator, True, self.then,
        )  # fmt: skip

    @functools.cached_property
    def adjoint(self) -> "System":
        """The system of the adjoint matrix, whose solution is a derivative."""
        options = _for_derivative(self.options)
        for name, other in (("M", "M"), ("M1", "M2"), ("M2", "M1")):
            given = self.options.get(other)
            if name in self.options and self.solver not in SYMMETRIC:
                options[name] = None if given is None else _adjoint_operator(given)
        if "lower" in options:
            options["lower"] = not options["lower"]
        of_a, of_m = (p and p.transposed for p in (self.pattern, self.preconditioner))
        operator = None if self.operator is None else self.operator.H
        return System(self.solver, options, of_a, of_m, operator, True, self.then)


def _for_derivative(options: dict) -> dict:
    """Return the options of the solves of derivatives, whose tolerances are relative."""
    kept = {name: v for name, v in options.items() if name not in ONLY_ONCE}
    atol = kept.pop("atol", None)
    if atol and not kept.get("rtol", 1.0):
        kept["rtol"] = min(max(atol, 1e-10), 1e-5)
    return kept


def _adjoint_operator(m: Any) -> Any:
    """Return the adjoint of a preconditioner; None for a function whose adjoint is not known."""
    operator = ssl.aslinearoperator(m).H
    try:
        operator.matvec(np.zeros(operator.shape[1]))
    except Exception:  # it is a function of the user's, or has none
        return None
    return operator


@primitive
def solution(a: Value, b: Value, start: Value = None, m: Value = None, *, system: Any) -> tuple:
    """Return the solution of a linear system, and 0 if the solver has found it.

    `a` is a dense matrix, or the values of a sparse one; `m` such a preconditioner.
    """
    return system.solve(a, b, start, m)


def _product(a: Value, x: Value, system: System) -> Value:
    return np.matmul(a, x) if system.pattern is None else multiply(a, x, system.pattern)


def _found(ans: tuple, system: System) -> Value:
    """Return the solution, where the solver has found it."""
    check_values(
        ans[1], lambda info: not np.any(info),
        f"{system.name} stopped early, so its result has no derivative: info is not 0; pass a "
        f"larger maxiter, a larger rtol or a preconditioner M, or functier.stop_gradient(A) and "
        f"functier.stop_gradient(b)",
    )  # fmt: skip
    return ans[0]


def _jvp_a(t: Value, ans: Value, system: System, a: Value = None, m: Value = None) -> tuple:
    side = _product(t, _found(ans, system), system)
    return -solution(a, side, m=m, system=system.of_derivative)[0], None


def _jvp_b(t: Value, ans: Value, system: System, a: Value = None, m: Value = None) -> tuple:
    _found(ans, system)
    return solution(a, t, m=m, system=system.of_derivative)[0], None


def _vjp_b(g: Value, ans: Value, system: System, a: Value = None, m: Value = None) -> Value:
    _found(ans, system)
    if a is not None:
        a = adjoint(a) if system.pattern is None else conj(a)
    if m is not None and system.solver not in SYMMETRIC:
        m = adjoint(m) if system.preconditioner is None else conj(m)
    return solution(a, g[0], m=m, system=system.adjoint)[0]


def _both(g: Value, ans: Value, system: System, a: Value = None, m: Value = None) -> tuple:
    c = _vjp_b(g, ans, system, a, m)
    x = conj(ans[0])
    if system.pattern is not None:
        return -elements(c, x, system.pattern), c
    if np.ndim(c) == 1:
        return -np.multiply(c[:, None], x), c
    return -np.matmul(c, np.swapaxes(x, -1, -2)), c


def _vjp_a(g: Value, ans: Value, system: System, a: Value = None, m: Value = None) -> Value:
    return _both(g, ans, system, a, m)[0]


def _of_no_example(
    a: Value, b: Value, start: Value = None, m: Value = None, *, system: System
) -> tuple:
    """Return a result in the form of one example, for a batch without examples."""
    dtypes = [x.dtype for x in (a, b) if x is not None]
    return np.zeros(b.shape, np.result_type(*dtypes)), np.int64(0)


op(
    solution,
    "a b start m system",
    "a b start m",
    vmap=each_vmap(solution, _of_no_example),
    jvp={"a": _jvp_a, "b": _jvp_b},
    vjp={"a": _vjp_a, "b": _vjp_b},
    joint=_both,
)
