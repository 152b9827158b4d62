"""Small arrays under vmap: what the libraries themselves cost."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import COMPILING, WITHOUT_VMAP, Library
from .base import Workload, nested, uniform


def chain20(x: Any, y: Any) -> Any:
    """20 elementwise operations."""
    for _ in range(5):
        x = (x + y) * y - y + 1.0
    return x


class Chain(Workload):
    """20 small operations under nested vmaps; from row to row, the cost of a level."""

    without = WITHOUT_VMAP
    floor = staticmethod(chain20)

    def __init__(self, depth: int) -> None:
        self.name = f"dispatch_vmap_{depth}"
        self.depth = depth

    def inputs(self) -> tuple:
        return tuple(uniform(2, *[2] * self.depth, 3))

    def function(self, lib: Library) -> Callable:
        return nested(lib.vmap, chain20, self.depth) if self.depth else chain20


class Outer(Workload):
    """20 small operations on every pair of rows, by two vmaps over different arguments."""

    name = "dispatch_vmap_outer"
    without = WITHOUT_VMAP

    def inputs(self) -> tuple:
        return tuple(uniform(2, 4, 3))

    def function(self, lib: Library) -> Callable:
        return lib.vmap(lib.vmap(chain20, (None, 0)), (0, None))

    def floor(self, x, y):
        return chain20(x[:, None], y[None])


class OneOperation(Workload):
    """One operation 1000 times, so that entering the levels does not count.

    ``operator`` is ``x * y``, which Python gives to the library at once; ``function`` is
    ``multiply(x, y)``, which NumPy has to give away.
    """

    without = (*WITHOUT_VMAP, *COMPILING)  # which would compute it once
    repeats = 1000
    bound = 2.5

    def __init__(self, form: str, depth: int) -> None:
        self.name = f"one_{form}_vmap_{depth}"
        self.form, self.depth = form, depth

    def small(self) -> Workload:
        small = OneOperation(self.form, self.depth)
        small.repeats = 2
        return small

    def inputs(self) -> tuple:
        return tuple(uniform(2, *[2] * self.depth, 3))

    def body(self, multiply: Callable) -> Callable:
        def with_operator(x, y):
            for _ in range(self.repeats):
                z = x * y
            return z

        def with_function(x, y):
            for _ in range(self.repeats):
                z = multiply(x, y)
            return z

        return with_operator if self.form == "operator" else with_function

    def function(self, lib: Library) -> Callable:
        return nested(lib.vmap, self.body(lib.np.multiply), self.depth)

    def floor(self, x, y):
        return self.body(np.multiply)(x, y)


class IdentityVmap(Workload):
    """The fixed cost of a call under vmap."""

    name = "overhead_vmap"
    without = WITHOUT_VMAP

    def inputs(self) -> tuple:
        return (np.ones((4, 3)),)

    def function(self, lib: Library) -> Callable:
        return lib.vmap(lambda x: x)

    def expected(self) -> Any:
        return self.inputs()[0]


class SquareGrad(Workload):
    """The fixed cost of a gradient."""

    name = "overhead_grad"

    def inputs(self) -> tuple:
        return (3.0,)

    def function(self, lib: Library) -> Callable:
        return lib.grad(lambda x: x * x)

    def expected(self) -> Any:
        return 6.0
