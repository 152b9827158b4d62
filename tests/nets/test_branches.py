"""The net of drawn branches over a slice of a seed, and faults that it finds."""

import numpy as np
import pytest

from functier._core import agreement
from functier._levels.batch import BatchLevel
from functier._transforms import splitting
from nets.branches import net

pytestmark = pytest.mark.usefixtures("frozen_heap")


def test_drawn_programs(full, record_property):
    found = net(2026)
    for number in range(3000 if full else 60):
        found.run(number)
    record_property("net", found.summary())
    found.counts.settle()


def check_fault():
    found = net(2026)
    for number in range(25):
        found.run(number)
    assert found.counts.wrong


def test_groups_that_are_joined_in_another_order(monkeypatch):
    monkeypatch.setattr(splitting.np, "argsort", lambda x, *args, **kwargs: np.arange(len(x)))
    check_fault()


def test_a_group_that_is_lost(monkeypatch):
    right = agreement.Varying.groups
    monkeypatch.setattr(agreement.Varying, "groups", lambda self: right(self)[:1])
    check_fault()


def test_one_example_that_answers_for_all(monkeypatch):
    def first(x, how):
        values = agreement.examples_of(x)
        return (how(values.reshape(-1)[0]),) if how in (bool, int) else ()

    monkeypatch.setattr("functier._levels.batch.answer", first)
    check_fault()


def test_hashes_by_identity(monkeypatch):
    monkeypatch.setattr("functier._levels.conversions.hash_of", lambda level, x: object.__hash__(x))
    check_fault()


def test_a_caught_error_that_is_forgotten(monkeypatch):
    """A group that an ``except`` has taken a wrong way."""
    monkeypatch.setattr(agreement, "Split", agreement.Split)
    monkeypatch.setattr(BatchLevel, "check_answered", lambda self: None)
    with pytest.raises(AssertionError):
        monkeypatch.setattr(
            BatchLevel, "run_apart", lambda self, x, how, error: (_ for _ in ()).throw(error)
        )
        found = net(2026)
        for number in range(40):
            found.run(number)
        found.counts.settle()
