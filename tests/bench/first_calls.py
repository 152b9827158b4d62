"""The first calls of compiled gradients of programs with loops, and their parts, in CPU time.

``python tests/bench/first_calls.py [NAME]``, or the section "first calls" of a whole run. Each
program is measured in a process that has compiled a gradient before. The sum of the first three
calls counts: machine code is made in the second. JAX has the same programs as `scan` by hand.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import optree

if __name__ == "__main__":
    os.environ["FUNCTIER_CACHE"] = "0"  # first calls are those of a program that is new
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.libraries import LIBRARIES, Library

COLUMNS = (
    "eager gradient", "recording", "passes", "machine code", "first three calls", "a later call",
)  # fmt: skip
WARM = 20
"""So many later calls, of which the least time counts."""

G = np.random.default_rng(0)


def pendulum(lib: Library, n: int) -> tuple[Callable, tuple]:
    def step(i: int, state: Any) -> Any:
        angle, speed = state
        speed = speed - 0.01 * (lib.np.sin(angle) + 0.1 * speed)
        return angle + 0.01 * speed, speed

    return lambda x: lib.np.sum(lib.repeat(step, n, (x, x * 0.0))[0] ** 2), (np.linspace(0, 1, 8),)


def recurrent(lib: Library, n: int) -> tuple[Callable, tuple]:
    W, xs = 0.3 * G.normal(size=(16, 16)), G.normal(size=(n, 16))

    def f(W: Any, xs: Any) -> Any:
        return lib.np.sum(lib.loop(lambda h, x: lib.np.tanh(W @ h + x), xs[0] * 0.0, xs))

    return f, (W, xs)


def kalman(lib: Library, n: int) -> tuple[Callable, tuple]:
    def f(q: Any, ys: Any) -> Any:
        def step(state: Any, y: Any) -> Any:
            mean, spread, total = state
            spread = spread + q
            whole = spread + 0.5
            total = total - 0.5 * (lib.np.log(whole) + (y - mean) ** 2 / whole)
            return mean + spread / whole * (y - mean), spread * 0.5 / whole, total

        return lib.loop(step, (q * 0.0, q * 0.0 + 1.0, q * 0.0), ys)[2]

    return f, (np.float64(0.3), np.sin(np.arange(float(n))))


def bodies(lib: Library, n: int) -> tuple[Callable, tuple]:
    def step(i: int, state: Any) -> Any:
        x, v = state
        apart = x[:, None] - x[None]
        squares = lib.np.sum(apart**2, axis=-1) + 0.1
        v = v - 0.01 * lib.np.sum(apart / squares[..., None] ** 1.5, axis=1)
        return x + 0.01 * v, v

    return lambda x: lib.np.sum(lib.repeat(step, n, (x, x * 0.0))[0] ** 2), (G.normal(size=(3, 2)),)


def heat(lib: Library, n: int) -> tuple[Callable, tuple]:
    start = G.normal(size=(64, 64))

    def f(k: Any, u: Any) -> Any:
        def step(i: int, u: Any) -> Any:
            sides = [lib.np.roll(u, by, axis) for by in (1, -1) for axis in (0, 1)]
            return u + 0.1 * k * (sides[0] + sides[1] + sides[2] + sides[3] - 4.0 * u)

        return lib.np.sum(lib.repeat(step, n, u) ** 2)

    return f, (np.float64(0.7), start)


def writes(lib: Library, n: int) -> tuple[Callable, tuple]:
    def f(x: Any) -> Any:
        def step(i: int, y: Any) -> Any:
            return lib.put(y, i + 1, y[i] + 0.1 * lib.np.sin(y[i]))

        return lib.np.sum(lib.repeat(step, n - 1, lib.put(lib.zeros(n), 0, x)))

    return f, (np.float64(0.5),)


def hidden(lib: Library, n: int) -> tuple[Callable, tuple]:
    """The probability of a sequence under a hidden Markov model of 8 states."""

    def logsumexp(x: Any) -> Any:
        most = lib.np.max(x, axis=0)
        return lib.np.log(lib.np.sum(lib.np.exp(x - most), axis=0)) + most

    def f(moves: Any, seen: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            return logsumexp(state[:, None] + moves) + row

        return logsumexp(lib.loop(step, seen[0] * 0.0, seen))

    return f, (G.normal(size=(8, 8)), G.normal(size=(n, 8)))


def captured(lib: Library, n: int) -> tuple[Callable, tuple]:
    """A later call compares the data that the function closes over: its time is by their size."""
    data = lib.array(G.normal(size=(n, 1000)))

    def f(p: Any) -> Any:
        centred = (data - lib.np.mean(data, axis=0)) / lib.np.std(data, axis=0)
        return lib.np.sum((centred[:50, :3] @ p) ** 2)

    return f, (np.ones(3),)


def leaves(lib: Library, n: int) -> tuple[Callable, tuple]:
    """Machine code is made in the second call, in a time that grows faster than the leaves."""

    def f(parts: dict) -> Any:
        return sum([lib.np.sum(part * part) for part in parts.values()])

    return f, ({i: np.ones(2) * i for i in range(n)},)


class Given:
    """A library whose loops are given as such, by `scan` and `fori_loop`."""

    def __init__(self, lib: Library) -> None:
        self.lib = lib

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lib, name)

    def loop(self, step: Callable, state: Any, xs: Any) -> Any:
        scan = self.lib.transforms.scan
        return scan(lambda state, x: (step(state, x), None), state, xs)[0]

    def repeat(self, step: Callable, n: int, state: Any) -> Any:
        return self.lib.transforms.fori_loop(0, n, step, state)


PROGRAMS: dict[str, tuple[Callable, int]] = {
    "pendulum": (pendulum, 1000), "long pendulum": (pendulum, 10_000),
    "recurrent": (recurrent, 1000), "kalman": (kalman, 500), "bodies": (bodies, 200),
    "heat": (heat, 200), "writes": (writes, 1000), "captured data": (captured, 1000),
    "many leaves": (leaves, 500),
}  # fmt: skip
"""The programs, with the number of their steps."""
GIVEN: dict[str, tuple[Callable, int]] = {
    f"given {make.__name__}, {n} steps": (make, n)
    for make in (pendulum, recurrent, kalman, bodies, hidden, heat) for n in (100, 10_000)
    if make is not heat or n == 100
}  # fmt: skip
"""The same for loops that are given as such: the length does not count, but for the steps."""


# ---- what is measured ----


@contextmanager
def added(times: dict[str, float], column: str, home: Any, name: str) -> Iterator[None]:
    """Add the time that calls of a function of a module take."""
    func = getattr(home, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return func(*args, **kwargs)
        finally:
            times[column] = times.get(column, 0.0) + time.process_time() - start

    setattr(home, name, call)
    try:
        yield
    finally:
        setattr(home, name, func)


def parts_of(call: Callable) -> dict[str, float]:
    """Return the times of the parts of three calls of a compiled function."""
    from functier._programs import compiled, trace

    times: dict[str, float] = {}
    with (
        added(times, "recording", compiled, "record"), added(times, "passes", trace, "optimized"),
        added(times, "machine code", compiled, "machine_of"),
    ):  # fmt: skip
        times["first three calls"] = seconds(lambda: [call() for _ in range(3)])
    times["recording"] -= times["passes"]
    return times


def seconds(call: Callable) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def measured(name: str, library: str) -> dict[str, float]:
    """Return the times of one program."""
    lib: Any = LIBRARIES[library]()
    make, n = (PROGRAMS | GIVEN)[name]
    if name in GIVEN and library != "jax_jit":
        lib = Given(lib)
    for steps in (12, n):  # what is imported and set up once does not count
        f, args = make(lib, steps)
        gradient = lib.grad(f)
        given = optree.tree_map(lib.array, args)
        if library == "jax_jit":
            call = lib.finish(gradient)
            times = {"first three calls": seconds(lambda: [call(*given) for _ in range(3)])}
        else:
            call = lib.compile(gradient)
            times = {"eager gradient": seconds(lambda: gradient(*given))}
            times |= parts_of(lambda: call(*given))
    times["a later call"] = min(seconds(lambda: call(*given)) for _ in range(WARM))
    return times


def measure(libraries: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the times of all programs, each in a process: what one leaves is none of another's."""
    own = [name for name in ("functier", "jax_jit") if name in libraries]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in PROGRAMS | GIVEN:
        for library in own:
            command = [sys.executable, __file__, name, library]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found.setdefault(name, {})[library] = json.loads(text)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(measured(*sys.argv[1:])))
    else:
        for name in sys.argv[1:] or PROGRAMS | GIVEN:
            times = measured(name, "functier")
            print(name, *[f"{k}: {times.get(k, 0) * 1e3:.4g} ms" for k in COLUMNS], sep="; ")
