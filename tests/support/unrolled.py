"""Loops that a trace records step by step, by which its cost for a node is measured."""

import sys
from collections.abc import Callable

import numpy as np

import functier as ft
import functier.numpy as fnp

LOOPS: dict[str, Callable[[int], tuple]] = {}
"""For each loop a function of the number of steps; it returns a function and its arguments."""


def loop(make: Callable[[int], tuple]) -> Callable[[int], tuple]:
    LOOPS[make.__name__] = make
    return make


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


def gradient(make: Callable[[int], tuple], steps: int) -> tuple:
    """Return the gradient for all arguments, and these."""
    f, args = make(steps)
    return ft.grad(f, argnums=tuple(range(len(args))) if len(args) > 1 else 0), args


def lines_of(call: Callable) -> int:
    """Return how many lines of Python a call runs: an iteration counts, also of a comprehension."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@loop
def pendulum(steps, n=8):
    def f(p, v):
        for _ in range(steps):
            a = -np.sin(p) - 0.1 * v
            v = v + 0.01 * a
            p = p + 0.01 * v
        return np.sum(p * p)

    return f, (numbers(n), numbers(n))


@loop
def network(steps):
    def f(w, h, xs):
        for t in range(steps):
            h = np.tanh(w @ h + xs[t])
        return np.sum(h)

    return f, (numbers(16, 16) / 16, numbers(16), numbers(steps, 16))


@loop
def kalman(steps):
    def f(q, r, zs):
        x, p, total = 0.0, 1.0, 0.0
        for t in range(steps):
            p = p + q
            s = p + r
            k = p / s
            e = zs[t] - x
            x = x + k * e
            p = (1 - k) * p
            total = total - 0.5 * (np.log(s) + e * e / s)
        return total

    return f, (0.1, 0.5, numbers(steps))


MASSES = np.array([1.0, 2.0, 3.0])


def pull(x):
    """Return the accelerations of three bodies."""
    d = x[None, :, :] - x[:, None, :]
    squares = np.sum(d * d, axis=-1) + 0.01
    return np.sum(d * (MASSES[None, :] / (squares * np.sqrt(squares)))[:, :, None], axis=1)


@loop
def bodies(steps):
    def f(x, v):
        for _ in range(steps):
            v = v + 0.01 * pull(x)
            x = x + 0.01 * v
        return np.sum(x * x)

    return f, (numbers(3, 3), numbers(3, 3) / 2)


@loop
def heat(steps, n=64):
    def f(u):
        for _ in range(steps):
            around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
            u = u + 0.1 * (around - 4 * u)
        return np.sum(u * u)

    return f, (numbers(n, n),)


@loop
def writes(steps):
    def f(start):
        y = fnp.zeros(steps + 1)
        y[0] = start
        for i in range(steps):
            y[i + 1] = y[i] + 0.1 * np.sin(y[i])
        return np.sum(y * y)

    return f, (0.3,)


@loop
def seidel(steps):
    """Sweep over rows of four elements, each the mean of itself and its neighbours."""

    def f(a):
        a = a.copy()
        for i in range(1, steps + 1):
            for j in range(1, 5):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                row = a[i, j - 1] + a[i, j] + a[i, j + 1]
                a[i, j] = (above + row + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0
        return np.sum(a * a)

    return f, (numbers(steps + 2, 6),)
