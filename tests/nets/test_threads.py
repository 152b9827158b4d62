"""The net of threads over a slice of a seed, and a fault that it finds."""

import pytest

from faults.planted import nets as faulty
from nets.commands import run_slice
from nets.threads import net

pytestmark = pytest.mark.usefixtures("quiet")


def test_threads_that_call_and_one_that_changes(full, record_property):
    found = net(1, rounds=40, calls=300) if full else net(1, rounds=8, calls=40)
    run_slice(found, 40 if full else 2, record_property)
    assert found.traced


def test_facts_that_are_not_compared_are_found(monkeypatch):
    faulty.facts_that_are_not_compared(monkeypatch)
    found = net(1, calls=0)
    found.run(0)
    assert found.counts.wrong  # an old value, or a captured array that nobody compared
