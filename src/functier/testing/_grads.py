"""check_grads: products with random vectors, to any order."""

from collections.abc import Callable, Sequence

from .._core.tracebacks import checks_keywords
from ._gradcheck import check_problem, derivative_problem, tolerances_of
from ._numeric import Problem, random_like

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
