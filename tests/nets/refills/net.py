"""The run of the net: which cases there are, and what becomes of each."""

from collections.abc import Iterator

import numpy as np

from .cases import Plain, Program, programs
from .modes import MODES


def cases(full: bool) -> Iterator[tuple[str, Program]]:
    """All cases: each program in one mode, in turn; in full each use of each kind in all modes."""
    for n, program in enumerate(programs(full)):
        modes = [*MODES]
        for k in range(3 if full else 1):
            yield modes[(n * 3 + k + n // len(modes)) % len(modes)], program


def judge(counts, mode: str, program: Program, plain: Plain) -> str:
    """Run a case and count it; the verdict."""
    run, second = MODES[mode]

    def check(found) -> None:
        wanted = plain.second if second else plain.first
        assert np.shape(found) == wanted.shape, f"shape {np.shape(found)}"
        close = abs(found - wanted) <= 1e-7 + 1e-5 * abs(wanted).max()
        assert close.all(), f"{found}, by differences {wanted}"

    def start():
        try:
            return run(program.function())
        except AssertionError as error:
            return str(error)

    return counts.judge(f"{mode}: {program.use} | {program.kind} | {program.refill}", start, check)
