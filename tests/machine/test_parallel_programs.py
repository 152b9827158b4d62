"""Programs whose loops over large arrays run in blocks, on several threads."""

import functools
import pickle

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs.machine.backend import Division, MachineProgram, Text
from functier._programs.machine.calls import builtin
from functier._programs.machine.loops import kernels
from functier._programs.trace import trace

pytestmark = pytest.mark.inside("How a program is cut for threads is counted.")

X, Y = np.random.default_rng(0).normal(size=(2, 3000))
"""Large, with the sizes of `small`."""

OPS = {
    "elements": lambda x, y: np.sin(x) * y,
    "a sum": lambda x, y: np.sum(x * y),
    "a loop of both": lambda x, y: (np.tanh(x), np.sum(x), np.max(y), np.min(x)),
    "a sum of rows": lambda x, y: np.sum((x * y).reshape(600, 5), 0),
    "sums of rows": lambda x, y: np.max(x.reshape(60, 50) + y[:50], 1),
    "the middle": lambda x, y: np.sum(x.reshape(20, 15, 10) - y[:10], 1),
    "few rows": lambda x, y: (x.reshape(2, 1500) * 2.0, np.sum(y.reshape(2, 1500), 1)),
    "other strides": lambda x, y: x.reshape(60, 50).T[::-1] * y.reshape(50, 60),
    "places": lambda x, y: np.argmax(x.reshape(60, 50), 1),
    "the place": lambda x, y: np.argmax(x),
    "indices": lambda x, y: x[(np.abs(y) * 900).astype(int)],
    "integers": lambda x, y: np.sum((x * 1e3).astype(int)) + np.any(x > y),
    "zeros at the ends": ft.grad(lambda x, y: np.sum(x[10:2990] * y[:2980])),
}


@pytest.fixture
def small(monkeypatch):
    """Let small loops be cut into small blocks, and be compiled in a hurry."""
    hurried = functools.partial(builtin.make_builtin, opt=0)
    monkeypatch.setattr(builtin, "make_builtin", hurried)
    monkeypatch.setattr(kernels, "LARGE", 512)
    monkeypatch.setattr(kernels, "BLOCK", 200)
    monkeypatch.setattr(kernels, "WORK", 1)


def results(f, *args):
    """Return the results with 1, 2 and 3 threads, and those of NumPy."""
    program = trace(f)(*args)
    made = [MachineProgram(program._graph, "f", False, n).run(*args) for n in (1, 2, 3)]
    return [*made, program._run(*args)]


QUICK = {"a loop of both", "a sum of rows", "other strides", "zeros at the ends"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in OPS]
)
def test_results_do_not_depend_on_the_threads(small, name):
    one, two, three, numpys = results(OPS[name], X, Y)
    for a, b, c, d in zip(one, two, three, numpys, strict=True):
        assert np.array_equal(a, b)
        assert np.array_equal(a, c)
        np.testing.assert_allclose(a, d, rtol=1e-13, atol=1e-13)


def cuts(f, *args, threads=2):
    """Return how many loops are cut, and all."""
    graph = trace(f)(*args)._graph
    part = Division(graph).direct()
    part.taken = list(graph.inputs)
    text = Text(part, graph.inputs, False, threads)
    return len([c for c in text.calls if c.kernel.name.startswith("spread")]), len(text.calls)


def test_loops_that_are_cut(small):
    for name in ("elements", "a sum", "sums of rows", "a sum of rows", "places", "few rows"):
        assert cuts(OPS[name], X, Y)[0] > 0, name
    assert cuts(OPS["the place"], X, Y)[0] == 0


def test_one_thread_takes_blocks_for_sums_alone(small):
    assert cuts(OPS["elements"], X, Y, threads=1)[0] == 0
    assert cuts(OPS["a sum"], X, Y, threads=1)[0] == 1


def test_small_arrays_stay_whole():
    assert cuts(OPS["elements"], X, Y)[0] == 0
    large = np.zeros(400_000)
    assert cuts(OPS["elements"], large, large)[0] == 1


def test_little_work_stays_in_one_thread():
    def asks(n, threads):
        graph = trace(np.add)(np.zeros(n), np.zeros(n))._graph
        part = Division(graph).direct()
        part.taken = list(graph.inputs)
        return "@functier.parallel(" in Text(part, graph.inputs, False, threads).text

    assert not asks(200_000, 2)
    assert asks(2_000_000, 2)
    assert not asks(2_000_000, 1)


def test_a_block_that_refuses_is_numpys(small):
    def f(x, i):
        return x[i]

    index = np.arange(3000)
    program = trace(f)(X, index)
    index[2900] = 9999
    run = MachineProgram(program._graph, "f", False, 2).run
    with pytest.raises(IndexError, match="9999"):
        run(X, index)


@pytest.mark.parametrize(("rows", "axis"), [(15, 1), (16, 0), (17, 0)])
def test_a_block_has_whole_rows_where_there_are_enough(rows, axis):
    n = 50_000
    given = kernels.Stream(np.dtype(float), (8 * n, 8))
    nest = kernels.Nest((rows, n), (given, given._replace(writes=True)), (kernels.Load(0),))

    assert kernels.cut_of(nest).axis == axis


@pytest.mark.parametrize(("n", "most", "unit"), [(10**7, 32768, 64), (3001, 200, 64), (60, 4, 1)])
def test_blocks_cover_a_loop(n, most, unit):
    step = kernels.step_of(n, most, unit)
    assert 0 < step <= 2 * most
    assert step % unit == 0


def test_compile_takes_threads(small):
    gradient = ft.grad(lambda x, y: np.sum(np.sin(x) * y))
    compiled = ft.compile(gradient, backend="llvm", warm=True, threads=np.int64(2))
    assert np.array_equal(compiled(X, Y), ft.compile(gradient, backend="llvm", warm=True)(X, Y))
    assert pickle.loads(pickle.dumps(ft.compile(np.sin, threads=3))).threads == 3
    decorated = ft.compile(threads=2, backend="numpy")(np.sin)
    assert decorated.threads == 2
    assert np.array_equal(decorated(X), np.sin(X))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2", None])
def test_other_numbers_of_threads(threads):
    with pytest.raises(ValueError, match="is not a positive integer; write how many"):
        ft.compile(np.sin, threads=threads)


def test_fastmath_rounds_a_product_and_a_sum_once():
    x = np.full(16, 1.0 + 2.0**-30)
    y = -np.full(16, 1.0 + 2.0**-29)

    def f(x, y):
        return x * x + y

    plain, fast = [
        ft.compile(f, backend="llvm", warm=True, fastmath=fast)(x, y) for fast in (False, True)
    ]
    assert np.array_equal(plain, f(x, y))
    assert np.all(plain == 0.0)
    assert np.all(fast == 2.0**-60)


@pytest.mark.parametrize("fault", ["start", "sums", "last"])
def test_planted_faults_are_found(small, monkeypatch, fault):
    spread, steps, step_of = kernels.spread, kernels.steps, kernels.step_of

    def wrong(nest, cut, kernels, native, threads):
        if fault == "start":  # every block is the first
            strides = [(0,) * len(s.strides) for s in nest.streams]
            nest = nest._replace(
                streams=tuple([s._replace(strides=t) for s, t in zip(nest.streams, strides)])
            )
        return spread(nest, cut, kernels, native, threads)

    monkeypatch.setattr(kernels, "spread", wrong)
    if fault == "sums":
        monkeypatch.setattr(
            kernels, "in_order", lambda name, n, step: blocks_but_one(name, n, step)
        )
    if fault == "last":
        monkeypatch.setattr(kernels, "step_of", lambda n, most, unit: step_of(n, most, unit) + 64)
        monkeypatch.setattr(kernels, "steps", lambda nest, cut: [cut.step, steps(nest, cut)[1] - 8])
    bad = 0
    for name in ("elements", "a sum"):
        one, two, _, numpys = results(OPS[name], X, Y)
        bad += not all(np.allclose(a, b) for a, b in zip(one, numpys))
        bad += not all(np.allclose(a, b) for a, b in zip(two, numpys))
    assert bad


IN_ORDER = kernels.in_order


def blocks_but_one(name, n, step):
    return IN_ORDER(name, n - step, step)
