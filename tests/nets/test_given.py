"""The net of programs with given loops over a slice of a seed, and faults that it finds."""

import itertools
from contextlib import nullcontext

import pytest

from functier._control import given
from functier._control.effects import Effects
from functier._programs import dead, repeated, sampled
from functier._programs.loops import Count
from nets.commands import run_slice
from nets.given import net
from nets.giving.draw import draw
from nets.looping.numbers import counted


def test_drawn_programs(full, record_property):
    run_slice(net(2026), 200 if full else 16, record_property)


# ---- faults that are planted, and found ----


def check_fault(number, way="value", seed=2026):
    """A fault that is planted gives a wrong result, and the program is right without it."""
    found = net(seed)
    found.check(number, draw(seed, number), [way])

    assert found.counts.wrong, found.summary()


def spoil_bodies(monkeypatch, spoil):
    """Let each body of a loop have a fault."""

    class Spoilt(repeated.Body):
        def __init__(self, *args):
            super().__init__(*args)
            spoil(self)

    monkeypatch.setattr(repeated, "Body", Spoilt)


def recount(body, change):
    for node in body.nodes:
        node.args = counted(node.args, change)


def test_effects_that_are_not_seen(monkeypatch):
    monkeypatch.setattr(Effects, "happened", lambda self: False)
    check_fault(233)


def test_a_counter_that_is_ahead(monkeypatch):
    def later(count):
        return Count(count.start + count.step, count.step) if count.start else count

    spoil_bodies(monkeypatch, lambda body: recount(body, later))
    check_fault(124)


def test_an_element_of_another_step(monkeypatch):
    def before(count):
        return count if count.start else Count(-1, count.step)

    spoil_bodies(monkeypatch, lambda body: recount(body, before))
    check_fault(274)


def test_a_guard_that_is_dropped(monkeypatch):
    spoil_bodies(monkeypatch, lambda body: body.graph.guards.clear())
    check_fault(82)


def test_kept_values_of_other_steps(monkeypatch):
    right = given.Pull.__call__
    monkeypatch.setattr(
        given.Pull, "__call__", lambda self, cs, kept: right(self, cs, [x[::-1] for x in kept])
    )
    check_fault(280, "grad")


def test_cotangents_that_are_dropped(monkeypatch):
    monkeypatch.setattr(given, "unchanged", lambda g, *rest: 0.0 * g)
    check_fault(280, "grad")


def test_variables_that_have_changed_before_the_backward_pass(monkeypatch):
    monkeypatch.setattr(Effects, "undone", lambda self, reads: nullcontext())
    check_fault(7, "grad")


def test_indices_out_of_bounds_of_what_nobody_needs(monkeypatch):
    monkeypatch.setattr(dead, "may_raise", lambda node, further=False: False)
    check_fault(2, seed=72)


def test_stand_ins_that_are_left(monkeypatch):
    monkeypatch.setattr(
        sampled.Samples, "settle", lambda self, nodes, answers, outputs: (answers, outputs)
    )
    check_fault(233)


def test_a_loop_that_is_not_found(monkeypatch):
    monkeypatch.setattr(given, "LEAST", given.ENDLESS + 1)
    found = net(2026, calls=1)
    for number in itertools.takewhile(lambda _: not found.regular, itertools.count()):
        found.run(number)

    assert not found.found
    with pytest.raises(AssertionError, match="not recorded by one step"):
        found.settle()
