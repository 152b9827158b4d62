"""Observers: who is told what, in which context, and that nothing is left of them."""

import contextvars
import gc

import numpy as np
import pytest

import functier as ft
from functier._core.blocks import EVENTS, Observer, block
from functier.modes import _asking as _asking
from support.basics import in_thread

pytestmark = pytest.mark.inside("Observers are what public blocks are made of.")

X = np.array([1.0, 2.0, 3.0])
STATE: contextvars.ContextVar[tuple] = contextvars.ContextVar("state", default=())
DONE: list = []


def note(event):
    def told(*args):
        for seen in STATE.get():
            seen.append(event)
        return args[0]

    return told


ALL = Observer(STATE, lambda: DONE.append(1), level=note("level"), rule=note("rule"))


@block
def observe(seen):
    without = lambda state: tuple(s for s in state if s is not seen)  # noqa: E731
    yield from ALL.observing((*STATE.get(), seen), without=without)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not any(EVENTS.values())
    assert STATE.get() == ()
    assert not ALL.users


@ft.custom_vjp
def twice(x):
    return 2.0 * x


twice.defvjp(lambda x: (2.0 * x, None), lambda _, g: (2.0 * g,))


def test_what_an_observer_is_told():
    seen: list = []
    with observe(seen):
        ft.vmap(np.sin)(X)
        ft.grad(lambda x: np.sum(twice(x)))(X)
    assert seen == ["level", "level", "rule"]
    ft.vmap(np.sin)(X)
    assert seen == ["level", "level", "rule"]


def test_it_is_told_of_its_own_context_alone():
    seen: list = []
    with observe(seen):
        in_thread(lambda: ft.vmap(np.sin)(X))
        assert seen == []
        contextvars.copy_context().run(ft.vmap(np.sin), X)
    assert seen == ["level"]


def test_blocks_that_do_not_end_in_order():
    one, two = [], []
    first, second = observe(one), observe(two)
    DONE.clear()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    ft.vmap(np.sin)(X)
    assert (one, two, DONE) == ([], ["level"], [])
    second.__exit__(None, None, None)
    assert STATE.get() == ()
    assert DONE == [1]


def test_a_block_that_the_collector_ends_while_another_begins():
    """A lock that the same thread cannot take twice would wait for itself."""

    def holds():
        with observe([]):
            yield

    class Cycle:
        pass

    cycle = Cycle()
    cycle.me, cycle.generator = cycle, holds()
    next(cycle.generator)
    with ALL.lock:
        del cycle
        gc.collect()
    assert not ALL.users


def test_an_error_in_the_function_that_is_told():
    def fails(level):
        raise ValueError("told")

    bad = Observer(STATE, level=fails)

    @block
    def failing():
        yield from bad.observing(("on",))

    with pytest.raises(ValueError, match="told"), failing():
        ft.vmap(np.sin)(X)
    with pytest.raises(ValueError, match="told"), failing():
        ft.grad(np.sum)(X)
    np.testing.assert_array_equal(ft.vmap(np.sin)(X), np.sin(X))


def test_a_mode_that_cannot_show_its_levels_is_not_entered(monkeypatch):
    """The switch is undone where an interruption comes in the middle of it."""

    def interrupted(level):
        raise KeyboardInterrupt

    def f(x):
        with pytest.raises(KeyboardInterrupt), ft.modes.LoggingMode():
            pass
        assert _asking.STATE.get() == _asking.State()
        return x * 2.0

    monkeypatch.setattr(_asking.MODES, "level", interrupted)
    np.testing.assert_array_equal(ft.vmap(f)(X), X * 2.0)
