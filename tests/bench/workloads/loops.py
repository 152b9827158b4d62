"""Loops that are given: gradients through `scan`, where a library has it, else a Python loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..libraries import Library
from .base import Workload
from .networks import Recurrent
from .writes import Rolls


class Scan(Workload):
    """The gradient of a number that a loop computes from a few parameters."""

    steps: int

    def __init__(self, steps: int = 0) -> None:
        self.steps = steps or self.steps

    def small(self) -> Workload:
        return type(self)(5)

    def value(self, lib: Any, params: Any, xs: Any) -> Any:
        """Return the number, for real and complex parameters."""
        raise NotImplementedError

    def function(self, lib: Library) -> Callable:
        return lib.grad(lambda params, xs: self.value(lib, params, xs))

    def expected(self) -> Any:
        """The derivatives by complex steps (Squire and Trapp, 1998)."""
        params, xs = self.inputs()
        found = np.zeros(params.size)
        for i in range(params.size):
            moved = params.astype(complex)
            moved.flat[i] += 1e-30j
            found[i] = np.imag(self.value(Plain, moved, xs)) / 1e-30
        return found.reshape(params.shape)


class Plain:
    """NumPy, and a Python loop."""

    np = np

    @staticmethod
    def scan(step: Callable, state: Any, xs: Any) -> Any:
        for x in xs:
            state = step(state, x)
        return state


class Pendulum(Scan):
    """1,000 steps of eight damped pendulums that are driven, by their first angles."""

    name = "scan_pendulum_grad"
    steps = 1000

    def inputs(self) -> tuple:
        return np.linspace(0.1, 1.0, 8), np.sin(np.arange(self.steps) * 0.01)

    def value(self, lib: Any, params: Any, xs: Any) -> Any:
        def step(state, force):
            angle, speed = state
            speed = speed + 0.01 * (force - lib.np.sin(angle) - 0.1 * speed)
            return angle + 0.01 * speed, speed

        angle, speed = lib.scan(step, (params, 0.0 * params), xs)
        return lib.np.sum(angle * angle + speed * speed)


class Bodies(Scan):
    """200 steps of five bodies that attract each other, by their first places."""

    name = "scan_nbody_grad"
    steps = 200

    def inputs(self) -> tuple:
        return np.random.default_rng(31).normal(size=(5, 3)), np.full(self.steps, 0.01)

    def value(self, lib: Any, params: Any, xs: Any) -> Any:
        def pull(places):
            apart = places[None, :, :] - places[:, None, :]
            far = lib.np.sum(apart * apart, 2) + 0.1
            return lib.np.sum(apart * (far**-1.5)[:, :, None], 1)

        def step(state, h):
            places, speeds = state
            speeds = speeds + 0.5 * h * pull(places)
            places = places + h * speeds
            return places, speeds + 0.5 * h * pull(places)

        places, _ = lib.scan(step, (params, 0.0 * params), xs)
        return lib.np.sum(places * places)


class Kalman(Scan):
    """The likelihood of 1,000 measurements of a moving point, by three variances."""

    name = "scan_kalman_grad"
    steps = 1000

    def inputs(self) -> tuple:
        return np.array([0.1, 0.2, 0.5]), np.random.default_rng(32).normal(size=self.steps)

    def value(self, lib: Any, params: Any, xs: Any) -> Any:
        move = lib.np.asarray(np.array([[1.0, 0.1], [0.0, 1.0]]))
        one, both = [lib.np.asarray(x) for x in (np.array([1.0, 0.0]), np.eye(2))]
        noise = params[:2] * both

        def step(state, x):
            mean, spread, total = state
            mean, spread = move @ mean, move @ spread @ move.T + noise
            size, miss = spread[0, 0] + params[2], x - mean[0]
            gain = spread @ one / size
            spread = spread - gain[:, None] * spread[0]
            return mean + gain * miss, spread, total + miss * miss / size + lib.np.log(size)

        zero = 0.0 * params
        return lib.scan(step, (zero[:2], zero[:2] + both, zero[0]), xs)[2]


class Hidden(Scan):
    """The likelihood of 1,000 observations of a hidden Markov model of eight states."""

    name = "scan_hmm_grad"
    steps = 1000

    def inputs(self) -> tuple:
        rng = np.random.default_rng(33)
        return rng.normal(size=(8, 8)), rng.uniform(0.1, 1.0, size=(self.steps, 8))

    def value(self, lib: Any, params: Any, xs: Any) -> Any:
        rates = lib.np.exp(params)
        rates = rates / lib.np.sum(rates, 1)[:, None]

        def step(state, likely):
            here, total = state
            here = (here @ rates) * likely
            size = lib.np.sum(here)
            return here / size, total + lib.np.log(size)

        first = 0.0 * params[0]
        return lib.scan(step, (first + 0.125, first[0]), xs)[1]


class RecurrentScan(Recurrent):
    """The gradient through 200 steps of a recurrent network, as a loop that is given."""

    name = "scan_rnn_grad"

    def small(self) -> Workload:
        small = RecurrentScan()
        small.steps = 5
        return small

    def loop(self, lib: Library) -> Callable:
        return lib.scan


class HeatScan(Rolls):
    """The gradient through 500 steps of the heat equation, as a loop that is given."""

    name = "scan_heat_grad"

    def small(self) -> Workload:
        return HeatScan(12, 20)

    def loop(self, lib: Library) -> Callable:
        return lib.scan
