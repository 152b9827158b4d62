"""The net of refilled arrays: a derivative sees each array as it was at its use, or is refused.

A case is a use of a kind of plain array with a refill and a mode; see `nets.refills`.
"""

import pytest

from faults.planted import nets_of_programs as faulty
from nets.refills import later, masks
from nets.refills.cases import USES, Plain, Program, programs
from nets.refills.known import LATER, REASONS, UNSEEN
from nets.refills.modes import MODES
from nets.refills.net import cases, judge
from nets.verdicts import Verdicts

pytestmark = pytest.mark.usefixtures("quiet")


def test_derivatives_see_arrays_as_they_were(verdicts, full):
    counts = {mode: verdicts(f"refills, {mode}", REASONS) for mode in MODES}
    last = None
    for mode, program in cases(full):
        if last is None or last[0] != program:
            last = program, Plain(program)
        if last[1].fits:
            judge(counts[mode], mode, *last)
    for each in counts.values():
        each.settle(0.4)


def test_every_use_is_one_of_plain_numpy():
    fitting = {program.use for program in programs(False) if Plain(program).fits}
    assert fitting == {use for group in USES.values() for use in group}


def test_selections_have_their_masks_as_they_were(verdicts, full):
    counts = verdicts("refilled masks")
    for case in masks.cases(full):
        masks.judge(counts, *case)
    counts.settle()


@pytest.mark.parametrize("mode", masks.MODES)
def test_a_mask_that_is_kept_as_it_is_is_found(mode, monkeypatch):
    faulty.mask_that_is_kept_as_it_is(monkeypatch)
    counts = Verdicts("planted")
    assert masks.judge(counts, "x > 0", "x[m]", "m[0] = False", mode) == "wrong"


def test_functions_that_run_later_find_what_was_there(verdicts, full):
    counts = verdicts("functions that run later", LATER)
    for case in later.cases(full):
        later.judge(counts, *case)
    counts.settle(0.2)


@pytest.mark.parametrize("way", ["linear", "transposed", "differences", "iterative", "flow"])
@pytest.mark.parametrize("fault", ["nothing is put back", "changes are not seen"])
def test_a_function_that_finds_something_else_is_found(way, fault, monkeypatch):
    hold = later.texts(later.HOLDS)[0 if fault == "nothing is put back" else 3]
    faulty.blind_effects(fault, monkeypatch)
    assert later.judge(Verdicts("planted"), way, hold, "grad") == "wrong"


def verdict(mode, program):
    return judge(Verdicts("one", REASONS), mode, program, Plain(program))


@pytest.mark.parametrize("program", UNSEEN)
def test_what_is_not_seen_is_known(program):
    """The limits page has such a program. It is seen where more of the array changes."""
    assert verdict("grad", program) == "wrong"
    assert verdict("linearize", program) == "right"
    for refill in ("all", "order", "copyto"):
        assert verdict("grad", program._replace(refill=refill)) == "refused"


@pytest.mark.parametrize("name", faulty.PLANTED)
def test_a_planted_fault_is_found(name, monkeypatch):
    plant, use, kind, refill, mode = faulty.PLANTED[name]
    program = Program(use, kind, refill)
    assert verdict(mode, program) in ("right", "refused")
    plant(monkeypatch)
    assert verdict(mode, program) == "wrong"
