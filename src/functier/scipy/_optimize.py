"""Twins for `scipy.optimize`: roots. Those of minima are in `_minima` and `_older`."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from . import _linear_problems, _minima, _older, _searches
from ._problems import Problem, has_tensor, is_plain
from ._steps import as_step

# ---- roots of a function of one number ----


def _bracketing(original: Callable) -> Callable:
    """Return the twin of a solver that takes a function and a bracket."""
    parameters, label = inspect.signature(original), f"scipy.optimize.{original.__name__}"

    @functools.wraps(original)
    def solver(*args: Any, **options: Any) -> Any:
        given = parameters.bind(*args, **options).arguments
        func = given["f"]
        if is_plain(func):
            return original(*args, **options)
        given = dict(given)
        problem = Problem(label, given.pop("args", ()))

        def solve(e: tuple) -> Any:
            more = {k: problem.value(v, e) for k, v in given.items() if k != "f"}
            return original(problem.function(func, e), **{**more, "full_output": True})

        results = problem.solve(solve, (given["a"], given["b"]))
        if not problem.met and not has_tensor(given["a"], given["b"]):
            return results[0] if given.get("full_output") else results[0][0]
        return _root_of(problem, func, results, given.get("full_output"))

    return solver


def _root_of(problem: Problem, func: Callable, results: list, full_output: Any) -> Any:
    """Return the root of an elementwise function, with the report where that is wanted."""
    roots = np.array([r[0] for r in results])
    roots = roots.reshape((*problem.layout.batch_shape(), *roots.shape[1:]))
    root = problem.root(lambda x: func(x, *problem.args), roots, elementwise=True)
    if not full_output:
        return root
    if isinstance(results[0][1], sco.RootResults):
        return root, problem.report([r[1] for r in results], root=root)
    return (root, *[problem.joined([r[i] for r in results]) for i in range(1, len(results[0]))])


@functools.wraps(sco.newton)
def newton(
    func: Callable, x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8,
    maxiter: int = 50, fprime2: Any = None, x1: Any = None, rtol: float = 0.0,
    full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    options = {"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp}
    if is_plain(func):
        slopes = {"fprime": fprime, "fprime2": fprime2, "x1": x1}
        return sco.newton(func, x0, args=args, full_output=full_output, **slopes, **options)
    problem = Problem("scipy.optimize.newton", args)

    def solve(e: tuple) -> Any:
        slopes = [g and problem.function(g, e) for g in (fprime, fprime2)]
        return sco.newton(
            problem.function(func, e), problem.value(x0, e), slopes[0], fprime2=slopes[1],
            x1=problem.value(x1, e), full_output=True, **options,
        )  # fmt: skip

    results = problem.solve(solve, (x0, x1))
    if not problem.met and not has_tensor(x0, x1):
        if full_output:
            return results[0]
        return sco.newton(func, x0, fprime, args, fprime2=fprime2, x1=x1, **options)
    return _root_of(problem, func, results, full_output)


@functools.wraps(sco.root_scalar)
def root_scalar(
    f: Callable, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None,
    fprime2: Any = None, x0: Any = None, x1: Any = None, *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if is_plain(f):
        return sco.root_scalar(
            f, args, method, bracket, fprime, fprime2, x0, x1, *more, **options
        )  # fmt: skip
    problem = Problem("scipy.optimize.root_scalar", args)
    bracket = list(bracket) if bracket is not None else None

    def solve(e: tuple) -> Any:
        slopes = [problem.function(g, e) if callable(g) else g for g in (fprime, fprime2)]
        ends = bracket and [problem.value(x, e) for x in bracket]
        starts = [problem.value(x, e) for x in (x0, x1)]
        return sco.root_scalar(
            problem.function(f, e), (), method, ends, *slopes, *starts, *more, **options
        )

    results = problem.solve(solve, [*(bracket or ()), x0, x1])
    if not problem.met and not has_tensor(bracket, x0, x1):
        return results[0]

    def equation(x: Any) -> Any:
        y = f(x, *problem.args)
        return y[0] if isinstance(y, tuple) else y

    shape = problem.layout.batch_shape()
    roots = np.array([r.root for r in results]).reshape(shape)
    return problem.report(results, root=problem.root(equation, roots, elementwise=True))


# ---- roots of a function of a vector ----


def _vector_root(problem: Problem, func: Callable, xs: list, pair: bool = False) -> Any:
    """Return the root of a function of an array with its derivatives.

    A function with a `pair` returns its Jacobian, too; another tuple has the equations.
    """
    form = np.shape(xs[0])

    def equations(x: Any) -> Any:
        y = func(np.reshape(x, form), *problem.args)
        return np.reshape(fnp.asarray(y[0] if pair else y), -1)

    flat = np.array(xs).reshape(*problem.layout.batch_shape(), -1)
    return np.reshape(problem.root(equations, flat, elementwise=False), form)


@functools.wraps(sco.fsolve)
def fsolve(
    func: Callable, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0,
    *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if is_plain(func):
        return sco.fsolve(func, x0, args, fprime, full_output, *more, **options)
    problem = Problem("scipy.optimize.fsolve", args)

    def solve(e: tuple) -> Any:
        slope = fprime and problem.function(fprime, e)
        start = problem.value(x0, e)
        return sco.fsolve(
            problem.function(func, e), start, (), slope, full_output, *more, **options
        )

    results = problem.solve(solve, (x0,))
    if not problem.met and not has_tensor(x0):
        return results[0]
    if not full_output:
        return _vector_root(problem, func, results)
    x = _vector_root(problem, func, [r[0] for r in results])
    report = problem.report([r[1] for r in results])
    return x, report, *[problem.joined([r[i] for r in results]) for i in (2, 3)]


@functools.wraps(sco.root)
def root(
    fun: Callable, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None,
    *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if is_plain(fun):
        return sco.root(fun, x0, args, method, jac, *more, **options)
    problem = Problem("scipy.optimize.root", args)

    def solve(e: tuple) -> Any:
        slope = problem.function(jac, e) if callable(jac) else jac
        return sco.root(
            problem.function(fun, e), problem.value(x0, e), (), method, slope, *more, **options
        )

    results = problem.solve(solve, (x0,))
    if not problem.met and not has_tensor(x0):
        return results[0]
    pair = bool(jac) and not callable(jac)
    return problem.report(results, x=_vector_root(problem, fun, [r.x for r in results], pair))


FOLLOWED: list[tuple[Any, Any]] = [
    *[
        (original, _bracketing(original))
        for original in (sco.brentq, sco.brenth, sco.ridder, sco.bisect, sco.toms748)
    ],
    (sco.newton, newton),
    (sco.root_scalar, root_scalar),
    (sco.fsolve, fsolve),
    (sco.root, root),
    *_minima.TWINS,
    *_linear_problems.TWINS,
    *_older.TWINS,
    *_searches.TWINS,
]
TWINS = [(original, as_step(twin)) for original, twin in FOLLOWED]
"""Pairs of an object of SciPy and its twin."""
