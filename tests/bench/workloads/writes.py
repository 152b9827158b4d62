"""Loops that fill arrays: factorizations, sweeps, filters, time steps, sums in place.

The libraries write in their own way: see `Library.put`, `Library.item` and `Library.repeat`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import LIBRARIES, Library
from .base import Workload

INNER = slice(1, -1)
UNWRITTEN = ("autograd",)
"""Libraries whose arrays cannot be written to."""


class Factorization(Workload):
    """The gradient of the log determinant of a 12x12 matrix, by LU in loops."""

    name = "writes_lu12_grad"
    without = UNWRITTEN
    compiled_bound = 0.1

    def inputs(self) -> tuple:
        return (np.random.default_rng(20).normal(size=(12, 12)) + 12 * np.eye(12),)

    def function(self, lib: Library) -> Callable:
        def log_determinant(A):
            A, n, total = lib.own(A), len(A), 0.0
            for k in range(n):
                for i in range(k + 1, n):
                    factor = lib.item(A, (i, k)) / lib.item(A, (k, k))
                    A = lib.put(A, (i, k), factor)
                    rest = factor * lib.item(A, (k, slice(k + 1, None)))
                    A = lib.add(A, (i, slice(k + 1, None)), -rest)
                total = total + lib.np.log(lib.np.abs(A[k, k]))
            return total

        return lib.grad(log_determinant)

    @staticmethod
    def floor(A):
        A, n = A.copy(), len(A)
        for k in range(n):
            for i in range(k + 1, n):
                A[i, k] /= A[k, k]
                A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
        np.sum(np.log(np.abs(np.diagonal(A))))
        G = np.diag(1 / np.diagonal(A))
        for k in reversed(range(n)):
            for i in reversed(range(k + 1, n)):
                g = G[i, k + 1 :]
                G[k, k + 1 :] -= A[i, k] * g
                G[i, k] = (G[i, k] - g @ A[k, k + 1 :]) / A[k, k]
                G[k, k] -= G[i, k] * A[i, k]
        return G


class Sweeps(Workload):
    """The gradient through three Gauss-Seidel sweeps for 16 unknowns."""

    name = "writes_gauss_seidel_grad"
    without = UNWRITTEN
    sweeps = 3

    def inputs(self) -> tuple:
        rng = np.random.default_rng(21)
        return rng.normal(size=(16, 16)) + 16 * np.eye(16), rng.normal(size=16)

    def function(self, lib: Library) -> Callable:
        def size(A, b):
            n = len(b)
            x = lib.zeros(n)
            for _ in range(self.sweeps):
                for i in range(n):
                    left = A[i, :i] @ lib.item(x, slice(i)) if i else 0.0
                    right = A[i, i + 1 :] @ lib.item(x, slice(i + 1, n)) if i + 1 < n else 0.0
                    x = lib.put(x, i, (b[i] - left - right) / A[i, i])
            return lib.np.sum(x * x)

        return lib.grad(size, (0, 1))

    def floor(self, A, b):
        n, saved = len(b), []
        x, gA, gb = np.zeros(n), np.zeros_like(A), np.zeros(n)
        for _ in range(self.sweeps):
            for i in range(n):
                saved.append(x.copy())
                x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        g, after = 2 * x, x[n - 1]
        for i in list(reversed(range(n))) * self.sweeps:
            before = saved.pop()
            h, g[i] = g[i] / A[i, i], 0.0
            gb[i] += h
            after, before[i] = before[i - 1], after
            gA[i] -= h * before
            g[:i] -= h * A[i, :i]
            g[i + 1 :] -= h * A[i, i + 1 :]
        return gA, gb


class Filter(Workload):
    """The gradient through a Kalman filter that fills arrays of states and covariances."""

    name = "writes_kalman_grad"
    without = UNWRITTEN
    noise = 0.5
    motion = np.array([[1.0, 0.1], [0.0, 1.0]])
    start = np.zeros(2), np.eye(2)

    def inputs(self) -> tuple:
        rng = np.random.default_rng(22)
        return np.array(0.3), np.cumsum(rng.normal(size=50))

    def function(self, lib: Library) -> Callable:
        F, x0, P0 = (lib.array(v) for v in (self.motion, *self.start))

        def loss(q, zs):
            n = len(zs)

            def step(t, state):
                x, P, xs, Ps = state
                x, P = F @ x, F @ P @ F.T + q * P0
                K = P[:, 0] / (P[0, 0] + self.noise)
                x, P = x + K * (zs[t] - x[0]), P - K[:, None] * P[0]
                return x, P, lib.put(xs, t, x), lib.put(Ps, t, P)

            state = x0, P0, lib.zeros(n, 2), lib.zeros(n, 2, 2)
            _, _, xs, Ps = lib.repeat(step, n, state)
            return lib.np.sum(xs[:, 0] ** 2) + lib.np.sum(Ps[:, 0, 0])

        return lib.grad(loss, (0, 1))

    def floor(self, q, zs):
        F, (x, P), n, saved = self.motion, self.start, len(zs), []
        xs, Ps, eye = np.zeros((n, 2)), np.zeros((n, 2, 2)), P
        for t in range(n):
            x, P = F @ x, F @ P @ F.T + q * eye
            S = P[0, 0] + self.noise
            K, error = P[:, 0] / S, zs[t] - x[0]
            saved.append((P, S, K, error))
            x, P = x + K * error, P - K[:, None] * P[0]
            xs[t], Ps[t] = x, P
        np.sum(xs[:, 0] ** 2) + np.sum(Ps[:, 0, 0])
        gq, gzs, gx, gP = 0.0, np.zeros(n), np.zeros(2), np.zeros((2, 2))
        for t in reversed(range(n)):
            P, S, K, error = saved.pop()
            gx[0] += 2 * xs[t, 0]
            gP[0, 0] += 1.0
            gK = gx * error - gP @ P[0]
            gzs[t] = gx @ K
            gx[0] -= gzs[t]
            gP[0] -= K @ gP
            gP[:, 0] += gK / S
            gP[0, 0] -= gK @ K / S
            gq += gP[0, 0] + gP[1, 1]
            gx, gP = F.T @ gx, F.T @ gP @ F
        return gq, gzs


class RungeKutta(Workload):
    """The gradient through 100 steps of a solver that fills ``ys[k + 1]``."""

    name = "writes_rk4_grad"
    without = UNWRITTEN
    steps, h = 100, 0.05

    def inputs(self) -> tuple:
        rng = np.random.default_rng(23)
        return rng.normal(size=(4, 4)), rng.normal(size=4)

    def function(self, lib: Library) -> Callable:
        h = self.h

        def loss(W, y0):
            def field(y):
                return lib.np.tanh(W @ y)

            def step(k, ys):
                y = lib.item(ys, k)
                k1 = field(y)
                k2 = field(y + h / 2 * k1)
                k3 = field(y + h / 2 * k2)
                k4 = field(y + h * k3)
                return lib.put(ys, k + 1, y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

            ys = lib.put(lib.zeros(self.steps + 1, 4), 0, y0)
            return lib.np.sum(lib.repeat(step, self.steps, ys) ** 2)

        return lib.grad(loss, (0, 1))

    def floor(self, W, y0):
        h, ys, saved = self.h, np.zeros((self.steps + 1, 4)), []
        ys[0] = y0
        for k in range(self.steps):
            y, stages, slope = ys[k], [], 0.0
            for part in (0.0, h / 2, h / 2, h):
                at = y + part * slope
                slope = np.tanh(W @ at)
                stages.append((at, slope))
            saved.append(stages)
            k1, k2, k3, k4 = (slope for _, slope in stages)
            ys[k + 1] = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        np.sum(ys**2)
        gW, g = np.zeros_like(W), 2 * ys[-1]
        for k in reversed(range(self.steps)):
            total, down = g, 0.0
            weights = (h / 6, h / 3, h / 3, h / 6), (h / 2, h / 2, h, 0.0)
            for (at, slope), weight, part in zip(saved.pop()[::-1], *(w[::-1] for w in weights)):
                a = (weight * g + part * down) * (1 - slope * slope)
                gW += a[:, None] * at
                down = W.T @ a
                total = total + down
            g = total + 2 * ys[k]
        return gW, g


class Heat(Workload):
    """The gradient through 100 steps of the heat equation on 200 points, in place."""

    name = "writes_heat_grad"
    without = UNWRITTEN
    steps = 100

    def inputs(self) -> tuple:
        return np.random.default_rng(24).normal(size=200), np.array(0.2)

    def function(self, lib: Library) -> Callable:
        def energy(u, r):
            def step(_, u):
                return lib.add(u, INNER, r * (u[2:] - 2 * u[1:-1] + u[:-2]))

            return lib.np.sum(lib.repeat(step, self.steps, lib.own(u)) ** 2)

        return lib.grad(energy, (0, 1))

    def floor(self, u, r):
        u, bends, gr = u.copy(), [], 0.0
        for _ in range(self.steps):
            bends.append(u[2:] - 2 * u[1:-1] + u[:-2])
            u[1:-1] += r * bends[-1]
        np.sum(u**2)
        g = 2 * u
        while bends:
            gr += g[1:-1] @ bends.pop()
            inner = r * g[1:-1]
            g[2:] += inner
            g[1:-1] -= 2 * inner
            g[:-2] += inner
        return g, gr


class Rolls(Workload):
    """The gradient through 500 steps of the heat equation on 128 by 128 points, by rolls."""

    name = "rolls_heat_grad"

    def __init__(self, n: int = 128, steps: int = 500) -> None:
        self.n, self.steps = n, steps

    def small(self) -> Workload:
        return Rolls(12, 20)

    def inputs(self) -> tuple:
        return (np.random.default_rng(25).normal(size=(self.n, self.n)),)

    def loop(self, lib: Library) -> Callable:
        return lib.loop

    def function(self, lib: Library) -> Callable:
        def energy(u):
            return lib.np.sum(self.loop(lib)(lambda u, _: heated(lib.np.roll, u), u, steps) ** 2)

        steps = np.zeros(self.steps)
        return lib.grad(energy)

    def floor(self, u):
        for _ in range(self.steps):
            u = heated(np.roll, u)
        np.sum(u**2)
        g = 2 * u
        for _ in range(self.steps):
            g = heated(np.roll, g)
        return g


def heated(roll: Callable, u: Any) -> Any:
    """The temperatures after one step; the step is its own transpose."""
    return u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u)


class Escape(Workload):
    """The escape of points of the plane, with masks: each step goes on with those left."""

    name = "masks_escape"
    without = tuple([name for name in LIBRARIES if not name.startswith("functier")])

    def inputs(self) -> tuple:
        x, y = np.linspace(-2, 0.5, 150), np.linspace(-1.25, 1.25, 150)
        return (x + y[:, None] * 1j,)

    def function(self, lib: Library) -> Callable:
        return self.floor

    @staticmethod
    def floor(points):
        z, last = np.zeros_like(points), np.zeros_like(points.real)
        for k in range(40):
            left = np.absolute(z) < 2.0
            last[left] = k
            z[left] = z[left] ** 2 + points[left]
        return z.real, last


class Recurrence(Workload):
    """The derivative of a recurrence of numbers, ``y[i + 1] = f(y[i])``; a step costs the same
    for any length.
    """

    def __init__(self, mode: str, n: int) -> None:
        self.name = f"writes_recurrence_1e{len(str(n)) - 1}_{mode}"
        self.mode, self.n = mode, n
        # What copies the array at each step would take minutes.
        self.without = UNWRITTEN if n < 10_000 else (*UNWRITTEN, "jax", "jax_jit", "mygrad")

    def small(self) -> Workload:
        return Recurrence(self.mode, 100)

    def inputs(self) -> tuple:
        return (np.array(0.3),)

    def function(self, lib: Library) -> Callable:
        def total(x):
            def step(i, y):
                return lib.put(y, i + 1, lib.np.cos(lib.item(y, i)))

            y = lib.put(lib.zeros(self.n + 1), 0, x)
            return lib.np.sum(lib.repeat(step, self.n, y))

        if self.mode == "grad":
            return lib.grad(total)
        jvp = lib.jvp
        return lambda x: jvp(total, (x,), (lib.np.ones_like(x),))

    def floor(self, x):
        n, y, t = self.n, np.zeros(self.n + 1), np.zeros(self.n + 1)
        y[0], t[0] = x, 1.0
        if self.mode == "jvp":
            for i in range(n):
                y[i + 1] = np.cos(y[i])
                t[i + 1] = -np.sin(y[i]) * t[i]
            return np.sum(y), np.sum(t)
        for i in range(n):
            y[i + 1] = np.cos(y[i])
        np.sum(y)
        g = 1.0
        for i in reversed(range(n)):
            g = 1.0 - np.sin(y[i]) * g
        return g


class Sums(Workload):
    """1000 arrays of 1e5 numbers added up in place, with their tangents."""

    name = "writes_sums_jvp"
    without = UNWRITTEN
    terms = 1000

    def __init__(self, n: int = 10**5) -> None:
        self.n = n

    def small(self) -> Workload:
        return Sums(100)

    def inputs(self) -> tuple:
        return tuple(np.random.default_rng(25).normal(size=(2, 10, self.n)))  # each comes often

    def function(self, lib: Library) -> Callable:
        def total(xs):
            def step(i, acc):
                acc += xs[i % 10]
                return acc

            return lib.repeat(step, self.terms, lib.zeros(self.n))

        jvp = lib.jvp
        return lambda xs, ts: jvp(total, (xs,), (ts,))

    def floor(self, xs, ts):
        def total(xs: Any) -> np.ndarray:
            acc = np.zeros(self.n)
            for i in range(self.terms):
                acc += xs[i % 10]
            return acc

        return total(xs), total(ts)
