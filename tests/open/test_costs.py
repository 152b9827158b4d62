"""Costs of calls, as counts of calls, lines and arrays."""

import linecache
import sys
from functools import partial

import numpy as np
import pytest

import functier as ft
from support.basics import calls_of, held, silent

RNG = np.random.default_rng(0)


def lines(f, *args):
    """Return how many lines the program of a gradient has."""
    with silent():
        return len(ft.trace(ft.grad(f))(*args).source.splitlines())


def test_jvp_of_a_python_float_makes_the_calls_of_one_of_numpys():
    def f(x):
        y = x
        for _ in range(50):
            y = y * x
        return y

    python = calls_of(lambda: ft.jvp(f, (1.001,), (1.0,)))
    assert python < 1.5 * calls_of(lambda: ft.jvp(f, (np.float64(1.001),), (np.float64(1.0),)))


@pytest.mark.slow
def test_a_slot_of_checkpoint_keeps_one_array():
    x = np.linspace(-1, 1, 10_000)

    def loop(x):
        def step(c, _):
            return np.tanh(np.sin(c * 1.01 + 0.1)), None

        return ft.scan(step, x, None, length=50)[0].sum()

    def arrays(slots):
        gradient = partial(ft.grad(ft.checkpoint(loop, slots=slots)), x)
        gradient()
        return held(gradient)[2] / x.nbytes

    assert (arrays(30) - arrays(10)) / 20 < 1.2


def test_a_gradient_of_two_layers_is_a_loop():
    xs, p = RNG.random((40, 4)), RNG.normal(size=(4, 12))

    def cell(w, b, x, h, c):
        i = 1 / (1 + np.exp(-(x * w[:4] + b[:4])))
        o = 1 / (1 + np.exp(-(x * w[4:8] + b[4:8])))
        c = c * i + (1 - i) * np.tanh(h * w[8:] + b[8:])
        return o * np.tanh(c), c

    def net(p, steps):
        h, c, total = [np.zeros(4)] * 2, [np.zeros(4)] * 2, 0.0
        for t in range(steps - 1):
            x = xs[t]
            for k in range(2):
                h[k], c[k] = cell(p[2 * k], p[2 * k + 1], x, h[k], c[k])
                x = h[k]
            total = total + np.sum(xs[t + 1] * (x - np.log(np.sum(np.exp(x)) + 2)))
        return total

    assert lines(partial(net, steps=40), p) == lines(partial(net, steps=20), p)


def test_a_gradient_that_is_infinite_times_zero_is_a_loop():
    x, eye = RNG.normal(size=(5, 3)), np.eye(5)

    def energy(x, steps):
        total = 0.0
        for _ in range(steps):
            x = x + 0.1
            d = x[None] - x[:, None]
            distance = np.sqrt(np.sum(d * d, axis=-1))
            total = total + np.sum(np.where(eye > 0, 0.0, np.exp(-distance)))
        return total

    assert lines(partial(energy, steps=10), x) == lines(partial(energy, steps=5), x)


def test_a_gradient_of_windows_adds_slices():
    x = np.ones(8)
    program = ft.trace(
        ft.grad(lambda x: np.sum(np.lib.stride_tricks.sliding_window_view(x, 3) ** 2))
    )
    assert "add.at" not in program(x).source


def complexes(z):
    w = z
    for _ in range(20):
        w = w * (0.99 + 0.1j) + 0.01 * z
    return np.sum(np.abs(w) ** 2)


def spectra(u):
    v = np.fft.rfft(u)
    for _ in range(20):
        v = v - 0.001 * np.fft.rfft(np.fft.irfft(v) ** 2)
    return np.sum(np.fft.irfft(v) ** 2)


def powers(x):
    def step(c):
        t, y, h = c
        y = y + h * (0.1 - 0.3 * y * y)
        error = np.abs(h * y) * 10 + 1e-9
        return t + h, y, h * np.minimum(2.0, np.maximum(0.2, 0.9 * error**-0.2))

    return ft.while_loop(lambda c: c[0] < 5.0, step, (0.0 * x, x, 0.05 + 0.0 * x))[1]


def sorts(x):
    for _ in range(20):
        x = np.sort(x) * 1.01
    return np.sum(x * x)


@pytest.mark.parametrize(
    "f, x",
    [(complexes, np.ones(8)), (spectra, np.ones(8)), (powers, 0.9), (sorts, np.arange(8.0))],
    ids=["complex numbers", "spectra", "powers", "sorts"],
)
def test_a_loop_is_machine_code(f, x):
    pytest.importorskip("llvmlite")
    c = ft.compile((ft.jacfwd if f is powers else ft.grad)(f))
    for _ in range(3):
        c(x)
    assert "NumPy's: loop" not in c.explain()


def test_a_while_loop_of_another_length_is_machine_code():
    pytest.importorskip("llvmlite")

    def f(x):
        def step(c):
            t, y, z = c
            h = 0.1 / (1 + y * y)
            for _ in range(4):
                y, z = y + h * (0.1 * z - 0.01 * y), z - h * (0.1 * y + 0.02 * z * y)
            return t + 4 * h, y, z

        return ft.while_loop(lambda c: c[0] < 30.0, step, (0.0 * x, x, 1.0 + 0.0 * x))[1]

    c = ft.compile(ft.jacfwd(f))
    for _ in range(3):
        c(0.9)
    assert calls_of(lambda: c(1.3)) < 1.5 * calls_of(lambda: c(0.9))


@pytest.mark.slow
def test_a_solver_costs_as_many_calls_as_differences_do():
    integrate = pytest.importorskip("scipy.integrate")
    from functier.scipy.integrate import odeint

    ts = np.linspace(0, 10, 3)

    def loss(p, solve):
        def slopes(y, t):
            return [-p[0] * y[0] * y[1], p[0] * y[0] * y[1] - p[1] * y[1]]

        return np.sum(solve(slopes, [0.99, 0.01], ts)[:, 1] ** 2)

    p = np.array([1.2, 0.4])
    plain = calls_of(lambda: loss(p, integrate.odeint))
    assert calls_of(lambda: ft.grad(loss)(p, odeint)) < 15 * plain


@pytest.mark.slow
def test_a_text_of_a_program_takes_steps_by_its_lines():
    def text(n):
        numbers = "".join(f" a = np.sin(a) * {1 + i / n:.4f} + x\n" for i in range(n))
        source, name = f"def f(x):\n a = x\n{numbers} return np.sum(a)\n", f"<{n} lines>"
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        space = {"np": np}
        exec(compile(source, name, "exec"), space)
        program = ft.trace(ft.grad(space["f"]))(np.ones(3))
        seen = 0

        def count(frame, event, argument):
            nonlocal seen
            seen += event == "line"
            frame.f_trace = count
            return count

        sys.settrace(count)
        try:
            program.source  # noqa: B018
        finally:
            sys.settrace(None)
        return seen

    a, b = text(80), text(20)
    print(a, b)
    assert a < 6 * b
