"""A net of drawn programs that are compiled, beside eager mode, to the last bit.

    PYTHONPATH=tests:src python -m nets.programs 200 --seed 3
    PYTHONPATH=tests:src python -m nets.programs --seed 3 --number 17
    PYTHONPATH=tests:src python -m nets.programs 200 --seed 3 --backend llvm

The programs are those of `nets.writes`, under its nests of `vmap`, `grad` and `jvp`, and those of
`nets.branches`, under `grad`, `jvp`, `vmap` and pairs of them. Each is compiled once and called
with several inputs of the same forms, some of them again later: so answers change, and earlier
programs come back. Each call is a case. Where eager mode raises, the compiled function has to
raise an error of the same type.

A result that differs by rounding alone is counted apart, and shown. `settle` allows 1 in 1000: a
rule of eager mode may take another way for arrays than for the tensors of a trace. Machine code
may round in another way.
"""

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import functier as ft
from support.basics import silent

from .branches import XS, Draw
from .commands import main
from .verdicts import Verdicts
from .writes import Machine
from .writing.expressions import Unfit
from .writing.foreseen import OUTSIDE
from .writing.foreseen import REASONS as WRITING
from .writing.nests import FUNCTIER, PAIRS, SINGLE, VARIANTS, Nest

REASONS = {
    r"^ConversionError: .*(float|complex)\(x\) would (lose the derivative|be the same)": (
        "a program could not follow the plain number"
    ),
    r"^LevelError: .*constant\.(shares_memory|may_share_memory)": (
        "it asks for the memory of an array"
    ),
    **OUTSIDE,
    **WRITING,
}
"""Refusals that a user has to accept: an error of the compiled function that eager mode has not."""

CALLS = (0, 1, 2, 3, 0, 2, 1)
"""The inputs of the calls, by number: each comes back."""


class Programs:
    """Runs numbers of a seed and counts."""

    def __init__(
        self, counts: Verdicts, seed: int, calls: Sequence[int] = CALLS, backend: str = "numpy"
    ):
        self.counts, self.seed, self.calls, self.backend = counts, seed, calls, backend
        self.machine = Machine(Verdicts(""), seed)
        self.programs = self.unclear = self.traced = 0
        self.rounded: list[str] = []

    def run(self, number: int) -> None:
        with silent():
            if number % 3:
                self.run_writes(number)
            else:
                self.run_branches(number)

    def run_writes(self, number: int) -> None:
        try:
            program = self.machine.draw(number)
        except Unfit:
            self.unclear += 1
            return
        self.programs += 1
        r = random.Random(hash((self.seed, number, 11)))
        nests = [((), ""), (r.choice(SINGLE), ""), (r.choice(PAIRS), ""), r.choice(VARIANTS)]
        for kinds, variant in r.sample(nests, 2):
            if program.outside and variant:
                continue
            nest = self.machine.nest(number, program, kinds, variant)
            inputs = [others(nest, i) for i in range(4)]
            text = f"{nest}\n{program.text()}\n# "
            self.judge(number, text, whole(nest), [(x,) for x in inputs])

    def run_branches(self, number: int) -> None:
        source = Draw(np.random.default_rng([self.seed, number])).source()
        space: dict[str, Any] = {"np": np}
        exec(source, space)
        f = space["f"]
        self.programs += 1
        ones = np.ones_like(XS[0])
        ways = [
            ("value", f, XS),
            ("jvp", lambda x: ft.jvp(f, (x,), (ones,)), XS),
            ("grad", ft.grad_and_value(f), XS),
            ("hessian", ft.hessian(f), XS),
            ("vmap", ft.vmap(f, branches="split"), [XS[[i, j]] for i in (0, 2) for j in (1, 3)]),
            (
                "vmap of grad", ft.vmap(ft.grad(f), branches="split"),
                [XS[[i, j]] for i in (0, 2) for j in (1, 3)],
            ),
        ]  # fmt: skip
        r = random.Random(hash((self.seed, number, 13)))
        for name, g, points in r.sample(ways, 2):
            self.judge(number, f"{name}\n{source}\n# ", g, [(x.copy(),) for x in points])

    def judge(self, number: int, text: str, f: Callable, inputs: list[tuple]) -> None:
        """Compare the compiled function with eager mode, at each input."""
        compiled = ft.compile(f, backend=self.backend, warm=True)
        head = f"# python -m nets.programs --seed {self.seed} --number {number}: {text}"
        for call, i in enumerate(self.calls):
            args = inputs[i]
            given, wanted = copied(args), copied(args)
            expected = outcome(f, wanted)
            try:
                found = compiled(*given)
            except Exception as error:
                if type(error) is type(expected):
                    self.counts.right += 1
                elif isinstance(expected, Exception):
                    self.unclear += 1  # both refuse, in other words
                else:
                    self.counts.refuse(f"{head}call {call}", error)
                    return  # the others would be, too
                continue
            problem = difference(found, expected)
            if problem is None and (written := difference(given, wanted)) is not None:
                problem = f"of the arguments: {written}"
            if problem is None:
                self.counts.right += 1
            elif is_rounding((found, given), (expected, wanted)):
                self.rounded.append(f"{head}call {call}: {problem}")
                if self.backend == "numpy":
                    return
            else:
                self.counts.wrong.append(f"{head}call {call}: {problem}")
                return
        self.traced += len(compiled.programs)

    def summary(self) -> str:
        return (
            f"{self.counts.summary()}; {self.programs} programs, {self.traced} traces, "
            f"{self.unclear} said nothing, {len(self.rounded)} by rounding"
        )

    def settle(self) -> None:
        """Raise where a case is wrong, or too many are refused or rounded."""
        self.counts.settle(rounded=self.rounded if self.backend == "numpy" else ())


def whole(nest: Nest) -> Callable:
    """Return the function of a nest, of a dict of arrays."""
    f = nest._start(False)
    for level in reversed(nest.levels):
        f = FUNCTIER[level.kind](f, level, level is nest.first)
    return f


def others(nest: Nest, number: int) -> dict[str, np.ndarray]:
    """Return arguments of the same forms."""
    given = nest.given()
    if number:
        g = np.random.default_rng(number)
        for name, value in given.items():
            if value.dtype.kind in "iub":
                given[name] = g.permutation(value.ravel()).reshape(value.shape)
            else:
                moved = value * g.choice([-1.0, 1.0], value.shape) + g.normal(size=value.shape)
                given[name] = np.asarray(moved, value.dtype)
    return given


def copied(args: tuple) -> tuple:
    """Return copies of the arguments, which a function may write to."""
    return tuple([dict((k, v.copy()) for k, v in x.items()) if type(x) is dict else x.copy()
                  for x in args])  # fmt: skip


def outcome(f: Callable, args: tuple) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return error


def leaves_of(tree: Any) -> list:
    if isinstance(tree, dict):
        return [x for k in tree for x in (k, *leaves_of(tree[k]))]
    if isinstance(tree, (tuple, list)):
        return [type(tree), len(tree), *[x for part in tree for x in leaves_of(part)]]
    return [tree]


def difference(found: Any, expected: Any) -> str | None:
    """Say how two results differ, to the last bit; all NaNs are alike."""
    if isinstance(expected, Exception):
        return f"eager mode raises {type(expected).__name__}: {expected}"
    a, b = leaves_of(found), leaves_of(expected)
    if len(a) != len(b):
        return "another structure"
    for i, (x, y) in enumerate(zip(a, b)):
        if kind_of(x) is not kind_of(y):
            return f"result {i} is a {type(x).__name__}, expected a {type(y).__name__}"
        if isinstance(y, (np.ndarray, np.generic, float, complex)):
            u, v = np.asarray(x), np.asarray(y)
            if (u.shape, u.dtype) != (v.shape, v.dtype):
                return f"result {i} has the form {u.dtype}{u.shape}, expected {v.dtype}{v.shape}"
            if not np.array_equal(u, v, equal_nan=u.dtype.kind in "fc"):
                return f"result {i}: got {short(u)}, expected {short(v)}"
            real = [w.real if w.dtype.kind == "c" else w for w in (u, v)]
            if u.dtype.kind in "fc" and (np.signbit(real[0]) != np.signbit(real[1]))[u == u].any():
                return f"result {i}: a zero of another sign"
        elif x != y:
            return f"result {i}: got {x!r}, expected {y!r}"
    return None


def is_rounding(found: Any, expected: Any) -> bool:
    """Tell if two results of the same form differ in their last bits, or in the sign of a zero."""
    a, b = leaves_of(found), leaves_of(expected)
    if len(a) != len(b) or isinstance(expected, Exception):
        return False
    for x, y in zip(a, b):
        if kind_of(x) is not kind_of(y):
            return False
        if isinstance(y, (np.ndarray, np.generic, float, complex)):
            if np.shape(x) != np.shape(y) or np.result_type(x) != np.result_type(y):
                return False
            size = 1 + np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
            room = 1e-12 if np.result_type(y).char in "dDgG" else 3e-5
            if not np.allclose(x, y, rtol=room, atol=room * size, equal_nan=True):
                return False
        elif x != y:
            return False
    return True


def kind_of(x: Any) -> type:
    """Return the type of a leaf; NumPy's numbers are arrays without axes."""
    return np.ndarray if isinstance(x, np.generic) else type(x)


def short(x: np.ndarray) -> str:
    return np.array2string(x, precision=17, threshold=30).replace("\n", "")[:250]


def net(seed: int, **given: Any) -> Programs:
    return Programs(Verdicts("programs", REASONS), seed, **given)


if __name__ == "__main__":
    sys.exit(main(__doc__, net))
