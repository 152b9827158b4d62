"""Costs of calls, as counts of calls, lines and arrays."""

from functools import partial

import numpy as np
import pytest

import functier as ft
from support.basics import calls_of, silent

RNG = np.random.default_rng(0)


def lines(f, *args):
    """Return how many lines the program of a gradient has."""
    with silent():
        return len(ft.trace(ft.grad(f))(*args).source.splitlines())


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


def sorts(x):
    for _ in range(20):
        x = np.sort(x) * 1.01
    return np.sum(x * x)


def test_a_loop_of_sorts_is_machine_code():
    pytest.importorskip("llvmlite")
    c = ft.compile(ft.grad(sorts))
    for _ in range(3):
        c(np.arange(8.0))
    assert "NumPy's: loop" not in c.explain()


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


def test_a_loop_of_banded_systems_is_machine_code():
    pytest.importorskip("llvmlite")
    solve = pytest.importorskip("functier.scipy.linalg").solve_banded

    def banded(s):
        bands = np.stack([-0.1 * s, 1.0 + 0.3 * s, -0.1 * s])
        v = 0.0 * s + 1.0
        for _ in range(20):
            v = solve((1, 1), bands, v + 0.01 * np.sin(v))
        return np.sum(v)

    c, x = ft.compile(ft.grad(banded)), np.linspace(1.0, 2.0, 8)
    for _ in range(3):
        c(x)
    assert "NumPy's: loop" not in c.explain()


def test_a_last_axis_that_is_batched_becomes_columns_of_one_product():
    f = ft.vmap(lambda m: np.ones((8, 8)) @ m, in_dims=-1, out_dims=-1)
    assert "np.copy(" not in ft.trace(f)(np.ones((8, 8, 100))).source
