"""Faults that are planted in loops of machine code, and the programs that find them."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs.machine.lowering import effects, products
from functier._programs.machine.lowering.loops import Body
from functier._programs.machine.parts import answers
from functier._programs.machine.parts.loops import Routine
from functier._programs.replays import Changed
from support.loop_programs import (
    LARGE,
    X,
    check,
    delayed,
    elements,
    gated,
    listed,
    misses,
    nested,
    shifted,
)  # fmt: skip

pytestmark = pytest.mark.inside("Faults of loops of machine code are planted in steps of the way.")

TALL = np.tile(LARGE, (2, 3))


def test_programs_are_right():
    for f in (delayed, elements, listed, nested, shifted):
        assert misses(f, X if f is shifted else TALL)


@pytest.mark.parametrize("factor", [0.0, 0.5])
def test_a_wrong_stride(factor, monkeypatch):
    right = products.moving

    def wrong(start, by):
        return right(start, tuple([int(x * factor) // 8 * 8 for x in by]))

    monkeypatch.setattr(products, "moving", wrong)
    assert not misses(elements, LARGE)
    assert not misses(ft.grad(lambda x: np.sum(listed(x)[2])), TALL)


def test_a_memory_whose_place_stays(monkeypatch):
    monkeypatch.setattr(effects.Memory, "where", lambda own, ref: ())
    assert not misses(shifted, X)


def test_a_value_that_is_kept_too_early(monkeypatch):
    right = Routine.element
    monkeypatch.setattr(Routine, "element", lambda own, made, number: own.result(number))
    assert not misses(listed, X)
    assert not misses(listed, TALL)
    monkeypatch.setattr(Routine, "element", right)
    assert misses(listed, X)


def test_what_is_carried_is_copied_one_by_one(monkeypatch):
    right = Routine.copies

    def one_by_one(own, pairs):
        for pair in pairs:
            right(own, [pair])

    monkeypatch.setattr(Routine, "copies", one_by_one)
    assert not misses(delayed, X)


def test_buffers_that_do_not_turn(monkeypatch):
    right = Routine.pointers

    def still(own):
        return [line.replace(".1, %latch", ".0, %latch") for line in right(own)]

    monkeypatch.setattr(Routine, "pointers", still)
    assert not misses(delayed, TALL)


def test_a_last_value_of_another_buffer(monkeypatch):
    right = Body.value_at
    monkeypatch.setattr(Body, "value_at", lambda own, made, step: right(own, made, step - 1))
    assert not misses(delayed, TALL)


def test_an_answer_that_nobody_compares(monkeypatch):
    y = np.ones(20)
    other = y.copy()
    other[11] = -1.0
    with pytest.raises(Changed):
        check(gated, 0.5, y).run(0.5, other)
    monkeypatch.setattr(
        answers, "changed", lambda guard: [answers.call(np.logical_and, np.False_, guard.node)]
    )
    found = check(gated, 0.5, y).run(0.5, other)
    assert found[0] != gated(0.5, other)
