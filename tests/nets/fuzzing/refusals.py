"""Calls that NumPy refuses: under a transform they have to raise, too."""

from typing import Any

import numpy as np

import functier as ft

from .batches import raising
from .draw import Program
from .references import Inconclusive
from .setting import Trial
from .values import lay


def must_refuse(program: Program, rng: np.random.Generator, cause: BaseException) -> Trial:
    """A trial that is right where functier raises."""
    operands = list(program.operands.values())
    if not operands or any(op.needs for op in operands):
        raise Inconclusive
    f, point = program.function, [lay(op.value, op.layout) for op in operands]
    names = [op.name for op in operands]
    smooth = [i for i, op in enumerate(operands) if op.differentiable()]
    kind = int(rng.integers(3)) if smooth else 0
    if kind == 0:
        inputs = [np.stack([op.value, op.value]) for op in operands]
        line = f"ft.vmap(f)({', '.join(names)})"

        def call() -> Any:
            return ft.vmap(f)(*inputs)
    else:
        inputs = point

        def of(*chosen: Any) -> Any:
            xs = list(point)
            for i, x in zip(smooth, chosen):
                xs[i] = x
            return f(*xs)

        chosen = tuple(point[i] for i in smooth)
        shown = ", ".join(names[i] for i in smooth)
        line = f"ft.{'jvp' if kind == 1 else 'vjp'}(lambda {shown}: f({', '.join(names)}), ...)"

        def call() -> Any:
            if kind == 1:
                return ft.jvp(of, chosen, chosen)
            return ft.vjp(of, *chosen)

    run, check = raising(call, cause)
    return Trial(line, dict(zip(names, inputs)), run, check, {}, program)
