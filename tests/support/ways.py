"""The ways of five calls through the package: which functions run, in which files.

``python tests/support/ways.py`` prints how many calls of the package's functions each one makes
when it is made for the second time, and in how many files. With the name of a way it prints the
sequence, with an indentation for each call inside a call.
"""

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import functier as ft

PACKAGE = f"{Path(ft.__file__).parent}"


def product() -> Callable[[], Any]:
    """``a * b`` of a tensor of vmap, in a gradient of which nothing is asked."""
    way: list = []

    def f(x: Any) -> Any:
        def inner(a: Any) -> Any:
            way.append(lambda: a * a)
            way[0]()  # the first time
            STEPS[:] = steps_of(way[0])
            return a

        return ft.vmap(inner)(x * np.ones(3)).sum()

    return lambda: ft.grad(f)(2.0)


def per_example() -> Callable[[], Any]:
    transform = ft.vmap(ft.grad(lambda x: np.sum(x * x)))
    x = np.ones((3, 2))
    return lambda: transform(x)


def write() -> Callable[[], Any]:
    def f(x: Any) -> Any:
        x[1] = x[0]
        return x

    batched, x = ft.vmap(f), np.ones((3, 2))
    return lambda: batched(x)


def adopted() -> Callable[[], Any]:
    module = types.ModuleType("ways_of_others")
    code = "import math\ndef f(x):\n    return math.exp(-x) * math.sin(x) + x\n"
    exec(compile(code, "ways_of_others.py", "exec"), vars(module))
    f = vars(module)["f"]
    gradient = ft.grad(lambda x: f(x))

    def call() -> Any:
        sys.modules[module.__name__] = module
        try:
            with ft.adopt(module):
                gradient(0.5)
                STEPS[:] = steps_of(lambda: gradient(0.5))
        finally:
            del sys.modules[module.__name__]

    return call


def solved() -> Callable[[], Any]:
    from functier.scipy.integrate import solve_ivp

    def end(k: Any) -> Any:
        return solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.array([1.0, 2.0])).y[0, -1]

    gradient = ft.grad(end)
    for _ in range(8):  # until programs replay the slopes
        gradient(0.5)
    return lambda: gradient(0.5)


WAYS = {
    "a * b on vmap in grad": product,
    "vmap(grad(f))(x)": per_example,
    "x[1] = x[0] under vmap": write,
    "an adopted call of 4 operations": adopted,
    "solve_ivp of 2 states under grad": solved,
}
INSIDE = "a * b on vmap in grad", "an adopted call of 4 operations"
STEPS: list[tuple[int, str, str]] = []


def steps_of(call: Callable[[], Any]) -> list[tuple[int, str, str]]:
    """Return the functions of the package that a call runs: how deep, in which file, and which."""
    steps, depth = [], 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal depth
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith((PACKAGE, "<functier")):
            return
        if event == "call":
            home = name.removeprefix(PACKAGE).strip("/").removesuffix(".py")
            steps.append((depth, home, frame.f_code.co_qualname))
        depth += 1 if event == "call" else -1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return steps


def steps(name: str) -> list[tuple[int, str, str]]:
    """Return the steps of a way, the second time."""
    call = WAYS[name]()
    call()
    return [*STEPS] if name in INSIDE else steps_of(call)


def main(names: list[str]) -> None:
    for name in WAYS:
        found = steps(name)
        print(f"{name:34} {len(found):6} calls in {len({home for _, home, _ in found}):3} files")
        if name in names:
            for depth, home, function in found:
                print(f"    {'  ' * depth}{home}: {function}")


if __name__ == "__main__":
    main(sys.argv[1:])
