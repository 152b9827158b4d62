"""A fuzzer: drawn NumPy programs under drawn transforms, held to loops and differences.

    PYTHONPATH=tests:src python -m nets.fuzz 1000 --seed 3
    PYTHONPATH=tests:src python -m nets.fuzz --seed 3 --number 17

Each number is one program of one to four calls; it runs under `vmap` and under some of the
other transforms and pairs of them, and each of these is a case. A program that NumPy refuses
is drawn again, but for some that functier has to refuse too.
"""

import re
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from support import load_all

from .commands import make_parser, run_numbers
from .fuzzing import recipes  # noqa: F401
from .fuzzing.draw import Program, Refused, Unfit, program
from .fuzzing.foreseen import KNOWN, REASONS
from .fuzzing.pairs import MODES
from .fuzzing.references import Inconclusive
from .fuzzing.refusals import must_refuse
from .fuzzing.setting import NumpyRefuses, Setting, Trial
from .fuzzing.shrink import smaller
from .shrink import shrunk
from .verdicts import Verdicts

OTHER_MODES = [name for name in MODES if name != "vmap"]


class Fuzzer:
    """Runs numbers of a seed and counts.

    Parameters
    ----------
    counts : Verdicts
        Where the cases are counted.
    seed : int
        The seed of all draws.
    only : sequence of str, optional
        The functions that a program begins with.
    modes : sequence of str, optional
        The transforms; else `vmap` and two others of each program.
    """

    def __init__(
        self, counts: Verdicts, seed: int, only: Sequence[str] | None = None,
        modes: Sequence[str] | None = None,
    ):  # fmt: skip
        load_all()
        self.counts, self.seed, self.only, self.modes = counts, seed, only, modes
        self.programs = self.refused = self.unclear = 0
        self.known: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()

    def rng(self, number: int, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, number, stream])

    def draw(self, number: int) -> Program:
        return program(self.rng(number, 0), self.only)

    def run(self, number: int) -> None:
        """Judge all cases of one number."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                drawn = self.draw(number)
            except Unfit:
                return
            except Refused as refused:
                self.refused += 1
                if number % 4 == 0:
                    self.judge_refusal(number, refused.program, refused.cause)
                return
            self.programs += 1
            self.functions.update(drawn.names)
            for mode in self.modes_of(number):
                self.judge(number, drawn, mode)

    def modes_of(self, number: int) -> list[str]:
        if self.modes is not None:
            return list(self.modes)
        some = self.rng(number, 1).permutation(len(OTHER_MODES))[:2]
        return ["vmap", *(OTHER_MODES[i] for i in some)]

    def trial(self, number: int, drawn: Program, mode: str) -> Trial:
        stream = 2 + list(MODES).index(mode)
        return MODES[mode](Setting(drawn, self.rng(number, stream)))

    def judge(self, number: int, drawn: Program, mode: str) -> str:
        """Run one program under one transform, and count it; the verdict."""
        try:
            trial = self.trial(number, drawn, mode)
        except Inconclusive:
            self.unclear += 1
            return "unclear"
        except NumpyRefuses as refusal:
            self.refused += 1
            if not hasattr(refusal, "trial"):
                return "refused by NumPy"
            return self.count(
                Case(self.seed, number, mode, refusal.trial, self.only), refusal.trial
            )
        try:
            verdict = self.count(Case(self.seed, number, mode, trial, self.only), trial)
            if verdict == "wrong":
                self.shrink(number, drawn, mode)
            return verdict
        except Inconclusive:
            self.unclear += 1
            return "unclear"
        except NumpyRefuses:
            self.refused += 1
            return "refused by NumPy"

    def count(self, case: Any, trial: Trial) -> str:
        before = len(self.counts.wrong)

        def check(result: Any) -> None:
            try:
                trial.check(result)
            except (AssertionError, Inconclusive, NumpyRefuses):
                raise
            except Exception as error:  # one of the steps of the reference is functier's own
                raise Late(error) from error

        try:
            verdict = self.counts.judge(case, trial.run, check)
        except Late as late:
            verdict = self.counts.refuse(case, late.args[0])
        for text in self.counts.wrong[before:]:
            for pattern in KNOWN:
                if re.search(pattern, text, re.DOTALL):
                    self.counts.wrong.pop()
                    self.known[pattern] += 1
                    return "known"
        return verdict

    def shrink(self, number: int, drawn: Program, mode: str) -> None:
        """Put a smaller program that fails too into the text of the last failure."""
        texts: list[str] = []

        def fails(candidate: Program) -> bool:
            alone = Fuzzer(Verdicts("", self.counts.reasons), self.seed, self.only, [mode])
            trial = alone.trial(number, candidate, mode)
            wrong = alone.count(Case(self.seed, number, mode, trial, self.only), trial) == "wrong"
            texts.extend(alone.counts.wrong)
            return wrong

        shrunk(drawn, smaller, fails, most=40)
        if texts:
            self.counts.wrong[-1] = texts[-1]

    def judge_refusal(self, number: int, drawn: Program, cause: BaseException) -> str:
        """NumPy refuses the call: so do the transforms."""
        try:
            trial = must_refuse(drawn, self.rng(number, 99), cause)
        except Inconclusive:
            return "unclear"
        return self.count(Case(self.seed, number, "refusal", trial, self.only), trial)

    def summary(self) -> str:
        known = f", {self.known.total()} known" if self.known else ""
        return (
            f"{self.counts.summary()}{known}; {self.programs} programs, {self.unclear} said "
            f"nothing, {self.refused} refused by NumPy"
        )


class Late(Exception):
    """An error of functier's in the reference of a case."""


class Case:
    """The text of a case, which is made when it is shown."""

    def __init__(self, seed: int, number: int, mode: str, trial: Trial, only: Any):
        self.seed, self.number, self.mode, self.trial, self.only = seed, number, mode, trial, only

    def __str__(self) -> str:
        only = f" --only {','.join(self.only)}" if self.only else ""
        head = f"# python -m nets.fuzz --seed {self.seed} --number {self.number}{only}: {self.mode}"
        return f"{head}\n{self.trial.text()}\n# "


def fuzz(
    counts: Verdicts, seed: int, numbers: Sequence[int], only: Sequence[str] | None = None,
    modes: Sequence[str] | None = None,
) -> Fuzzer:  # fmt: skip
    """Run these numbers of a seed."""
    fuzzer = Fuzzer(counts, seed, only, modes)
    for number in numbers:
        fuzzer.run(number)
    return fuzzer


def verdicts() -> Verdicts:
    return Verdicts("fuzz", REASONS)


def main(args: Sequence[str]) -> int:
    parser = make_parser("fuzz", __doc__, 1000)
    parser.add_argument("--only", help="functions that programs begin with, by commas")
    parser.add_argument("--modes", help="transforms, by commas")
    given = parser.parse_args(args)
    only = given.only.split(",") if given.only else None
    modes = given.modes.split(",") if given.modes else None
    counts = verdicts()
    fuzzer = Fuzzer(counts, given.seed, only, modes)
    run_numbers(fuzzer, given)
    for table in (counts.refused, fuzzer.known):
        for pattern, count in table.most_common():
            print(f"  {count:6} {pattern}")
    return bool(counts.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
