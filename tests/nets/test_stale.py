"""The net of stale programs: a call after a change is that of the plain function, or is refused.

A cell is a way to change at a place in a mode; see `nets.stale`.
"""

import builtins
import contextlib
import operator
import random
import re
import sys
from collections import Counter
from types import FunctionType

import numpy as np
import pytest

from functier._programs import (
    compiled,
    dependencies,
    entries,
    guards,
    integers,
    outside,
    questions,
    reads,
    recorder,
    trace,
)
from functier._programs.machine.parts import division
from nets.stale.net import MODES, REASONS, Cell, Unfit, cells, judge
from nets.stale.ways import ROWS, WAYS
from nets.verdicts import Verdicts
from support.basics import ours

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


def without(drops):
    """Plant a fault: some facts are not compared."""

    def plant(patch):
        real = compiled.Guards
        some = ours(lambda facts, *rest: real([x for x in facts if not drops(x)], *rest))
        patch.setattr(compiled, "Guards", some)

    return plant


def unchecked(pattern, instead="False"):
    """Plant a fault: a check is not in the sources that are generated."""

    def run(text, space):
        exec(re.sub(pattern, instead, text), space)

    return lambda patch: patch.setattr(entries, "exec", run, raising=False)


def replaced(owner, name, other):
    other = ours(other) if type(other) is FunctionType else other
    return lambda patch: patch.setattr(owner, name, other)


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
    "form": ("other shape", "closure"),
    "contents": ("as an index", "closure"),
}
"""The way and place of a cell for each kind of fact."""


@pytest.mark.parametrize("kind", [*guards.FORMS, *guards.TESTS])
def test_a_fact_that_is_not_compared_is_found(kind, tmp_path, monkeypatch):
    name, place = FACTS[kind]
    counts = Verdicts("planted", REASONS)
    without(lambda fact: fact.kind == kind)(monkeypatch)
    assert judge(counts, Cell(name, place, "value"), tmp_path)[0] == "wrong"
    assert "no known reason" not in counts.wrong[0]


def both(*plants):
    return lambda patch: [plant(patch) for plant in plants]


NEVER = property(lambda self: False, lambda self, value: None)
NO_TYPES = replaced(reads.Reads, "made", lambda self, kind, given: None)
PLANTED = {
    "names that are read": (
        replaced(reads.Reads, "entry", lambda self, space, name, words: space.get(name)),
        "number", "global",
    ),
    "missing names": (without(lambda fact: fact.value is guards.EMPTY), "over a builtin", "global"),
    "functions that are entered": (
        replaced(dependencies.Watch, "enter", lambda *given: None),
        "of a function of a module", "argument",
    ),
    "states that Python does not show": (
        replaced(outside.Outside, "state", lambda *given: None), "iterator", "closure",
    ),
    "calls of functions in C": (
        replaced(reads.Reads, "native", lambda *given: None), "getattr", "closure",
    ),
    "types of numbers": (replaced(guards, "same", operator.eq), "int or bool", "global"),
    "signs of zeros": (replaced(guards, "same", operator.eq), "sign of zero", "closure"),
    "static arguments": (unchecked(r"v\d+ is not k\d+"), "text", "argument"),
    "types of static arguments": (
        unchecked(r"type\(v\d+\) is not \w+ (?=or v)", "False "), "int or bool", "argument",
    ),
    "parts of static arguments": (
        replaced(entries, "is_same", operator.eq), "equal frozen set", "argument",
    ),
    "keys of arguments": (unchecked(r"facts_of\(given\) != facts"), "key of a dict", "argument"),
    "what nodes keep": (unchecked(r"facts_of\(given\) != facts"), "aux of a node", "argument"),
    "options of modules": (unchecked(r"facts_of\(given\) != facts"), "int or bool", "module"),
    "attributes of data": (unchecked(r"\[\*w\d+\] != n\d+"), "attribute that appears", "argument"),
    "types of arguments": (unchecked(r"type\(v\d+\) is not t\d+(?=:)"), "is a float", "argument"),
    "dtypes of arguments": (unchecked(r"\(v\d+\.dtype is not .*?\)"), "other dtype", "argument"),
    "strides of arguments": (unchecked(r"v\d+\.strides != z\d+"), "other order", "argument"),
    "lengths of arguments": (unchecked(r"len\(a\d+\) != \d+"), "appended", "argument"),
    "orders of arguments": (
        unchecked(r"\[\*(a\d+)\] != (t\d+)", r"{*\1} != {*\2}"), "order of a dict", "argument",
    ),
    "answers": (
        replaced(
            recorder, "Graph", lambda *parts, made=recorder.Graph: made(*parts[:3], [])
        ),
        "comparison", "argument",
    ),
    "classes of values": (replaced(questions, "KINDS", ()), "is an array", "argument"),
    "texts": (
        replaced(recorder.RecordLevel, "text", lambda level, x, how, *spec: str(x._value)),
        "text of it", "argument",
    ),
    "flags": (unchecked(r"v\d+\.flags\.writeable is not \w+"), "writeable", "argument"),
    "arrays that are one": (unchecked(r"v\d+ is not v\d+"), "arrays that are one", "argument"),
    "memory": (replaced(entries, "meet", lambda x, y: False), "memory of two", "argument"),
    "memory of a transform's arguments": (
        unchecked(r"meeting\(.*?\) != met"), "memory of the argument", "argument grad",
    ),
    "whole numbers that are asked for": (
        replaced(recorder, "number", lambda level, x: x._value), "whole number as a float",
        "argument",
    ),
    "whole numbers as parameters": (
        replaced(integers, "asked", lambda level, x: x), "axis by a whole number", "argument",
    ),
    "types of whole numbers": (
        both(NO_TYPES, replaced(compiled, "asks_for_type", lambda watch: False)), "type is int",
        "argument",
    ),
    "types of values": (NO_TYPES, "type is float", "argument"),
    "rounding of machine code": (
        replaced(division, "rounded", lambda *given: (set(), set())), "rounding",
        "argument machine",
    ),
    "writes that a trace takes back": (
        replaced(outside.Outside, "take_back", lambda self: None), "global beside a list", "global",
    ),
    "ends that are caught": (
        lambda patch: patch.setattr(outside.Outside, "dead", NEVER, raising=False),
        "write that is caught", "closure",
    ),
    "draws": (replaced(trace, "check_draws", lambda *given: None), "generator", "global"),
    "containers that are given": (
        replaced(trace, "check_unchanged", lambda *given: None), "memo", "argument",
    ),
}  # fmt: skip
"""What is looked at today: a fault that leaves it out, and the way and place of a cell."""


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault, tmp_path, monkeypatch):
    plant, name, where = PLANTED[fault]
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
