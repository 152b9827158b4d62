"""Twins for `scipy.optimize`: `leastsq`, and fixed points."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._transforms.grad import grad
from .._transforms.jacobian import jacfwd
from ._problems import Problem, has_tensor, is_plain

LEASTSQ = inspect.signature(sco.leastsq)


@functools.wraps(sco.leastsq)
def leastsq(func: Callable, x0: Any, *more: Any, **options: Any) -> Any:
    if is_plain(func):
        return sco.leastsq(func, x0, *more, **options)
    given = dict(LEASTSQ.bind(func, x0, *more, **options).arguments)
    problem = Problem("scipy.optimize.leastsq", given.pop("args", ()))
    full, slopes = given.pop("full_output", False), given.get("Dfun")

    def solve(e: tuple) -> Any:
        given["func"], given["x0"] = problem.function(func, e), problem.value(x0, e)
        if callable(slopes):
            given["Dfun"] = problem.function(slopes, e)
        return sco.leastsq(**given, full_output=True)

    results = problem.solve(solve, (x0,))
    if not problem.met and not has_tensor(x0):
        return results[0] if full else (results[0][0], results[0][-1])

    def residuals(x: Any) -> Any:
        return np.reshape(fnp.asarray(func(x, *problem.args)), -1)

    def half(x: Any) -> Any:
        return np.sum(residuals(x) ** 2) / 2

    batch = problem.layout.batch_shape()
    xs = np.array([np.atleast_1d(r[0]) for r in results]).reshape(*batch, -1)
    x = problem.root(grad(half), xs, elementwise=False)
    flag = problem.joined([r[-1] for r in results])
    if not full:
        return x, flag
    covariances = [r[1] for r in results]
    covariance: Any = problem.joined(covariances)
    if all(c is not None for c in covariances):
        jacobian = jacfwd(residuals)(x)
        covariance = problem.moved(covariances, np.linalg.inv(jacobian.T @ jacobian))
    report = {"nfev": problem.joined([r[2]["nfev"] for r in results]), "fvec": residuals(x)}
    return x, covariance, report, problem.joined([r[3] for r in results]), flag


@functools.wraps(sco.fixed_point)
def fixed_point(
    func: Callable, x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500,
    method: str = "del2",
) -> Any:  # fmt: skip
    if is_plain(func):
        return sco.fixed_point(func, x0, args, xtol, maxiter, method)
    problem = Problem("scipy.optimize.fixed_point", args)

    def solve(e: tuple) -> Any:
        start = problem.value(x0, e)
        return sco.fixed_point(problem.function(func, e), start, (), xtol, maxiter, method)

    results = problem.solve(solve, (x0,))
    if not problem.met and not has_tensor(x0):
        return results[0]
    xs = np.array(results, float)
    xs = xs.reshape((*problem.layout.batch_shape(), *xs.shape[1:]))
    if xs.ndim > len(problem.layout.batch_shape()):
        form = xs.shape[len(problem.layout.batch_shape()) :]

        def equations(x: Any) -> Any:
            return np.reshape(func(np.reshape(x, form), *problem.args), -1) - x

        flat = xs.reshape(*problem.layout.batch_shape(), -1)
        return np.reshape(problem.root(equations, flat, elementwise=False), form)
    return problem.root(lambda x: func(x, *problem.args) - x, xs, elementwise=True)


TWINS: list[tuple[Any, Any]] = [
    (sco.leastsq, leastsq),
    (sco.fixed_point, fixed_point),
]
"""Pairs of an object of SciPy and its twin."""
