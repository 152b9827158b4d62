"""Nested jvp, with which Taylor series are compared."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import functier as ft


def nested(f: Callable, order: int) -> list:
    """The derivatives of a function of one number at 0, of the orders 0 to `order`."""
    found = []
    for _ in range(order + 1):
        found.append(f(0.0))
        f = _derivative(f)
    return found


def _derivative(f: Callable) -> Callable:
    return lambda t: ft.jvp(f, (t,), (1.0,))[1]


def along(f: Callable, points: Sequence, series: Sequence[Sequence]) -> Callable:
    """The function of t along the curve that has these points and derivatives."""

    def path(t: Any) -> Any:
        moved = []
        for x, terms in zip(points, series):
            steps = [d * (t ** (k + 1) / math.factorial(k + 1)) for k, d in enumerate(terms)]
            moved.append(
                np.astype(x + sum(steps, 0 * t), x.dtype) if hasattr(x, "dtype") else x + sum(steps)
            )
        return f(*moved)

    return path


def derivatives(f: Callable, x: Any, v: Any, order: int) -> list:
    """The value and the derivatives of `f` along a line, by `jet`."""
    value, terms = ft.jet(f, (x,), ([v] + [np.zeros_like(v)] * (order - 1),))
    return [value, *terms]
