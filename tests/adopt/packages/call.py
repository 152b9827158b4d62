"""A call of a package: a function of one array of floats, and its input."""

from collections.abc import Callable

import numpy as np


def call(*given: float, rtol: float = 1e-5) -> Callable:
    """Make a function a call of the list, with an input and a tolerance of its derivative."""

    def mark(f: Callable) -> Callable:
        f.given, f.rtol = np.array(given), rtol
        return f

    return mark
