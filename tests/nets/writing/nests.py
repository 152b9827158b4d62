"""Nests of transforms of a program, and the same numbers by NumPy alone.

NOTE [contracted levels]
    Each level makes a function of a dict of arguments to a list of values out of another one.
    A vmap stacks them. A jvp gives their derivative along fixed directions; a gradient that of
    their sum with fixed weights, contracted with the same directions. So NumPy has one
    reference for all nests: loops, and differences along those directions.
"""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import functier as ft
from functier._levels.views import WRITERS

from .program import Program

KINDS = ("vmap", "grad", "jvp")
SINGLE = [(k,) for k in KINDS]
PAIRS = list(itertools.product(KINDS, KINDS))
TRIPLES = list(itertools.product(KINDS, repeat=3))
VARIANTS = (
    (("grad",), "checkpoint"), (("grad",), "jacrev"), (("grad",), "hessian"), (("jvp",), "jacfwd"),
    (("jvp",), "linearize"), (("vmap",), "chunks"), (("vmap", "grad"), "checkpoint"),
    (("jvp", "grad"), "jacrev"), (("grad", "jvp"), "jacfwd"), (("vmap", "jvp"), "jacfwd"),
    (("vmap", "jvp"), "linearize"), (("vmap", "grad"), "hessian"), (("vmap", "vmap"), "chunks"),
)  # fmt: skip
"""Nests whose innermost level is made by another transform of its kind."""

STEP = 4e-3
Values = list
Function = Callable[[dict], Values]


@dataclass
class Level:
    """One transform: what it acts on, along which directions, with which weights."""

    kind: str
    names: tuple[str, ...]
    size: int
    directions: dict[str, np.ndarray]
    variant: str
    seed: int

    def weights(self, values: Sequence[Any]) -> list:
        g = np.random.default_rng(self.seed)
        return [np.round(direction(np.shape(v), np.result_type(v), g), 2) for v in values]

    def __str__(self) -> str:
        how = "" if self.variant in ("", self.kind) else f" by {self.variant}"
        return f"{self.kind}({', '.join(self.names)}){how}"


def direction(shape: tuple, dtype: Any, g: np.random.Generator) -> np.ndarray:
    t = g.normal(size=shape)
    return np.asarray(t + 1j * g.normal(size=shape) if np.dtype(dtype).kind == "c" else t)


def smooth(values: Values) -> Values:
    """The values with integers and truths as floats."""
    return [v if np.result_type(v).kind in "fc" else np.multiply(v, 1.0) for v in values]


class Nest:
    """A program under transforms, outermost first, with arguments for all of them."""

    def __init__(self, program: Program, kinds: Sequence[str], r: random.Random, variant: str = ""):
        self.program, self.kinds = program, tuple(kinds)
        floats = [n for n in program.args if n != "k"]
        g = np.random.default_rng(r.randrange(1 << 30))
        inner = len(kinds) - 1
        self.levels: list[Level] = []
        batch: dict[str, tuple[int, ...]] = dict.fromkeys(program.args, ())
        for i, kind in enumerate(kinds):
            names = set(program.main) if i == inner or r.random() < 0.6 else {r.choice(floats)}
            if r.random() < 0.6 and "c" in floats:
                names.add("c")
            if i < inner and r.random() < 0.15:
                names -= {r.choice(program.main)}
            if kind == "vmap" and "k" in program.args and r.random() < 0.6:
                names.add("k")
            chosen = tuple(n for n in program.args if n in names) or ("x",)
            which = variant if i == inner else r.choice(["vjp", "grad"])
            if not which:
                which = r.choice(["vjp", "grad"])
            self.levels.append(
                Level(kind, chosen, r.choice([2, 2, 3, 1]), {}, which if kind != "vmap" or
                      which == "chunks" else "", r.randrange(1 << 30))
            )  # fmt: skip
        self.args: dict[str, np.ndarray] = {}
        for level in self.levels:
            if level.kind == "vmap":
                for n in level.names:
                    batch[n] += (level.size,)
        for n, value in program.args.items():
            shape = batch[n] + value.shape
            if n == "k":
                self.args[n] = np.asarray(g.choice(value.ravel(), shape))  # which are in range
            elif not batch[n]:
                self.args[n] = value.copy()
            else:
                many = np.asarray(np.round(g.normal(size=shape), 2))
                many[(0,) * len(batch[n])] = value
                self.args[n] = many
        self.judged = False
        left = dict(batch)
        for level in self.levels:
            for n in level.names:
                if level.kind == "vmap":
                    left[n] = left[n][1:]
                else:
                    value = program.args[n]
                    level.directions[n] = np.round(direction(left[n] + value.shape, float, g), 2)
        self.first = next((v for v in reversed(self.levels) if v.kind != "vmap"), None)
        self.derivatives = sum(level.kind != "vmap" for level in self.levels)
        self.derivatives += variant == "hessian"

    def __str__(self) -> str:
        return " of ".join(map(str, self.levels))

    def values(self) -> int:
        """Count the results that are values, not derivatives."""
        if self.derivatives != 1 or self.first.variant in ("jacfwd", "jacrev"):
            return 0 if self.derivatives else len(self.program.results)
        return 1 if self.first.variant == "grad" else len(self.program.results)

    def given(self) -> dict[str, np.ndarray]:
        return {n: v.copy() for n, v in self.args.items()}

    def run(self) -> Values:
        """The values by functier."""
        if self.levels[0].seed % 2:  # else as a function that has written before
            WRITERS.clear()
        f = self._start(False)
        for level in reversed(self.levels):
            f = FUNCTIER[level.kind](f, level, level is self.first)
        return [np.asarray(v) if not isinstance(v, ft.Tensor) else v for v in f(self.given())]

    def expected(self, step: float = STEP) -> Values:
        """The values by NumPy."""
        f = self._start(True)
        for level in reversed(self.levels):
            f = NUMPY[level.kind](f, level, level is self.first, step)
        return [np.asarray(v) for v in f(self.given())]

    def _start(self, numpy_only: bool) -> Function:
        f = self.program.function(numpy_only)
        if numpy_only:
            return self._copying(f)
        return (lambda args: smooth(f(args))) if self.derivatives else f

    def _copying(self, f: Function) -> Function:
        """`f` with copies of its arguments, and with results that share no memory."""
        wide = smooth if self.derivatives else list

        def call(args: dict) -> Values:
            args = {n: np.array(v) for n, v in args.items()}
            return [np.array(v) for v in wide(f(args))]

        return call


# ---- by functier ----


def vmap(f: Function, level: Level, first: bool) -> Function:
    def g(args: dict) -> Values:
        def h(*values: Any) -> tuple:
            return tuple(f({**args, **dict(zip(level.names, values))}))

        chunk = 2 if level.variant == "chunks" and level.size > 1 else None
        return list(ft.vmap(h, chunk_size=chunk)(*[args[n] for n in level.names]))

    return g


def of_level(f: Function, level: Level, args: dict) -> tuple[Callable, list, list]:
    """The function of the level's arguments, they, and their directions."""

    def h(*values: Any) -> tuple:
        found = f({**args, **dict(zip(level.names, values))})
        if level.variant == "jacrev":  # which takes no complex results
            found = [each for v in found for each in parts(v)]
        return tuple(found)

    return h, [args[n] for n in level.names], [level.directions[n] for n in level.names]


def jvp(f: Function, level: Level, first: bool) -> Function:
    def g(args: dict) -> Values:
        h, points, turned = of_level(f, level, args)
        if level.variant == "linearize":
            value, linear = ft.linearize(h, *points)
            moved = linear(*turned)
        elif level.variant == "jacfwd":
            columns = ft.jacfwd(h, tuple(range(len(points))))(*points)
            return [along(row, turned) for row in columns]
        else:
            value, moved = ft.jvp(h, tuple(points), tuple(turned))
        return [*value, *moved] if first else list(moved)

    return g


def parts(v: Any) -> list:
    """The real and the imaginary part of a complex value."""
    return [np.real(v), np.imag(v)] if np.result_type(v).kind == "c" else [v]


def along(row: Sequence, turned: Sequence) -> Any:
    total: Any = 0.0
    for j, t in zip(row, turned):
        total = total + np.tensordot(j, t, axes=t.ndim)
    return total


def contract(gradients: Sequence, turned: Sequence) -> Any:
    total: Any = 0.0
    for c, t in zip(gradients, turned):
        total = total + np.real(np.sum(np.conj(c) * t))
    return total


def weighed(values: Sequence, level: Level) -> Any:
    total: Any = 0.0
    for w, v in zip(level.weights(values), values):
        total = total + np.real(np.sum(np.conj(w) * v))
    return total


def grad(f: Function, level: Level, first: bool) -> Function:
    def g(args: dict) -> Values:
        h, points, turned = of_level(f, level, args)
        every = tuple(range(len(points)))
        if level.variant == "checkpoint":
            inside = h
            h = ft.checkpoint(lambda *p: inside(*[np.copy(q) for q in p]))
        if level.variant == "hessian":
            rows = ft.hessian(lambda *p: weighed(h(*p), level), every)(*points)
            return [along([along(row, turned) for row in rows], turned)]
        if level.variant == "grad":
            gradients, value = ft.grad_and_value(lambda *p: weighed(h(*p), level), every)(*points)
            return [value, contract(gradients, turned)] if first else [
                contract(gradients, turned)]  # fmt: skip
        if level.variant == "jacrev":
            rows = ft.jacrev(h, every)(*points)
            slopes = [along(row, turned) for row in rows]
            return [weighed(slopes, level)]
        value, pullback = ft.vjp(h, *points)
        slope = contract(pullback(tuple(level.weights(value))), turned)
        return [*value, slope] if first else [slope]

    return g


FUNCTIER = {"vmap": vmap, "jvp": jvp, "grad": grad}


# ---- by NumPy ----


def loop(f: Function, level: Level, first: bool, step: float) -> Function:
    def g(args: dict) -> Values:
        examples = [f({**args, **{n: args[n][i] for n in level.names}}) for i in range(level.size)]
        return [np.stack(each) for each in zip(*examples)]

    return g


def differences(f: Function, level: Level, step: float) -> Function:
    """The derivative along the directions, by differences of fourth order."""

    def g(args: dict) -> Values:
        def at(h: float) -> Values:
            return f({**args, **{n: args[n] + h * level.directions[n] for n in level.names}})

        return [
            (8 * (p - m) - (pp - mm)) / (12 * step)
            for p, m, pp, mm in zip(at(step), at(-step), at(2 * step), at(-2 * step))
        ]

    return g


def jvp_numpy(f: Function, level: Level, first: bool, step: float) -> Function:
    slopes = differences(f, level, step)
    valued = first and level.variant != "jacfwd"
    return (lambda args: [*f(args), *slopes(args)]) if valued else slopes


def grad_numpy(f: Function, level: Level, first: bool, step: float) -> Function:
    slopes = differences(f, level, step)
    if level.variant == "hessian":
        slopes = differences(slopes, level, step)

    def g(args: dict) -> Values:
        found = slopes(args)
        if level.variant == "jacrev":
            found = [each for v in found for each in parts(v)]
        slope = weighed(found, level)
        if not first or level.variant in ("jacrev", "hessian"):
            return [slope]
        value = f(args)
        return [weighed(value, level), slope] if level.variant == "grad" else [*value, slope]

    return g


NUMPY = {"vmap": loop, "jvp": jvp_numpy, "grad": grad_numpy}
