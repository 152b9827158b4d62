"""Twins for `scipy.optimize`: searches for the least of all minima, and solvers of large systems.

The derivative of what they find is that of a minimum or a root: see `_minima` and `_optimize`.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._transforms.grad import grad
from ._conditions import Limits
from ._problems import Problem, has_tensor, is_plain


def _scalar(y: Any) -> Any:
    y = fnp.asarray(y[0] if isinstance(y, tuple) else y)
    return np.reshape(y, ()) if y.ndim else y


def _minimum(problem: Problem, func: Callable, limits: Limits | None, xs: Any) -> tuple[Any, Any]:
    """Return the place of a minimum and its value, with their derivatives."""

    def value(x: Any) -> Any:
        return _scalar(func(x, *problem.args))

    slope = grad(value)
    equation = limits.equation(slope, problem.layout.constant(xs)) if limits else slope
    x = problem.root(equation, xs, elementwise=False)
    return x, value(x)


def _rows(problem: Problem, xs: list) -> np.ndarray:
    return np.array(xs, float).reshape(*problem.layout.batch_shape(), -1)


REFUSED = "constraints", "vectorized", "integrality"
"""Options of searches with which the minimum is another problem's."""


def _search(original: Callable) -> Callable:
    """Return the twin of a search for the least of all minima."""
    parameters, label = inspect.signature(original), f"scipy.optimize.{original.__name__}"

    @functools.wraps(original)
    def search(*args: Any, **options: Any) -> Any:
        given = dict(parameters.bind(*args, **options).arguments)
        func = given["func"]
        if is_plain(func):
            return original(*args, **options)
        words = dict(given.get("minimizer_kwargs") or {})
        problem = Problem(label, given.pop("args", words.pop("args", ())))
        bounds = given.get("bounds")
        limits = None if bounds is None else Limits(bounds)
        start = given.get("x0")
        slopes = {k: words[k] for k in ("jac", "hess", "hessp") if callable(words.get(k))}

        def solve(e: tuple) -> Any:
            given["func"] = problem.function(func, e)
            if start is not None:
                given["x0"] = problem.value(start, e)
            if limits is not None:
                own = limits.plain(problem, e)
                given["bounds"] = list(zip(own.lb, own.ub))
            if words:
                plain = {name: problem.function(f, e) for name, f in slopes.items()}
                given["minimizer_kwargs"] = words | plain
            return original(**given)

        ends = () if limits is None else (limits.low, limits.high)
        starts = ends if start is None else (start, *ends)
        results = problem.solve(solve, starts)
        if not problem.met and not has_tensor(*starts):
            return results[0]
        for name in REFUSED:
            if np.any(given.get(name) if given.get(name) is not None else False):
                raise UnsupportedError(
                    f"{label}: {name} is not supported inside a transform; write "
                    f"scipy.optimize.minimize from the result of a search outside"
                )
        x, least = _minimum(problem, func, limits, _rows(problem, [r.x for r in results]))
        return problem.report(results, x=x, fun=least)

    return search


def _with_gradient(original: Callable) -> Callable:
    """Return the twin of ``fmin_l_bfgs_b`` or ``fmin_tnc``, which return tuples."""
    parameters, label = inspect.signature(original), f"scipy.optimize.{original.__name__}"

    @functools.wraps(original)
    def search(*args: Any, **options: Any) -> Any:
        given = dict(parameters.bind(*args, **options).arguments)
        func, start, slope = given["func"], given["x0"], given.get("fprime")
        if is_plain(func):
            return original(*args, **options)
        problem = Problem(label, given.pop("args", ()))
        bounds = given.get("bounds")
        limits = None if bounds is None else Limits(bounds)

        def solve(e: tuple) -> Any:
            given["func"], given["x0"] = problem.function(func, e), problem.value(start, e)
            if slope is not None:
                given["fprime"] = problem.function(slope, e)
            if limits is not None:
                own = limits.plain(problem, e)
                given["bounds"] = list(zip(own.lb, own.ub))
            return original(**given)

        ends = () if limits is None else (limits.low, limits.high)
        results = problem.solve(solve, (start, *ends))
        if not problem.met and not has_tensor(start, *ends):
            return results[0]
        x, least = _minimum(problem, func, limits, _rows(problem, [r[0] for r in results]))
        if original is sco.fmin_tnc:
            return x, *[problem.joined([r[i] for r in results]) for i in (1, 2)]
        names = ("nit", "funcalls", "warnflag", "task")
        report = {k: problem.joined([r[2][k] for r in results]) for k in names}
        return x, least, report

    return search


def _large_root(original: Callable) -> Callable:
    """Return the twin of a solver of many equations, such as ``newton_krylov``."""
    parameters, label = inspect.signature(original), f"scipy.optimize.{original.__name__}"

    @functools.wraps(original)
    def solver(*args: Any, **options: Any) -> Any:
        bound = parameters.bind(*args, **options)
        given = {**bound.arguments, **bound.arguments.get("kw", {})}
        given.pop("kw", None)
        func, start = given.pop("F"), given.pop("xin")
        if is_plain(func):
            return original(*args, **options)
        problem = Problem(label, ())

        def solve(e: tuple) -> Any:
            return original(problem.function(func, e), problem.value(start, e), **given)

        results = problem.solve(solve, (start,))
        if not problem.met and not has_tensor(start):
            return results[0]
        form = np.shape(results[0])

        def equations(x: Any) -> Any:
            return np.reshape(fnp.asarray(func(np.reshape(x, form))), -1)

        flat = np.array(results).reshape(*problem.layout.batch_shape(), -1)
        return np.reshape(problem.root(equations, flat, elementwise=False), form)

    return solver


TWINS: list[tuple[Any, Any]] = [
    (getattr(sco, name), make(getattr(sco, name)))
    for make, names in (
        (_search, "differential_evolution basinhopping dual_annealing shgo direct"),
        (_with_gradient, "fmin_l_bfgs_b fmin_tnc"),
        (
            _large_root,
            "newton_krylov broyden1 broyden2 anderson linearmixing diagbroyden excitingmixing",
        ),
    )
    for name in names.split()
]
"""Pairs of an object of SciPy and its twin."""
