"""Bounds and constraints of a minimum: which of them hold there, and the equation that follows.

NOTE [a minimum with conditions]
    At a minimum a condition is either an equation, or is not felt. Which of the two follows from
    SciPy's result. The gradient, less that of the conditions times their multipliers, is zero. So
    the minimum is the root of a system for the unknowns and the multipliers. A condition that just
    ceases to be felt is a kink.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._transforms.grad import grad
from .._transforms.jacobian import jacfwd
from .._transforms.stop_gradient import stop_gradient
from ._problems import Problem

NEAR = 1e-6
"""The distance from a bound, relative to it, at which an unknown counts as on it."""


class Limits:
    """Bounds of the unknowns in any of SciPy's forms; their numbers may be tensors."""

    def __init__(self, bounds: Any):
        self.feasible: Any = False
        if isinstance(bounds, sco.Bounds):
            self.low, self.high = bounds.lb, bounds.ub
            self.feasible = bounds.keep_feasible
        else:
            pairs = [tuple(pair) for pair in bounds]
            self.low = [-np.inf if low is None else low for low, _ in pairs]
            self.high = [np.inf if high is None else high for _, high in pairs]
        self.low, self.high = fnp.asarray(self.low), fnp.asarray(self.high)

    def plain(self, problem: Problem, e: tuple) -> Any:
        low, high = (problem.value(v, e) for v in (self.low, self.high))
        return sco.Bounds(low, high, self.feasible)

    def equation(self, slope: Callable, x: Any) -> Callable:
        """Return the equation of a minimum near the place `x`, which has no derivative."""
        with np.errstate(invalid="ignore"):
            g = stop_gradient(slope(x))
            low, high = stop_gradient(self.low), stop_gradient(self.high)
            at_low = (x <= low + NEAR * (1 + np.abs(low))) & (g > 0)
            at_high = (x >= high - NEAR * (1 + np.abs(high))) & (g < 0)
        low = np.where(np.isfinite(low), self.low, 0.0)
        high = np.where(np.isfinite(high), self.high, 0.0)
        return lambda x: np.where(at_low, x - low, np.where(at_high, x - high, slope(x)))


# ---- constraints ----


class Constraint:
    """A constraint in one of SciPy's forms: numbers that are zero, and such that are not negative.

    ``parts(x)`` returns both, each as an array of one axis.
    """

    def __init__(self, given: Any):
        self.given = given
        self.args: Any = ()
        if isinstance(given, dict):
            self.func, self.args = given["fun"], given.get("args", ())
        elif isinstance(given, sco.NonlinearConstraint):
            self.func = given.fun
        elif isinstance(given, sco.LinearConstraint):
            self.func = lambda x: given.A @ x
        else:
            raise UnsupportedError(
                f"scipy.optimize.minimize: a constraint of the class {type(given).__name__} is not "
                f"supported inside a transform; write a dict, or a scipy.optimize."
                f"NonlinearConstraint"
            )

    def parts(self, x: Any) -> tuple[Any, Any]:
        values = np.reshape(fnp.asarray(self.func(x, *self.args)), -1)
        if isinstance(self.given, dict):
            return (values, values[:0]) if self.given["type"] == "eq" else (values[:0], values)
        ends = [fnp.asarray(v) for v in (self.given.lb, self.given.ub)]
        low, high = (np.broadcast_to(v, np.shape(values)) for v in ends)
        least, most = stop_gradient(low), stop_gradient(high)
        fixed = least == most
        above, below = np.isfinite(least) & ~fixed, np.isfinite(most) & ~fixed
        inside = np.concatenate([values[above] - low[above], high[below] - values[below]])
        return values[fixed] - low[fixed], inside

    def plain(self, problem: Problem, e: tuple) -> Any:
        """Return the constraint for SciPy, with functions of plain values."""

        def of(function: Any) -> Any:
            if not callable(function):
                return function
            return lambda x: problem.value(function(x, *self.args), e)

        if isinstance(self.given, dict):
            found = {"type": self.given["type"], "fun": of(self.func)}
            return found | ({"jac": of(self.given["jac"])} if "jac" in self.given else {})
        ends = [problem.value(v, e) for v in (self.given.lb, self.given.ub)]
        feasible = self.given.keep_feasible
        if isinstance(self.given, sco.LinearConstraint):
            return sco.LinearConstraint(problem.value(self.given.A, e), *ends, feasible)
        jac = of(self.given.jac)
        return sco.NonlinearConstraint(of(self.func), *ends, jac, keep_feasible=feasible)

    def tensors(self) -> list:
        """Return what may have a tensor."""
        if isinstance(self.given, dict):
            return []
        return [
            getattr(self.given, name) for name in ("lb", "ub", "A") if hasattr(self.given, name)
        ]


def constraints_of(given: Any) -> list[Constraint]:
    several = given if isinstance(given, (list, tuple)) else [given]
    return [Constraint(c) for c in several]


def constrained_minimum(
    problem: Problem, value: Callable, constraints: list[Constraint], limits: Limits | None, xs: Any
) -> Any:
    """Return the minimum with its derivatives; see NOTE [a minimum with conditions]."""
    n = np.shape(xs)[-1]
    equal = 0

    def conditions(x: Any) -> Any:
        nonlocal equal
        pairs = [c.parts(x) for c in constraints]
        if limits is not None:
            low, high = stop_gradient(limits.low), stop_gradient(limits.high)
            places = np.isfinite(low), np.isfinite(high)
            own = [(x - limits.low)[places[0]], (limits.high - x)[places[1]]]
            pairs.append((x[:0], np.concatenate(own)))
        equal = sum(np.shape(zero)[0] for zero, _ in pairs)
        return np.concatenate([*[zero for zero, _ in pairs], *[least for _, least in pairs]])

    at = problem.layout.constant(xs)
    slope, found = stop_gradient(grad(value)(at)), stop_gradient(conditions(at))
    slopes = stop_gradient(jacfwd(conditions)(at))
    zero = problem.layout.zero
    parts = [problem.layout.parts(v)[zero] for v in (slope, found, slopes)]
    batch = problem.layout.batch_shape()
    m = np.shape(found)[0]
    parts = [np.broadcast_to(p, (*batch, *s)) for p, s in zip(parts, ((n,), (m,), (m, n)))]
    multipliers = np.zeros((*batch, m))
    for e in np.ndindex(*batch):
        g, c, j = (p[e] for p in parts)
        near = (np.arange(m) < equal) | (np.abs(c) <= 1e-4 * (1 + np.max(np.abs(xs[e]), initial=0)))
        if np.any(near):
            least = np.where(np.arange(m) < equal, -np.inf, 0.0)[near]
            multipliers[(*e, near)] = sco.lsq_linear(j[near].T, g, (least, np.inf), tol=1e-14).x
    size = 1e-7 * (1 + np.max(np.abs(multipliers), axis=-1, initial=0.0)[..., None])
    felt = problem.layout.constant((np.arange(m) < equal) | (multipliers > size))

    def equation(z: Any) -> Any:
        x, weights = z[:n], z[n:]
        rest = grad(lambda x: value(x) - np.sum(weights * conditions(x)))(x)
        return np.concatenate([rest, np.where(felt, conditions(x), weights)])

    z = problem.root(equation, np.concatenate([xs, multipliers], axis=-1), elementwise=False)
    return z[:n]
