"""A net of drawn programs with given loops: compiled, beside eager mode and Python loops.

    PYTHONPATH=tests:src python -m nets.given 200 --seed 3
    PYTHONPATH=tests:src python -m nets.given --seed 3 --number 17
    PYTHONPATH=tests:src python -m nets.given 200 --seed 3 --backend llvm

Each number is a program with one or two loops by `scan`, `fori_loop`, `map`, `while_loop` or
`associative_scan`, with others inside, as `nets.giving.draw` writes it. It is compiled by itself,
and under a transform, and called three times, with two arguments: so guards fail, and programs come
back. The results, the errors with the step that they name, and what a call leaves in objects and
generators have to be those of eager mode; and these the ones of the program with Python loops.

Of the loops whose steps have no effects and no guards, those of which one step is recorded for all
are counted, in programs of odd numbers: in the others steps are rolled into loops, too.
"""

import itertools
import linecache
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

import functier as ft
import functier.numpy as fnp
from functier._control import given
from strategies.outcomes import is_rounding
from support.basics import silent

from .commands import main
from .giving import plain
from .giving.draw import Program, draw
from .loops import Way, failing, narrow, others, problem_of, rolling, short, total, ways_of
from .verdicts import Verdicts

REASONS: dict[str, str] = {
    r"^DataDependentError: ": "Python code asks for what differs from example to example",
    r"^RandomnessError: compile.*a draw inside a chunk, or in functier.checkpoint, would be": (
        "the generator of a chunk of examples is a new one in each call"
    ),
    r"^MutationError: a function that runs again in the backward pass": (
        "checkpoint does not know yet if there will be a backward pass"
    ),
    r"^RandomnessError: compile.*asks the system for a seed": (
        "checkpoint draws again from a copy of the generator"
    ),
    r"^TypeError: .* returned complex(64|128)\[\] for .*, which was float(32|64)\[\]": (
        "a Python number in the carry of a loop is a number of NumPy's for the loops inside"
    ),
}
"""Refusals that a user has to accept: errors of the compiled function that eager mode has not."""

SHARE = 0.95
"""This part of the loops whose steps are alike has to be recorded by one step."""

EXACT = "value", "jvp", "vmap"
"""Ways whose results are those of eager mode to the last bit: they add nothing in another order."""

SPLIT = "vmap of hessian"
"""A way in which examples that take other branches run apart."""

LOOPS = "scan(", "fori_loop(", "map(", "while_loop("


class Box:
    """An object with attributes."""

    n, last = 0, 0.0


class Case:
    """A drawn program with the objects outside of it: what a call leaves there counts."""

    def __init__(self, program: Program, name: str, loops: Any = ft):
        self.rng = ft.random.default_rng(3)
        self.space: dict[str, Any] = {
            "__name__": "drawn", "np": np, "ft": ft, "fnp": fnp, "lo": loops, "rng": self.rng,
            "math": math, "itertools": itertools, "Box": Box, "LIST": [0.1, 0.2, 0.3, 0.4, 0.5],
            "HISTORY": [], "BOX": {}, "BUFFER": np.zeros(3), **program.plain,
        }  # fmt: skip
        text = program.text
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), self.space)
        self.f = self.space["f"]
        self.start = self.rng.bit_generator.state

    def outcome(self, f: Callable, args: tuple) -> tuple:
        """Return the result or the error of a call, the arguments then, and what it has left."""
        space = self.space
        self.rng.bit_generator.state = self.start
        space["HISTORY"].clear()
        space["BOX"]["n"] = 0
        space["BUFFER"][:] = 0
        space["TICKS"] = itertools.count()
        copied = tuple([x.copy() for x in args])
        try:
            result = f(*copied)
        except Exception as error:
            result = error
        left = space["HISTORY"], space["BOX"], space["BUFFER"], space["TICKS"]
        return result, copied, repr((self.rng.bit_generator.state, *left))


def ways(f: Callable, program: Program, r: random.Random) -> list[Way]:
    """Return the program under transforms: those of `nets.loops`, and more of two levels."""
    found = ways_of(f, program, r)
    if np.iscomplexobj(program.args[0]):
        return found
    i = r.choice([0, 1, 2])

    def loss(*args: Any) -> Any:
        return total(f(*args))

    def slope(*args: Any) -> Any:
        return total(ft.grad(loss, argnums=i)(*args))

    def many(*args: Any) -> Any:
        x = args[i]
        mapped = ft.vmap(ft.hessian(loss, argnums=i, randomness="same"),
                         in_dims=tuple([0 if k == i else None for k in range(5)]),
                         randomness="different", branches="split")  # fmt: skip
        return mapped(*args[:i], np.stack([x, x * 0.5]), *args[i + 1 :])

    return [
        *found,
        ("grad of grad", ft.grad(slope, argnums=r.choice([0, 1, 2]))),
        ("jacfwd of grad", ft.jacfwd(ft.grad(loss, argnums=i), argnums=i, randomness="same")),
        (SPLIT, many),
    ]


@contextmanager
def counting(found: set[str]) -> Iterator[None]:
    """Note the names of the functions of which one step is recorded for all.

    A function that is traced meanwhile runs by itself, as code runs that the trace does not know.
    """
    right = given.Sample.repeat

    def repeat(self: Any, samples: Any) -> Any:
        result = right(self, samples)
        if result is not None and result[0] > 1:
            for root in self.roots:
                cells = getattr(root, "__closure__", None) or ()
                parts = [
                    root,
                    getattr(root, "__wrapped__", None),
                    *[x.cell_contents for x in cells],
                ]
                found.update([getattr(x, "__name__", "") for x in parts])
        return result

    given.Sample.repeat = repeat  # type: ignore[method-assign]
    try:
        yield
    finally:
        given.Sample.repeat = right  # type: ignore[method-assign]


def steps_of(error: Any) -> list[str]:
    """Return the notes of an error that name a step."""
    notes = getattr(error, "__notes__", [])
    return [note for note in notes if note.startswith(LOOPS)]


class Given:
    """Runs numbers of a seed and counts."""

    def __init__(self, counts: Verdicts, seed: int, backend: str = "numpy", calls: int = 3):
        self.counts, self.seed, self.backend, self.calls = counts, seed, backend, calls
        self.unclear = self.alone = self.regular = self.found = 0
        self.rounded: list[str] = []
        self.flat: list[str] = []

    def run(self, number: int) -> None:
        self.check(number, draw(self.seed, number))

    def check(self, number: int, program: Program, only: Sequence[str] = ()) -> None:
        """Judge a program by itself, and under one of the transforms, or under those of `only`."""
        with silent():
            name = f"<given {self.seed} {number}>"
            case, python = Case(program, name), Case(program, name, plain.LOOPS)
            inputs = [program.args, others(program, number % 7)]
            both = []
            for one in (case, python):
                r = random.Random(hash((self.seed, number, 1)))
                every = ways(one.f, program, r)
                more = [way for way in every if way[0] in only] if only else [r.choice(every)]
                both.append([("value", one.f), *more])
            for (way, g), (_, h) in zip(*both):
                head = (
                    f"# python -m nets.given --seed {self.seed} --number {number}: {way}\n"
                    f"{program.text}# "
                )
                roll = number % 2 == 0
                with nullcontext() if roll else rolling(lambda graph: graph):
                    self.judge(head, way, case, g, python, h, inputs, program, roll)
            linecache.cache.pop(name)

    def judge(
        self, head: str, way: str, case: Case, g: Callable, python: Case, h: Callable,
        inputs: list[tuple], program: Program, roll: bool,
    ) -> None:  # fmt: skip
        """Compare one function with eager mode, and that with Python loops.

        Steps that are alike are rolled into loops where `roll` is true; else all loops of a program
        are given ones.
        """
        eager = [case.outcome(g, args) for args in inputs]
        for args, found in zip(inputs, eager):
            wanted = python.outcome(h, args)
            if isinstance(found[0], Exception) or isinstance(wanted[0], Exception):
                continue  # loops check their carry, and batched ones go on where Python cannot
            if way == SPLIT:  # a Python loop has its effects for each group of examples
                wanted = *wanted[:2], found[2]
            problem = self.differing(found, wanted, args, False, head)
            if problem is not None:
                self.counts.wrong.append(f"{head}eager, beside Python loops: {problem}")
                return
        compiled = ft.compile(g, backend=self.backend)
        for call in range(self.calls):
            i = call % len(inputs)
            found = case.outcome(compiled, inputs[i])
            a, b = found[0], eager[i][0]
            early = type(a) is not type(b) and isinstance(a, Exception) and self.counts.foreseen(a)
            if early or (isinstance(a, Exception) and not isinstance(b, Exception)):
                self.counts.refuse(f"{head}call {call}", a)
                return
            problem = self.differing(found, eager[i], inputs[i], way in EXACT, head)
            if problem is None and isinstance(b, Exception) and steps_of(a) != steps_of(b):
                problem = f"{short(a)} in {steps_of(a)}, expected {steps_of(b)}"
            if problem is not None:
                self.counts.wrong.append(f"{head}call {call}: {problem}")
                return
        if isinstance(eager[0][0], Exception):
            self.unclear += 1
        elif (problem := failing(compiled, inputs)) is not None:
            self.counts.wrong.append(f"{head}{problem}")
            return
        elif not compiled._variants:
            self.alone += 1
        elif not roll:
            names: set[str] = set()
            with counting(names):
                case.outcome(ft.compile(g), inputs[0])
            missed = program.regular - names
            self.regular += len(program.regular)
            self.found += len(program.regular) - len(missed)
            if missed:
                self.flat.append(f"{head}not recorded by one step: {', '.join(sorted(missed))}")
        self.counts.right += 1

    def differing(
        self, found: tuple, wanted: tuple, args: tuple, exact: bool, head: str
    ) -> str | None:
        """Say how two outcomes differ; note those that differ by rounding, and should not."""
        problem = problem_of(found, wanted, exact=False)
        if problem is None or not is_rounding(*[narrow(x, args) for x in (found, wanted)]):
            return problem
        if exact:
            self.rounded.append(f"{head}{problem}")
        return None

    def summary(self) -> str:
        return (
            f"{self.counts.summary()}; {self.found} of {self.regular} loops recorded by one step, "
            f"{self.unclear} raised errors, {self.alone} run by themselves, "
            f"{len(self.rounded)} by rounding"
        )

    def settle(self) -> None:
        """Raise where a case is wrong, or too many are refused, rounded or unrolled."""
        self.counts.settle(0.03, rounded=self.rounded if self.backend == "numpy" else ())
        assert self.found >= SHARE * self.regular, "\n".join(self.flat)


def net(seed: int, **options: Any) -> Given:
    return Given(Verdicts("given", REASONS), seed, **options)


if __name__ == "__main__":
    sys.exit(main(__doc__, net))
