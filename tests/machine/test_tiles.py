"""Loops over steps in tiles of elements: which may be, and that they give what others give;
how steps are put together to loops.
"""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
import functier.numpy as fnp
from functier._programs.loops import unrolled
from functier._programs.machine import backend
from functier._programs.machine.loops import nests
from functier._programs.machine.loops.kernels import kernel_of
from functier._programs.machine.parts import fusion, loops, modules
from functier._programs.machine.parts.division import Division
from functier._programs.trace import trace
from support.loop_programs import PROGRAMS, WRITES, check, counted, misses, nested, singles, swapped

pytestmark = pytest.mark.inside("Tiles of loops are made small.")

WIDE = np.linspace(0.1, 1.0, 13 * 23).reshape(13, 23)
LONG = WIDE.ravel()


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of 8 elements; return a list that says of each loop if it has tiles."""
    found = []

    def noted(call, *options):
        made = right(call, *options)
        found.append(made is not call)
        return made

    right = loops.tiled
    monkeypatch.setattr(loops, "TILE", 8)
    monkeypatch.setattr(modules, "tiled", noted)
    return found


def summed(x):
    total, count = fnp.zeros(x.shape[1:]), np.zeros(())
    for i in range(40):
        total += x[i % 4] * count
        count = count + 0.5
    return total, count


def kept(x):
    y, rows = x, fnp.zeros((6, *x.shape))
    for i in range(6):
        y = np.sin(y) + rows[max(i - 1, 0)] * 0.5
        rows[i] = y * 2.0
    return y, rows


def inside(x):
    y, z = fnp.array(x), x
    for i in range(6):
        for _ in range(5):
            y += z * 0.1
            z = z - y * 0.01
        z = z * (0.5 * i)
    return y, z


def halves(x):
    y, n = fnp.array(x), len(x) // 2
    for _ in range(9):
        y[:n] += y[n : 2 * n] * 0.1
        y[n : 2 * n] += x[:n]
    return y


APART = {f.__name__: f for f in (swapped, counted, nested, singles, summed, kept, inside, halves)}


def turned(x):
    for _ in range(9):
        x = x + 0.1 * x[::-1]
    return x


def neighbours(x):
    y = fnp.array(x)
    for _ in range(9):
        y[1:] += y[:-1] * 0.1
    return y


def first(x):
    for _ in range(9):
        x = x * 0.9 + x[0]
    return x


def counts(x):
    y, n = fnp.zeros(len(x)), fnp.array(x[:3])
    for _ in range(9):
        n[1] += 1.0
        y += x * n[1]
    return y, n


def whole(x):
    for _ in range(9):
        x = x - np.mean(x) * 0.1
    return x


def parts(x):
    y, n = fnp.array(x), len(x) // 2
    for _ in range(9):
        y[:n] += y[n + 1 :] * 0.1
        y[n + 1 :] += x[:n]
    return y


def rows_that_meet(x):
    y, n = fnp.zeros(2 * len(x)), len(x)
    for i in range(9):
        y[10 * i : 10 * i + n] += x * i
    return y


TOGETHER = {
    f.__name__: f for f in (turned, neighbours, first, counts, whole, parts, rows_that_meet)
}


@pytest.mark.parametrize("x", [LONG, WIDE, WIDE.T, LONG[:272]], ids="long wide turned even".split())
@pytest.mark.parametrize("name", APART)
def test_loops_in_tiles(name, x, small_tiles):
    if name == "halves":
        x = x.ravel()
    check(APART[name], np.tile(x, (5, 12)) if name == "summed" else x)
    assert any(small_tiles)


@pytest.mark.parametrize("name", TOGETHER)
def test_loops_whose_elements_meet(name, small_tiles):
    check(TOGETHER[name], LONG, rtol=1e-12, exact=name != "whole")
    assert not any(small_tiles)


@pytest.mark.parametrize("f", [*PROGRAMS.values(), *WRITES], ids=lambda f: f.__name__)
def test_all_programs(f):
    x = WIDE if f.__name__ == "elements" else LONG
    if f.__name__ != "swept":
        check(f, x, exact=f.__name__ != "elements")


@pytest.mark.parametrize("name", [name for name in APART if name != "singles"])
def test_derivatives_in_tiles(name, small_tiles):
    f = APART[name]

    def loss(x):
        found = f(x)
        return sum([np.sum(np.sin(y)) for y in (found if type(found) is tuple else (found,))])

    x = {"summed": np.tile(WIDE, 9), "halves": LONG}.get(name, WIDE)
    check(ft.grad(loss), x, rtol=1e-11)
    check(lambda x, t: ft.jvp(f, (x,), (t,)), x, x[::-1].copy())
    assert any(small_tiles)


def test_many_rows_do_not_stay_in_the_cache(monkeypatch, small_tiles):
    monkeypatch.setattr(loops, "CACHE", 8 * 60)
    check(kept, LONG)
    assert not any(small_tiles)
    check(swapped, LONG)
    assert any(small_tiles)


def test_signals_between_tiles(monkeypatch, small_tiles):
    monkeypatch.setattr(loops, "SLICE", 100)
    check(swapped, LONG)
    assert any(small_tiles)


@pytest.mark.parametrize("name", ["neighbours", "counts", "rows_that_meet"])
def test_a_check_that_sees_nothing(name, monkeypatch):
    right = loops.accesses_in

    def blind(routine, n):
        return [(i, access._replace(writes=False)) for i, access in right(routine, n)]

    monkeypatch.setattr(loops, "check", lambda accesses: None)
    monkeypatch.setattr(loops, "accesses_in", blind)
    assert not misses(TOGETHER[name], LONG)


def test_elements_after_the_last_tile_that_are_left_out(monkeypatch):
    right = loops.cut

    def fewer(calls, n, size, options):
        return right(calls, n, size - (size < 8), options)

    monkeypatch.setattr(loops, "cut", fewer)
    assert not misses(swapped, LONG)


def test_tiles_at_one_place(monkeypatch):
    right = loops.strides_of

    def still(call, n):
        found = right(call, n)
        return found and {**found, min(found): 0}

    monkeypatch.setattr(loops, "strides_of", still)
    assert not misses(swapped, LONG)


# ---- Loops: how steps are put together, and what each loop computes ----


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
