"""Tests of programs that look inside."""

import multiprocessing
import sys
import threading
import warnings

import numpy as np
import pytest

import functier as ft
from functier._core.ambient import AMBIENT
from functier._cpython.functions import Swaps, original
from functier._programs import compiled as _compiled
from functier._programs import passes
from functier._programs.dependencies import rewritten
from functier._programs.loops import count_calls
from support.basics import HANG, held, raises
from support.unrolled import LOOPS, gradient, lines_of, pendulum

pytestmark = pytest.mark.inside("State, work and tables of programs have no public name.")


# ---- compile surroundings ----


X = np.array([0.5, -1.0, 2.0])


def test_code_that_is_given_to_a_function_while_it_is_traced():
    def f(x):
        return x

    def g(x):
        return 2 * x

    swaps = Swaps(rewritten)
    swaps.prepare(f)
    swaps.prepare(g)
    try:
        f.__code__ = g.__code__
        assert original(f) is f.__code__
        assert original(g) is not g.__code__
    finally:
        swaps.restore()
    assert (f(1.0), g(1.0)) == (2.0, 2.0)


class Failure(Exception):
    pass


def test_state_after_an_exception():
    def f(x):
        if fails:
            raise Failure
        return x * 2

    compiled = ft.compile(f)
    profile = sys.getprofile()
    for _ in range(3):
        fails = True
        raises(Failure, lambda: compiled(X))
        raises(Failure, lambda: ft.trace(f)(X))
        assert AMBIENT.get() is ft.Tensor
        assert sys.getprofile() is profile
        fails = False
        assert np.array_equal(compiled(X), 2 * X)


# ---- questions ----


def loss(x):
    return np.sum(np.sin(x) * x)


@pytest.mark.skipif(not hasattr(_compiled.os, "fork"), reason="a system without fork")
def test_a_fork_while_another_thread_traces():
    compiled = ft.compile(loss)
    stop = threading.Event()

    def work():
        n = 0
        while not stop.is_set():
            n += 1
            compiled(np.full(n % 50 + 1, 0.5))

    def child(queue):
        queue.put([compiled(np.full(n, 0.5)) for n in range(60, 64)])

    context = multiprocessing.get_context("fork")
    thread = threading.Thread(target=work)
    with warnings.catch_warnings(action="ignore"):
        thread.start()
        try:
            for _ in range(3):
                queue = context.Queue()
                process = context.Process(target=child, args=(queue,))
                process.start()
                found = queue.get(timeout=HANG)
                process.join()
                assert found == [loss(np.full(n, 0.5)) for n in range(60, 64)]
        finally:
            stop.set()
            thread.join()


# ---- unrolled ----


SIZES = 8, 24, 72


def work(make, steps):
    """Return the nodes of a gradient, and the lines that its first calls run."""
    f, args = gradient(make, steps)
    compiled = ft.compile(f, backend="numpy")

    def calls():
        compiled(*args)
        compiled(*args)  # which writes the source

    nodes = count_calls(ft.trace(f)(*args)._graph)
    return nodes, lines_of(calls)


def check_linear(make):
    gradient(make, 2)[0](*make(2)[1])  # what is made at the first use of a function
    work(make, 2)
    (n, a), (m, b), (k, c) = [work(make, steps) for steps in SIZES]
    first, later = (b - a) / (m - n), (c - b) / (k - m)

    assert later <= 1.05 * first, (first, later)


@pytest.mark.parametrize("name", LOOPS)
def test_the_work_for_a_node_is_the_same(name):
    check_linear(LOOPS[name])


def test_work_that_grows_is_found(monkeypatch):
    def slow(graph):
        for node in graph.nodes:
            [other for other in graph.nodes if other is node]
        return graph

    monkeypatch.setattr(passes, "PASSES", {"slow": slow, **passes.PASSES})
    raises(AssertionError, lambda: check_linear(pendulum))


def test_a_node_takes_less_than_a_kilobyte():
    found = []
    for steps in (5, 50, 300):
        f, args = gradient(pendulum, steps)
        program, kept, peak = held(lambda f=f, args=args: ft.trace(f)(*args))
        found.append((count_calls(program._graph), peak, kept))
    _, (n, *few), (m, *many) = found

    assert all((b - a) / (m - n) < 1000 for a, b in zip(few, many)), found
