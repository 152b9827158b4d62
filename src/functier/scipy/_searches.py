"""Twins for `scipy.optimize`: searches for minima but `minimize`, and solvers of large systems.

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
from ._problems import Limits, Problem, has_tensor, is_plain


def _scalar(y: Any) -> Any:
    y = fnp.asarray(y[0] if isinstance(y, tuple) else y)
    return np.reshape(y, ()) if y.ndim else y


SLOPES = "fprime", "fhess", "fhess_p"
"""The parameters that are functions, as the first one is."""
OF_SEARCHES = "scipy.optimize.minimize from the result of a search outside"
OF_ALL = "scipy.optimize.minimize, whose result has x, fun and the numbers of calls"
REFUSED = {
    **dict.fromkeys(("constraints", "vectorized", "integrality"), OF_SEARCHES),
    **dict.fromkeys(("full_output", "retall"), OF_ALL),
}
"""Options with which the minimum is another problem's, or that return more, and what to write."""


def _minimum(original: Callable, place: Callable, form: Callable) -> Callable:
    """Return the twin of a function that looks for a minimum.

    ``place(result)`` is the minimum of a result of SciPy's;
    ``form(problem, results, x, value)`` is the twin's result, where ``value(x)`` is the least one.
    """
    parameters, label = inspect.signature(original), f"scipy.optimize.{original.__name__}"
    name = next(iter(parameters.parameters))

    @functools.wraps(original)
    def search(*args: Any, **options: Any) -> Any:
        given = dict(parameters.bind(*args, **options).arguments)
        func, start, bounds = given[name], given.get("x0"), given.get("bounds")
        if is_plain(func):
            return original(*args, **options)
        words = dict(given.get("minimizer_kwargs") or {})
        problem = Problem(label, given.pop("args", words.pop("args", ())))
        limits = None if bounds is None else Limits(bounds)
        functions = {k: given[k] for k in (name, *SLOPES) if callable(given.get(k))}
        slopes = {k: words[k] for k in ("jac", "hess", "hessp") if callable(words.get(k))}

        def solve(e: tuple) -> Any:
            given.update({k: problem.function(f, e) for k, f in functions.items()})
            if start is not None:
                given["x0"] = problem.value(start, e)
            if limits is not None:
                own = limits.plain(problem, e)
                given["bounds"] = list(zip(own.lb, own.ub))
            if words:
                plain = {k: problem.function(f, e) for k, f in slopes.items()}
                given["minimizer_kwargs"] = words | plain
            return original(**given)

        ends = () if limits is None else (limits.low, limits.high)
        starts = ends if start is None else (start, *ends)
        results = problem.solve(solve, starts)
        if not problem.met and not has_tensor(*starts):
            return results[0]
        for option, remedy in REFUSED.items():
            if np.any(given.get(option) if given.get(option) is not None else False):
                raise UnsupportedError(
                    f"{label}: {option} is not supported inside a transform; write {remedy}"
                )

        def value(x: Any) -> Any:
            return _scalar(func(x, *problem.args))

        xs = np.array([np.atleast_1d(place(r)) for r in results], float)
        xs = xs.reshape(*problem.layout.batch_shape(), -1)
        slope = grad(value)
        equation = limits.equation(slope, problem.layout.constant(xs)) if limits else slope
        return form(problem, results, problem.root(equation, xs, elementwise=False), value)

    return search


def _of_l_bfgs_b(problem: Problem, results: list, x: Any, value: Callable) -> tuple:
    names = ("nit", "funcalls", "warnflag", "task")
    return x, value(x), {k: problem.joined([r[2][k] for r in results]) for k in names}


def _of_tnc(problem: Problem, results: list, x: Any, value: Callable) -> tuple:
    return x, *[problem.joined([r[i] for r in results]) for i in (1, 2)]


def _search(original: Callable) -> Callable:
    return _minimum(
        original, lambda r: r.x, lambda problem, results, x, value: problem.report(
            results, x=x, fun=value(x)
        ),
    )  # fmt: skip


def _older(original: Callable) -> Callable:
    return _minimum(original, lambda r: r, lambda problem, results, x, value: x)


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
        (_older, "fmin fmin_powell fmin_cg fmin_bfgs fmin_ncg"),
        (
            _large_root,
            "newton_krylov broyden1 broyden2 anderson linearmixing diagbroyden excitingmixing",
        ),
    )
    for name in names.split()
] + [
    (sco.fmin_l_bfgs_b, _minimum(sco.fmin_l_bfgs_b, lambda r: r[0], _of_l_bfgs_b)),
    (sco.fmin_tnc, _minimum(sco.fmin_tnc, lambda r: r[0], _of_tnc)),
]
"""Pairs of an object of SciPy and its twin."""
