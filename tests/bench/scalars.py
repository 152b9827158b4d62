"""The cost of adopted scalar code: of one operation with its derivative, and of compiled gradients.

A function of a package is a chain of 1000 operations of one kind. The time of its gradient is
divided by their number, beside that of the same chain of plain numbers. Others are formulas as
packages have them, whose compiled gradients stand beside the plain calls. CPU time, the median of
many calls. Run: ``python -m bench.scalars`` in ``tests``.
"""

import statistics
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import functier as ft

LENGTH = 1000
ROUNDS = 15
START = [0.7, 0.999, 0.5, 0.25]

OPERATIONS = (
    "y + 0.001", "y * 1.001", "y * u", "y / u", "y ** 1.001", "y ** 2", "abs(y)",
    "np.sin(y)", "np.sqrt(y)", "np.arctan2(y, u)", "np.maximum(y, 0.1)",
    "y if y > 0 else -y", "max(y, 0.1)", "float(y)", "v[i % 4]",
    "math.sin(y)", "math.exp(-y)", "math.sqrt(y)", "math.log(y + 1.5)", "math.atan2(y, u)",
    "math.pow(y, 1.001)", "math.hypot(y, 0.1)", "math.fabs(y)",
)  # fmt: skip

SOURCE = """
import math
import numpy as np

def chain(v):
    y, u = v[0], v[1]
    for i in range({length}):
        y = {operation}
    return y
"""

FORMULAS = """
from math import atan2, cos, erf, exp, hypot, log, log10, sin, sqrt

def pressure(T, Tc=190.53, Pc=4596420.0):
    Tr = T / Tc
    if Tr > 1.0:
        Tr = 1.0
    tau = 1.0 - Tr
    root = sqrt(tau)
    tau15 = tau * root
    return Pc * exp((-6.00435 + 1.1885 * root + tau15 * (-0.834 - 1.228 * tau * tau15)) * tau / Tr)

def friction(Re, roughness):
    if Re < 2320.0:
        return 64.0 / Re
    x = 0.25 / log10(roughness / 3.7 + 5.74 / Re**0.9) ** 2
    for i in range(4):
        x = (-2.0 * log10(2.51 / (Re * sqrt(x)) + roughness / 3.7)) ** -2
    return x

def option(spot, sigma, strike=100.0, time=1.0, rate=0.02):
    if sigma < 0.0 or time < 0.0:
        raise ValueError("sigma and time are not negative")
    d1 = (log(spot / strike) + (rate + 0.5 * sigma**2) * time) / (sigma * time**0.5)
    d2 = d1 - sigma * time**0.5
    normal = lambda x: 0.5 * (1.0 + erf(x / sqrt(2.0)))
    return spot * normal(d1) - strike * exp(-rate * time) * normal(d2)

def angle(M, e):
    E = M + e * sin(M)
    for i in range(8):
        step = (E - e * sin(E) - M) / (1.0 - e * cos(E))
        E = E - step
        if abs(step) < 1e-14:
            break
    return atan2(sqrt(1.0 - e * e) * sin(E), cos(E) - e)
"""
"""Formulas as packages have them."""

POINTS = {
    "pressure": (100.0,), "friction": (1e5, 1e-4), "option": (105.0, 0.2), "angle": (1.2, 0.3)
}  # fmt: skip


def seconds(call: Callable, count: int = 1) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return time.process_time() - start


def microseconds(call: Callable, count: int = 1) -> float:
    call()
    return statistics.median([seconds(call, count) for _ in range(ROUNDS)]) / count * 1e6


def module_of(source: str) -> Any:
    module: Any = types.ModuleType("scalar_code")
    sys.modules["scalar_code"] = module
    exec(source, vars(module))
    return module


def measured(operation: str) -> list[float]:
    """Return the microseconds of an operation with its derivative, and of the plain one."""
    module = module_of(SOURCE.format(length=LENGTH, operation=operation))
    calls = [lambda: ft.grad(module.chain)(np.array(START)), lambda: module.chain(START)]
    with ft.adopt("scalar_code"):
        return [microseconds(call) / LENGTH for call in calls]


def compiled(name: str) -> list[float]:
    """Return the microseconds of a compiled gradient, and of the plain call."""
    func, point = getattr(module_of(FORMULAS), name), POINTS[name]
    with ft.adopt("scalar_code"):
        gradient = ft.compile(ft.grad(func, argnums=tuple(range(len(point)))), warm=True)
        return [microseconds(lambda: f(*point), 2000) for f in (gradient, func)]


def main() -> None:
    print("| operation | with its derivative, us | plain |\n|---|---|---|")
    for operation in OPERATIONS:
        ours, plain = measured(operation)
        print(f"| `{operation}` | {ours:.2f} | {plain:.2f} |", flush=True)
    print("\n| formula | compiled gradient, us | plain call | ratio |\n|---|---|---|---|")
    for name in POINTS:
        ours, plain = compiled(name)
        print(f"| {name} | {ours:.2f} | {plain:.2f} | {ours / plain:.1f} |", flush=True)


if __name__ == "__main__":
    main()
