"""Rules for the functions of `scipy.optimize` that take arrays, and no functions."""

import numpy as np
import scipy.optimize as sco  # type: ignore[import-untyped]

from ..._core.numpy_facts import Value
from ..._rules.axes import as_array
from ...protocol import constant, primitive
from .declare import declare_composite
from .linalg.stacks import each_vmap


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
