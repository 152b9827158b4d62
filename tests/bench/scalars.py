"""The cost of adopted scalar code: of one operation with its derivative.

A function of a package is a chain of 1000 operations of one kind. The time of its gradient is
divided by their number, beside that of the same chain of plain numbers. CPU time,
the median of many calls. Run: ``python -m bench.scalars`` in ``tests``.
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


def seconds(call: Callable) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def microseconds(call: Callable) -> float:
    call()
    return statistics.median([seconds(call) for _ in range(ROUNDS)]) * 1e6


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


def main() -> None:
    print("| operation | with its derivative, us | plain |\n|---|---|---|")
    for operation in OPERATIONS:
        ours, plain = measured(operation)
        print(f"| `{operation}` | {ours:.2f} | {plain:.2f} |", flush=True)


if __name__ == "__main__":
    main()
