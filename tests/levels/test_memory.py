"""The values that a tape keeps, and for how long: only those that an output needs."""

import gc
import weakref
from typing import ClassVar

import numpy as np
import pytest

import functier as ft
from support import equal, held, raises

X = np.array([0.5, 1.5, -2.0])


def loss(x):
    return np.sum(np.sin(x) * x)


class Watched(np.ndarray):
    """An array that can be referred to weakly; `made` refers to all that there have been."""

    made: ClassVar[list] = []

    def __array_finalize__(self, other):
        Watched.made.append(weakref.ref(self))


def alive():
    return sum(ref() is not None for ref in Watched.made)


def make_watched(n=10):
    return np.ones(n).view(Watched)


def test_a_pullback_that_is_dropped_frees_its_tape():
    def f(x):
        y = np.sin(x)
        return y * y

    x = make_watched()
    gc.disable()
    try:
        before = alive()
        _, pullback = ft.vjp(f, x)
        del _
        pullback(np.ones(10))
        assert alive() > before
        del pullback
        assert alive() == before
    finally:
        gc.enable()


def test_dead_branches_are_not_kept():
    refs = []

    def f(x):
        for _ in range(3):
            unused = np.exp(np.sin(x) * x)
            refs.append(weakref.ref(unused.elem()))
        del unused
        assert [r() for r in refs] == [None] * 3
        return np.sum(x * x)

    gc.disable()
    try:
        ft.grad(f)(make_watched())
    finally:
        gc.enable()


def test_only_what_a_rule_names_is_kept():
    refs = []

    def f(x):
        y = x + 1.0  # neither operand nor result is needed
        refs.append(weakref.ref(y.elem()))
        z = y + 2.0
        del y
        assert refs[0]() is None
        return np.sum(z)

    equal(np.asarray(ft.grad(f)(make_watched())), np.ones(10))


def test_the_backward_pass_adds_few_arrays_to_the_tape():
    n, size = 1000, 10_000  # 80 kB each, 80 MB in all

    def f(x):
        for _ in range(n):
            x = np.sin(x)
        return np.sum(x)

    x = np.ones(size)
    ft.grad(f)(np.ones(2))
    in_use, peak = held(lambda: ft.vjp(f, x))[1], held(lambda: ft.grad(f)(x))[2]
    assert in_use > n * size * 8  # the tape itself
    assert peak < in_use + 20 * size * 8  # the backward pass adds a few arrays, not a thousand


@pytest.mark.parametrize("size", [10, 20_000])
def test_all_nodes_go_with_the_backward_pass(size):
    saved: list = []

    def f(x):
        for _ in range(10):
            x = np.sin(x)
            saved.append(weakref.ref(ft.unwrap(x)))
        return np.sum(x)

    ft.grad(f)(np.linspace(0.0, 1.0, size))
    assert len(saved) == 10 and all(ref() is None for ref in saved)


def test_many_calls_leave_nothing_behind():
    g = ft.grad(loss)
    for _ in range(20):
        g(X)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(2000):
        g(X)
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_a_call_that_raises_leaves_nothing_behind():
    refs = []

    def f(x):
        refs.append(weakref.ref(np.sin(x).elem()))
        raise ZeroDivisionError

    for _ in range(3):
        raises(ZeroDivisionError, lambda: ft.grad(f)(make_watched()))
    gc.collect()
    assert [r() for r in refs] == [None] * 3
