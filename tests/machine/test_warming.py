"""Machine code is made at the second call that a program is for, or at once with ``warm=True``."""

import gc
import pickle

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._programs import compiled
from support.basics import in_threads, raises

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


@pytest.mark.parametrize("bound", ["CALLS", "LENGTH"])
def test_what_takes_long_has_to_be_asked_for(monkeypatch, bound):
    from functier._programs.machine import backend

    monkeypatch.setattr(backend, bound, 1)
    numpys, fast = ft.compile(wave), ft.compile(wave, backend="llvm")
    for _ in range(3):
        np.testing.assert_array_equal(numpys(X), wave(X))
        np.testing.assert_allclose(fast(X), wave(X), rtol=1e-14)

    assert "takes long to make; backend='llvm' makes it" in numpys.explain()
    assert "the whole program" in fast.explain()
