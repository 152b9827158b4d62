"""A machine of programs that write, under transforms and by NumPy alone.

    PYTHONPATH=tests:src python -m nets.writes 200 --seed 3
    PYTHONPATH=tests:src python -m nets.writes --seed 3 --number 17

Each number is one program of at least eight statements, with three writes of drawn kinds to
drawn kinds of views, at drawn kinds of indices, and an alias. It runs under nests of `vmap`,
`grad` and `jvp`, and each of these is a case. NumPy gives the values, and by differences the
derivatives.
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from support.basics import silent

from .commands import main
from .verdicts import Verdicts
from .writing.draw import draw
from .writing.expressions import Unfit
from .writing.foreseen import CONSTANT, OUTSIDE, REASONS
from .writing.nests import KINDS, PAIRS, SINGLE, STEP, TRIPLES, VARIANTS, Nest
from .writing.places import INDICES, VIEWS
from .writing.program import Program
from .writing.refusals import refused_line
from .writing.writes import INDEXED, OF_ELEMENTS, WRITES

NOT_DRAWN = {("fill_diagonal", "ravel"), ("ufunc.at", "newaxis index")}
TAGS = [(w, v) for w in WRITES for v in ("base", *VIEWS) if v != "element" or w in OF_ELEMENTS]
TAGS += [(w, i) for w in INDEXED for i in INDICES]
TAGS = [t for t in TAGS if t not in NOT_DRAWN]
"""The pairs of a kind of write and a kind of view or of index."""


class Inconclusive(Exception):
    """Nothing can be said: a kink, or an example that NumPy refuses."""


class Machine:
    """Runs numbers of a seed and counts.

    Parameters
    ----------
    counts : Verdicts
        Where the cases are counted.
    seed : int
        The seed of all draws.
    nests : sequence of (kinds, variant), optional
        The nests of transforms; else all pairs, and some others of each program.
    tags : sequence of (kind of write, kind of place), optional
        The writes that are asked for; else all in turn.
    """

    def __init__(
        self, counts: Verdicts, seed: int, nests: Sequence | None = None,
        tags: Sequence[tuple[str, str]] | None = None,
    ):  # fmt: skip
        self.counts, self.seed, self.nests = counts, seed, nests
        self.tags = list(TAGS if tags is None else tags)
        random.Random(seed).shuffle(self.tags)
        self.programs = self.unclear = 0
        self.seen: dict[tuple, Counter] = {}

    def draw(self, number: int) -> Program:
        tags = self.tags
        some = [tags[(2 * number + i) % len(tags)] for i in range(2)]
        some.append(random.Random(hash((self.seed, number))).choice(tags))
        return draw((self.seed, number), some)

    def cases(self, number: int) -> list[tuple[tuple, str]]:
        if self.nests is not None:
            return list(self.nests)
        r = random.Random(hash((self.seed, number, 5)))
        some = [(kinds, "") for kinds in (*PAIRS, r.choice(SINGLE))]
        some.append(r.choice(VARIANTS))
        if number % 4 == 0:
            some.append((r.choice(TRIPLES), ""))
        return some

    def run(self, number: int) -> None:
        with silent():
            try:
                program = self.draw(number)
            except Unfit:
                self.unclear += 1
                return
            self.programs += 1
            for kinds, variant in self.cases(number):
                self.judge(number, program, kinds, variant)
            if number % 3 == 0 and self.nests is None:
                self.judge_refusal(number, program)

    def judge_refusal(self, number: int, program: Program) -> None:
        """Count whether a last statement that NumPy refuses is refused by functier too."""
        r = random.Random(hash((self.seed, number, 7)))
        bad = refused_line(r, program)
        if bad is None:
            return
        program = program.with_lines([*program.lines, bad], program.results)
        kinds = r.choice([*SINGLE, *PAIRS])
        nest = self.nest(number, program, kinds, "")

        def check_raised(found: Any) -> None:
            raise AssertionError("NumPy refuses the last statement")

        counts = Verdicts("", {"": "NumPy refuses it too"})
        if counts.judge("", nest.run, check_raised) == "refused":
            self.counts.right += 1
        else:
            self.counts.wrong.append(
                f"# python -m nets.writes --seed {self.seed} --number {number}: {nest}\n"
                f"{program.text()}\n# NumPy refuses {bad.text!r}, functier does not"
            )

    def nest(self, number: int, program: Program, kinds: tuple, variant: str) -> Nest:
        which = [KINDS.index(kind) for kind in kinds]
        r = random.Random(hash((self.seed, number, *which, len(variant))))
        return Nest(program, kinds, r, variant)

    def verdict(self, nest: Nest, text: str = "") -> tuple[str, str]:
        """Right, refused, wrong or unclear, and the text of a failure."""
        try:
            expected = nest.expected()
        except Exception:
            return "unclear", ""
        reasons = dict(self.counts.reasons)
        if nest.program.outside:
            reasons |= OUTSIDE
        elif nest.program.indexes():
            reasons |= CONSTANT
        counts = Verdicts("", reasons)
        try:
            verdict = counts.judge(text, nest.run, lambda found: check(nest, found, expected))
        except Inconclusive:
            return "unclear", ""
        if verdict == "refused":
            return verdict, next(iter(counts.refused))
        return verdict, "".join(counts.wrong)

    def judge(self, number: int, program: Program, kinds: tuple, variant: str) -> None:
        if program.outside and variant:  # which may run the function again, and write again
            return
        nest = self.nest(number, program, kinds, variant)
        verdict, text = self.verdict(nest)
        if verdict == "unclear":
            self.unclear += 1
            return
        if verdict == "right":
            self.counts.right += 1
            if not variant:
                self.seen.setdefault(kinds, Counter()).update(set(program.tags()))
        elif verdict == "refused":
            self.counts.refused[text] += 1
        else:
            again = f"# python -m nets.writes --seed {self.seed} --number {number}"
            given = "\n".join(f"{n} = np.array({v.tolist()})" for n, v in nest.args.items())
            self.counts.wrong.append(f"{again}: {nest}\n{program.text()}\n{given}\n# {text}")

    def summary(self) -> str:
        return f"{self.counts.summary()}; {self.programs} programs, {self.unclear} said nothing"


TOLERANCE = (1e-11, 3e-6, 3e-5, 1e-3)
"""The differences that are allowed, by the order of the derivative."""


def check(nest: Nest, found: list, expected: list) -> None:
    assert len(found) == len(expected), f"{len(found)} results, expected {len(expected)}"
    finer: list | None = None
    values = nest.values()
    for i, (a, e) in enumerate(zip(found, expected)):
        assert not hasattr(a, "level"), f"result {i} is a tensor, {a!r}"
        assert a.shape == e.shape, f"result {i}: shape {a.shape}, expected {e.shape}"
        if nest.derivatives == 0:
            assert a.dtype == e.dtype, f"result {i}: dtype {a.dtype}, expected {e.dtype}"
        tolerance = TOLERANCE[0 if i < values else nest.derivatives]
        scale = max(1.0, float(np.max(np.abs(e), initial=0.0)))
        if not np.isfinite(e).all() or scale > 1e4 ** max(1, nest.derivatives):
            raise Inconclusive
        off = float(np.max(np.abs(a - e), initial=0.0)) / scale
        if off <= tolerance:
            continue
        if i < values:
            if stable(nest, i, off):
                raise AssertionError(f"result {i}: got {short(a)}, expected {short(e)}")
            raise Inconclusive
        finer = [nest.expected(STEP / 4), nest.expected(STEP / 16)] if finer is None else finer
        errors = [float(np.max(np.abs(v[i] - e), initial=0.0)) / scale for v in finer]
        if any(np.max(np.abs(a - v[i]), initial=0.0) <= tolerance * scale for v in finer):
            continue  # a kink is near
        error = sum(errors)
        if off < 30 * error or not elsewhere(nest):
            raise Inconclusive
        raise AssertionError(f"result {i}: got {short(a)}, expected {short(e)}, derivative")


def elsewhere(nest: Nest) -> bool:
    """True where the derivative is wrong at a point near by too, where nothing ties by chance."""
    kept, judged = nest.args, nest.judged
    if judged:
        return True
    g = np.random.default_rng(1)
    nest.judged = True
    try:
        nest.args = {
            n: v + 0.01 * g.normal(size=v.shape) if v.dtype.kind == "f" else v
            for n, v in kept.items()
        }
        check(nest, nest.run(), nest.expected())
    except AssertionError:
        return True
    except Exception:
        return False
    finally:
        nest.args, nest.judged = kept, False
    return False


def stable(nest: Nest, i: int, off: float) -> bool:
    """False where rounding of the arguments decides the values."""
    g = np.random.default_rng(0)
    before = nest.expected()
    kept = dict(nest.args)
    try:
        nest.args = {
            n: v + 1e-13 * g.normal(size=v.shape) if v.dtype.kind == "f" else v
            for n, v in kept.items()
        }
        after = nest.expected()
    finally:
        nest.args = kept
    moved = np.max(np.abs(after[i] - before[i]), initial=0.0)
    return bool(moved < off / 3)


def short(x: np.ndarray) -> str:
    return np.array2string(x, precision=6, threshold=30).replace("\n", "")[:250]


def net(seed: int, numbers: Sequence[int] = (), **given: Any) -> Machine:
    """Return the machine of a seed, which has run these numbers."""
    made = Machine(Verdicts("writes", REASONS), seed, **given)
    for number in numbers:
        made.run(number)
    return made


if __name__ == "__main__":
    sys.exit(main(__doc__, net))
