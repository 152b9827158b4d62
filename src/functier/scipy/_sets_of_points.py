"""Points that an object of SciPy is made of: plain ones, or those of each example of a batch.

NOTE [an object for each example]
    SciPy makes a tree or a hull of one set of points. Where the sets differ from example to
    example, an object is made for each of them when it is asked. Answers that are numbers in an
    array are those of all examples. Another answer, such as a list of neighbours or the facets of
    a hull, has to be the same for all: else the examples run apart, where the transform allows it.
"""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.agreement import agreed, examples_of
from .._core.errors import DataDependentError, UnsupportedError
from .._core.tensor import Tensor
from ._rules.spatial.places import as_constant, look_up_among

NOTHING = np.zeros(())
"""An operand that a search does not need."""


def as_points(x: Any, name: str) -> Any:
    """Return an array of doubles, as SciPy does."""
    x = fnp.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError(f"{name} does not work with complex data")
    return x if x.dtype == float else np.astype(x, float)


def plain_points(points: Any, name: str) -> tuple[Any, bool]:
    """Return plain points, and if they are those of one example of several that differ."""
    values = examples_of(points)
    if values is None or not values.size:
        return as_constant(points, name, "points"), False
    shared = agreed(points)
    if shared is not None:
        return shared.copy(), False
    return values[(0,) * (values.ndim - points.ndim)].copy(), True


def shared_answer(name: str, ask: Callable, *operands: Any) -> Any:
    """Return ``ask(points, x, r)``, any object, where all examples have the same one.

    Else the examples run apart, or an error is raised.
    """
    found: dict[bytes, Any] = {}

    def number(*plain: Any) -> Any:
        value = ask(*plain)
        key = pickle.dumps(value if isinstance(value, (list, set)) else _parts(value))
        found.setdefault(key, value)
        return np.int64(list(found).index(key))

    which = look_up_among(*operands, number, name)
    if isinstance(which, Tensor) and which.level.batches:
        shared = agreed(which)
        if shared is None:
            error = DataDependentError(
                f"the result of {name} differs from example to example, so that one object cannot "
                f"have it; write vmap(..., branches='split') to run groups of examples separately, "
                f"or functier.sequential_vmap for the function that calls it"
            )
            which.level.run_apart(which, int, error)
        which = shared
    return list(found.values())[int(which)]


STRUCTURE = "simplices", "neighbors", "coplanar", "vertices"


def _parts(value: Any) -> Any:
    """Return what tells if two answers are the same: integers."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tolist()
    return [np.asarray(getattr(value, name)).tolist() for name in STRUCTURE if hasattr(value, name)]


def refused(name: str, what: str, remedy: str) -> UnsupportedError:
    return UnsupportedError(f"scipy.spatial.{name}: {what} is not supported for tensors; {remedy}")


def for_plain_points(name: str) -> Any:
    """Return an attribute that an object of tensors does not have."""

    def get(self: Any) -> Any:
        if self._own is not None:
            remedy = "make the object of plain points for it"
            raise refused(f"{type(self).__name__}.{name}", "an object of tensors", remedy)
        return self.__dict__[name]

    return property(get, lambda self, value: self.__dict__.__setitem__(name, value))
