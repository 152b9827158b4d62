"""Twins for `scipy.optimize`: linear programs, and linear least squares with bounds.

NOTE [a vertex]
    SciPy says which conditions of a problem are equations at its solution. These equations have
    the solution, and its derivatives, as long as their set stays the same; where it changes there
    is a kink.
"""

import functools
from typing import Any

import numpy as np
import scipy.linalg as sl  # type: ignore[import-untyped]
import scipy.optimize as sco  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from .._rules.indexing import read_at
from .._transforms.stop_gradient import stop_gradient
from ._problems import NEAR, Limits, Problem, has_tensor
from ._sparse_making import has_tensors, plain_of
from ._sparse_parts import is_sparse
from ._sparse_tensor import sparse


def dense_of(a: Any) -> Any:
    return sparse(a).toarray() if is_sparse(a) else fnp.asarray(a)


# ---- least squares ----


def _least_squares(a: Any, b: Any, fixed: Any, at: Any, label: str) -> Any:
    """Return the least squares for the unknowns that are not `fixed`, which are at their places."""
    free = ~fixed
    columns = np.where(free, a, 0.0)
    rest = b - a @ np.where(fixed, at, 0.0)
    normal = np.conjugate(columns.T) @ columns + np.diag(np.astype(fixed, float))
    step = np.linalg.solve(normal, np.conjugate(columns.T) @ rest)
    return np.where(free, step, at)


def _check_rank(problem: Problem, a: Any, fixed: Any) -> None:
    """Raise where the matrix does not determine the unknowns."""
    free = np.sum(~fixed, axis=-1)
    if np.any(stop_gradient(np.linalg.matrix_rank(np.where(fixed, 0.0, a))) < free):
        raise UnsupportedError(
            f"{problem.label}: the unknowns are not determined, because the columns of A are not "
            f"independent, so the solution has no derivative; add a small multiple of the identity "
            f"to A.T @ A, or pass functier.stop_gradient(A) and functier.stop_gradient(b)"
        )


@functools.wraps(sco.nnls)
def nnls(A: Any, b: Any, maxiter: Any = None, **options: Any) -> Any:
    if AMBIENT.get() is Tensor or not has_tensors(A, b):
        return sco.nnls(plain_of(A), b, maxiter=maxiter, **options)
    problem = Problem("scipy.optimize.nnls", ())
    A, b = dense_of(A), fnp.asarray(b)

    def solve(e: tuple) -> Any:
        return sco.nnls(problem.value(A, e), problem.value(b, e), maxiter=maxiter, **options)[0]

    rows = problem.solve(solve, (A, b))
    xs = np.array(rows)
    fixed = problem.layout.constant((xs <= 0).reshape(*problem.layout.batch_shape(), -1))
    _check_rank(problem, A, fixed)
    x = problem.moved(rows, _least_squares(A, b, fixed, 0.0, problem.label))
    return x, np.linalg.norm(A @ x - b)


@functools.wraps(sco.lsq_linear)
def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), *more: Any, **options: Any) -> Any:
    pair = (bounds.lb, bounds.ub) if isinstance(bounds, sco.Bounds) else tuple(bounds)
    if AMBIENT.get() is Tensor or not has_tensors(A, b, *pair):
        return sco.lsq_linear(plain_of(A), b, bounds, *more, **options)
    problem = Problem("scipy.optimize.lsq_linear", ())
    A, b = dense_of(A), fnp.asarray(b)
    low, high = (np.broadcast_to(fnp.asarray(v), np.shape(A)[1:]) for v in pair)

    def solve(e: tuple) -> Any:
        plain = [problem.value(v, e) for v in (A, b, low, high)]
        found = sco.lsq_linear(plain[0], plain[1], tuple(plain[2:]), *more, **options)
        return found, _felt(found.x, *plain)

    pairs = problem.solve(solve, (A, b, low, high))
    results = [found for found, _ in pairs]
    masks = np.array([felt for _, felt in pairs])
    mask = problem.layout.constant(masks.reshape(*problem.layout.batch_shape(), -1))
    _check_rank(problem, A, mask != 0)
    at = np.where(mask < 0, _finite(low), np.where(mask > 0, _finite(high), 0.0))
    x = problem.moved([r.x for r in results], _least_squares(A, b, mask != 0, at, problem.label))
    rest = A @ x - b
    return problem.report(results, x=x, fun=rest, cost=np.sum(rest**2) / 2)


def _felt(x: Any, a: Any, b: Any, low: Any, high: Any) -> np.ndarray:
    """Return -1 or 1 for the unknowns on a bound that they would leave, else 0.

    SciPy's own mask misses bounds that its method only comes near to.
    """
    slope = a.T @ (a @ x - b)
    least = 1e-8 * np.max(np.abs(a.T @ b), initial=0.0)
    near = NEAR * (1 + np.abs(x))
    at_low, at_high = (x - low <= near) & (slope > least), (high - x <= near) & (slope < -least)
    return np.astype(at_high, int) - np.astype(at_low, int)


def _finite(x: Any) -> Any:
    return np.where(np.isfinite(stop_gradient(x)), x, 0.0)


# ---- linear programs ----


def _basis(rows: np.ndarray, felt: np.ndarray, order: np.ndarray, n: int) -> np.ndarray | None:
    """Return the numbers of `n` independent rows among those that are felt, in an order."""
    chosen = order[felt[order]]
    if chosen.shape[0] < n:
        return None
    if chosen.shape[0] == n:
        return np.sort(chosen)
    weights = 2.0 ** -np.minimum(np.arange(chosen.shape[0]), 40)  # the first ones are taken first
    pivots = sl.qr(rows[chosen].T * weights, pivoting=True, mode="r")[1]
    return np.sort(chosen[pivots[:n]])


@functools.wraps(sco.linprog)
def linprog(
    c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), *more: Any, **options: Any,
) -> Any:  # fmt: skip
    given = c, A_ub, b_ub, A_eq, b_eq
    pairs: list[Any] = list(bounds) if bounds is not None else [(None, None)]
    if AMBIENT.get() is Tensor or not (has_tensors(*given) or has_tensor(pairs)):
        plain = [plain_of(v) for v in given]
        return sco.linprog(*plain, bounds, *more, **options)
    problem = Problem("scipy.optimize.linprog", ())
    if options.get("integrality") is not None or (len(more) > 4 and more[4] is not None):
        raise UnsupportedError(
            "scipy.optimize.linprog: integrality beside tensors is not supported; leave it out"
        )
    c = np.reshape(fnp.asarray(c), -1)
    n = np.shape(c)[0]
    A_ub, A_eq = (np.zeros((0, n)) if a is None else dense_of(a) for a in (A_ub, A_eq))
    b_ub, b_eq = (
        np.zeros(0) if v is None else np.reshape(fnp.asarray(v), -1) for v in (b_ub, b_eq)
    )
    if len(pairs) == 2 and not any(np.ndim(p) or isinstance(p, (tuple, list)) for p in pairs):
        pairs = [tuple(pairs)]
    limits = Limits(pairs * n if len(pairs) == 1 else pairs)

    def solve(e: tuple) -> Any:
        plain = [problem.value(v, e) for v in (c, A_ub, b_ub, A_eq, b_eq)]
        own = limits.plain(problem, e)
        return sco.linprog(*plain, np.stack([own.lb, own.ub], axis=1), *more, **options)

    results = problem.solve(solve, (c, A_ub, b_ub, A_eq, b_eq, limits.low, limits.high))
    if any(r.x is None for r in results):
        if len(results) == 1:
            return results[0]
        raise UnsupportedError(
            "scipy.optimize.linprog: a program of the batch has no solution; solve the programs "
            "one at a time, in a loop outside of vmap"
        )
    eye = np.eye(n)
    rows = np.concatenate([A_eq, A_ub, eye, eye])
    sides = np.concatenate([b_eq, b_ub, _finite(limits.low), _finite(limits.high)])
    zero, batch = problem.layout.zero, problem.layout.batch_shape()
    plain_rows = problem.layout.parts(stop_gradient(rows))[zero]
    plain_rows = np.broadcast_to(plain_rows, (*batch, *plain_rows.shape[-2:]))
    bases = []
    for e, r in zip(np.ndindex(*batch), results):
        residuals = [0 * r.con, r.slack, r.lower.residual, r.upper.residual]
        marginals = [r.eqlin.marginals, r.ineqlin.marginals, r.lower.marginals, r.upper.marginals]
        distance, weight = np.concatenate(residuals), np.abs(np.concatenate(marginals))
        weight[: r.con.shape[0]] = np.inf
        felt = distance <= 1e-7 * (1 + np.max(np.abs(r.x), initial=0.0))
        order = np.argsort(-weight, kind="stable")
        basis = _basis(plain_rows[e], felt, order, n)
        if basis is None or np.linalg.matrix_rank(plain_rows[e][basis]) < n:
            raise UnsupportedError(
                "scipy.optimize.linprog: the solution is not a vertex, so it has no derivative; "
                "pass method='highs-ds', or functier.stop_gradient of the arguments"
            )
        bases.append(basis)
    basis = problem.layout.constant(np.array(bases).reshape(*batch, n))
    x = problem.moved(
        [r.x for r in results], np.linalg.solve(read_at(rows, basis), read_at(sides, basis))
    )
    return problem.report(results, x=x, fun=c @ x, slack=b_ub - A_ub @ x, con=b_eq - A_eq @ x)


TWINS: list[tuple[Any, Any]] = [
    (sco.nnls, nnls),
    (sco.lsq_linear, lsq_linear),
    (sco.linprog, linprog),
]
"""Pairs of an object of SciPy and its twin."""
