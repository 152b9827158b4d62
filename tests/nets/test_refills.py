"""The net of refilled arrays: a derivative sees each array as it was at its use, or is refused.

A case is a use of a kind of plain array with a refill and a mode; see `nets.refills`.
"""

import pytest

from nets.refills.cases import Plain
from nets.refills.known import REASONS, WRONG
from nets.refills.modes import MODES
from nets.refills.net import cases, judge

pytestmark = pytest.mark.usefixtures("quiet")


def test_derivatives_see_arrays_as_they_were(verdicts, full):
    counts = {mode: verdicts(f"refills, {mode}", REASONS) for mode in MODES}
    last = None
    for mode, program in cases(full):
        if last is None or last[0] != program:
            last = program, Plain(program)
        if last[1].fits:
            judge(counts[mode], mode, *last)
    for mode, each in counts.items():
        if mode not in WRONG:
            each.settle(0.4)
