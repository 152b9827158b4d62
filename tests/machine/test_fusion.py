"""Loops: how steps are put together, and what each loop computes."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs.loops import unrolled
from functier._programs.machine import backend
from functier._programs.machine.loops import nests
from functier._programs.machine.loops.kernels import kernel_of
from functier._programs.machine.parts import fusion
from functier._programs.machine.parts.division import Division
from functier._programs.trace import trace

X = np.random.default_rng(0).normal(size=1000)


def calls_of(f, *args):
    graph = unrolled(trace(f)(*args)._graph)
    part = Division(graph).direct()
    part.taken = list(graph.inputs)
    return backend.Text(part, graph.inputs, False)


def test_elementwise_work_and_its_sums_are_one_loop():
    def f(x, y):
        return np.sum(np.sin(x) * np.exp(-x * y)), np.max(x), x + y

    assert len(calls_of(f, X, X).calls) == 1


def test_a_value_for_one_later_loop_moves_there():
    def f(x):
        t = np.tanh(x)
        return (1.0 - t * t) * np.sum(t)

    text = calls_of(f, X)
    assert len(text.calls) == 2
    bodies = [call.places for call in text.calls]
    assert [len(places) for places in bodies] == [3, 3]  # t, and not 1 - t * t, is in memory


def test_a_value_of_two_arrays_that_live_on_moves_there():
    def f(x, y):
        a, b = np.tanh(x), np.sin(y)
        total = np.sum(a) + np.sum(b)
        return a * b * total + a * total - b

    text = calls_of(f, X, X)
    assert len(text.calls[-1].places) == 4  # a, b, total and the result
    assert text.arena < 2.5 * X.nbytes


def test_loops_that_are_alike_are_one_routine():
    def f(x):
        for _ in range(50):
            x = x / np.sum(x * x)
        return x

    text = calls_of(f, X)
    assert len(text.calls) > 50
    assert len({call.kernel.name for call in text.calls}) <= 5


def test_many_calls_are_several_functions():
    def f(x, i):
        for _ in range(140):
            x = x / np.sum(x * x)
        return x[i]

    text = calls_of(f, X, np.array([1]))
    machine = backend.MachineProgram(trace(f)(X, np.array([1]))._graph, "f")

    assert text.text.count("@piece") >= 4
    np.testing.assert_allclose(machine.run(X, np.array([3]))[0], f(X, 3)[None], rtol=1e-11)
    with pytest.raises(IndexError):
        machine.run(X, np.array([1000]))


def test_memory_is_used_again():
    def f(x):
        for _ in range(50):
            x = x[::-1] * 2.0 + 1.0
        return x

    text = calls_of(f, X)
    assert text.arena <= 3 * X.nbytes


def test_a_long_chain_needs_no_memory():
    def chain(x):
        for _ in range(40):
            x = np.tanh(np.sin(x * 1.01 + 0.1))
        return np.sum(x)

    text = calls_of(ft.grad(chain), X)
    assert text.arena == 0
    assert len(text.calls) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 5000])
def test_sums_of_any_length(n):
    x = np.random.default_rng(n).integers(-9, 9, n).astype(float)
    found = backend.MachineProgram(trace(np.sum)(x)._graph, "f").run(x)[0]

    assert found == np.sum(x)


def test_sums_are_as_exact_as_numpys():
    x = np.random.default_rng(0).random(300_000) + 0.1
    exact = np.sum(x.astype(np.longdouble))
    found = backend.MachineProgram(trace(np.sum)(x)._graph, "f").run(x)[0]

    assert abs(found - exact) <= 4 * abs(np.sum(x) - exact) + 2e-16 * exact


@pytest.mark.parametrize("values", [[np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1.0], [-0.0, -0.0]])
def test_sums_of_odd_numbers(values):
    x = np.array(values * 500)
    with np.errstate(invalid="ignore"):
        program = trace(np.sum)(x)
        expected = np.sum(x)
    found = backend.MachineProgram(program._graph, "f").run(x)[0]

    np.testing.assert_array_equal(found, expected)


def test_axes_are_joined():
    stream = nests.Stream(np.dtype(float), (80, 8))
    nest = nests.Nest((5, 10), (stream, stream), ())

    assert nests.merged(nest).space == (50,)
    assert nests.merged(nest).streams[0].strides == (8,)
    other = nests.Stream(np.dtype(float), (8, 40))
    assert nests.merged(nests.Nest((5, 10), (stream, other), ())).space == (5, 10)


def test_equal_nests_have_one_text():
    stream = nests.Stream(np.dtype(float), (80, 8))
    flat = nests.Stream(np.dtype(float), (8,))
    body = (nests.Load(0), nests.Store(1, 0))
    a = nests.Nest((5, 10), (stream, stream._replace(writes=True)), body)
    b = nests.Nest((50,), (flat, flat._replace(writes=True)), body)

    assert kernel_of(a, 64).name == kernel_of(b, 64).name


def test_outputs_take_what_they_need():
    part = fusion.Part()
    assert fusion.needed(part.steps, []) == []
