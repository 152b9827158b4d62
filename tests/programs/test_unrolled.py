"""The work and the memory of a trace: so much for each node, however many there are."""

import operator
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import functier as ft
from functier.protocol import op, primitive
from functier.testing import forget
from strategies.outcomes import difference
from support.basics import HANG, held
from support.unrolled import LOOPS, gradient, pendulum


@pytest.mark.parametrize("name", LOOPS)
def test_programs_of_loops_give_the_gradients(name):
    f, args = gradient(LOOPS[name], 12)
    compiled = ft.compile(f, backend="numpy")
    for _ in range(2):
        assert difference(compiled(*args), f(*args)) is None


def test_values_that_nobody_needs_are_dropped():
    f, args = pendulum(100, n=10_000)
    g = ft.grad(f, argnums=(0, 1))
    small = ft.grad(pendulum(2, n=10_000)[0], argnums=(0, 1))
    ft.trace(small)(*args)
    eager, traced = held(lambda: g(*args))[2], held(lambda: ft.trace(g)(*args))[2]
    forward = held(lambda: ft.trace(f)(*args))[2]

    assert traced <= 1.2 * eager
    assert forward < 20 * args[0].nbytes  # of 600 values


def test_the_first_trace_of_a_reduction_is_that_of_later_ones():
    text = """
import numpy as np, functier as ft
def f(x):
    for _ in range(20):
        x = np.sin(x) * np.sum(x)
    return np.sum(x)
sources = [ft.trace(ft.grad(f))(np.ones(3)).source for _ in range(2)]
assert sources[0] == sources[1], sources[0]
"""
    subprocess.run([sys.executable, "-c", text], check=True)


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


def test_rules_of_others_are_heard_in_a_backward_pass(request):
    state = [2.0]
    exec("def rule(g, *saved):\n    return g * state[0]\n", space := {"state": state})
    negative = primitive(operator.neg)
    request.addfinalizer(lambda: forget(negative))
    op(negative, "x", vjp={"x": space["rule"]})
    f = ft.grad(lambda x: np.sum(negative(x) * 2))
    compiled = ft.compile(f, backend="numpy")
    x = np.ones(3)

    assert compiled(x).tolist() == f(x).tolist() == [4.0] * 3
    assert "rule runs, which cannot tell what it reads" in str(compiled.explain())
    state[0] = 3.0
    assert compiled(x).tolist() == f(x).tolist() == [6.0] * 3
