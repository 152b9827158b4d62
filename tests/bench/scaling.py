"""The cost of one operation by the length of the tape, the batch, the nesting."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .libraries import WITHOUT_VMAP, Library
from .timing import Clock, interleave, settle, timed
from .workloads.base import nested
from .workloads.dispatch import chain20

PATIENCE = 5.0
"""Seconds a call above which the curve of a library ends."""


class Curve:
    """The time of one operation over a size; `by_hand` is the same in NumPy."""

    name: str
    title: str
    axis: str
    sizes: ClassVar[list[int]]
    without: ClassVar[tuple[str, ...]] = ()

    def call(self, lib: Library, n: int) -> Callable:
        raise NotImplementedError

    def by_hand(self, n: int) -> Callable:
        raise NotImplementedError

    def operations(self, n: int) -> int:
        """By how many the time of a call is divided."""
        raise NotImplementedError


class Tape(Curve):
    """Forward and backward through a chain of sines of three numbers."""

    name = "tape"
    title = "Gradient of a chain of operations"
    axis = "operations on the tape"
    sizes: ClassVar = [10**k for k in range(2, 7)]
    x = np.array([0.5, 1.0, 1.5])

    def operations(self, n: int) -> int:
        return n

    def call(self, lib: Library, n: int) -> Callable:
        def f(x: Any) -> Any:
            for _ in range(n):
                x = lib.np.sin(x)
            return lib.np.sum(x)

        gradient, x = lib.finish(lib.grad(f)), lib.array(self.x)
        return lambda: gradient(x)

    def by_hand(self, n: int) -> Callable:
        def gradient() -> np.ndarray:
            x, saved = self.x, []
            for _ in range(n):
                saved.append(x)
                x = np.sin(x)
            g = np.ones(3)
            while saved:
                g = g * np.cos(saved.pop())
            return g

        return gradient


class Batch(Curve):
    """20 operations on two numbers, mapped over a batch of such pairs."""

    name = "batch"
    title = "vmap of 20 operations over a batch"
    axis = "size of the batch"
    without = WITHOUT_VMAP
    sizes: ClassVar = [10**k for k in range(7)]

    def operations(self, n: int) -> int:
        return 20

    def inputs(self, n: int) -> tuple:
        return tuple(np.random.default_rng(0).uniform(0.5, 0.9, (2, n)))

    def call(self, lib: Library, n: int) -> Callable:
        mapped, args = lib.finish(lib.vmap(chain20, (0, 0))), lib.convert(self.inputs(n))
        return lambda: mapped(*args)

    def by_hand(self, n: int) -> Callable:
        args = self.inputs(n)
        return lambda: chain20(*args)


class Depth(Curve):
    """2000 products of 3 numbers under nested vmaps over axes of size 1: the data stay small."""

    name = "depth"
    title = "Operations under nested vmaps"
    axis = "vmaps around the operation"
    without = WITHOUT_VMAP
    sizes: ClassVar = [1, 2, 3, 4, 6, 8, 12, 16]
    repeats = 2000  # next to which entering the levels is nothing

    def operations(self, n: int) -> int:
        return self.repeats

    def products(self, x: Any, y: Any) -> Any:
        for _ in range(self.repeats):
            z = x * y
        return z

    def inputs(self, n: int) -> tuple:
        return tuple(np.random.default_rng(0).uniform(0.5, 0.9, (2, *[1] * n, 3)))

    def call(self, lib: Library, n: int) -> Callable:
        mapped, args = lib.finish(nested(lib.vmap, self.products, n)), lib.convert(self.inputs(n))
        return lambda: mapped(*args)

    def by_hand(self, n: int) -> Callable:
        args = self.inputs(n)
        return lambda: self.products(*args)


CURVES = (Tape(), Batch(), Depth())


def measure(curve: Curve, libs: list[Library], clock: Clock, rounds: int = 3) -> dict[str, dict]:
    """The seconds of one operation in each round: ``{library: {size: rounds}}``."""
    left = [lib for lib in libs if lib.name not in curve.without]
    found: dict[str, dict] = {name: {} for name in [*(lib.name for lib in left), "numpy"]}
    for n in curve.sizes:
        calls = {"numpy": curve.by_hand(n)}
        for lib in list(left):
            try:
                call = curve.call(lib, n)
                slow = timed(call, clock) > PATIENCE
            except Exception as error:  # a recursion limit, say
                print(f"{lib.name} ends at {curve.axis} = {n}: {error!r}"[:120])
                slow = True
            if slow:
                left.remove(lib)
            else:
                calls[lib.name] = call
        settle()
        for name, seconds in interleave(calls, clock, rounds).items():
            found[name][str(n)] = [s / curve.operations(n) for s in seconds]
    return {name: sizes for name, sizes in found.items() if sizes}
