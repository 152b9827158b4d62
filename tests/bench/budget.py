"""Where the time of one operation, and of one call of `grad`, goes.

Each step of an operation is a function that does what the one before does and one thing
more; the parts of a call are the functions that it calls, one after the other. CPU time, the
least of many repeats. Run: ``python tests/bench/budget.py``.
"""

import operator
import sys
import time
import timeit
from collections.abc import Callable

import numpy as np

import functier as ft
from functier._batch import BatchLevel
from functier._diff import choose, filled, owned
from functier._tape import GradLevel, backward, one

X, Y = np.random.default_rng(0).uniform(0.5, 0.9, (2, 2, 3))


def nanoseconds(call: Callable, number: int = 20_000) -> float:
    """The least time of a call, without that of the call itself."""
    times = timeit.repeat(call, number=number, repeat=15, timer=time.process_time)
    return min(times) / number * 1e9


EMPTY = nanoseconds(lambda: None)


def operation_steps() -> dict[str, Callable]:
    """What the operator of a batch level does, from an empty method on."""
    new, add = object.__new__, operator.add

    def called(a, b):
        return a

    def knows_its_level(a, b):
        cls = type(a)
        if type(b) is cls:
            level = cls.level
            if type(level) is not BatchLevel:
                return None
        return a

    def has_aligned_values(a, b):
        cls = type(a)
        if type(b) is cls:
            level = cls.level
            if type(level) is not BatchLevel:
                return None
            x, y = a._value, b._value
            if x.ndim != y.ndim:
                return None
        return a

    def computes(a, b):
        cls = type(a)
        if type(b) is cls:
            level = cls.level
            if type(level) is not BatchLevel:
                return None
            x, y = a._value, b._value
            if x.ndim != y.ndim:
                return None
            return add(x, y)
        return a

    def wraps(a, b):
        cls = type(a)
        if type(b) is cls:
            level = cls.level
            if type(level) is not BatchLevel:
                return None
            x, y = a._value, b._value
            if x.ndim != y.ndim:
                return None
            z = new(cls)
            z._value = add(x, y)
            return z
        return a

    return {
        "a method of a class, called by an operator": called,
        "its level, which is live": knows_its_level,
        "the two values, of one rank": has_aligned_values,
        "NumPy's addition": computes,
        "the tensor of the result": wraps,
    }


def operation() -> list[tuple[str, float]]:
    rows, before = [], 0.0
    with ft.vmap() as B:
        x, y = B(X), B(Y)
        whole = nanoseconds(lambda: x + y) - EMPTY
        for label, step in operation_steps().items():
            B.__add__ = step
            spent = nanoseconds(lambda: x + y) - EMPTY
            rows.append((label, spent - before))
            before = spent
    rows.append(("the whole, as it is", whole))
    rows.append(("x + y of the arrays", nanoseconds(lambda: X + Y) - EMPTY))
    return rows


def gradient() -> list[tuple[str, float]]:
    """The parts of ``grad(lambda x: x * x)(3.0)``."""
    args, frame = (3.0,), sys._getframe()
    leaves, _, _ = choose("budget", args, 0)

    def level_alone():
        level = GradLevel.enter("budget", "dead", frame)
        level.exit()
        level.recycle()

    level = GradLevel.enter("budget", "dead", frame)
    (x,) = level.track(leaves)
    y = x * x
    value, node = level.scalar(y)
    parts = {
        "choosing and checking the argument": lambda: choose("budget", args, 0),
        "a level: entered, ended, its class given back": level_alone,
        "the tensor to differentiate by": lambda: level.track(leaves),
        "the function: one product, a node with two edges": lambda: x * x,
        "the output, checked to be a scalar": lambda: level.scalar(y),
        "the backward pass: two rules, one sum": lambda: backward([(node, one(value))], [x._extra]),
        "a gradient with memory of its own": lambda: owned(filled([value], leaves)),
    }
    rows = [(label, nanoseconds(part) - EMPTY) for label, part in parts.items()]
    level.exit()
    square = ft.grad(lambda x: x * x)
    rows.append(("the whole", nanoseconds(lambda: square(3.0)) - EMPTY))
    return rows


def table(title: str, rows: list[tuple[str, float]]) -> str:
    lines = [f"| {title} | ns |", "|---|---|"]
    return "\n".join(lines + [f"| {label} | {round(spent)} |" for label, spent in rows])


if __name__ == "__main__":
    print(table("one `x + y` at one vmap level", operation()))
    print()
    print(table("one `grad(lambda x: x * x)(3.0)`", gradient()))
