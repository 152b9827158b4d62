"""Programs with compiled parts, beside the same programs as NumPy calls."""

import contextlib
import gc
import sys
import time

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import functier as ft
import functier.numpy as fnp
from functier._programs.machine import backend
from functier._programs.machine.backend import MachineProgram
from functier._programs.trace import trace
from support.basics import raises

pytestmark = pytest.mark.inside(
    "Parts of programs that are machine code are counted and looked at."
)

X, Y = np.random.default_rng(0).normal(size=(2, 50))


def machine_of(f, *args):
    program = trace(f)(*args)
    return MachineProgram(program._graph, "f"), program._run


def check(f, *args, parts=1, reasons=0, rtol=1e-13):
    """Compare with NumPy's program; return the machine's."""
    machine, numpys = machine_of(f, *args)
    for found, expected in zip(machine.run(*args), numpys(*args), strict=True):
        assert type(found) is type(expected)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    assert machine.parts == parts
    assert len(machine.reasons) == reasons, machine.reasons
    return machine


def test_a_gradient_is_one_part():
    def f(x, y):
        return np.sum(np.sin(x) * np.exp(-x * y))

    check(ft.grad(f, (0, 1)), X, Y)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sum(x.reshape(5, 10), axis=0) @ np.mean(y.reshape(10, 5), axis=1),
        lambda x, y: x.reshape(5, 10).T[::2] - np.max(y.reshape(5, 10), axis=1),
        lambda x, y: np.where(x > y, x, 2 * y)[::-1],
        lambda x, y: np.concatenate([x, y, x * y])[10:90].reshape(4, 20).T,
        lambda x, y: x[np.argsort(X)] + np.take(y, [3, -1, 3])[:1],
        lambda x, y: np.linalg.solve(x[:9].reshape(3, 3) + 5 * np.eye(3), y[:3]),
        lambda x, y: np.argmax(x.reshape(5, 10), 1) + np.any(y > 0),
        lambda x, y: np.roll(x.reshape(5, 10), (1, -3), (0, 1)) + np.roll(y, 7).reshape(5, 10),
        lambda x, y: np.roll(x.reshape(5, 10).T > 0, 3, 0) * np.roll(y[::-1].reshape(10, 5), 1, 1),
        lambda x, y: np.roll(x[::5].astype("f4"), -1) + np.roll(y.reshape(1, 2, 25), 9)[0, :, :10],
        lambda x, y: np.tril(x.reshape(5, 10), 2) + np.triu(y.reshape(5, 10), -1),
        lambda x, y: np.diag(x.reshape(5, 10), 3) * np.trace(y.reshape(2, 25)) + np.diag(x)[4, :5],
        lambda x, y: np.diagflat(x[:6].reshape(2, 3), 2) * np.trace(y.reshape(2, 5, 5), 0, 2, 1)[1],
        lambda x, y: np.linalg.inv(np.linalg.cholesky(np.diagflat(np.stack([y, x, y]) ** 2 + 1))).T,
    ],
)  # fmt: skip
def test_parts(f):
    check(f, X, Y)


@pytest.mark.parametrize(
    "f", [ft.grad(lambda x: np.sum(x[:10] ** 2)), lambda x: np.roll(x, 400_000)]
)  # fmt: skip
def test_lanes_that_are_not_loaded_cost_nothing(f):
    """A processor takes long for lanes that it does not load where there is no memory."""
    x = np.ones(10**6)
    machine, numpys = machine_of(f, x)
    times = []
    for run in (machine.run, numpys):
        spent = []
        for _ in range(5):
            start = time.process_time()
            run(x)
            spent.append(time.process_time() - start)
        times.append(min(spent))
    assert times[0] < 20 * times[1], times


def test_writes_are_part_of_it():
    def f(x):
        a = fnp.array(x.reshape(5, 10))
        for k in range(4):
            a[k + 1 :] -= a[k + 1 :, k : k + 1] * a[k]
        return np.sum(a * a)

    check(ft.grad(f), X / 10)


def test_what_is_not_known_runs_between_parts():
    def f(x, y):
        return np.sum(np.sort(x * y) * np.sort(x) + x)

    machine = check(f, X, Y, parts=2, reasons=2)
    assert "sort: the machine does not know the function" in machine.reasons


def test_what_is_out_of_bounds_is_numpys_error():
    def f(x, i):
        return x[i] * 2.0

    machine, _ = machine_of(f, X, np.array([1, -50]))
    raises(IndexError, lambda: machine.run(X, np.array([1, 50])), "out of bounds")


def test_an_empty_ellipsis_parts_two_arrays_of_an_index():
    def f(x, i, j):
        return [x[:, i, ..., j], x[:, i, j, ...], x[..., i, j], x[i, ..., j, :], x[i, :, ..., j]]

    check(f, X[:8].reshape(2, 2, 2), np.array([0, 1]), np.array([1, 0]))


def test_a_part_that_is_refused_is_numpys():
    def f(a, b):
        return np.linalg.solve(a, b) + 1.0

    machine, _ = machine_of(f, np.eye(2), np.ones(2))
    raises(np.linalg.LinAlgError, lambda: machine.run(np.zeros((2, 2)), np.ones(2)), "Singular")


def test_a_large_matrix_that_is_nearly_singular_is_numpys():
    a, b = np.random.default_rng(1).normal(size=(130, 130)), np.ones(130)
    machine, _ = machine_of(np.linalg.solve, a, b)
    assert machine.direct
    np.testing.assert_allclose(machine.run(a, b)[0], np.linalg.solve(a, b), rtol=1e-9)
    assert machine.fallbacks[0].calls == 0

    a[5] = a[77]  # LAPACK finds a solution
    np.testing.assert_array_equal(machine.run(a, b)[0], np.linalg.solve(a, b))
    assert machine.fallbacks[0].calls == 1


def test_views_of_inputs_are_views():
    machine, _ = machine_of(lambda x: (x[::2], x * 2.0), X)
    half, double = machine.run(X)

    assert np.shares_memory(half, X)
    assert double.flags.owndata
    np.testing.assert_array_equal(double, 2 * X)


def test_compiled_functions():
    @ft.compile(backend="llvm", warm=True)
    def f(x, p):
        return {"a": np.sum(x * p["w"]), "b": x + 1.0}

    for scale in (1.0, 2.0):
        found = f(scale * X, {"w": Y})
        np.testing.assert_allclose(found["a"], np.sum(scale * X * Y), rtol=1e-13)
        np.testing.assert_array_equal(found["b"], scale * X + 1)
    assert len(f.programs) == 1
    assert "compiled parts: 1, the whole program" in f.explain()
    assert "NumPy's" not in f.explain()


def test_a_write_that_nobody_reads_keeps_the_order_of_others():
    """The second sum is a value; the zeros come after the read and the write before it."""

    def f(x, y):
        x = fnp.array(x)
        x[0] += y[0]
        x[:1] += y[1:2]
        found = x[:1].copy()
        x[:1] = 0.0
        return fnp.copy(x) + 0, found

    check(f, X[:5], Y[:5])


def test_an_order_that_ends_at_a_write_that_nobody_reads_is_found(monkeypatch):
    monkeypatch.setattr("functier._programs.machine.parts.fusion.reorder", lambda steps, live: None)
    with pytest.raises(AssertionError):
        test_a_write_that_nobody_reads_keeps_the_order_of_others()


def test_views_of_one_number():
    """NumPy gives a number for some of them, which is elsewhere in memory."""

    def f(x):
        y = x * 2.0
        return [
            np.flip(y),
            np.transpose(y),
            np.expand_dims(y, 0),
            np.broadcast_to(y, (2, 1)),
            y[None],
        ]

    check(f, np.array(1.5))


@pytest.mark.parametrize("mixed", [False, True])
def test_writes_to_arguments_reach_the_caller(mixed):
    def f(a, b):
        a[1:] *= b[1:]
        a += np.sort(b) if mixed else b
        return a, np.sum(a)

    call = ft.compile(f, backend="llvm", warm=True)
    wanted = X.copy()
    f(wanted, Y)
    for _ in range(3):
        a = X.copy()
        result, total = call(a, Y)
        assert result is a
        np.testing.assert_allclose(a, wanted, rtol=1e-15)
        np.testing.assert_allclose(total, np.sum(wanted), rtol=1e-13)


def test_a_part_takes_a_view_that_numpy_makes():
    def f(w):
        v = w[:, :, 0]
        y, z = np.sort(np.sin(v), axis=0), np.cumprod(v, axis=0)
        return np.sin(y) @ v + z

    w = np.sin(np.arange(48.0)).reshape(4, 4, 3)
    call = ft.compile(f, backend="llvm", warm=True)
    for _ in range(2):
        np.testing.assert_allclose(call(w), f(w), rtol=1e-13)
    assert "compiled parts: 2" in call.explain()
    assert "as NumPy calls" not in call.explain()


def test_a_part_that_did_not_serve_is_explained(monkeypatch):
    call = ft.compile(lambda a: np.sin(np.sort(a)) + 1.0, backend="llvm", warm=True)
    forms = backend.form_in
    monkeypatch.setattr(backend, "form_in", lambda *args: forms(*args)._replace(shape=(2,)))
    call(X)
    call(X)
    assert "a part has run as NumPy calls in 2 calls" in call.explain()


def test_what_stays_numpys_is_explained():
    f = ft.compile(lambda x: np.sort(np.sort(x * 2.0)[::-1]), backend="llvm", warm=True)
    f(X)

    assert "compiled parts: 1" in f.explain()
    assert "NumPy's: sort: the machine does not know the function (2 times)" in f.explain()


def test_the_first_call_gives_what_later_ones_give():
    f = ft.compile(lambda x: np.sum(np.sin(x)), backend="llvm", warm=True)

    assert f(X) == f(X)


def test_views_of_one_result_share_its_memory():
    f = ft.compile(lambda x: ((y := x * 2.0), y[::2]), backend="llvm", warm=True)
    for _ in range(2):
        y, z = f(X)
        y[0] = 7.0
        assert z[0] == 7.0


def test_arithmetic_that_is_to_raise():
    f = ft.compile(lambda x: 1.0 / x, backend="llvm", warm=True)
    f(X)

    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        f(np.zeros(50))
    with np.errstate(all="ignore"):
        assert np.isinf(f(np.zeros(50))).all()


def test_answers_that_differ_by_rounding_are_numpys():
    """A guard of a number that the machine rounds in another way does not trace again."""

    def f(x):
        kept = x[np.sum(np.sin(x)) * np.ones_like(x) > -np.inf]
        return np.sum(kept) if np.sum(np.sin(x)) == np.sum(np.sin(X)) else 0.0

    compiled = ft.compile(f, backend="llvm", warm=True)
    for _ in range(3):
        assert compiled(X) == pytest.approx(np.sum(X))
    assert len(compiled.programs) == 1


def test_numbers_keep_their_kinds():
    def f(x):
        return x * x / 2.0, x > 1.0, np.sin(x)

    check(f, 3.0)


@pytest.mark.parametrize(
    "f", [lambda x: 1.0 / x, lambda x: 7.0 // x, lambda x: 7.0 % x, lambda x: x**-1.5]
)
def test_numbers_of_python_raise(f):
    compiled = ft.compile(f, backend="llvm", warm=True)

    assert compiled(4.0) == f(4.0)
    raises(ZeroDivisionError, lambda: compiled(0.0))


def test_inputs_are_not_written_to():
    x = X.copy()
    compiled = ft.compile(lambda x: (np.negative(x), x), backend="llvm", warm=True)
    for _ in range(2):
        compiled(x)
    np.testing.assert_array_equal(x, X)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)

    with pytest.raises(ImportError, match=r"pip install .functier\[compile\]"):
        ft.compile(np.sin, backend="llvm", warm=True)


@pytest.mark.parametrize("other", [X[:3], X[::2], np.ones((2, 25)), X.astype("f4"), X[::-1], 2.0])
def test_arguments_of_other_forms(other):
    f = ft.compile(lambda x, *, y: np.cos(x["a"]) + y, backend="llvm", warm=True)
    f({"a": X}, y=1.0)

    with np.errstate(over="raise"):
        np.testing.assert_allclose(f({"a": other}, y=1.0), np.cos(other) + 1.0, rtol=1e-6)
    for _ in range(2):
        found = f({"a": other}, y=1.0)
        np.testing.assert_allclose(found, np.cos(other) + 1.0, rtol=1e-6)
        assert type(found) is type(np.cos(other))
        np.testing.assert_allclose(f({"a": X}, y=2.0), np.cos(X) + 2.0, rtol=1e-14)
    assert len(f.programs) == 2


def test_a_library_that_cannot_be_loaded(monkeypatch):
    def broken(name):
        raise OSError("no shared library")

    monkeypatch.setattr("functier._programs.backends.importlib.import_module", broken)
    call = ft.compile(lambda x: x * 2 + 1, warm=True)
    assert call(np.ones(2)).tolist() == [3.0, 3.0]
    assert "no machine code: OSError: no shared library" in call.explain()


def test_code_that_ends_during_a_trace_is_not_a_dependency():
    with contextlib.suppress(ImportError):
        import numba  # noqa: F401  Numba's functions run where code of LLVM's ends
    old = [ft.compile(lambda x: x * 3.0, backend="llvm", warm=True)]
    old[0](X)

    def f(x):
        old.clear()
        gc.collect()
        return x + 1.0

    gc.collect()  # of other tests, whose finalisers would count
    new = ft.compile(f, backend="llvm", warm=True, on_unwatched="keep")
    new(X)
    found = [text for text in new.explain().splitlines() if "depends on" in text]
    assert found and not [text for text in found if "llvm" in text or "numba" in text]


@pytest.mark.parametrize("n", [4, 5, 8, 21, 200])
def test_a_loop_over_what_it_writes_computes_no_element_twice(n):
    """The last lanes of a row have been computed before; what is read then is written already."""

    def heat(u, r):
        u, largest = u.copy(), 0
        for _ in range(3):
            u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
            largest = largest + np.argmax(u[1:-1] * u[1:-1])
        return np.sum(u * u), largest, u

    u, r = np.cos(np.arange(n) ** 2.0), np.array(0.2)
    check(heat, u, r)
    check(ft.grad(lambda u, r: heat(u, r)[0], (0, 1)), u, r)


def sorted_steps(x):
    for i in range(20):
        y = np.tanh(x * 1.01 + 0.1 * np.cos(x)) * np.exp(-x) + 0.3
        x = np.sort(y * (1.0 + np.sin(y))) + 0.01 * i * x
    return np.sum(x * x)


def sorted_history(x):
    found = []
    for _ in range(20):
        y = np.tanh(x[::-1] * 1.01 + 0.1 * np.cos(x)) * np.exp(-x)
        x = np.sort(y * (1.0 + np.sin(y)))[::-1] + 0.5
        found.append(x[1:] * y[1:])
    return np.stack(found).T


def sorted_loops(x):
    for _ in range(12):
        for _ in range(9):
            x = np.sin(x) * 0.9 + np.cos(x)
        x = np.sort(np.tanh(x) * x + np.exp(-x) * 0.1 + np.sin(x))
    return np.sum(x)


@pytest.mark.parametrize("f", [sorted_steps, sorted_history, sorted_loops])
def test_a_loop_of_numpys_has_parts_in_its_steps(f):
    x = np.linspace(0.1, 1.0, 7)
    rows = np.stack([x, 2.0 * x])
    for g, given in ((f, x), (ft.grad(lambda x: np.sum(f(x) ** 2)), x), (ft.vmap(f), rows)):
        fast = ft.compile(g, warm=True)
        fast(given)

        np.testing.assert_allclose(fast(given * 1.1), g(given * 1.1), rtol=1e-12, atol=1e-12)
        assert "but for parts of a step" in fast.explain()
