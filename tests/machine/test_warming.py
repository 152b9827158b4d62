"""Machine code is made at the second call that a program is for, or at once with ``warm=True``."""

import gc
import linecache
import pickle

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs import compiled
from functier._programs.machine import backend
from functier._programs.machine.parts import division
from support.basics import in_threads, raises, silent

pytestmark = pytest.mark.inside("What is compiled when is counted.")

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture
def made(monkeypatch):
    """The programs for which machine code was made."""
    found, real = [], compiled.machine_of

    def machine_of(program, *given):
        found.append(program)
        return real(program, *given)

    monkeypatch.setattr(compiled, "machine_of", machine_of)
    return found


def wave(x, scale=2.0):
    return np.sin(x) * scale


def test_the_second_call_makes_it(made):
    fast = ft.compile(wave)
    counts = []
    for _ in range(4):
        np.testing.assert_allclose(fast(X), wave(X), rtol=1e-14)
        counts.append(len(made))

    assert counts == [0, 1, 1, 1]
    assert "the whole program" in fast.explain()


def test_it_is_made_at_once_where_that_is_asked(made):
    fast = ft.compile(warm=True)(wave)
    fast(X)

    assert len(made) == 1
    assert "the whole program" in fast.explain()
    assert pickle.loads(pickle.dumps(ft.compile(np.sin, warm=True))).warm


def test_it_is_made_at_once_for_a_long_loop(made):
    def f(x):
        return ft.fori_loop(0, 100_000, lambda i, y: 0.5 * np.sin(y) + x, x)

    fast = ft.compile(f)

    np.testing.assert_allclose(fast(0.3), f(0.3), rtol=1e-12)
    assert len(made) == 1


def test_calls_of_other_forms_do_not_make_it(made):
    fast = ft.compile(wave)
    for n in range(5):
        fast(np.ones(n))
    fast(X[:2])

    assert len(made) == 1


def test_calls_with_other_answers_do_not_make_it(made):
    def f(x):
        while np.max(x) > 1:
            x = x * 0.5
        return x

    fast = ft.compile(f)
    for k in range(7):
        assert np.array_equal(fast(X * 2.0**k), f(X * 2.0**k))
    assert not made
    for _ in range(3):
        assert np.array_equal(fast(X * 8.0), f(X * 8.0))
    assert len(made) == 1


def test_nobody_sees_when(made):
    def f(x, *, y, generator):
        y["a"][0] += 1.0
        return {"z": x * y["a"] + generator.normal(3)}

    results = []
    for options in ({"backend": "numpy"}, {}, {"warm": True}):
        fast, generator = ft.compile(f, **options), ft.random.default_rng(0)
        y, rows = {"a": np.ones(3)}, []
        for _ in range(5):
            rows.append(fast(X, y=y, generator=generator)["z"])
        assert fast._traced == 1
        results.append([*rows, y["a"]])
    for row in results[1:]:
        np.testing.assert_allclose(row, results[0], rtol=1e-14)
    assert len(made) == 2


def test_a_program_that_was_read_before(made):
    fast = ft.compile(wave)
    fast(X)
    assert "np.sin" in fast.programs[0].source
    assert "compiled" not in fast.explain()
    fast(X)
    fast(X)

    assert "compiled parts: 1" in fast.explain()


def test_several_threads_at_the_second_call(made):
    fast = ft.compile(wave)
    fast(X)
    found = in_threads(fast, [X] * 8)

    np.testing.assert_allclose(found, [wave(X)] * 8, rtol=1e-14)
    assert len(fast.programs) == 1


def test_a_program_with_a_captured_array_holds_when_its_trace_has_gone(made):
    fast = ft.compile(ft.grad(lambda x: np.sum(np.tanh(X * x))))
    for _ in range(6):
        fast(X * 2.0)
        gc.collect()

    assert len(made) == fast._traced == 1


def test_machine_code_that_is_made_for_each_trace_is_found(made, monkeypatch):
    monkeypatch.setattr(compiled.Compiled, "warm", property(lambda self: True, lambda *x: None),
                        raising=False)  # fmt: skip

    raises(AssertionError, lambda: test_calls_with_other_answers_do_not_make_it(made))


def test_what_takes_long_has_to_be_asked_for(monkeypatch):
    monkeypatch.setattr(backend, "LENGTH", 1)
    monkeypatch.setattr(backend, "A_CALL", 0)
    numpys, fast = ft.compile(wave), ft.compile(wave, backend="llvm")
    for _ in range(3):
        np.testing.assert_array_equal(numpys(X), wave(X))
        np.testing.assert_allclose(fast(X), wave(X), rtol=1e-14)

    assert "machine code takes long to make; backend='llvm' makes it" in numpys.explain()
    assert "compiled parts: 0" in numpys.explain()
    assert "the whole program" in fast.explain()


def chain(x):
    a = x
    for i in range(40):
        n = (i * 2654435761 >> 7) % 5
        a = np.tanh(np.sin(x[: 7 - n]) * np.sum(a)) + x[n:]
    return np.sum(a)


def chains(x):
    v = 0.0 * x
    for i in range(20):
        v = v + np.sin(x) * i
    w = x
    for _ in range(20):
        w = np.cos(w + v)
    return np.sum(w), np.sum(v)


def written(x):
    y = np.zeros_like(x)
    for k in range(1, 7):
        y[:k] = np.sin(x[:k]) + np.sum(y[: k + 1])
        y[k] = np.tanh(y[k - 1])
    z = np.copy(x)
    for k in range(1, 7):
        z[k:] *= y[k]
    return np.sum(z * y)


@pytest.mark.parametrize("f", [chain, written, lambda x: sum(chains(x))])
@pytest.mark.parametrize("length", [2_000, 8_000, 40_000])
def test_a_program_that_is_too_long_is_machine_code_as_far_as_that_goes(monkeypatch, f, length):
    monkeypatch.setattr(backend, "LENGTH", length)
    monkeypatch.setattr(backend, "A_CALL", 0)
    x = np.linspace(0.1, 0.9, 7)
    fast = ft.compile(ft.grad(f), warm=True)
    fast(x)

    np.testing.assert_allclose(fast(1.1 * x), ft.grad(f)(1.1 * x), rtol=1e-12)
    assert length > 8_000 or "machine code takes long to make" in fast.explain()
    assert length < 40_000 or "compiled parts: 0" not in fast.explain()


def test_what_many_writes_to_one_memory_follow_is_numpys(monkeypatch):
    monkeypatch.setattr(division, "EFFECTS", 12)
    x = np.linspace(0.1, 0.9, 7)
    fast = ft.compile(ft.grad(written), warm=True)
    fast(x)

    np.testing.assert_array_equal(fast(1.1 * x), ft.grad(written)(1.1 * x))
    assert "machine code takes long to make" in fast.explain()


@pytest.mark.parametrize("f", [chain, written, lambda x: sum(chains(x))])
def test_a_long_part_is_in_several_modules(monkeypatch, f):
    monkeypatch.setattr(backend, "PIECE", 5_000)
    x = np.linspace(0.1, 0.9, 7)
    fast = ft.compile(ft.grad(f), warm=True)
    fast(x)

    np.testing.assert_allclose(fast(1.1 * x), ft.grad(f)(1.1 * x), rtol=1e-12)
    modules = int(fast.explain().split("in modules: ")[1].split("\n")[0])
    assert modules > 2 and "the whole program" in fast.explain()


@pytest.mark.long
@pytest.mark.slow
def test_a_program_of_many_lines_is_machine_code():
    lines = "".join(f" a = np.tanh(np.sin(a) * {0.5 + i / 8000:.5f} + x)\n" for i in range(1600))
    source, name = f"def f(x):\n a = x\n{lines} return np.sum(a)\n", "<many lines>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    space = {"np": np}
    exec(compile(source, name, "exec"), space)
    c, x = ft.compile(ft.grad(space["f"])), np.linspace(0, 1, 8)
    with silent():
        for _ in range(3):
            c(x)

    assert "compiled parts: 1, the whole program" in c.explain()
    assert "in modules: 1\n" not in c.explain()
