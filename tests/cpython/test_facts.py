"""The facts about CPython: each holds here, its check sees where it does not, and without it a
result is right or refused.
"""

import gc
import json
import subprocess
import sys

import pytest

from cpython import without_facts
from functier._cpython.facts import FACTS

pytestmark = pytest.mark.inside("Each fact about the interpreter is switched off once.")

UNKNOWN = {"bytecode"} if sys.version_info >= (3, 15) else set()
"""Facts that nobody has looked up in a new version."""


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_holds_and_says_what_happens_without(name):
    fact = FACTS[name]

    assert fact.holds == (name not in UNKNOWN)
    assert bool(fact.check()) == fact.holds  # each time
    assert all([fact.since, fact.says, fact.without])


@pytest.fixture(scope="module")
def expected():
    return without_facts.outcomes()


def test_the_programs_work(expected):
    refused = {name for name, found in expected.items() if isinstance(found, str)}

    assert refused == {
        "conversion", "endless_hook", "escaped_tensor", "found_nan", "generator_in_an_object",
        "leak", "refilled_array", "required_memory", "shared_generator", "shuffled",
        "unseeded_generator", "write_of_inner_value",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize("name", FACTS)
def test_without_a_fact_a_result_is_right_or_refused(name, expected):
    """Run in a separate process, as functier asks for some facts when it is imported."""
    command = [sys.executable, without_facts.__file__, name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr

    found = json.loads(done.stdout)
    assert found.keys() == expected.keys()
    assert {k: v for k, v in found.items() if not isinstance(v, str) and v != expected[k]} == {}


MISSING = {
    "callers": (sys, "_getframe", lambda depth=0: None),
    "threads": (sys, "_current_frames", dict),
    "referrers": (gc, "get_referrers", lambda *values: []),
    "referents": (gc, "get_referents", lambda *values: []),
    "objects": (gc, "get_objects", list),
    "counts": (sys, "getrefcount", lambda value: 1),
    "profile": (sys, "setprofile", lambda hook: None),
}
"""The values that another interpreter may have instead."""


@pytest.mark.parametrize("name", MISSING)
def test_a_check_sees_that_a_fact_does_not_hold(name, monkeypatch):
    fact = type(FACTS[name])(FACTS[name].check, "", "it has that", "")
    with monkeypatch.context() as patch:
        patch.setattr(*MISSING[name])
        holds = fact.holds

    assert not holds
    with pytest.raises(NotImplementedError, match="an interpreter in which it has that"):
        fact.need()


def test_an_error_of_a_check_is_no_answer():
    assert not type(FACTS["callers"])(lambda: 1 / 0, "", "", "").holds
