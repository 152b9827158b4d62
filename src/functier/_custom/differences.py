"""Slopes of plain functions by central differences, whose steps choose themselves.

NOTE [complex numbers are two real ones]
    A complex element is two coordinates, its real and its imaginary part, on either side.
    So a Jacobian is a real matrix for every function, holomorphic or not. Forward mode
    pushes ``1`` and ``1j`` forward; reverse mode pulls ``1`` and ``1j`` back, and the parts of
    the result are the row, as the cotangent of ``x`` pairs with a tangent by
    ``real(conj(g) * t)``.

NOTE [steps that choose themselves]
    A ladder of steps goes down from a tenth of the size of the input. The central differences
    are extrapolated to the step zero (Richardson, by Ridders' table), and so are the halves of
    the difference of the one-sided slopes, whose limit is zero where there is a derivative. The
    error of an entry of the table is estimated as the largest of its distances from the entries
    that it was made of, and of that limit; the entry with the least estimate counts. No two
    steps have a rational ratio: else the values of a function that was rounded to some digits
    would seem to agree. The next ladder begins at the size 1, which is right for numbers that
    are zero by rounding and for large numbers in periodic functions; the last one at a
    thousandth of both, near poles.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._core.numpy_facts import Value, dtype_of, shape_of

RATIO = math.sqrt(3)
START = 0.11  # of the size
RUNGS, LEAST, ORDERS = 12, 4, 6
SETTLED = 1e-5
ROUNDING = 1000.0


def copy_value(x: Value) -> Value:
    """Return a copy of a value: a scalar of a scalar, a strided array of a strided one."""
    y = np.array(x)
    if not y.shape:
        return y[()]
    strided = isinstance(x, np.ndarray) and not (x.flags.c_contiguous or x.flags.f_contiguous)
    return np.repeat(y, 2, -1)[..., ::2] if strided else y


def real_view(x: Value) -> np.ndarray:
    """Return the coordinates of an array, in its memory where it is contiguous."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def real_vector(values: Sequence) -> np.ndarray:
    """Return all coordinates of several values, in the widest of their precisions."""
    return np.concatenate([real_view(v) for v in values]) if values else np.zeros(0)


def step_along(x: Value, t: Value, h: float) -> Value:
    """Return ``x + h * t`` in the dtype of `x`."""
    return copy_value(np.asarray(x + np.asarray(h, real_view(x).dtype) * t).astype(dtype_of(x)))


def unit_vector(values: Sequence, i: int, k: int) -> list:
    """Return the unit vector of coordinate `k` of value `i`, in the form of the values."""
    made = [np.zeros(shape_of(v), dtype_of(v)) for v in values]
    real_view(made[i])[k] = 1
    return [m[()] for m in made]


def central(ends: Sequence[np.ndarray], width: float) -> np.ndarray:
    """Return the central difference: ``ends`` are the values at the right and at the left."""
    with np.errstate(invalid="ignore", over="ignore"):
        return (ends[0] - ends[1]) / width


def extrapolated(before: list, value: np.ndarray, power: int, ratio: float) -> list:
    """Return the next row of Richardson's table, which begins with the value for the next step.

    The step is smaller by `ratio` than that of the row `before`. The error of the values is a
    series in the step, of `power` and every second power from there.
    """
    row = [value]
    for k, x in enumerate(before):
        with np.errstate(invalid="ignore", over="ignore"):
            row.append(row[-1] + (row[-1] - x) / (ratio ** (power + 2 * k) - 1))
    return row


class Slope:
    """The derivative of ``f(s)`` at 0, of a function of a number that returns a real vector.

    See NOTE [steps that choose themselves].

    Parameters
    ----------
    f : function
        It may raise a ValueError or an ArithmeticError where it is not defined.
    start : array of shape ``(n,)``
        Its value at 0.
    sizes : sequence of float
        The sizes of the input, in units of ``s``; each begins a ladder of steps.
    eps : float
        The relative precision of the values.
    rtol : float
        The largest relative error that is `accepted`.

    Attributes
    ----------
    value, error : array of shape ``(n,)``
        The derivative, and the estimate of its error.
    """

    def __init__(
        self,
        f: Callable[[float], np.ndarray],
        start: np.ndarray,
        sizes: Sequence[float],
        eps: float,
        rtol: float,
    ):
        self.f, self.eps, self.start = f, eps, start
        self.value = np.zeros(self.start.shape)
        self.error = np.full(self.start.shape, np.inf)
        self.moves = np.zeros(self.start.shape)  # one-sided slopes over a large step
        self.ends: list = []  # values at both ends of all steps of a ladder
        claims: list = []
        for n, size in enumerate(sizes, 1):
            claims += self.climb_down(START * size)
            enough = rtol if n + 1 == len(sizes) else SETTLED
            if self.is_within(enough, size).all():
                break
        # A plateau is not the derivative where larger steps agree on another one.
        for value, error in claims:
            off = np.abs(value - self.value)
            other = (self.value == 0) & (off > 10 * error) & (off > 10 * self.error)
            self.error = np.where(other, off, self.error)
        self.accepted = self.is_within(rtol, size) | (self.moves == 0) & np.isfinite(self.error)

    def is_within(self, rtol: float, size: float) -> np.ndarray:
        """Tell which errors are small, relative to the slopes over small and over large steps."""
        least = ROUNDING * self.eps * np.abs(self.start) / max(1.0, size)
        return np.isfinite(self.error) & (self.error <= rtol * self.scale() + least)

    def scale(self) -> np.ndarray:
        return np.maximum(np.abs(self.value), self.moves)

    def near(self, s: float) -> np.ndarray:
        """Return the value at a step; NaN stands for one that there is not."""
        try:
            with np.errstate(all="ignore"):
                return self.f(s)
        except (ArithmeticError, ValueError):
            return np.full(self.start.shape, np.nan)

    def climb_down(self, h: float) -> list:
        """Take the steps of a ladder; return all slopes of the table with their errors."""
        slopes, kinks, self.ends, found = list[np.ndarray](), list[np.ndarray](), [], []
        moves, size = np.zeros(self.start.shape), h / START
        for rung in range(RUNGS):
            right, left = self.near(h), self.near(-h)
            self.ends.append((right, left))
            before = slopes
            slopes = extrapolated(slopes[: ORDERS - 1], central((right, left), 2 * h), 2, RATIO)
            with np.errstate(invalid="ignore"):
                sides = right - self.start, self.start - left
                rounding = self.eps * (np.abs(self.start) + size * np.abs(slopes[0])) / h
                steepest = np.abs(sides).max(0) / h
            kinks = extrapolated(kinks[: ORDERS - 1], central(sides, 2 * h), 1, RATIO)
            moves = np.where(moves == 0, np.where(np.isfinite(steepest), steepest, 0), moves)
            for k in range(1, len(slopes)):
                with np.errstate(invalid="ignore"):
                    apart = [slopes[k] - slopes[k - 1], slopes[k] - before[k - 1], kinks[k]]
                    error = np.abs(apart).max(0) + rounding
                error = np.where(np.isnan(error), np.inf, error)
                found.append((slopes[k], error))
                better = error < self.error
                self.value = np.where(better, slopes[k], self.value)
                self.error = np.where(better, error, self.error)
                self.moves = np.where(better, moves, self.moves)
            if rung + 1 >= LEAST and self.is_within(self.eps ** (2 / 3), size).all():
                break
            h /= RATIO
        return found

    def fault(self, i: int) -> str:
        """Return what keeps element `i` from having a derivative."""
        if np.isinf(self.error[i]):
            return "has no finite values on both sides of the point"
        right, left = np.array([(a[i], b[i]) for a, b in self.ends[-3:]]).T
        bends = (right + left - 2 * self.start[i]) * RATIO ** np.arange(3.0)
        for found, words in ((right - left, "jumps there"), (bends, "has a kink there")):
            if np.ptp(found) < 0.1 * np.abs(found).min():
                return words
        return "is noisy there, or varies too fast"
