"""The twin of `scipy.integrate.solve_bvp`: boundary value problems.

NOTE [collocation]
    SciPy finds the values at the nodes of a mesh that solve the equations of a collocation method,
    and the conditions at the ends. The derivative is that of the root of these equations, on
    SciPy's mesh (see `_problems`), so it has the accuracy of the solution.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._transforms.stop_gradient import stop_gradient
from ._equations import listed
from ._interpolate import TWINS as INTERPOLANTS
from ._private import needed
from ._problems import Problem, has_tensor, is_plain
from ._systems import as_state

LABEL = "scipy.integrate.solve_bvp"
collocation_fun = needed("scipy.integrate._bvp.collocation_fun")


@functools.wraps(sci.solve_bvp)
def solve_bvp(
    fun: Callable, bc: Callable, x: Any, y: Any, p: Any = None, S: Any = None,
    fun_jac: Any = None, bc_jac: Any = None, *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if is_plain(fun, bc):
        return sci.solve_bvp(fun, bc, x, y, p, S, fun_jac, bc_jac, *more, **options)
    problem = Problem(LABEL, ())
    x, y, p = as_state(x), as_state(y), as_state(p)

    def solve(e: tuple) -> Any:
        slopes = [g and _tuple(problem, g, e) for g in (fun_jac, bc_jac)]
        starts = [problem.value(v, e) for v in (x, y, p)]
        functions = [problem.function(listed(f), e) for f in (fun, bc)]
        return sci.solve_bvp(*functions, *starts, S, *slopes, *more, **options)

    results = problem.solve(solve, (x, y, p))
    if len(results) == 1 and not problem.met and not has_tensor(x, y, p):
        return results[0]
    _check(results, x, S)
    return _result(problem, fun, bc, results)


def _tuple(problem: Problem, func: Callable, e: tuple) -> Callable:
    """Return a function with several results for plain values of an example."""
    return lambda *given: tuple([problem.value(v, e) for v in func(*given)])


def _check(results: list, x: Any, S: Any) -> None:
    """Refuse what has no derivative, or no common shape."""
    if not results or any(not np.array_equal(r.x, results[0].x) for r in results):
        raise UnsupportedError(
            f"{LABEL}: the examples have no common mesh, because SciPy adds nodes for each; pass a "
            f"finer x, to which none are added, or call it for each example outside of vmap"
        )
    if stop_gradient(x) is not x:
        raise UnsupportedError(
            f"{LABEL}: x has a derivative, and only fun and bc may have one; write fun for s from "
            f"0 to 1, with x = a + (b - a) * s"
        )
    if S is not None:
        raise UnsupportedError(
            f"{LABEL}: S has no derivative; write the singular term in fun, and begin near a"
        )


def _result(problem: Problem, fun: Callable, bc: Callable, results: list) -> Any:
    """Return SciPy's result for all examples, with derivatives."""
    x, (n, m) = results[0].x, results[0].y.shape
    count = 0 if results[0].p is None else len(results[0].p)

    def split(u: Any) -> tuple[Any, tuple]:
        return np.reshape(u[: n * m], (n, m)), (u[n * m :],) if count else ()

    def slope(x: Any, y: Any, p: tuple) -> Any:
        return np.broadcast_to(as_state(fun(x, y, *p)), np.shape(y))

    def equations(u: Any) -> Any:
        y, p = split(u)
        inside = collocation_fun(slope, y, p, x, np.diff(x))[0]
        ends = fnp.asarray(as_state(bc(y[:, 0], y[:, -1], *p)))
        return np.concatenate([np.reshape(inside, -1), np.reshape(ends, -1)])

    rows = [np.concatenate([r.y.ravel(), *([r.p] if count else [])]) for r in results]
    flat = np.array(rows).reshape(*problem.layout.batch_shape(), -1)
    y, p = split(problem.root(equations, flat, elementwise=False))
    own = {"x": x, "y": y, "p": p[0] if count else None}
    own["yp"] = problem.moved([r.yp for r in results], slope(x, y, p))
    own["sol"] = HERMITE(x, y, own["yp"], axis=1)
    made = type(results[0])(results[0])
    for name in made:
        made[name] = own[name] if name in own else problem.joined([r[name] for r in results])
    return made


HERMITE: Any = next(
    twin for original, twin in INTERPOLANTS if twin.__name__ == "CubicHermiteSpline"
)
"""The twin of the cubic spline with given slopes, as the solution is one."""

TWINS: list[tuple[Any, Any]] = [(sci.solve_bvp, solve_bvp)]
"""Pairs of an object of SciPy and its twin."""
