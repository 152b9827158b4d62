"""Loops of programs in machine code, beside the same programs without loops, and NumPy's."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
import functier.numpy as fnp
from functier._programs.loops import Loop, is_loop
from functier._programs.machine.backend import MachineProgram, use_machine
from functier._programs.machine.linalg import inner
from functier._programs.replays import Changed
from functier._programs.trace import trace
from support.basics import raises
from support.loop_programs import (
    LARGE,
    PROGRAMS,
    WRITES,
    X,
    between,
    bounced,
    check,
    chosen,
    columns,
    delayed,
    gated,
    graph_of,
    listed,
    local,
    nested,
    numpys,
    picked,
    products,
    rounded,
    rows_of_rows,
    shifted,
    sums_of_columns,
    swapped,
    tables,
    unknown,
    windows,
)

pytestmark = pytest.mark.inside(
    "What a loop of machine code asks and how it ends is a property of its text."
)


def check_parts(machine, *args):
    """Compare the parts of a program of one part with their NumPy calls."""
    (fallback,) = machine.fallbacks
    found = machine.run(*args)
    for a, b in zip(fallback(*args), found, strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_memories(f):
    check(f, X)
    check(ft.grad(lambda x: sum([np.sum(np.sin(y)) for y in f(x)])), X, rtol=1e-11)


@pytest.mark.parametrize(
    "x", [X, X[:11], np.tile(LARGE, (2, 3)), LARGE.T], ids=["12", "11", "large", "turned"]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, x):
    check(PROGRAMS[name], x, exact=name != "elements")


@pytest.mark.parametrize("f", [picked, columns, products], ids=lambda f: f.__name__)
def test_elements_of_arrays(f):
    check(f, X if f is picked else LARGE, rtol=1e-12)


@pytest.mark.parametrize("f", [swapped, delayed, listed, nested], ids=lambda f: f.__name__)
def test_gradients(f):
    def loss(x):
        found = f(x)
        return sum([np.sum(np.sin(y)) for y in (found if type(found) is tuple else (found,))])

    check(ft.grad(loss), X.reshape(4, 3), rtol=1e-11)
    check(ft.vmap(ft.grad(loss)), LARGE, rtol=1e-11)


@pytest.mark.parametrize(
    ("f", "x"),
    [(windows, np.linspace(0.1, 0.3, 40)), (sums_of_columns, LARGE), (rows_of_rows, LARGE)],
)
def test_sums_in_their_memory(f, x):
    machine = check(ft.grad(f), x, rtol=1e-11)
    for zeros in (0.0 * x, -0.0 * x):
        found, expected = machine.run(zeros)[0], ft.grad(f)(zeros)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    check(ft.vmap(ft.grad(f)), np.stack([x, -x, 0.0 * x]), rtol=1e-11)


@pytest.mark.parametrize("f", [swapped, listed, nested, tables, shifted, local])
def test_the_fallback_of_a_part(f):
    check_parts(check(f, X), X)


@pytest.mark.parametrize(("f", "x"), [(chosen, 0.3), (bounced, np.ones(3))])
def test_answers_in_a_loop(f, x):
    machine = check(f, x)
    assert not np.any(machine.fallbacks[0](x)[-1])  # a flag of the part as NumPy calls
    program = trace(f)(x)
    refused = 0
    for y in [*np.linspace(-0.02, 0.02, 20).tolist(), -20.0, 9.0]:
        try:
            program(x + y)
        except ValueError:
            refused += 1
            with pytest.raises(Changed):
                machine.run(x + y)
        else:
            np.testing.assert_allclose(machine.run(x + y), f(x + y), rtol=1e-13)
    assert 0 < refused < 22


def test_the_first_step_whose_answer_differs_is_any():
    y = np.ones(20)
    machine = check(gated, 0.5, y)
    for i in range(20):
        other = y.copy()
        other[i] = -1.0
        raises(Changed, lambda: machine.run(0.5, other))


def test_answers_by_rounded_values(monkeypatch):
    machine = MachineProgram(graph_of(rounded, 0.3), "f")
    assert machine.loops == 1  # it calls NumPy's loops of numbers
    assert machine.run(0.3)[0] == rounded(0.3)
    monkeypatch.setattr(inner, "ELEMENTS", {})
    machine = MachineProgram(graph_of(rounded, 0.3), "f")
    assert machine.loops == 0  # it is written out
    assert machine.run(0.3)[0] == rounded(0.3)


@pytest.mark.parametrize("known", [True, False])
def test_answers_in_a_loop_of_numpys(known, monkeypatch):
    if not known:
        monkeypatch.setattr(inner, "ELEMENTS", {})

    def f(x):
        y = np.exp(np.sin(x) * 1.1)
        s = y * 0.9
        for _ in range(400):
            s = np.sin(s) + 0.9
            if s > 0.5:
                s = s * 0.9
        return s, np.exp(x) + np.cos(x)

    machine = MachineProgram(graph_of(f, 0.3), "f")
    assert machine.loops == known
    # answers depend on it
    assert any(["exp" in reason for reason in machine.reasons]) is not known
    for a, b in zip(machine.run(0.3), f(0.3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_a_function_that_is_not_known():
    check(unknown, X, loops=0, reasons=1)
    check(between, X, loops=2, reasons=1)
    check(numpys, X, reasons=1)
    check(ft.grad(lambda x: np.sum(numpys(x)[0] * between(x))), X, reasons=7, rtol=1e-11)


def test_a_loop_of_numpys_keeps_its_place_among_writes():
    def f(x):
        y = fnp.full(12, 0.5)
        y[0] = x[0]
        for i in range(9, -1, -1):
            y[i] = y[i + 1] * 2.0 + y[i - 1]  # the last one reads the end
        return y, np.sin(x)

    check(f, X, loops=0, reasons=5)


def test_the_text_of_an_answer_in_a_loop():
    f = ft.compile(lambda x, y: gated(x, y), warm=True)
    program = trace(gated)(0.5, np.ones(20))
    use_machine(program, program._graph, contract=False, threads=1, bounded=False)
    y = np.ones(20)
    y[3] = -1.0
    raises(ValueError, lambda: program(0.5, y), "bool")
    assert f(0.5, np.ones(20)) == 10.0
    assert f(0.5, y) == 9.5


def lengthened(graph, count):
    """Return a program whose loops have other numbers of steps."""
    for node in filter(is_loop, graph.nodes):
        loop = node.func
        node.func = Loop(loop.body, count, loop.carried, loop.reads, loop.lasts)
        node.form = node.func.form()
    return graph


@pytest.mark.skipif(sys.platform == "win32", reason="it has other signals")
@pytest.mark.parametrize("size", [1, 8, 20_000])
def test_a_signal_ends_a_long_loop(size):
    def f(x):
        for _ in range(20):
            x = np.sin(x) + 0.1
        return x

    x = np.linspace(0.0, 1.0, size)
    machine = MachineProgram(lengthened(graph_of(f, x), (1 << 30) // size), "f")  # of some seconds
    sent = []

    def other():
        for _ in range(10):
            time.sleep(0.01)  # in which this thread runs
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=other)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            machine.run(x)
        assert time.perf_counter() - sent[0] < 0.5  # 10 ms where nothing else runs
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
