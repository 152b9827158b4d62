"""The class of workloads, and the inputs that several of them share."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..libraries import Library


class Workload:
    """One thing to time, written once for all libraries.

    A subclass has `inputs`, `function`, and a ``floor``: the same numbers by hand, forward
    and backward pass in plain NumPy with no library. Where there is no sensible code to
    write by hand, it overrides `expected` instead, a second way to the result.
    """

    name: str
    without: ClassVar[tuple[str, ...]] = ()
    """Libraries that this would not be fair or sensible to run in."""
    bound: ClassVar[float | None] = None
    """What functier's time in units of the floor's is meant to stay under."""
    compiled_bound: ClassVar[float] = 1.1
    """The bound of the time of machine code, in units of JAX's compiled code."""
    floor: ClassVar[Callable | None] = None

    def inputs(self) -> tuple:
        """The arguments, as NumPy arrays."""
        raise NotImplementedError

    def function(self, lib: Library) -> Callable:
        """Return the function that is timed, in the terms of one library."""
        raise NotImplementedError

    def expected(self) -> Any:
        """The result, found without any library."""
        assert self.floor is not None
        return self.floor(*self.inputs())

    def small(self) -> "Workload":
        """The same with smaller inputs, where the test suite could not wait for it."""
        return self

    def call(self, lib: Library) -> Callable[[], Any]:
        """The call to time: inputs converted, nothing computed yet."""
        args, f = lib.convert(self.inputs()), lib.finish(self.function(lib))
        return lambda: f(*args)

    def floor_call(self) -> Callable[[], Any] | None:
        """The same by hand, or None."""
        floor, args = self.floor, self.inputs()
        return None if floor is None else lambda: floor(*args)


def nested(transform: Callable, f: Callable, depth: int) -> Callable:
    """`f` under `depth` of the same transform."""
    for _ in range(depth):
        f = transform(f)
    return f


def uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 0.9, shape)
