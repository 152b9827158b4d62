"""The net of stale programs: a call after a change is that of the plain function, or is refused.

A cell is a way to change at a place in a mode; see `nets.stale`.
"""

import builtins
import contextlib
import random
import sys
from collections import Counter

import numpy as np
import pytest

from faults.planted import nets_of_loops as faulty
from nets.stale.net import MODES, REASONS, Cell, Unfit, cells, judge
from nets.stale.ways import ROWS, WAYS
from nets.verdicts import Verdicts

pytestmark = pytest.mark.usefixtures("quiet", "untouched")


@pytest.fixture
def untouched(monkeypatch):
    """Leave the streams of numbers and the names that ways change as they were."""
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    monkeypatch.setattr(builtins, "user_rate", 2.0, raising=False)
    monkeypatch.setenv("USER_RATE", "2")
    for name in ("user_n", "user_o"):
        monkeypatch.setitem(sys.modules, name, sys)
    yield
    np.random.set_state(before[0])  # noqa: NPY002
    random.setstate(before[1])


def test_calls_after_a_change(verdicts, full, tmp_path, record_property):
    counts, how, fitting = verdicts("changes", REASONS), Counter(), set()
    for cell in cells(full):
        with contextlib.suppress(Unfit):
            verdict, by = judge(counts, cell, tmp_path)
            fitting.add(cell.name)
            how[by] += verdict == "right"
    record_property("net", f"changes: {len(fitting)} ways; right by {dict(how)}")
    counts.settle(0.1)  # an argument that may change is refused
    assert fitting == {*WAYS}, "the plain function is the same after some changes"
    assert len(WAYS) == len(ROWS) >= 80


# ---- planted faults ----


FACTS = {
    "entry": ("number", "global"),
    "attribute": ("attribute", "closure"),
    "of class": ("of the class", "closure"),
    "type": ("another class", "closure"),
    "order": ("other bases", "closure"),
    "index": ("item", "closure"),
    "slot": ("slot", "closure"),
    "cell": ("number", "closure"),
    "referent": ("dead weak reference", "closure"),
    "items": ("iteration", "closure"),
    "pairs": ("order of a dict", "closure"),
    "keys": ("dict of a transform", "closure"),
    "class": ("operator of the class", "closure"),
    "function": ("its code", "global"),
    "partial": ("partial that is set", "closure"),
    "form": ("other shape", "closure"),
    "contents": ("as an index", "closure"),
}
"""The way and place of a cell for each kind of fact."""


@pytest.mark.parametrize("kind", faulty.FACTS_OF_GUARDS)
def test_a_fact_that_is_not_compared_is_found(kind, tmp_path, monkeypatch):
    name, place = FACTS[kind]
    counts = Verdicts("planted", REASONS)
    faulty.without(lambda fact: fact.kind == kind)(monkeypatch)
    assert judge(counts, Cell(name, place, "value"), tmp_path)[0] == "wrong"
    assert "no known reason" not in counts.wrong[0]


@pytest.mark.parametrize("fault", faulty.PLANTED)
def test_a_planted_fault_is_found(fault, tmp_path, monkeypatch):
    plant, name, where = faulty.PLANTED[fault]
    place, _, mode = where.partition(" ")
    if mode not in ("", *MODES):
        pytest.skip("there is no machine code")

    def verdict():
        return judge(counts, Cell(name, place, mode or "value"), tmp_path)[0]

    counts = Verdicts("planted", REASONS)
    assert verdict() in ("right", "refused")
    plant(monkeypatch)
    assert verdict() == "wrong"
    assert "plain" in counts.wrong[0]
