"""A call of a solver of SciPy on plain values, its derivatives, and the conditions of a minimum.

NOTE [chord steps]
    SciPy finds a root of plain values, and nothing of its search is differentiated. The derivative
    follows from the equation alone. One step ``x - (f(x) - r) / J`` from the root that SciPy
    found, with the plain Jacobian J there and the plain residual r, does not change the value, and
    is right to one order of derivatives more than `x`. So there are as many steps as levels that
    differentiate.

NOTE [a minimum with conditions]
    At a minimum a condition is either an equation, or is not felt. Which of the two follows from
    SciPy's result. The gradient, less that of the conditions times their multipliers, is zero. So
    the minimum is the root of a system for the unknowns and the multipliers. A condition that just
    ceases to be felt is a kink.
"""

import functools
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._control.masks import narrow
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import shape_of
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._levels.raised import Outcomes
from .._transforms.grad import grad
from .._transforms.jacobian import jacfwd
from .._transforms.jvp import jvp
from .._transforms.stop_gradient import stop_gradient
from ..progress import during
from ._parts import Layout, NewBatch

FAR = 1e-3
"""The largest Newton step that may be left at a root, relative to its size."""


CONSTANT = {
    "fun", "fvec", "success", "status", "message", "nfev", "njev", "nhev", "nit", "flag",
    "converged", "iterations", "function_calls", "method", "active_mask", "optimality", "_flag",
}  # fmt: skip
"""The names in a report that have no derivative, or a zero one."""


class Problem:
    """A call of a solver: its functions see plain values, one example at a time.

    `met` tells if a function has returned a tensor.
    """

    def __init__(self, label: str, args: Any):
        self.label, self.layout, self.met = label, Layout(), False
        self.args = args if isinstance(args, tuple) else (args,)

    def examples(self) -> list[tuple[int, ...]]:
        return list(np.ndindex(self.layout.batch_shape()))

    def function(self, func: Callable, e: tuple) -> Callable:
        """Return a function of SciPy's plain arguments, for an example."""

        @functools.wraps(func, updated=())
        def plain(*given: Any) -> Any:
            return self.value(func(*given, *self.args), e)

        return plain

    def value(self, x: Any, e: tuple) -> Any:
        """Return the plain value of an example, or a tuple of them."""
        if isinstance(x, tuple):
            return tuple([self.value(v, e) for v in x])
        x = fnp.asarray(x) if isinstance(x, list) and classes_in(x) else x
        if not isinstance(x, Tensor):
            return x
        self.met = True
        value = self.layout.parts(stop_gradient(x))[self.layout.zero]
        return value[e][()] if value.ndim >= len(e) else value[()]

    def solve(self, solve: Callable[[tuple], Any], starts: Any) -> list[Any]:
        """Return the results of `solve` for all examples, where `starts` may be tensors."""
        while True:
            try:
                for x in starts:
                    self.value(x, ())
                results = self._all_results(solve)
                if len(results) == len(self.examples()):
                    return results
            except NewBatch:
                continue

    def _all_results(self, solve: Callable[[tuple], Any]) -> list[Any]:
        """Return the results of all examples; those that raise run apart from the others."""
        outcomes = Outcomes(self.layout.batch_shape())
        results: list[Any] = []
        examples = self.examples()
        with during(self.label, lambda: len(results), len(examples), " examples"):
            for e in examples:
                results.append(outcomes.of(e, solve))
        if outcomes.error is not None:
            raised = self.layout.constant(outcomes.raised)
            outcomes.raise_error(raised, self.label)
        return results

    def root(self, f: Callable, x: np.ndarray, elementwise: bool) -> Any:
        """Return a root with its derivatives: see NOTE [chord steps].

        An elementwise function has a diagonal Jacobian.
        """
        root = self.layout.constant(x)
        if not self.layout.order:
            return root
        found = f(root)
        residual = stop_gradient(found)
        if residual is found:
            return root
        with np.errstate(all="ignore"):
            if elementwise:
                slope = narrow(stop_gradient(jvp(f, (root,), (np.ones_like(root),))[1]))
                step = residual / slope
            else:
                with during(f"{self.label}: Jacobian"):
                    slope = narrow(stop_gradient(jacfwd(f)(root)))
                if shape_of(slope) != 2 * shape_of(root):
                    raise self.refusal(
                        f"as {shape_of(found)[0]} equations for {shape_of(root)[0]} unknowns"
                    )
                try:
                    step = np.linalg.solve(slope, residual)
                except np.linalg.LinAlgError:
                    raise self.refusal("as the Jacobian is singular there") from None
            left = np.max(np.abs(step), initial=0.0) / (1.0 + np.max(np.abs(root), initial=0.0))
            left = self.layout.parts(left)[self.layout.zero]
        if not np.all(left <= FAR):
            raise self.refusal(
                "as the function is not zero there, or has no slope: Newton's method would go on "
                f"by {np.max(left):.1g} of its size"
            )
        for _ in range(self.layout.order):
            change = f(root) - residual
            root = root - (change / slope if elementwise else np.linalg.solve(slope, change))
        return root

    def refusal(self, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.label}: the result has no derivative by the implicit function theorem, {why}; "
            f"pass functier.stop_gradient of what the function closes over, or another start"
        )

    def joined(self, values: list[Any]) -> Any:
        """Return what the reports of all examples say, for one name."""
        first = values[0]
        if len(values) == 1:
            return first
        if isinstance(first, (bool, int, float, complex, np.generic, np.ndarray)):
            rows = np.array(values)
            return self.layout.constant(rows.reshape((*self.layout.batch_shape(), *rows.shape[1:])))
        if isinstance(first, str):
            return "; ".join(dict.fromkeys(values))
        return None if any(v is not None for v in values) else first

    def moved(self, values: list[Any], own: Any) -> Any:
        """Return the plain values of all examples with the derivatives of `own`."""
        rows = np.array(values)
        plain = rows.reshape((*self.layout.batch_shape(), *rows.shape[1:]))
        return self.layout.constant(plain) + (own - stop_gradient(own))

    def report(self, results: list[Any], **own: Any) -> Any:
        """Return a result object of SciPy for all examples, with some attributes of ours.

        A report with a derivative lacks what would need one, too, such as an inverse Hessian.
        """
        made = copy(results[0])
        for name in list(made):
            if name in own:
                made[name] = own[name]
            elif name in CONSTANT or not self.layout.order:
                made[name] = self.joined([r[name] for r in results])
            else:
                del made[name]
        return made


def is_plain(*functions: Any) -> bool:
    """Return whether SciPy is to be called at once."""
    return AMBIENT.get() is Tensor or not all(map(callable, functions))


def has_tensor(*values: Any) -> bool:
    return bool(classes_in(*values))


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
