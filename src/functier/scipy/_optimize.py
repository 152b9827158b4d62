"""Twins for `scipy.optimize`: roots and minima.

NOTE [chord steps]
    SciPy finds a root of plain values, and nothing of its search is differentiated. The derivative
    follows from the equation alone. One step ``x - (f(x) - r) / J`` from the root that SciPy
    found, with the plain Jacobian J there and the plain residual r, does not change the value, and
    is right to one order of derivatives more than `x`. So there are as many steps as levels that
    differentiate.
"""

import functools
import inspect
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import shape_of
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._transforms.jacobian import jacfwd
from .._transforms.jvp import jvp
from .._transforms.stop_gradient import stop_gradient
from ._parts import Layout, NewBatch

FAR = 1e-3
"""The largest Newton step that may be left at a root, relative to its size."""


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
                results = [solve(e) for e in self.examples()]
                if len(results) == len(self.examples()):
                    return results
            except NewBatch:
                continue

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
                slope = stop_gradient(jvp(f, (root,), (np.ones_like(root),))[1])
                step = residual / slope
            else:
                slope = stop_gradient(jacfwd(f)(root))
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

    def report(self, results: list[Any], **own: Any) -> Any:
        """Return a result object of SciPy for all examples, with some attributes of ours."""
        made = copy(results[0])
        for name in list(made):
            made[name] = own[name] if name in own else self.joined([r[name] for r in results])
        return made


def _is_plain(*functions: Any) -> bool:
    """Tell if SciPy is to be called at once."""
    return AMBIENT.get() is Tensor or not all(map(callable, functions))


def _has_tensor(*values: Any) -> bool:
    return bool(classes_in(*values))


# ---- roots of a function of one number ----


def _bracketing(original: Callable) -> Callable:
    """Return the twin of a solver that takes a function and a bracket."""
    parameters, label = inspect.signature(original), f"scipy.optimize.{original.__name__}"

    @functools.wraps(original)
    def solver(*args: Any, **options: Any) -> Any:
        given = parameters.bind(*args, **options).arguments
        func = given["f"]
        if _is_plain(func):
            return original(*args, **options)
        given = dict(given)
        problem = Problem(label, given.pop("args", ()))

        def solve(e: tuple) -> Any:
            more = {k: problem.value(v, e) for k, v in given.items() if k != "f"}
            return original(problem.function(func, e), **{**more, "full_output": True})

        results = problem.solve(solve, (given["a"], given["b"]))
        if not problem.met and not _has_tensor(given["a"], given["b"]):
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
    if _is_plain(func):
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
    if not problem.met and not _has_tensor(x0, x1):
        if full_output:
            return results[0]
        return sco.newton(func, x0, fprime, args, fprime2=fprime2, x1=x1, **options)
    return _root_of(problem, func, results, full_output)


@functools.wraps(sco.root_scalar)
def root_scalar(
    f: Callable, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None,
    fprime2: Any = None, x0: Any = None, x1: Any = None, *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if _is_plain(f):
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
    if not problem.met and not _has_tensor(bracket, x0, x1):
        return results[0]

    def equation(x: Any) -> Any:
        y = f(x, *problem.args)
        return y[0] if isinstance(y, tuple) else y

    shape = problem.layout.batch_shape()
    roots = np.array([r.root for r in results]).reshape(shape)
    return problem.report(results, root=problem.root(equation, roots, elementwise=True))


# ---- roots of a function of a vector ----


def _vector_root(problem: Problem, func: Callable, xs: list) -> Any:
    """Return the root of a function of an array with its derivatives."""
    form = np.shape(xs[0])

    def equations(x: Any) -> Any:
        y = func(np.reshape(x, form), *problem.args)
        return np.reshape(fnp.asarray(y[0] if isinstance(y, tuple) else y), -1)

    flat = np.array(xs).reshape(*problem.layout.batch_shape(), -1)
    return np.reshape(problem.root(equations, flat, elementwise=False), form)


@functools.wraps(sco.fsolve)
def fsolve(
    func: Callable, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0,
    *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if _is_plain(func):
        return sco.fsolve(func, x0, args, fprime, full_output, *more, **options)
    problem = Problem("scipy.optimize.fsolve", args)

    def solve(e: tuple) -> Any:
        slope = fprime and problem.function(fprime, e)
        start = problem.value(x0, e)
        return sco.fsolve(
            problem.function(func, e), start, (), slope, full_output, *more, **options
        )

    results = problem.solve(solve, (x0,))
    if not problem.met and not _has_tensor(x0):
        return results[0]
    if not full_output:
        return _vector_root(problem, func, results)
    x = _vector_root(problem, func, [r[0] for r in results])
    reports = {name: problem.joined([r[1][name] for r in results]) for name in results[0][1]}
    return x, reports, *[problem.joined([r[i] for r in results]) for i in (2, 3)]


@functools.wraps(sco.root)
def root(
    fun: Callable, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None,
    *more: Any, **options: Any,
) -> Any:  # fmt: skip
    if _is_plain(fun):
        return sco.root(fun, x0, args, method, jac, *more, **options)
    problem = Problem("scipy.optimize.root", args)

    def solve(e: tuple) -> Any:
        slope = problem.function(jac, e) if callable(jac) else jac
        return sco.root(
            problem.function(fun, e), problem.value(x0, e), (), method, slope, *more, **options
        )

    results = problem.solve(solve, (x0,))
    if not problem.met and not _has_tensor(x0):
        return results[0]
    return problem.report(results, x=_vector_root(problem, fun, [r.x for r in results]))


TWINS: list[tuple[Any, Any]] = [
    *[
        (original, _bracketing(original))
        for original in (sco.brentq, sco.brenth, sco.ridder, sco.bisect, sco.toms748)
    ],
    (sco.newton, newton),
    (sco.root_scalar, root_scalar),
    (sco.fsolve, fsolve),
    (sco.root, root),
]
"""Pairs of an object of SciPy and its twin."""
