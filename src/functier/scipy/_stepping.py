"""Methods for differential equations as loops of a program.

NOTE [a stiff equation]
    Steps of an implicit method solve equations by Newton's method, whose number of steps and whose
    errors are other ones for each derivative. Those of Rosenbrock solve linear equations with the
    Jacobian of the slope, a fixed number. The coefficients are those of RODAS: Hairer and Wanner,
    Solving Ordinary Differential Equations II, section IV.7. A solution is found by the inverse,
    which is plain, and steps that correct it, one for each order of derivatives, as for a root.
    The inverse is made of operations that have NumPy's bits in machine code.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .._control.loops import while_loop
from .._control.masks import bare
from .._core.ambient import AMBIENT
from .._core.numpy_facts import shape_of
from .._custom.steps import Step
from .._levels.lineage import levels_of
from .._transforms.jacobian import jacfwd
from .._transforms.jvp import jvp
from .._transforms.stop_gradient import stop_gradient

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""The factors of a step: for safety, and the smallest and the largest one."""

BORDER, STIFF = 6.1, 12.0
"""The bound of stability of DOP853, and the number of steps there that make an equation stiff."""

EPSILON = float(np.finfo(float).eps)


def scale(atol: Any, rtol: Any, states: Sequence) -> Any:
    """Return the errors that count as 1, at the larger one of some states."""
    return atol + functools.reduce(np.maximum, [np.abs(y) for y in states]) * rtol


def root_of_sum(x: Any) -> Any:
    """Return the root of a sum; halves are added, as machine code adds arrays with NumPy's bits."""
    rest: Any = 0.0
    while n := shape_of(x)[0] // 2:
        rest = rest + x[-1] if shape_of(x)[0] % 2 else rest
        x = x[:n] + x[n : 2 * n]
    return np.sqrt(x[0] + rest)


def relative(x: Any, atol: Any, rtol: Any, *states: Any) -> Any:
    """Return numbers divided by the errors that count as 1 at some states."""
    return x / scale(atol, rtol, states)


def combined(factors: Any, slopes: list) -> Any:
    """Return the sum of slopes times factors."""
    found: Any = 0.0
    for factor, slope in zip(factors, slopes):
        if factor:
            found = found + float(factor) * slope
    return found


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """Return a number, which `numpy.where` makes an array without axes."""
    return np.where(condition, x, y)[()]


class Steps:
    """The steps of a method of Runge and Kutta in one direction, `way`, to the time `tf`."""

    method: Any = None
    more_calls = 0
    """The slopes that a step takes for the times in it."""

    def __init__(
        self, system: Callable, way: float, tf: float, t_eval: np.ndarray, most: float,
        rtol: Any = 1e-3, atol: Any = 1e-6, max_step: float = np.inf, first_step: Any = None,
        parts: Any = None,
    ):  # fmt: skip
        self.system, self.way, self.tf, self.t_eval = system, way, tf, t_eval
        self.rtol, self.atol = np.maximum(rtol, 100 * EPSILON), np.asarray(atol)
        self.max_step, self.first_step = max_step, first_step
        self.order = self.method.error_estimator_order
        self.parts, self.most = parts, most
        self.batched = Step.has_examples()

    def size(self, x: Any, *states: Any) -> Any:
        """Return how large errors are, or slopes, beside what counts as 1 at some states."""
        given, count = (x, self.atol, self.rtol, *states), shape_of(x)[0]
        if self.parts is None:
            found = relative(*map(stop_gradient, given))
        else:
            found, count = self.parts.of(*given), self.parts.count
        return (root_of_sum(found**2) if self.batched else np.linalg.norm(found)) / count**0.5

    def first(self, t0: float, y: Any, f: Any) -> Any:
        """Return the size of the first step."""
        if self.first_step is not None:
            return float(self.first_step)
        whole = abs(self.tf - t0)
        d0, d1 = self.size(y, y), self.size(f, y)
        tiny = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = np.minimum(chosen(tiny, 1e-6, 0.01 * d0 / chosen(tiny, 1.0, d1)), whole)
        ahead = self.system(t0 + h0 * self.way, y + h0 * self.way * f)
        d2 = self.size(ahead - f, y) / h0
        flat = (d1 <= 1e-15) & (d2 <= 1e-15)
        rate = chosen(flat, 1.0, np.maximum(d1, d2))
        h1 = chosen(flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / rate) ** (1 / (self.order + 1)))
        return np.minimum(np.minimum(100 * h0, h1), np.minimum(whole, self.max_step))

    def solve(self, t0: float, y0: Any) -> tuple[Any, Any]:
        """Return the states at the times, and the calls of the system."""
        y0, self.t0 = y0 + 0.0, t0
        f = self.system(t0, y0)
        size = self.first(t0, y0, f)
        zero = 0.0 * size  # so that the first step takes what all take
        states = np.zeros((len(self.t_eval), 1)) + y0
        start = t0 + zero, y0, f, size, zero > 1.0, zero > 1.0, zero, 1.0 + zero, states
        end = while_loop(self.goes_on, self.trial, start)
        if np.any(bare(end[-4], asks=False)[0]):
            raise NotImplementedError
        return end[-1], end[-2] + (self.first_step is None)

    def goes_on(self, carry: tuple) -> Any:
        t, *_, failed, _, _, _ = carry
        return (self.way * (t - self.tf) < 0) & ~failed

    def trial(self, carry: tuple) -> tuple:
        """Try a step, and take it if its error is small enough."""
        t, y, f, size, rejected, failed, stiff, calls, states = carry
        least = 10 * EPSILON * np.abs(t)
        failed = (rejected & (size < least)) | (calls > self.most) | (stiff > STIFF)
        size = chosen(rejected, size, np.minimum(np.maximum(size, least), self.max_step))
        ahead = t + size * self.way
        ahead = chosen(self.way * (ahead - self.tf) > 0, self.tf, ahead)
        h = ahead - t
        size = np.abs(h)
        new, slopes = self.stages(t, h, y, f)
        error = self.error(h, slopes, y, new)
        taken = error < 1
        factor = SAFETY * chosen(error == 0, 1.0, error) ** (-1 / (self.order + 1))
        grown = chosen(error == 0, MOST, chosen(factor < MOST, factor, MOST))
        grown = chosen(rejected & (grown > 1), 1.0, grown)
        size = size * chosen(taken, grown, chosen(factor > LEAST, factor, LEAST))
        if np.isfinite(self.most):
            here = chosen(self.is_stiff(h, y, new, slopes), stiff + 1.0, 0.5 * stiff)
            stiff = chosen(taken, here, stiff)
        calls = calls + (len(slopes) - 1.0)
        after = taken & (self.way * (self.t_eval - t) > 0)
        inside = after & (self.way * (self.t_eval - ahead) <= 0)
        if self.more_calls:
            first = taken & (t == self.t0) & (self.t_eval[0] == self.t0)
            calls = calls + chosen(np.any(inside) | first, self.more_calls, 0.0)
        x = np.where(inside, (self.t_eval - t) / h, 0.0)[:, None]
        states = np.where(inside[:, None], self.between(x, t, h, y, new, slopes), states)
        y, f = [np.where(taken, a, b) for a, b in ((new, y), (slopes[-1], f))]
        t = chosen(taken, ahead, t)
        return t, y, f, size, ~taken, failed, stiff, calls, states

    def stages(self, t: Any, h: Any, y: Any, f: Any) -> tuple[Any, list]:
        """Return the state after a step, and slopes, of which the last is the one there."""
        method, slopes = self.method, [f]
        for row, c in zip(method.A[1:], method.C[1:]):
            slopes.append(self.system(t + c * h, y + h * combined(row, slopes)))
        new = y + h * combined(method.B, slopes)
        return new, [*slopes, self.system(t + h, new)]

    def error(self, h: Any, slopes: list, y: Any, new: Any) -> Any:
        """Return the error of a step, which is taken where that is less than 1."""
        return self.size(h * combined(self.method.E, slopes), y, new)

    def between(self, x: Any, t: Any, h: Any, y: Any, new: Any, slopes: list) -> Any:
        """Return the states at parts `x` of a step."""
        found: Any = 0.0
        for column in self.method.P.T[::-1]:
            found = (found + combined(column, slopes)) * x
        return y + h * found

    def is_stiff(self, h: Any, y: Any, new: Any, slopes: list) -> Any:
        """Return whether stability limits a step, where that is known."""
        return np.abs(h) < 0


class Third(Steps):
    method = sci.RK23


class Fifth(Steps):
    method = sci.RK45


class Eighth(Steps):
    """The steps of DOP853, whose error is that of two estimates."""

    method = sci.DOP853
    more_calls = len(method.C_EXTRA)

    def error(self, h: Any, slopes: list, y: Any, new: Any) -> Any:
        method = self.method
        fifth, third = [self.size(combined(e, slopes), y, new) for e in (method.E5, method.E3)]
        both = fifth**2 + 0.01 * third**2
        return np.abs(h) * fifth**2 / np.sqrt(chosen(both == 0, 1.0, both))

    def is_stiff(self, h: Any, y: Any, new: Any, slopes: list) -> Any:
        """Return that by what the slope makes of a small difference.

        As in Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.2.
        """
        last = y + h * combined(self.method.A[-1], slopes[:-1])
        found = [stop_gradient(x) for x in (slopes[-1] - slopes[-2], new - last)]
        rise, way = [root_of_sum(x**2) for x in found]
        return np.abs(h) * rise > BORDER * way

    def between(self, x: Any, t: Any, h: Any, y: Any, new: Any, slopes: list) -> Any:
        more, end, method = [*slopes], slopes[-1], self.method
        for row, c in zip(method.A_EXTRA, method.C_EXTRA):
            more.append(self.system(t + c * h, y + h * combined(row, more)))
        change = new - y
        rows = [change, h * slopes[0] - change, 2.0 * change - h * (end + slopes[0])]
        rows += [h * combined(row, more) for row in method.D]
        found: Any = 0.0
        for i, row in enumerate(reversed(rows)):
            found = (found + row) * (1.0 - x if i % 2 else x)
        return y + found


class RodasTable:
    """The coefficients of RODAS: of the states, the slopes and the dense output."""

    error_estimator_order = 3
    GAMMA = 0.25
    C = 0.0, 0.386, 0.21, 0.63, 1.0, 1.0
    T = 0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0
    A = (
        (), (1.544,), (0.9466785280815826, 0.2557011698983284),
        (3.314825187068521, 2.896124015972201, 0.9986419139977817),
        (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
        (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0),
    )  # fmt: skip
    F = (
        (), (-5.6688,), (-2.430093356833875, -0.2063599157091915),
        (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
        (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
        (
            8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
            -6.058818238834054,
        ),
    )  # fmt: skip
    D = (
        (
            10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
            1.025137723295662,
        ),
        (
            -0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
            -6.594389125716872,
        ),
    )  # fmt: skip


LARGEST = 16
"""The number of unknowns of a stiff equation that a loop takes: its inverse is written out."""


class Rodas(Steps):
    """The steps of a method of Rosenbrock: see NOTE [a stiff equation]."""

    method = RodasTable

    def stages(self, t: Any, h: Any, y: Any, f: Any) -> tuple[Any, list]:
        n, method = shape_of(y)[0], self.method
        if n > LARGEST:
            raise NotImplementedError
        order = len([one for one in levels_of(AMBIENT.get()) if one.differentiates])
        slope = stop_gradient(jacfwd(lambda y: self.system(t, y))(y))
        rate = 1.0 / (method.GAMMA * h)
        inverse = inverse_of(np.eye(n) * rate - slope)
        columns = [inverse[:, k] for k in range(n)]

        def solved(x: Any) -> Any:
            return functools.reduce(np.add, [column * x[k] for k, column in enumerate(columns)])

        later = jvp(lambda t: self.system(t, y), (t,), (1.0,))[1]
        found: list[Any] = []
        for row, others, c, d in zip(method.A, method.F, method.C, method.T):
            at = self.system(t + c * h, y + combined(row, found)) if row else f
            right = at + combined(others, found) / h + d * h * later
            x = solved(right)
            for _ in range(order):
                pushed = jvp(lambda y: self.system(t, y), (y,), (x,))[1]
                x = x + solved(right - (x * rate - pushed))
            found.append(x)
        new = y + combined((*method.A[-1], 1.0), found)
        return new, [*found, self.system(t + h, new)]

    def error(self, h: Any, slopes: list, y: Any, new: Any) -> Any:
        return self.size(slopes[5], y, new)

    def between(self, x: Any, t: Any, h: Any, y: Any, new: Any, slopes: list) -> Any:
        first, second = [combined(row, slopes) for row in self.method.D]
        return y * (1.0 - x) + x * (new + (1.0 - x) * (first + x * second))


def inverse_of(x: Any) -> Any:
    """Return the inverse of a matrix, by elimination with the largest pivots."""
    n = shape_of(x)[0]
    table = np.concatenate([x, np.eye(n) + 0.0 * x], 1)
    free, places, rows = 1.0 + 0.0 * x[:, 0], np.arange(n), []
    for k in range(n):
        column = table[:, k]
        p = np.argmax(np.where(free > 0, np.abs(column), -1.0))
        mine = places == p
        row = table[p] / column[p]
        table = np.where(mine[:, None], row, table - column[:, None] * row)
        free = np.where(mine, 0.0, free)
        rows.append(p)
    return np.stack([table[p, n:] for p in rows])


def steps_of(method: Any) -> type[Steps]:
    """Return the steps of an explicit method."""
    return next(cls for cls in (Third, Fifth, Eighth) if cls.method is method)
