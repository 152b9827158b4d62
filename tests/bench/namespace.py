"""The cost of `functier.numpy` beside `numpy`: outside of levels for a call, inside for a function.

CPU time, the least of many repeats; inside a level both are measured in turns, and the ratio is
the median of all turns. Run: ``python -m bench.namespace`` in ``tests``.
"""

import statistics
import time
import timeit
from collections.abc import Callable
from types import ModuleType

import numpy as np

import functier as ft
import functier.numpy as fnp

X = np.linspace(0.5, 1.5, 8)
CALLS = {
    "zeros": (3,), "array": ([1.0, 2.0],), "sum": (X,), "dot": (X, X), "reshape": (X, (2, 4)),
    "where": (X > 1.0, X, 0.0), "concatenate": ([X, X],), "clip": (X, 0.0, 1.0),
}  # fmt: skip
TURNS = 150


def extra(name: str, number: int = 20_000) -> float:
    """The nanoseconds that a call outside of levels costs more."""
    times = []
    for module in (np, fnp):
        func, args = getattr(module, name), CALLS[name]
        runs = timeit.repeat(
            lambda func=func, args=args: func(*args),
            number=number, repeat=9, timer=time.process_time,
        )  # fmt: skip
        times.append(min(runs) / number * 1e9)
    return times[1] - times[0]


def program(np: ModuleType) -> Callable:
    """A function that uses tensors alone: operators, ufuncs, reductions, joins, products."""

    def f(x):
        y = np.sin(x) * np.exp(-x) + x**2
        z = np.concatenate([y, np.cumsum(y)[:4]])
        w = np.where(y > 0.0, y, 0.1 * y)
        return np.sum(z * z) + np.dot(w, y) + np.max(x) / np.linalg.norm(y) + np.mean(w)

    return f


TRANSFORMS = {
    "vmap": lambda f: lambda: ft.vmap(f)(X[None]),
    "jvp": lambda f: lambda: ft.jvp(f, (X,), (X,)),
    "grad": lambda f: lambda: ft.grad(f)(X),
    "vmap(grad)": lambda f: lambda: ft.vmap(ft.grad(f))(X[None]),
}


def ratio(transform: str, turns: int = TURNS, number: int = 20) -> float:
    """The time inside levels by `functier.numpy` over that by `numpy`."""
    runs = [TRANSFORMS[transform](program(module)) for module in (np, fnp)]
    found = []
    for turn in range(turns):
        times = {}
        for i in (0, 1) if turn % 2 else (1, 0):
            begun = time.process_time()
            for _ in range(number):
                runs[i]()
            times[i] = time.process_time() - begun
        found.append(times[1] / times[0])
    return statistics.median(found)


def main() -> None:
    print("| a call outside of levels | ns more |\n|---|---|")
    for name in CALLS:
        print(f"| {name} | {extra(name):.0f} |")
    print("\n| inside levels | functier.numpy / numpy |\n|---|---|")
    for name in TRANSFORMS:
        print(f"| {name} | {ratio(name):.3f} |")


if __name__ == "__main__":
    main()
