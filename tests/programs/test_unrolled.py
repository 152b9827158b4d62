"""The work and the memory of a trace: so much for each node, however many there are."""

import operator
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import functier as ft
from functier._core.table import OPS
from functier._programs import passes
from functier._programs.loops import count_calls
from functier._rules.primitives import primitive
from functier.protocol import op
from strategies.outcomes import difference
from support.basics import HANG, held, raises
from support.unrolled import LOOPS, gradient, lines_of, pendulum

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


@pytest.mark.parametrize("name", LOOPS)
def test_programs_of_loops_give_the_gradients(name):
    f, args = gradient(LOOPS[name], 12)
    compiled = ft.compile(f, backend="numpy")
    for _ in range(2):
        assert difference(compiled(*args), f(*args)) is None


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


def test_values_that_nobody_needs_are_dropped():
    f, args = pendulum(100, n=10_000)
    g = ft.grad(f, argnums=(0, 1))
    small = ft.grad(pendulum(2, n=10_000)[0], argnums=(0, 1))
    ft.trace(small)(*args)
    eager, traced = held(lambda: g(*args))[2], held(lambda: ft.trace(g)(*args))[2]
    forward = held(lambda: ft.trace(f)(*args))[2]

    assert traced <= 1.2 * eager
    assert forward < 20 * args[0].nbytes  # of 600 values


# ---- what need not be told again is told to each trace ----


TEXT = """
import numpy as np
rate = 0.5
def f(x):
    for i in range(4):
        x = x - settings.rate * np.sin(x)
        wait(i)
    return x
"""


def user_module():
    made = types.ModuleType("user_module")
    made.settings, made.wait = made, lambda i: None
    exec(TEXT, vars(made))
    return made


def test_a_name_that_is_read_in_a_loop_is_a_fact():
    user = user_module()
    compiled = ft.compile(user.f)
    for rate in (0.5, 0.25, 0.5):
        user.rate = rate
        for _ in range(2):
            assert difference(compiled(1.0), user.f(1.0)) is None


def test_two_traces_at_a_time_note_their_own_reads():
    user = user_module()
    both = threading.Barrier(2, timeout=HANG)
    on = [True]
    user.wait = lambda i: both.wait() if on[0] and i in (0, 2) else None
    found = [ft.compile(user.f, on_unwatched="keep") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda compiled: compiled(1.0), found))
    on[0] = False
    user.rate = 0.25

    for compiled in found:
        assert "rate" in str(compiled.explain())
        assert difference(compiled(1.0), user.f(1.0)) is None


# ---- code that is entered while operations run without a watch ----


class Hidden:
    """A number whose methods a trace has not prepared, as it is in an array of objects."""

    def __init__(self, state):
        self.state = state


exec("def times(self, other):\n    return other * self.state[0]\n", space := {})
Hidden.__mul__ = Hidden.__rmul__ = space["times"]


@pytest.mark.parametrize("spelling", ["x * kept", "np.multiply(x, kept)", "kept * x"])
def test_methods_of_operands_are_heard(spelling):
    state = [2.0]
    kept = np.array([Hidden(state)] * 3, dtype=object)
    f = eval(f"lambda x: {spelling}", {"np": np, "kept": kept})
    compiled = ft.compile(f, backend="numpy")
    x = np.ones(3)

    assert compiled(x).tolist() == f(x).tolist() == [2.0] * 3
    state[0] = 3.0
    assert compiled(x).tolist() == f(x).tolist() == [3.0] * 3


def test_rules_of_others_are_heard_in_a_backward_pass(monkeypatch):
    state = [2.0]
    exec("def rule(g, *saved):\n    return g * state[0]\n", space := {"state": state})
    negative = primitive(operator.neg)
    monkeypatch.setitem(OPS, negative, None)  # so that the record goes with the test
    op(negative, "x", vjp={"x": space["rule"]})
    f = ft.grad(lambda x: np.sum(negative(x) * 2))
    compiled = ft.compile(f, backend="numpy")
    x = np.ones(3)

    assert compiled(x).tolist() == f(x).tolist() == [4.0] * 3
    assert "rule runs, which cannot tell what it reads" in str(compiled.explain())
    state[0] = 3.0
    assert compiled(x).tolist() == f(x).tolist() == [6.0] * 3
