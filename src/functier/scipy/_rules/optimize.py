"""Rules for the functions of `scipy.optimize` that take arrays, and no functions."""

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from ..._core.numpy_facts import Value
from ..._rules.axes import as_array
from ...protocol import constant, primitive
from .declare import declare_composite
from .linalg.batches import each_vmap


@primitive
def assignment(cost: Value, maximize: bool = False) -> tuple:
    """Return the rows and the columns that are assigned to each other."""
    return sco.linear_sum_assignment(cost, maximize)


def _of_no_example(cost: Value, maximize: bool = False) -> tuple:
    return sco.linear_sum_assignment(np.zeros(cost.shape))


constant(
    assignment, "cost maximize", vmap=each_vmap(assignment, _of_no_example)
)  # as of argsort: the assignment is a constant


@declare_composite(sco, "linear_sum_assignment")
def _linear_sum_assignment(cost_matrix: Value, maximize: bool = False) -> tuple:
    return assignment(as_array(cost_matrix), maximize)


# ---- Rosenbrock's function ----


def _floating(x: Value) -> Value:
    x = as_array(x)
    return np.astype(x, float) if x.dtype.kind in "biu" else x


@declare_composite(sco, "rosen")
def _rosen(x: Value) -> Value:
    x = _floating(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


@declare_composite(sco, "rosen_der")
def _rosen_der(x: Value) -> Value:
    x = _floating(x)
    below, middle, above = x[:-2], x[1:-1], x[2:]
    inside = 200 * (middle - below**2) - 400 * (above - middle**2) * middle - 2 * (1 - middle)
    first = -400 * x[:1] * (x[1:2] - x[:1] ** 2) - 2 * (1 - x[:1])
    return np.concatenate([first, inside, 200 * (x[-1:] - x[-2:-1] ** 2)])


def _diagonals(x: Value) -> tuple[Value, Value]:
    """Return the diagonal of the Hessian, and the one beside it."""
    inside = 202 + 1200 * x[1:-1] ** 2 - 400 * x[2:]
    first = 1200 * x[:1] ** 2 - 400 * x[1:2] + 2
    return np.concatenate([first, inside, 0 * x[-1:] + 200]), -400 * x[:-1]


@declare_composite(sco, "rosen_hess")
def _rosen_hess(x: Value) -> Value:
    x = _floating(x)
    middle, beside = _diagonals(np.reshape(x, -1) if x.ndim == 0 else x)
    return np.diag(beside, 1) + np.diag(beside, -1) + np.diag(middle)


@declare_composite(sco, "rosen_hess_prod")
def _rosen_hess_prod(x: Value, p: Value) -> Value:
    x = _floating(x)
    p = np.astype(as_array(p), x.dtype, copy=False)
    middle, beside = _diagonals(x)
    nothing = 0 * p[:1]
    above = np.concatenate([beside * p[1:], nothing])
    return middle * p + above + np.concatenate([nothing, beside * p[:-1]])
