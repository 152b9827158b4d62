"""Loops in programs: what rolls, what the source says, and what explain() says of the rest."""

import functools
import pickle
import re

import numpy as np
import optree
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import programs as faulty
from functier._programs import stores
from functier._programs.loops import every_graph, is_loop, unrolled
from functier._programs.replays import Replay
from support.basics import held, raises

pytestmark = pytest.mark.inside("Loops that are found are compared with the steps one by one.")

X = np.linspace(0.1, 1.0, 8)


def pendulum(x, steps=60):
    p, v = x, x * 0
    for _ in range(steps):
        v = v - 0.01 * np.sin(p)
        p = p + 0.01 * v
    return np.sum(p**2)


def filtered(q, ys):
    m, P, total = 0.0, 1.0, 0.0
    for y in ys:
        P = P + q
        S = P + 0.5
        total = total + np.log(S) + (y - m) ** 2 / S
        m = m + P / S * (y - m)
        P = P - P * P / S
    return total


def written(x):
    y = fnp.zeros(40)
    y[0] = x
    for i in range(39):
        y[i + 1] = y[i] + 0.1 * np.sin(y[i])
    return np.sum(y)


def nested(x):
    for _ in range(6):
        for j in range(5):
            x = x + 0.1 * np.sin(x * j)
        x = x / np.sqrt(1 + x * x)
    return np.sum(x)


def delayed(x):
    a, b, c = x, x * 2, x * 3
    for _ in range(20):
        a, b, c = b, c, np.sin(a) + c * 0.5
    return np.sum(a) + np.sum(b * c)


def chosen(x):
    for i in range(20):
        if x > 0.5:
            x = x * 0.9
        x = x + 0.01 * i
    return x


def gathered(x):
    found = []
    for i in range(12):
        x = np.sin(x) + i
        found.append(x)
    return np.sum(np.stack(found) ** 2)


def reduced(x):
    found = []
    for i in range(12):
        x = np.sin(x) + i
        found.append(np.max(x))
    return fnp.sum(found) + np.sqrt(fnp.max(found)) + fnp.mean(found)


def tabled(x):
    for c in (0.1, 0.3, 0.2, 0.7, 0.6):
        x = np.sin(x * c) + c
    return x


TABLES = np.random.default_rng(0).normal(size=(6, 5, 4))


def epochs(w, xs):
    """Steps over the same numbers in each epoch, over others, and over both in three loops."""
    for e in range(6):
        for i in range(5):
            w = w - 0.1 * xs[i] * (np.tanh(w * xs[i]) - float(TABLES[0, i, 0]))
        for i in range(5):
            w = np.cos(w) * xs[i] + float(TABLES[e, i, 1])
    return w


def epochs_of_groups(w, xs):
    for e in range(6):
        for i in range(5):
            for j in range(4):
                w = np.sin(w) * xs[j] + float(TABLES[e, i, j])
            w = w * xs[i] + float(TABLES[0, i, 0])
    return np.sum(w)


LOOPS = {
    "pendulum": (pendulum, (X,), 1), "its gradient": (ft.grad(pendulum), (X,), 2),
    "its batch": (ft.vmap(ft.grad(pendulum)), (np.stack([X, X + 1]),), 2),
    "its hessian": (ft.hessian(pendulum), (X[:2],), 2),
    "filter": (ft.grad(filtered), (0.3, np.sin(np.arange(30.0))), 2),
    "writes": (written, (0.5,), 1), "gradient of writes": (ft.grad(written), (0.5,), 2),
    "nested": (nested, (X,), 2), "gradient of nested": (ft.grad(nested), (X,), 5),
    "delayed": (ft.grad(delayed), (X,), 2), "chosen": (chosen, (0.3,), 2),
    "list": (ft.grad(gathered), (X,), 3), "reduced list": (reduced, (X,), 1),
    "table": (tabled, (X,), 1),
    "tables in loops": (epochs, (X, np.cos(X)), 3),
    "tables in three loops": (epochs_of_groups, (X, np.cos(X)), 3),
    "gradient of tables in loops": (ft.grad(epochs_of_groups), (X, np.cos(X)), 10),
}  # fmt: skip
"""Functions, arguments, and how many loops their programs have."""


def outcome(program, args):
    values = program(*args)
    return [x.tobytes() for x in map(np.asarray, values if type(values) is tuple else [values])]


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    f, args, count = LOOPS[name]
    program = ft.trace(f)(*args)
    graph = program._graph
    plain = unrolled(graph)
    expected = Replay(plain, "f", [f"x{i}" for i in range(len(plain.inputs))])(*args)
    space = {"CONSTANTS": program.constants}
    exec(program.source, space)

    found = sum(is_loop(node) for each in every_graph(graph) for node in each.nodes)
    assert found == count
    assert outcome(lambda *args: tuple(expected), args) == outcome(program, args)
    assert outcome(space[program.name], args) == outcome(program, args) == outcome(f, args)
    assert outcome(pickle.loads(pickle.dumps(program)), args) == outcome(program, args)


def test_the_source_is_as_long_for_any_number_of_steps():
    few, many = [ft.trace(ft.grad(lambda x: pendulum(x, n)))(X).source for n in (60, 600)]

    assert few.replace("60", "600").replace("59", "599") == many
    assert "for i in range(60):" in few
    assert "for i in reversed(range(59)):" in few
    assert len(few.splitlines()) < 45


def test_counters_have_the_user_s_names():
    def f(xs):
        total = 0.0
        for row in range(4):
            for col in range(5):
                total = total + np.sin(xs[row, col])
        return total

    assert "total + " in ft.trace(f)(np.ones((4, 5))).source
    assert "for row in range(4):" in ft.trace(f)(np.ones((4, 5))).source


def test_an_answer_of_a_step():
    program = ft.trace(chosen)(0.3)

    with pytest.raises(ValueError, match=r"in line \d+ of chosen, in step \d+, differs"):
        program(0.2)
    assert "in step {i}" in program.source


def test_explain_says_what_is_no_loop():
    def f(x):
        for k in range(5):
            x = np.concatenate([x, x[:k]])
        return np.sum(x)

    compiled = ft.compile(f)
    compiled(X)

    assert "no loop: line" in compiled.explain()
    assert "results of other forms" in compiled.explain()


def test_explain_says_each_thing_once():
    def f(x):
        for k in range(5):
            y = np.concatenate([x, x[:k]])
            x = np.repeat(x, 1 + k % 2) * y[0]
        return np.sum(x) + first[0] @ second[0]

    first, second = [X], [X + 1]
    compiled = ft.compile(f)
    compiled(X)
    lines = compiled.explain().splitlines()

    assert len(set(lines)) == len(lines)
    assert "    depends on: the form of an array (8,) (2 times)" in lines
    assert [line for line in lines if re.search(r"no loop: lines \d+, \d+ of f, 5 times", line)]


def test_draws_of_a_step_that_ends_are_made_again():
    rng, other = ft.random.default_rng(3), ft.random.default_rng(3)

    def f(x):
        for _ in range(8):
            x = x + rng.uniform()
            if x > 100.0:
                x = x - 50.0
        return x

    program = ft.trace(f)(0.0)
    other.uniform(size=8)
    raises(ValueError, lambda: program(98.0), "in step")

    assert rng.uniform() == other.uniform()


def test_a_list_that_is_cut_before_a_memory_is_made():
    def f(x):
        for _ in range(12):
            x = np.tanh(np.sin(x * 1.01 + 0.1))
        y = fnp.zeros(50_000)
        y[...] = x
        return np.sum(x), y * 2.0

    gradient, x = ft.grad(f, has_aux=True), np.linspace(-1, 1, 50_000)
    program = ft.trace(gradient)(x)

    assert "s[11:]" in program._replay.written()[0]
    assert outcome(program, (x,)) == outcome(gradient, (x,))


def test_a_loop_keeps_what_a_tape_keeps():
    def f(x):
        for _ in range(30):
            x = np.tanh(np.sin(x * 1.01 + 0.1))
        return np.sum(x)

    gradient, x = ft.grad(f), np.linspace(-1, 1, 20_000)
    program = ft.trace(gradient)(x)
    program(x)
    assert held(lambda: program(x))[2] <= 1.02 * held(lambda: gradient(x))[2]


def test_a_memory_of_a_step_is_no_value_to_carry():
    def f(x):
        y = fnp.zeros(3)
        for _ in range(6):
            z = fnp.zeros(3)
            z[...] = np.sin(y) + x
            y = z
        return y * 2.0

    x = np.array([1.0, 2.0, 3.0])

    np.testing.assert_array_equal(ft.trace(f)(x)(x), f(x))


def test_a_window_that_grows_is_none_of_a_loop():
    def f(x):
        y = fnp.zeros(8)
        for i in range(8):
            y[i:] += np.sin(x) * 0.1
            x = x * 0.5
        return y * 1.0

    np.testing.assert_array_equal(ft.trace(f)(0.5)(0.5), f(0.5))


def test_a_list_is_read_to_its_end_before_a_loop_that_begins_in_it():
    def f(x):
        out = []
        for _ in range(30):
            x = np.sin(x) * 1.1
            out.append(x)
        for i in range(29, 20, -1):
            x = x + np.cos(out[i])
        x = x * out[20] + out[19]
        for i in range(10, -1, -1):
            x = x * out[i]
        return x

    x = np.linspace(0, 1, 2000)

    np.testing.assert_array_equal(ft.trace(f)(x)(x), f(x))


def test_a_list_in_a_list_is_left_as_it_is():
    def f(x, xs):
        y = x
        for _ in range(4):
            for i in range(4):
                y = np.sin(x * 0.5) + 0.2 * (x * 0.5) - xs[i + 1]
                x = np.sort(y)
            x = np.sin(x) - y / 3
        return np.sum(x * y)

    gradient = ft.grad(f, argnums=(0, 1))
    xs = np.random.default_rng(0).normal(size=(6, 1000))
    for found, expected in zip(ft.trace(gradient)(xs[5], xs)(xs[5], xs), gradient(xs[5], xs)):
        np.testing.assert_array_equal(found, expected)


def test_inner_loops_of_later_steps_are_those_of_the_first_ones(monkeypatch):
    def f(x, count):
        for _ in range(count):
            x = np.sin(x) * 0.5
            for _ in range(5):
                y = np.cos(x)
                x = y * x + y
            x = np.tanh(x) + 1.0
        return x

    few, nodes = faulty.compared(monkeypatch, functools.partial(f, count=10), np.ones(3))
    many, same = faulty.compared(monkeypatch, functools.partial(f, count=200), np.ones(3))

    assert nodes == same
    assert many < few


def test_steps_that_never_fit_are_compared_a_few_times(monkeypatch):
    functions = np.sin, np.cos, np.tanh, np.arctan, np.cbrt

    def f(x, count):
        kept, places = [x], np.random.default_rng(0).integers(1000, size=count).tolist()
        for i in range(count):
            for k in range(60):
                x = functions[k % 5 * k % 7 % 5](x)
            x = x + kept[places[i] % len(kept)]
            kept.append(x)
        return x

    work, nodes = faulty.compared(monkeypatch, functools.partial(f, count=60), np.ones(3))

    assert nodes > 3000
    assert work < 16


def test_a_list_of_the_last_step_is_whole_for_all_who_read_it(monkeypatch):
    monkeypatch.setattr(stores, "LARGE", 0)  # lists are dropped while they are read

    def f(x, y, s):
        for _ in range(7):
            for i in range(2, -1, -1):
                y = x * np.cos(i + 1) * 0.7 + 0.1
            for _ in range(5):
                x = np.tanh(0.5 * y) + x / 3
                s = s / (1.5 + np.abs(s))
        for _ in range(10):
            s = s * 0.5 + 0.1 * np.sum(x)
        return s + np.sum(x * y)

    def total(*args):
        parts = optree.tree_leaves(ft.hessian(f, argnums=(0, 2))(*args))
        return sum([np.sum(part) for part in parts])

    gradient = ft.grad(total, argnums=(0, 1, 2))
    args = np.linspace(-0.7, 0.4, 4), np.ones(4), -0.4

    found, expected = ft.trace(gradient)(*args)(*args), gradient(*args)

    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)
