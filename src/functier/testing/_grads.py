"""check_grads, check_jvp and check_vjp: products with random vectors, to any order."""

from collections.abc import Callable, Sequence

import numpy as np

from .._core.numpy_facts import PyTree, Value, dtype_of, shape_of
from .._core.pytree import flatten, unflatten
from .._core.tracebacks import checks_keywords
from .._custom.differences import copy_value, real_vector
from ._gradcheck import DirectionalProducts, check_problem, derivative_problem, tolerances_of
from ._numeric import (
    Comparison,
    Problem,
    check_forms,
    compare,
    is_inexact,
    random_like,
)

MODES = {"fwd": "forward", "rev": "reverse"}


@checks_keywords
def check_grads(
    f: Callable,
    args: tuple,
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives of `f` up to an order with finite differences, in all modes.

    Every derivative is compared along a random direction of each argument, which takes a few calls,
    however large the arguments are. From the second order on, the function being checked is the
    derivative of the order below, in each mode. So all nestings of the modes are checked, twice as
    many with each order.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees that returns such. Arguments and results that are not
        floating-point or complex are ignored.
    args : tuple
        Its arguments.
    order : int
        The highest order, 1 or more.
    modes : sequence of {"fwd", "rev"}
        The modes to nest.
    atol, rtol, eps : float, optional
        As of `gradcheck`.

    Raises
    ------
    GradcheckError
        The message names the nesting, such as ``reverse over forward mode``; see `gradcheck`.

    Notes
    -----
    The signature is that of ``jax.test_util.check_grads``; the steps and tolerances are those of
    `gradcheck`.

    Examples
    --------
    >>> import numpy as np
    >>> check_grads(lambda x: np.sum(np.tanh(x) ** 2), (np.array([0.5, -1.0]),), order=3)
    """
    if isinstance(modes, str):
        modes = (modes,)
    if not modes or not set(modes) <= set(MODES):
        raise ValueError(f"check_grads: modes={modes!r}; write ('fwd',), ('rev',) or both")
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"check_grads: order={order!r}; write 1 or more")

    def check(problem: Problem, order: int, inner: str) -> None:
        check_problem(
            problem,
            {f"{name}{inner} mode": mode in modes for mode, name in MODES.items()},
            *tolerances_of(problem, atol, rtol),
            eps=eps, nondet_tol=0.0, undefined=False, dtypes=True, fast=True,
        )  # fmt: skip
        if order > 1:
            for mode, name in MODES.items():
                if mode in modes:
                    like = problem.value if name == "reverse" else problem.point
                    further = derivative_problem(problem, name, random_like(like, 10 + order))
                    check(further, order - 1, f" over {name}{inner}")

    check(Problem("check_grads", f, tuple(args), "args"), order, "")


@checks_keywords
def check_jvp(
    f: Callable,
    f_jvp: Callable,
    args: tuple,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare a function that computes jvps of `f` with finite differences.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees that returns such.
    f_jvp : callable
        ``f_jvp(args, tangents)`` returns the value and its tangent, as
        ``functools.partial(jvp, f)`` does.
    args : tuple
        The arguments. The tangents of those that are not floating-point are zero.
    atol, rtol, eps : float, optional
        As of `gradcheck`.

    Raises
    ------
    GradcheckError
        See `gradcheck`; also where the value, a shape or a dtype is not that of `f`.

    Examples
    --------
    >>> import numpy as np
    >>> check_jvp(np.sin, lambda x, t: (np.sin(*x), np.cos(*x) * t[0]), (1.0,))
    """
    problem = Problem("check_jvp", f, tuple(args), "args")

    def push(tangents: Sequence) -> list:
        full = [x if is_inexact(x) else _zeros(x) for x in problem.given]
        for i, t in zip(problem.chosen, tangents):
            full[i] = t
        given = [copy_value(x) if is_inexact(x) else x for x in problem.given]
        value, moved = f_jvp(*(unflatten(problem.structure, v) for v in (given, full)))
        _check_value(problem, "f_jvp", value)
        moved = [t for t, y in zip(flatten(moved)[0], flatten(value)[0]) if is_inexact(y)]
        check_forms(problem.label, "the tangent of f_jvp", problem.outputs, moved, problem.value)
        return moved

    tolerances = tolerances_of(problem, atol, rtol)
    DirectionalProducts(problem, eps).compare_push("f_jvp", push, *tolerances)


@checks_keywords
def check_vjp(
    f: Callable,
    f_vjp: Callable,
    args: tuple,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare a function that computes vjps of `f` with finite differences.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees that returns such.
    f_vjp : callable
        ``f_vjp(*args)`` returns the value and a function from cotangents to a tuple with
        one cotangent for each argument, as ``functools.partial(vjp, f)`` does.
    args : tuple
        The arguments. The cotangents of those that are not floating-point are ignored.
    atol, rtol, eps : float, optional
        As of `gradcheck`.

    Raises
    ------
    GradcheckError
        See `gradcheck`; also where the value, a shape or a dtype is not that of `f`.

    Examples
    --------
    >>> import numpy as np
    >>> check_vjp(np.sin, lambda x: (np.sin(x), lambda g: (np.cos(x) * g,)), (1.0,))
    """
    problem = Problem("check_vjp", f, tuple(args), "args")

    def pull(cotangents: Sequence) -> list:
        given = [copy_value(x) if is_inexact(x) else x for x in problem.given]
        value, pullback = f_vjp(*unflatten(problem.structure, given))
        _check_value(problem, "f_vjp", value)
        leaves, structure = flatten(value)
        left = iter(cotangents)
        full = [next(left) if is_inexact(y) else _zeros(y) for y in leaves]
        pulled = flatten(pullback(unflatten(structure, full)))[0]
        if len(pulled) == len(problem.given):
            pulled = [pulled[i] for i in problem.chosen]
        check_forms(problem.label, "the cotangent of f_vjp", problem.inputs, pulled, problem.point)
        return pulled

    tolerances = tolerances_of(problem, atol, rtol)
    DirectionalProducts(problem, eps).compare_pull("f_vjp", pull, *tolerances)


def _zeros(x: Value) -> Value:
    return np.zeros(shape_of(x), dtype_of(x))[()]


def _check_value(problem: Problem, name: str, value: PyTree) -> None:
    values = [y for y in flatten(value)[0] if is_inexact(y)]
    check_forms(problem.label, f"the value of {name}", problem.outputs, values, problem.value)
    a, b = real_vector(problem.value)[:, None], real_vector(values)[:, None]
    how = Comparison(
        problem.label, f"the value of {name}", problem.rows(), [("f", "the call")],
        problem.step**2, problem.step**2, ("f", name),
    )  # fmt: skip
    compare(a, b, how)
