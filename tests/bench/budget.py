"""The parts of the time of one operation, and of one call of `grad`.

Each step of an operation is measured as a method that takes it after those before; the parts
of a call are the functions that it calls, one after the other. CPU time, the least of many
repeats. Run: ``python tests/bench/budget.py``.
"""

import operator
import sys
import textwrap
import time
import timeit
from collections.abc import Callable

import numpy as np

import functier as ft
from functier._levels.backward import backward
from functier._levels.batch import BatchLevel
from functier._levels.cotangents import fill_zeros, one
from functier._levels.grad import GradLevel
from functier._levels.memory import own_memory
from functier._levels.runs import run
from functier._transforms.arguments import choose

X, Y = np.random.default_rng(0).uniform(0.5, 0.9, (2, 2, 3))


def nanoseconds(call: Callable, number: int = 20_000) -> float:
    """The least time of a call, without that of the call itself."""
    times = timeit.repeat(call, number=number, repeat=15, timer=time.process_time)
    return min(times) / number * 1e9


EMPTY = nanoseconds(lambda: None)


STEPS = {
    "a method of a class, called by an operator": "",
    "its level, which is live": """
        cls = type(a)
        if type(b) is not cls:
            return a
        level = cls.level
        if type(level) is not BatchLevel:
            return a
        """,
    "the two values, of one rank": """
        x, y = a._value, b._value
        if x.ndim != y.ndim:
            return a
        """,
    "NumPy's addition": "z = add(x, y)",
    "the tensor of the result": """
        a = new(cls)
        a._value = z
        """,
}
"""What the operator of a batch level does, step by step."""


def operation_steps() -> dict[str, Callable]:
    """For each step a method that takes all up to it."""
    names = {"new": object.__new__, "add": operator.add, "BatchLevel": BatchLevel}
    methods, body = {}, ""
    for label, step in STEPS.items():
        body += textwrap.dedent(step).strip() + "\n"
        source = "def method(a, b):\n" + textwrap.indent(body + "return a\n", "    ")
        exec(source, space := dict(names))
        methods[label] = space["method"]
    return methods


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
    leaves, _, _ = choose("budget", args, 0, {})

    def level_alone():
        run(GradLevel.prepare("budget", "dead", frame), lambda level, given: None)

    level = GradLevel.prepare("budget", "dead", frame)
    (x,) = level.track(leaves)
    y = x * x
    value, node = level.scalar(y, False)
    parts = {
        "choosing and checking the argument": lambda: choose("budget", args, 0, {}),
        "a level: entered, ended, its class given back": level_alone,
        "the tensor to differentiate by": lambda: level.track(leaves),
        "the function: one product, a node with two edges": lambda: x * x,
        "the output, checked to be a scalar": lambda: level.scalar(y, False),
        "the backward pass: two rules, one sum": lambda: backward([(node, one(value))], [x._extra]),
        "a gradient with memory of its own": lambda: own_memory(fill_zeros([value], leaves)),
    }
    rows = [(label, nanoseconds(part) - EMPTY) for label, part in parts.items()]
    level.end()
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
