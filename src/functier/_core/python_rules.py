"""Rules that Python has for its numbers and NumPy has not: of ``divmod`` and ``round``."""

import numpy as np

from .errors import UnsupportedError
from .numpy_facts import Function, Value
from .tensor import innermost


def divide(x: Value, y: Value) -> tuple[Function, tuple, dict]:
    """Return the call for ``divmod``, which raises where Python does for its numbers."""
    a, b = innermost(x), innermost(y)
    if type(a) in (int, float) and type(b) in (int, float):
        divmod(a, b)  # raises where Python does
    return np.divmod, (x, y), {}


def nearest(x: Value, decimals: int | None) -> tuple[Function, tuple, dict]:
    """Return the call for ``round``, which finds the nearest decimal of a number of Python's."""
    value = innermost(x)
    if type(value) is float and round(value, decimals) != np.round(value, decimals or 0):
        raise UnsupportedError(
            f"{x.level}: round(x, {decimals}) is {round(value, decimals or 0)} in Python, and "
            f"another number in NumPy; write round(float(functier.stop_gradient(x)), {decimals}) "
            f"for that of Python, and numpy.round(x, {decimals}) for that of NumPy"
        )
    return np.round, (x, decimals or 0), {}
