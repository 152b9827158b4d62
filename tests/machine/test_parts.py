"""The division of a program: what the machine computes, and what is NumPy's."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
import functier.numpy as fnp
from functier._programs import stores
from functier._programs.invariant import summed
from functier._programs.loops import count_calls, is_loop
from functier._programs.machine.backend import Fallback, MachineProgram
from functier._programs.machine.calls import builtin
from functier._programs.machine.parts import division
from functier._programs.machine.parts.division import Division
from functier._programs.trace import trace

pytestmark = pytest.mark.inside("How a program is divided has no public name.")

X = np.random.default_rng(0).normal(size=12)


def division_of(f, *args):
    return Division(trace(f)(*args)._graph)


def names_outside(division):
    graph = division.graph
    return [node.func.__name__ for node in graph.nodes if node.func and node in division.outside]


def test_the_whole_program():
    division = division_of(lambda x: np.sin(x) * 2.0, X)

    assert division.direct() is not None
    assert names_outside(division) == []


@pytest.mark.parametrize("name", ["cholesky", "det", "inv", "slogdet", "solve"])
def test_functions_of_matrices(name):
    func = getattr(np.linalg, name)
    a, b = np.eye(3), np.ones(3)

    division = division_of(lambda a, b: func(a, b) if name == "solve" else func(a * b), a, b)
    assert names_outside(division) == []


def test_numpys_calls_part_the_program():
    def f(x):
        a = np.sort(x * 2.0)
        return np.sum(a * x), np.sort(x)

    division = division_of(f, X)
    assert division.direct() is None
    assert names_outside(division) == ["sort", "sort"]
    stages = {number: len(part.outputs) for number, part in division.stages.items()}
    assert stages == {0: 1, 1: 1}


def test_an_unused_part_is_none():
    division = division_of(lambda x: np.sort(x[::2]), X)

    assert not any(part.outputs for part in division.stages.values())
    assert names_outside(division) == ["getitem", "sort"]


def test_a_memory_between_stages_is_numpys():
    def f(x):
        a = fnp.array(x)
        a[:3] = 1.0
        b = np.sort(a)
        a[3:6] = b[:3]
        return a * 2.0

    division = division_of(f, X)
    assert {"memory_of", "put"} <= {*names_outside(division)}
    assert "sort" in names_outside(division)


def test_errstate_that_raises_is_numpys():
    def f(x):
        with np.errstate(divide="raise"):
            return 1.0 / x

    assert names_outside(division_of(f, X)) == ["divide"]


def test_the_fallback_of_a_part():
    def f(x):
        a = fnp.array(np.sin(x))
        a[2:] = a[:-2] * 2.0
        return a + x

    division = division_of(f, X)
    part = division.direct()
    expected = np.sin(X)
    expected[2:] = expected[:-2] * 2.0
    np.testing.assert_array_equal(Fallback(part)(X)[0], expected + X)


def overwritten(x):
    y = fnp.zeros(12)
    y[:] = x
    total = np.sum(y[:6] ** 3)
    y[4] = 5.0 * total
    return total + y[2:] @ y[2:]


def check_overwritten():
    f = ft.grad(overwritten)
    machine = MachineProgram(trace(f)(X)._graph, "f")
    assert machine.direct
    np.testing.assert_allclose(machine.run(X)[0], f(X), rtol=1e-13)


def test_reads_that_no_write_follows_are_no_copies(monkeypatch):
    def copies():
        (part,) = division_of(ft.grad(overwritten), X).stages.values()
        return len([step for step in part.steps if step.func == "copy"])

    check_overwritten()
    few = copies()
    monkeypatch.setattr(division, "staying", lambda graph: set())

    assert copies() > few
    check_overwritten()


def test_a_read_that_does_not_stay_is_found(monkeypatch):
    monkeypatch.setattr(
        division, "staying", lambda graph: {x for x in graph.nodes if x.func is stores.get}
    )

    with pytest.raises(AssertionError, match="Not equal"):
        check_overwritten()


OUTERS = {
    "sums": lambda x: np.add.outer(x[:4], x[4:9]) * 2.0,
    "of a matrix": lambda x: np.subtract.outer(x.reshape(3, 4)[::2], x[::5]),
    "of numbers": lambda x: np.maximum.outer(x[0], x) + np.multiply.outer(2.0, x),
    "of a constant": lambda x: np.add.outer(X[::3], x),
    "truths": lambda x: np.less.outer(x, x).sum(axis=0),
    "of nothing": lambda x: np.add.outer(x, x[:0]),
}


@pytest.mark.parametrize("name", OUTERS)
def test_all_pairs_of_elements(name):
    machine = MachineProgram(trace(OUTERS[name])(X)._graph, "f")

    assert machine.direct
    np.testing.assert_array_equal(machine.run(-X)[0], OUTERS[name](-X))


def test_no_function_of_a_gradient_of_many_arrays_takes_all_of_them(monkeypatch):
    texts, make = [], builtin.make_builtin

    def noted(text, *args, **options):
        texts.append(text)
        return make(text, *args, **options)

    monkeypatch.setattr(builtin, "make_builtin", noted)
    x = [np.full(2, float(i)) for i in range(300)]
    gradient = ft.compile(ft.grad(lambda x: sum([np.sum(v * v) for v in x])), warm=True)
    for v, expected in zip(gradient(x), x):
        assert np.array_equal(v, 2 * expected)
    heads = [line for line in texts[0].splitlines() if line.startswith("define")]
    assert max([head.count("ptr") for head in heads]) < 512


def decayed(w, eps, steps=20):
    u = eps * 0.0 + 1.0
    for _ in range(steps):
        u = u * 0.9 + w(eps)
    return np.sum(u * u)


def ratio(eps):
    return np.exp(-eps) / (1.0 + eps)


def inside(graph):
    """The number of calls that the steps of loops make."""
    return sum([count_calls(node.func.body) for node in graph.nodes if is_loop(node)])


def test_the_factors_of_sums_leave_a_loop():
    def before(eps):
        w = ratio(eps)
        return decayed(lambda _: w, eps)

    ours, by_hand = [
        summed(trace(ft.grad(f))(np.ones(3))._graph) for f in (partial(decayed, ratio), before)
    ]
    assert inside(ours) == inside(by_hand)


SUMS = {
    "two products": lambda x, w: decayed(lambda y: y * w[0] - y / w[1], x),
    "a product of both": lambda x, w: decayed(lambda y: w[0] * y * w[1], x),
    "a power": lambda x, w: decayed(lambda y: (y * w[0]) ** 2 / w[1], x),
    "what is taken in each step": lambda x, w: decayed(lambda y: y * w[0], x) * decayed(np.sin, x),
    "numbers": lambda x, w: decayed(lambda y: y * w[0], x[0]) + x[1],
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_that_leave_a_loop_are_right(name):
    x, w = X[:3] + 3.0, np.abs(X[3:5]) + 1.0
    gradient = ft.grad(SUMS[name], (0, 1))
    compiled = ft.compile(gradient, warm=True)
    for scale in (1.0, 1.5):
        for a, b in zip(compiled(scale * x, w), gradient(scale * x, w)):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14 * np.max(np.abs(b)))


def test_sums_stay_in_a_loop_where_python_code_has_chosen_by_them():
    def f(eps):
        slope = ft.grad(partial(decayed, ratio))(eps)
        return slope if slope[0] > 0 else -slope

    graph = trace(f)(np.ones(3))._graph
    assert summed(graph) is graph
