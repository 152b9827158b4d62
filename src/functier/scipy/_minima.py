"""Twins for `scipy.optimize`: minima, as roots of the gradient, and fits."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._transforms.grad import grad
from .._transforms.jacobian import jacfwd
from .._transforms.jvp import jvp
from ._problems import Limits, Problem, constrained_minimum, constraints_of, has_tensor, is_plain


def _first(y: Any) -> Any:
    return y[0] if isinstance(y, tuple) else y


@functools.wraps(sco.minimize_scalar)
def minimize_scalar(
    fun: Callable, bracket: Any = None, bounds: Any = None, args: Any = (), *more: Any,
    **options: Any,
) -> Any:  # fmt: skip
    if is_plain(fun):
        return sco.minimize_scalar(fun, bracket, bounds, args, *more, **options)
    problem = Problem("scipy.optimize.minimize_scalar", args)
    limits = [None if x is None else tuple(x) for x in (bracket, bounds)]

    def solve(e: tuple) -> Any:
        plain = [problem.value(x, e) for x in limits]
        return sco.minimize_scalar(problem.function(fun, e), *plain, (), *more, **options)

    results = problem.solve(solve, [x for x in limits if x is not None])
    if not problem.met and not has_tensor(*limits):
        return results[0]

    def value(x: Any) -> Any:
        return fun(x, *problem.args)

    def slope(x: Any) -> Any:
        return jvp(value, (x,), (np.ones_like(x),))[1]

    xs = np.array([r.x for r in results], float).reshape(problem.layout.batch_shape())
    x = problem.root(slope, xs, elementwise=True)
    return problem.report(results, x=x, fun=value(x))


@functools.wraps(sco.minimize)
def minimize(
    fun: Callable, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None,
    hessp: Any = None, bounds: Any = None, constraints: Any = (), *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if is_plain(fun):
        return sco.minimize(
            fun, x0, args, method, jac, hess, hessp, bounds, constraints, *more, **options
        )
    problem = Problem("scipy.optimize.minimize", args)
    limits = None if bounds is None else Limits(bounds)
    conditions = constraints_of(constraints) if constraints else []

    def solve(e: tuple) -> Any:
        functions = [problem.function(g, e) if callable(g) else g for g in (jac, hess, hessp)]
        return sco.minimize(
            problem.function(fun, e), problem.value(x0, e), (), method, *functions,
            limits and limits.plain(problem, e), [c.plain(problem, e) for c in conditions], *more,
            **options,
        )  # fmt: skip

    ends = [] if limits is None else [limits.low, limits.high]
    ends += [v for c in conditions for v in c.tensors()]
    results = problem.solve(solve, (x0, *ends))
    if not problem.met and not has_tensor(x0, *ends):
        return results[0]

    def value(x: Any) -> Any:
        return _scalar(_first(fun(x, *problem.args)))

    xs, slope = _flat(problem, [r.x for r in results]), grad(value)
    if conditions:
        x = constrained_minimum(problem, value, conditions, limits, xs)
    else:
        equation = limits.equation(slope, problem.layout.constant(xs)) if limits else slope
        x = problem.root(equation, xs, elementwise=False)
    slopes = {}
    if "jac" in results[0] and not isinstance(results[0].jac, (list, tuple)):
        found = [r.jac for r in results]
        free = limits is None and not conditions  # then the gradient stays zero
        slopes["jac"] = problem.joined(found) if free else problem.moved(found, slope(x))
    return problem.report(results, x=x, fun=value(x), **slopes)


def _scalar(y: Any) -> Any:
    y = fnp.asarray(y)
    return np.reshape(y, ()) if y.ndim else y


def _flat(problem: Problem, xs: list) -> np.ndarray:
    return np.array(xs, float).reshape(*problem.layout.batch_shape(), -1)


# ---- least squares ----

LEAST_SQUARES = inspect.signature(sco.least_squares)


@functools.wraps(sco.least_squares)
def least_squares(fun: Callable, x0: Any, *more: Any, **options: Any) -> Any:
    if is_plain(fun):
        return sco.least_squares(fun, x0, *more, **options)
    given = dict(LEAST_SQUARES.bind(fun, x0, *more, **options).arguments)
    words = given.pop("kwargs", None) or {}
    problem = Problem("scipy.optimize.least_squares", given.pop("args", ()))
    jac = given.get("jac", "2-point")
    func = functools.partial(fun, **words)

    limits = _limits_of(given.get("bounds"), x0)
    ends = () if limits is None else (limits.low, limits.high)

    def solve(e: tuple) -> Any:
        given["fun"], given["x0"] = problem.function(func, e), problem.value(x0, e)
        if callable(jac):
            given["jac"] = problem.function(functools.partial(jac, **words), e)
        if limits is not None:
            given["bounds"] = limits.plain(problem, e)
        return sco.least_squares(**given)

    results = problem.solve(solve, (x0, *ends))
    if not problem.met and not has_tensor(x0, *ends):
        return results[0]
    if given.get("loss", "linear") != "linear":
        raise UnsupportedError(
            f"scipy.optimize.least_squares: with loss={given['loss']!r} the result has no "
            f"derivative here; minimize the sum of the losses by scipy.optimize.minimize"
        )

    def residuals(x: Any) -> Any:
        return np.reshape(fnp.asarray(func(x, *problem.args)), -1)

    xs = _flat(problem, [r.x for r in results])
    x = problem.root(_of_limits(problem, limits, _gradient(residuals), xs), xs, elementwise=False)
    rows, jacobian = residuals(x), jacfwd(residuals)(x)
    own = {"fun": rows, "cost": np.sum(rows**2) / 2, "jac": jacobian, "grad": rows @ jacobian}
    known = {
        name: problem.moved([r[name] for r in results], value)
        for name, value in own.items()
        if isinstance(results[0][name], (float, np.ndarray))
    }
    return problem.report(results, x=x, **known)


def _limits_of(bounds: Any, x0: Any) -> Limits | None:
    """Return the bounds of a least squares problem, which are a pair."""
    if bounds is None or isinstance(bounds, sco.Bounds):
        return bounds and Limits(bounds)
    size = np.shape(fnp.asarray(x0)) or (1,)
    low, high = (np.broadcast_to(fnp.asarray(v), size) for v in bounds)
    return Limits([(low[i], high[i]) for i in range(size[0])])


def _of_limits(problem: Problem, limits: Limits | None, slope: Callable, xs: Any) -> Callable:
    """Return the equation of a minimum with its bounds."""
    return slope if limits is None else limits.equation(slope, problem.layout.constant(xs))


def _gradient(residuals: Callable) -> Callable:
    """Return the gradient of half the sum of squares."""
    return grad(lambda x: np.sum(residuals(x) ** 2) / 2)


CURVE_FIT = inspect.signature(sco.curve_fit)


@functools.wraps(sco.curve_fit)
def curve_fit(f: Callable, xdata: Any, ydata: Any, *more: Any, **options: Any) -> Any:
    if is_plain(f):
        return sco.curve_fit(f, xdata, ydata, *more, **options)
    given = dict(CURVE_FIT.bind(f, xdata, ydata, *more, **options).arguments)
    words = given.pop("kwargs", {})
    starts = {name: given.get(name) for name in ("xdata", "ydata", "p0", "sigma")}
    problem = Problem("scipy.optimize.curve_fit", ())

    def solve(e: tuple) -> Any:
        given["f"] = problem.function(f, e)
        if callable(given.get("jac")):
            given["jac"] = problem.function(given["jac"], e)
        given.update({name: problem.value(v, e) for name, v in starts.items() if v is not None})
        return sco.curve_fit(**given, **words)

    results = problem.solve(solve, [v for v in starts.values() if v is not None])
    if not problem.met and not has_tensor(*starts.values()):
        return results[0]
    sigma = starts["sigma"]
    if (
        given.get("full_output")
        or (sigma is not None and np.ndim(sigma) > 1)
        or words.get("loss", "linear") != "linear"
    ):
        raise UnsupportedError(
            "scipy.optimize.curve_fit: full_output, a matrix sigma and a loss are not supported "
            "inside a transform; write the residuals, and call scipy.optimize.least_squares"
        )

    def residuals(parameters: Any) -> Any:
        values = f(xdata, *[parameters[i] for i in range(count)]) - fnp.asarray(ydata)
        return np.reshape(values if sigma is None else values / fnp.asarray(sigma), -1)

    fits = _flat(problem, [r[0] for r in results])
    count = fits.shape[-1]
    limits = _limits_of(given.get("bounds"), fits[(0,) * (fits.ndim - 1)])
    equation = _of_limits(problem, limits, _gradient(residuals), fits)
    x = problem.root(equation, fits, elementwise=False)
    rows, jacobian = residuals(x), jacfwd(residuals)(x)
    covariances = [r[1] for r in results]
    if not np.all(np.isfinite(covariances)):
        return x, problem.joined(covariances)
    own = np.linalg.inv(jacobian.T @ jacobian)
    if not given.get("absolute_sigma"):
        own = own * (np.sum(rows**2) / (rows.size - count))
    return x, problem.moved(covariances, own)


TWINS: list[tuple[Any, Any]] = [
    (sco.minimize_scalar, minimize_scalar),
    (sco.minimize, minimize),
    (sco.least_squares, least_squares),
    (sco.curve_fit, curve_fit),
]
"""Pairs of an object of SciPy and its twin."""
