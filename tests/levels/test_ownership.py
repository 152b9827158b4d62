"""Memory that the backward pass and the rules write into: theirs alone, with every array large;
the values that a tape keeps, and for how long.
"""

import gc
import weakref
from typing import ClassVar

import numpy as np
import pytest

import functier as ft
import samples
from faults.planted import levels as faulty
from support import checks
from support.basics import equal, held, raises
from support.rows import run_each
from support.turns import families

NEVER = 1 << 60


@pytest.fixture
def everything_is_large(monkeypatch):
    faulty.set_large(monkeypatch, -1)


REVERSE = ["vjp", "second", "mutation", pytest.param("vmap_of_derivatives", marks=pytest.mark.long)]
"""The checks that run pullbacks."""

HEAVY = "second", "vmap_of_derivatives"
"""Checks that take all rows only with ``--full``."""


@pytest.mark.parametrize("check", REVERSE)
@pytest.mark.parametrize("family", families())
def test_rows_with_a_gradient(family, check, rows_of, full, everything_is_large):
    def run(row):
        applying = checks.checks_of(row)
        if "vjp" in applying and check in applying:
            with np.errstate(all="ignore"):
                applying[check](row)

    few = check in HEAVY and not full
    run_each((samples.chosen_of if few else rows_of)(family), run)


def once(x, y):
    return np.sum(np.log(1 + np.exp(-x * y)) + np.sin(x) * y)


def share(x, y):
    z = x * x
    w = -z
    u = w + z
    v = u * u * y
    return np.sum(v / (2.0 + np.exp(w)) + z * w - (x - y) * (x - y) + x)


def twice(x, y):
    a = x + y
    b = a + a
    c = -b
    return np.sum(c * c + a * b - np.exp(c * 0.1)) + np.sum(a * c)


def repeat(x, y):
    h = x
    for _ in range(6):
        h = np.tanh(h * y + x) * 0.5 - h
    return np.sum(h * h)


def products(x, y):
    h = x
    for _ in range(4):
        h = np.tanh(h @ y.T @ x + y[0])
    return np.sum(h * h) + np.sum(x[1:] * h[:-1])


PROGRAMS = [once, share, twice, repeat, products]


def results(f, x, y):
    """Gradients, and what comes of using a tape twice, of order 2 and of batches."""
    value, pullback = ft.vjp(f, x, y)
    one = np.ones_like(value)
    batch = np.stack([x, x + 1.0])
    return [
        *ft.grad(f, (0, 1))(x, y),
        *pullback(one),
        *pullback(one),
        *ft.jvp(ft.grad(f, (0, 1)), (x, y), (y, x))[1],
        ft.grad(lambda x: np.sum(ft.grad(f)(x, y) * y))(x),
        ft.vmap(ft.grad(f), (0, None))(batch, y),
        ft.grad(lambda b: np.sum(ft.vmap(f, (0, None))(b, y)))(batch),
    ]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_give_what_they_give_without_writing(f, monkeypatch):
    x, y = np.random.default_rng(0).normal(size=(2, 5, 4))
    before = x.copy(), y.copy()
    found = []
    for large in (-1, NEVER):
        faulty.set_large(monkeypatch, large)
        found.append(results(f, x, y))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(before, (x, y))


@pytest.mark.parametrize("read", [lambda x: x[2:], lambda x: np.sin(x)[2:], np.max])
@pytest.mark.parametrize("other", [np.sum, lambda x: np.sum(x * x[1:2] + x)])
def test_an_element_moves_if_any_part_of_its_cotangent_does(read, other, everything_is_large):
    for f in (lambda x: other(x) + np.sum(read(x)), lambda x: np.sum(read(x)) + other(x)):
        with np.errstate(all="ignore"):
            g = ft.grad(lambda z, f=f: f(np.sqrt(z)))(np.array([1.0, 0.0, 4.0]))
        assert g[1] == np.inf


# ---- arrays that rules of a user's return ----


def by_custom_vjp(array):
    f = ft.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (f(x), None), lambda _, g: (array,))
    return f


def by_function(array):
    class Held(ft.Function):
        @staticmethod
        def forward(x):
            return x * 2.0

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return array

    return Held.apply


def by_hook(array):
    def f(x):
        ft.register_hook(x, lambda g: array)
        return x * 2.0

    return f


@pytest.mark.parametrize("make", [by_custom_vjp, by_function, by_hook])
@pytest.mark.parametrize("of", [lambda a: a, lambda a: a[:], lambda a: a[::-1]])
def test_a_gradient_is_no_memory_of_an_array_that_a_rule_returned(make, of):
    array = of(np.arange(3.0))
    f = make(array)
    before = array.copy()
    gradients = [
        ft.grad(lambda x: np.sum(f(x)))(np.ones(3)),
        ft.vjp(f, np.ones(3))[1](np.ones(3))[0],
    ]
    for g in gradients:
        np.testing.assert_array_equal(g, before)
        g += 1.0  # each can be written to

    np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(ft.grad(lambda x: np.sum(f(x)))(np.ones(3)), before)
    array += 1.0  # and so can the user's array


def test_a_new_array_that_a_rule_returned_is_not_copied():
    seen = []

    def backward(_, g):
        new = g * 3.0
        seen.append(new.__array_interface__["data"][0])
        return (new,)

    f = ft.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (f(x), None), backward)
    gradient = ft.grad(lambda x: np.sum(f(x)))(np.ones(3))

    assert gradient.__array_interface__["data"][0] == seen[0]


# ---- The values that a tape keeps, and for how long: only those that an output needs ----


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
