"""A layer for whole numbers of Python's in a batch, which must not wrap.

In adopted code ``int(x)`` is an int64 for each example, where plain code has as many digits as it
needs. So from then on the level compares what has no axes and may grow with the same in floats.
"""

from typing import Any

import numpy as np

from .._core.agreement import answer
from .._core.errors import DataDependentError
from .._core.numpy_facts import Function
from .._core.tensor import Tensor
from .level import Level
from .states import Layer, next_layer

IN_FLOATS: dict[Function, Function] = {
    np.left_shift: lambda x, n: x * 2.0**n,
    **{f: f for f in (np.add, np.subtract, np.multiply, np.power, np.negative, np.absolute)},
}
"""The functions whose results may exceed their operands, and the same of floats."""
SIZE = 2.0**63 * (1 - 2.0**-48)
"""The range of an int64, less the error that the floats may have."""


class Whole(Level):
    """The behaviour of a level that has whole numbers of Python's."""

    def function(self, func: Function, args: tuple, kwargs: dict) -> Any:
        found = next_layer(Whole, self).function(func, args, kwargs)
        if func in IN_FLOATS and isinstance(found, Tensor) and found.dtype == np.int64:
            if not found.ndim:
                self.check_size(func, IN_FLOATS[func](*[np.multiply(x, 1.0) for x in args]))
        return found

    def check_size(self, func: Function, x: Any) -> None:
        """Raise unless `x`, a result in floats, is in the range of an int64 for all examples."""
        if answer(np.less(np.absolute(x), SIZE), bool) != (True,):
            raise self.refusal(
                DataDependentError,
                f"numpy.{func.__name__} of integers that int(x) has made exceeds an int64 for an "
                f"example, and a Python int does not; write float(x) for int(x) where the number "
                f"need not be exact, or call the function for each example",
            )


WHOLE = Layer("Whole", -2, lambda kind: Whole)
