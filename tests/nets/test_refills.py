"""The net of refilled arrays: a derivative sees each array as it was at its use, or is refused.

A case is a use of a kind of plain array with a refill and a mode; see `nets.refills`.
"""

from contextlib import nullcontext

import numpy as np
import pytest

from functier._control.effects import Effects
from functier._levels import kept
from functier._levels import level as levels
from functier._transforms.tracing import level
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
    monkeypatch.setattr(levels, "alias_of", lambda x: x)
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
    if fault == "changes are not seen":
        monkeypatch.setattr(Effects, "_changes", lambda self: iter([]))
    else:
        monkeypatch.setattr(Effects, "undone", lambda self, refuse: nullcontext())
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


PLANTED = {
    "arrays are not copied": (
        lambda patch: patch.setattr(kept, "copy_of", lambda x: x),
        "np.take(x, w)", "int", "all", "linearize",
    ),
    "fingerprints are not compared": (
        lambda patch: patch.setattr(kept.Fingerprint, "check", lambda self: None),
        "w * x", "large float", "one", "grad",
    ),
    "a new order is not seen": (
        lambda patch: patch.setattr(kept, "content_of", lambda x, once: np.sort(x).tobytes()),
        "x @ w", "large float", "order", "grad",
    ),
    "tensors of levels around have no alias": (
        lambda patch: patch.setattr(kept, "alias_of", lambda x: x),
        "custom(x, w)", "of x", "order", "vmap(grad)",
    ),
    "lists are not arguments that change": (
        lambda patch: patch.setattr(kept, "FIXED", kept.FIXED | {list}),
        "np.dot(w, x)", "list", "one", "grad",
    ),
    "lists in tuples are not copied": (
        lambda patch: patch.setattr(kept, "is_fixed", lambda x: type(x) in (list, tuple)),
        "np.dot(w, x * x)", "tuple of lists", "one", "vjp",
    ),
    "arrays of subclasses are not copied": (
        lambda patch: patch.setattr(kept.Walk, "value", lambda self, x: x),
        "w * x", "memmap", "all", "grad",
    ),
    "a record of tangents has lists as they are": (
        lambda patch: patch.setattr(
            level, "owned", lambda x: x if type(x) is list else kept.owned(x)
        ),
        "np.dot(w, x * x)", "list of lists", "all", "linearize",
    ),
    "a record of tangents has subclasses as they are": (
        lambda patch: patch.setattr(
            level, "owned", lambda x: kept.owned(x) if type(x) is np.ndarray else x
        ),
        "w * x", "own class", "all", "linearize",
    ),
    "data of sparse matrices": (
        lambda patch: patch.setattr(kept, "copy_of", lambda x: x),
        "w @ x", "sparse", "all", "linearize",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name, monkeypatch):
    plant, use, kind, refill, mode = PLANTED[name]
    program = Program(use, kind, refill)
    assert verdict(mode, program) in ("right", "refused")
    plant(monkeypatch)
    assert verdict(mode, program) == "wrong"
