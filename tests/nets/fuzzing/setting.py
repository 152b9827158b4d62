"""The setting of a drawn program: its operands, which of them vary, a trial of a transform."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .draw import Program
from .references import Inconclusive, differs, distance, form, tolerance_of, unstable
from .values import Operand, lay, literal_laid


class NumpyRefuses(Exception):
    """The reference raises by NumPy alone, so functier has to raise too: `trial` runs it."""

    trial: "Trial"


@dataclass
class Trial:
    """One transform of one program.

    Attributes
    ----------
    line : str
        The call, as a user writes it; `inputs` are its arguments by their names.
    run : callable
        The call.
    check : callable
        Given the result of `run`; raises `AssertionError`, or `Inconclusive`.
    """

    line: str
    inputs: dict[str, np.ndarray]
    run: Callable[[], Any]
    check: Callable[[Any], None]
    layouts: dict[str, str]
    program: Program

    def text(self) -> str:
        lines = ["import numpy as np, functier as ft"]
        for name, x in self.inputs.items():
            lines.append(f"{name} = {literal_laid(x, self.layouts.get(name, 'C'))}")
        return "\n".join([*lines, self.program.text(), self.line])


def direction(x: Any, rng: np.random.Generator, symmetric: bool = False) -> np.ndarray:
    """A tangent or a cotangent of `x`; rarely one with zeros in it."""
    shape, dtype = form(x)
    t = rng.normal(size=shape)
    if dtype.kind == "c":
        t = t + 1j * rng.normal(size=shape)
    if symmetric:
        t = t + np.conj(np.swapaxes(t, -1, -2))
    return np.asarray(t).astype(dtype)


def overflows(operands: Sequence[Operand]) -> bool:
    """Tell if there are infinities beside complex numbers, whose products are NaN or not."""
    far = any(op.value.dtype.kind in "fc" and op.style == "inf" for op in operands)
    return far and any(op.value.dtype.kind == "c" for op in operands)


class Setting:
    """A program, and the operands that a transform is about."""

    def __init__(self, program: Program, rng: np.random.Generator):
        self.program, self.rng = program, rng
        self.operands = list(program.operands.values())
        if overflows(self.operands):
            raise Inconclusive
        self.f = program.function
        self.point = [lay(op.value, op.layout) for op in self.operands]
        self.names = [op.name for op in self.operands]
        self.values = [np.asarray(y) for y in self.f(*self.point)]

    # ---- which operands ----

    def closed(self, chosen: set[int], allowed: Sequence[int]) -> list[int]:
        """With what the chosen operands need: a method's array with its argument."""
        for i in list(chosen):
            if self.operands[i].needs:
                needed = self.names.index(self.operands[i].needs)
                chosen.add(needed) if needed in allowed else chosen.remove(i)
        if not chosen:
            raise Inconclusive
        return sorted(chosen)

    def some(self, allowed: Sequence[int]) -> list[int]:
        """Some of the operands, at least one."""
        if not allowed:
            raise Inconclusive
        if len(allowed) == 1 or self.rng.random() < 0.45:
            return self.closed(set(allowed), allowed)
        count = int(self.rng.integers(1, len(allowed) + 1))
        return self.closed({int(i) for i in self.rng.permutation(allowed)[:count]}, allowed)

    def differentiated(self) -> list[int]:
        chosen = self.some([i for i, op in enumerate(self.operands) if op.differentiable()])
        if not any(y.dtype.kind in "fc" for y in self.values):
            raise Inconclusive
        if "np.frexp" in self.program.names[1:]:
            raise Inconclusive  # of a rounding error it makes a number between 1/2 and 1
        return chosen

    def batched(self) -> list[int]:
        return self.some([i for i, op in enumerate(self.operands) if not op.shared])

    # ---- batches ----

    def length(self, zero: bool = True) -> int:
        sizes = [n for x in self.point for n in x.shape if 1 < n < 6]
        if sizes and self.rng.random() < 0.3:
            return int(self.rng.choice(sizes))
        return int(self.rng.choice([0, 1, 2, 3], p=[0.08 if zero else 0.0, 0.25, 0.42, 0.25]
                                   if zero else [0, 0.3, 0.45, 0.25]))  # fmt: skip

    def batch(self, i: int, n: int) -> np.ndarray:
        """`n` examples of an operand, along a first axis."""
        op = self.operands[i]
        if self.rng.random() < 0.06:
            return np.broadcast_to(op.value, (n, *op.value.shape))
        examples = [op.value, *(op.another(self.rng) for _ in range(n - 1))]
        return np.stack(examples[:n]) if n else np.zeros((0, *op.value.shape), op.value.dtype)

    def place(self, many: np.ndarray) -> tuple[np.ndarray, int]:
        """A batch with its axis somewhere, and where."""
        nd = many.ndim
        axis = 0 if self.rng.random() < 0.5 else int(self.rng.integers(-nd, nd))
        return np.moveaxis(many, 0, axis), axis

    def layout(self, x: np.ndarray, op: Operand) -> np.ndarray:
        return lay(x, op.layout)

    def of(self, where: Sequence[int], results: Sequence[int] | None = None) -> Callable:
        """The program as a function of some operands, to its results, or to some of them."""

        def of(*chosen: Any) -> tuple:
            xs = list(self.point)
            for i, x in zip(where, chosen):
                xs[i] = x
            ys = self.f(*xs)
            return tuple(ys) if results is None else tuple([ys[j] for j in results])

        return of

    def smooth(self) -> list[int]:
        """The results that have derivatives."""
        return [j for j, y in enumerate(self.values) if y.dtype.kind in "fc"]

    def tangents(self, where: Sequence[int]) -> list[np.ndarray]:
        return [direction(self.point[i], self.rng, self.operands[i].symmetric) for i in where]

    def text_of(self, where: Sequence[int]) -> str:
        """The function of some operands, as a user writes it."""
        if list(where) == list(range(len(self.names))):
            return "f"
        inner = ", ".join(self.names[i] for i in where)
        return f"lambda {inner}: f({', '.join(self.names)})"

    def trial(self, line: str, inputs: dict, run: Callable, check: Callable) -> Trial:
        layouts = {op.name: op.layout for op in self.operands}
        whole = dict(zip(self.names, self.point)) | inputs
        return Trial(line, whole, run, check, layouts, self.program)


def tup(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def hold(
    s: "Setting", actual: Sequence, expected: Sequence, reference: Callable, points: Sequence,
    times: float = 1.0,
) -> None:  # fmt: skip
    """Results are near the reference's, or the reference is not stable itself."""
    tolerance = tolerance_of([*points, *expected, *s.program.casts()], times)
    steps = len(s.program.steps)
    text = differs(actual, expected, tolerance)
    if not text:
        return
    far = [
        np.any(~np.isfinite(v)) for v in (*points, *expected) if np.asarray(v).dtype.kind in "fc"
    ]
    if steps > 1 and re.search("equal|equiv|==|!=|isin|tan2|angle|sign", s.program.text()):
        raise Inconclusive  # whether numbers are equal, or the sign of a 0, is told by rounding
    if steps > 1 and any(far):
        raise Inconclusive  # what is not finite depends on the order of operations
    off = min(distance(np.asarray(a), np.asarray(e)) if np.shape(a) == np.shape(e) else np.inf
              for a, e in zip(actual, expected) if differs([a], [e], tolerance))  # fmt: skip
    exact = steps == 1 and all(np.asarray(e).dtype.kind not in "fc" for e in expected)
    if not exact and unstable(reference, points, off, steps > 1):
        raise Inconclusive
    raise AssertionError(text)
