"""The net of drawn branches over a slice of a seed, and faults that it finds."""

import numpy as np
import pytest

from functier._core import agreement
from functier._levels.batch import BatchLevel
from functier._transforms import splitting
from nets.branches import net
from nets.commands import check_fault, run_slice


def test_drawn_programs(full, record_property):
    run_slice(net(2026), 3000 if full else 60, record_property)


def test_groups_that_are_joined_in_another_order(monkeypatch):
    monkeypatch.setattr(splitting.np, "argsort", lambda x, *args, **kwargs: np.arange(len(x)))
    check_fault(net(2026), range(25))


def test_a_group_that_is_lost(monkeypatch):
    right = agreement.Varying.groups
    monkeypatch.setattr(agreement.Varying, "groups", lambda self: right(self)[:1])
    check_fault(net(2026), range(25))


def test_one_example_that_answers_for_all(monkeypatch):
    def first(x, how):
        values = agreement.examples_of(x)
        return (how(values.reshape(-1)[0]),) if how in (bool, int) else ()

    monkeypatch.setattr("functier._levels.batch.answer", first)
    check_fault(net(2026), range(25))


def test_hashes_by_identity(monkeypatch):
    monkeypatch.setattr("functier._levels.conversions.hash_of", lambda level, x: object.__hash__(x))
    check_fault(net(2026), range(25))


def test_a_caught_error_that_is_forgotten(monkeypatch, record_property):
    """A group that an ``except`` has taken a wrong way."""
    monkeypatch.setattr(agreement, "Split", agreement.Split)
    monkeypatch.setattr(BatchLevel, "check_answered", lambda self: None)
    with pytest.raises(AssertionError):
        monkeypatch.setattr(
            BatchLevel, "run_apart", lambda self, x, how, error: (_ for _ in ()).throw(error)
        )
        run_slice(net(2026), 40, record_property)
