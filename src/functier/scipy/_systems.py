"""The right-hand side of a differential equation, with its arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.numpy_facts import shape_of
from .._core.root import classes_in


def as_state(x: Any) -> Any:
    """Return a state or a slope, which may be a list that contains tensors, as an array."""
    if isinstance(x, (list, tuple)):
        if not classes_in(*x):
            return np.asarray(x)
        alike = len({*map(shape_of, x)}) == 1 and not isinstance(x[0], (list, tuple))
        return np.stack(x) if alike else fnp.asarray(x)  # the former is known to machine code
    return x


class System:
    """The functions of an equation, with their arguments."""

    def __init__(self, fun: Callable, args: tuple, vectorized: bool = False):
        self.fun, self.args, self.vectorized = fun, args, vectorized

    def __call__(self, t: Any, y: Any) -> Any:
        """Return the slope, with the shape of the state."""
        if self.vectorized:
            found = np.reshape(as_state(self.fun(t, y[:, None], *self.args)), -1)
        else:
            found = as_state(self.fun(t, y, *self.args))
        shape = shape_of(y)
        return found if shape_of(found) == shape else np.broadcast_to(found, shape)
