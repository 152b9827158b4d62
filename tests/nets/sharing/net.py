"""The run of the net: which cases there are, and what becomes of each."""

import gc
import itertools
import random
from collections.abc import Iterable, Iterator
from types import ModuleType

import numpy as np

import functier as ft
import functier.numpy as fnp

from .calls import GROUPS
from .cases import FEW, LAYOUTS, WRITES, Plain, Program, X, function_of, lay, module_of, parts_of
from .modes import MODES, NESTED, TURNS

numbers = itertools.count()
MOST = 500
"""The most cases of one call: others would say what these do."""


def programs() -> Iterator[tuple[str, Program]]:
    """All programs, with the groups of their calls."""
    for group, calls in GROUPS.items():
        layouts: Iterable = {"copy": FEW, "ufunc": ("F", "transposed")}.get(group, LAYOUTS)
        for call, layout, write in itertools.product(calls, layouts, WRITES):
            if write != "none" or any(part in call for part in ("double", "out=a", "__i")):
                yield group, Program(call, layout, write)


def takes(turn: tuple[str, str], group: str, program: Program) -> bool:
    """Tell if a mode has a program: not where another one has it for the same reason."""
    mode, names = turn
    if mode in NESTED[1:] and names == "fnp" and "np." not in program.call:
        names = "np"  # which these modes do not have
    if group in ("copy", "ufunc") and (mode in NESTED or turn == ("trace", "fnp")):
        return False
    if names == "adopted" and program.layout not in ("C", "transposed", "made", "given"):
        return False
    if program.layout == "asarray":  # which takes tensors as a twin
        return names != "np"
    return names == "np" or "np." in program.call


def cases(full: bool) -> Iterator[tuple[tuple[str, str], Program]]:
    """All cases, at most `MOST` of a call; of a slice one of three programs, modes in turn."""
    if full:
        for call, each in itertools.groupby(programs(), lambda given: given[1].call):
            found = [
                (turn, program) for group, program in each for turn in TURNS
                if takes(turn, group, program)
            ]  # fmt: skip
            kept = random.Random(call).sample(range(len(found)), min(MOST, len(found)))
            yield from [found[i] for i in sorted(kept)]
        return
    for n, (group, program) in enumerate(programs()):
        place = n // 3 + n // 100  # which moves on, so that a mode meets all writes
        turn = TURNS[place % len(TURNS)]
        if n % 3 == 1 and takes(turn, group, program):
            yield turn, program


def differ(found, wanted) -> str | None:
    """Return the first difference of results; None where they are right."""
    found = [np.asarray(y) for y in found]
    if len(found) != len(wanted):
        return f"{len(found)} results, NumPy has {len(wanted)}"
    for n, (y, z) in enumerate(zip(found, wanted)):
        name = f"result {n}"  # b, r, others that are written to, x
        if y.shape != np.shape(z):
            return f"{name} has the shape {y.shape}, in NumPy {np.shape(z)}"
        if not np.allclose(y, z, 1e-4, 1e-5, equal_nan=True):
            return f"{name} is {y.ravel()[:3]}, in NumPy {np.ravel(z)[:3]}"
    return None


class Net:
    """The modules of the programs, and what NumPy says of each."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {
            "np": module_of("plain", np), "fnp": module_of("twins", fnp),
            "adopted": module_of("adopted", np),
        }  # fmt: skip
        self.adoption = ft.adopt(self.modules["adopted"])
        self.last: Plain | None = None

    def plain(self, program: Program) -> Plain | None:
        """Return NumPy's results of a program; None where it has no such call, or no floats."""
        if self.last is None or self.last.program != program:
            self.last = Plain(self.modules["np"], program)
            try:
                r = self.shared(program)[2]
                self.last.fits = r.dtype.kind == "f" and bool(np.isfinite(r).all())
            except Exception:
                self.last.fits = False
        return self.last if self.last.fits else None

    def shared(self, program: Program) -> tuple:
        """The source, the array that is called with, and the result, before the write."""
        layout, call, _ = parts_of(self.modules["np"], program)
        x = lay(X[0], program.layout)
        b, a = layout(x)
        return b, a, call(a, x, x[1, 1])

    def judge(self, counts, turn: tuple[str, str], plain: Plain) -> None:
        """Run a case and count it."""
        if not next(numbers) % 500:  # the first write of a level looks through what is not frozen
            gc.collect()
            gc.freeze()
        start, wanted, scalar = MODES[turn[0]]
        module = self.modules[turn[1]]
        f = function_of(module, plain.program, scalar=scalar, name=f"f{next(numbers)}")
        try:
            want = [wanted(plain, n) for n in range(3)]
        except Exception:  # NumPy refuses the write, or the examples have other shapes
            want = None

        def run() -> str | None:
            try:
                call = start(f, plain.program.layout)
                for n in range(3):
                    found = call(n)
                    if want is None:
                        return f"call {n + 1}: NumPy refuses this write"
                    problem = differ(found, want[n])
                    if problem:
                        return f"call {n + 1}: {problem}"
            except Exception:
                if want is not None:
                    raise
            return None

        counts.judge(f"{', '.join(turn)}: {plain.program}", run, check)


def check(problem: str | None) -> None:
    assert problem is None, problem
