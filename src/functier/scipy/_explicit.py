"""Explicit Runge-Kutta methods as loops of a program.

NOTE [steps in the program]
    Where a program is recorded, `solve_ivp` by an explicit method at given times is a `while_loop`
    of functier: machine code, with the user's function in it. Each step is a trial, which is taken
    or not by SciPy's rules. Its arithmetic is SciPy's but for the order of some sums, so the number
    of steps nearly always is, too; the last bits are not. Step sizes are constants of derivatives.
    The first step is chosen as in Hairer, Norsett and Wanner, Solving Ordinary Differential
    Equations I, section II.4, which SciPy follows.

NOTE [who has an error]
    With ``derivative="steps"`` the error of the state alone decides about a step. Otherwise there
    are two loops, as outside of programs: one for the values, and one whose error is that of the
    state and all its derivatives together. A step of fixed size has the same derivative as a step
    of the larger system, so that loop is the same code at the same levels, and `Step.errors` takes
    its error apart. The columns that reverse mode asks for are one system. Other examples of a
    batch are not.

What a loop does not know is a step that calls SciPy: events, dense output, complex states, times
that are values of the program, and equations with many parameters.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._control.loops import while_loop
from .._control.masks import bare
from .._core.ambient import AMBIENT
from .._core.numpy_facts import UFUNC_OF, dtype_of, shape_of
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._custom.steps import Step
from .._levels.lineage import levels_of
from .._transforms.stop_gradient import stop_gradient
from ._equations import MANY
from ._integrands import SMOOTH
from ._ode import TOLERANCE
from ._systems import System, as_state

METHODS = {"RK45": sci.RK45, "RK23": sci.RK23, "DOP853": sci.DOP853}
METHODS |= {method: method for method in METHODS.values()}
OPTIONS = frozenset({"rtol", "atol", "max_step", "first_step"})
WAYS = None, "forward", "steps"
MOST_CALLS = 20_000
"""The slopes that the derivatives of `odeint` may take."""

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""The factors of a step: for safety, and the smallest and the largest one."""

EPSILON = float(np.finfo(float).eps)

EMPTY: Any = sci.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
"""A result of SciPy's, for its class and its message."""


def solve_ivp(
    fun: Callable, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    *, derivative: str | None = None, moves: bool, checked: bool, _most: float = np.inf,
    **options: Any,
) -> Any:  # fmt: skip
    """Solve an equation as SciPy's function does.

    Where it `moves`, its derivatives are asked for. Where it is `checked`, the slope may not jump.
    `NotImplementedError` is for a call that a loop cannot make.
    """
    times = [t_eval, *t_span]
    fits = (
        derivative in WAYS and method in METHODS and t_eval is not None
        and not (dense_output or events)
        and options.keys() <= OPTIONS and not classes_in(*options.values())
        and all([level.guards for cls in classes_in(times) for level in levels_of(cls)])
    )  # fmt: skip
    y0 = as_state(y0)
    if not fits or len(shape_of(y0)) != 1 or dtype_of(y0).kind not in "iuf" or not shape_of(y0)[0]:
        raise NotImplementedError
    t_eval = as_floats(t_eval)
    t0, tf = [x if classes_in(x) else float(x) for x in t_span]
    way = np.sign(tf - t0)
    low, high = sorted([t0, tf])
    if t_eval.ndim != 1 or not t_eval.size or np.any((t_eval < low) | (t_eval > high)):
        raise NotImplementedError
    if not way or np.any((t_eval[1:] - t_eval[:-1]) * way <= 0):
        raise NotImplementedError
    system = System(fun, () if args is None else tuple(args), vectorized)
    y0 = y0 if dtype_of(y0) == np.float64 else as_floats(y0)
    if moves and derivative != "steps":
        most = np.inf if derivative else MANY[False]
        options["parts"] = Step.errors(relative, shape_of(y0)[0], most)
        tf = t_eval[-1]  # later errors of the derivatives do not count
        if tf == t0:
            raise NotImplementedError
    slope = Slope(system, moves, checked)
    y, calls = Steps(METHODS[method], slope, way, tf, t_eval, _most, **options).solve(t0, y0)
    return type(EMPTY)(
        t=t_eval, y=y.T, sol=None, t_events=None, y_events=None, nfev=calls, njev=0, nlu=0,
        status=0, message=EMPTY.message, success=True,
    )  # fmt: skip


def odeint(
    values: Callable, func: Callable, y0: Any, t: Any, args: tuple = (), *more: Any,
    tfirst: bool = False, rtol: Any = TOLERANCE, atol: Any = TOLERANCE, derivative: Any = None,
    moves: bool, checked: bool, **options: Any,
) -> Any:  # fmt: skip
    """Solve an equation as SciPy's function does, whose `values` are its own.

    The derivatives are those of DOP853. Where that takes many steps, the equation may be stiff.
    """
    if more or options.keys() - {"Dfun", "mxstep"} or derivative not in WAYS[:2]:
        raise NotImplementedError
    fun = func if tfirst else lambda t, y, *args: func(y, t, *args)
    if not moves:
        if checked:
            level = levels_of(AMBIENT.get())[-1]
            start = as_floats(t)[0], np.reshape(as_state(y0), -1) + 0.0
            given = [x if classes_in(x) else level.record(np.positive, (x,), {}) for x in start]
            Slope(System(fun, tuple(args)), False, True)(*given)
        return values(func, y0, t, args, tfirst=tfirst, rtol=rtol, atol=atol, **options)
    t = as_floats(t)
    found = solve_ivp(
        fun, (t[0], t[-1]), np.reshape(as_state(y0), -1), "DOP853", t, args=args, moves=True,
        checked=False, _most=MOST_CALLS, rtol=rtol, atol=atol, derivative=derivative,
    )  # fmt: skip
    return found.y.T


def as_floats(x: Any) -> Any:
    """Return an array of floats; one of plain numbers is plain, so that no step may write to it."""
    return (fnp if classes_in(x) else np).asarray(x, dtype=float)


class Slope:
    """A system whose calls a program has: see NOTE [jumps] in `_integrands`.

    What may jump where it is `checked` is SciPy's to solve, where jumps are looked for. So is what
    writes to arrays, as such steps would not be a loop. At times that nothing decides about, it may
    jump. A kink is a jump of second derivatives alone.
    """

    def __init__(self, system: System, moves: bool, checked: bool):
        self.system, self.moves, self.checked = system, moves, checked

    def __call__(self, t: Any, y: Any) -> Any:
        levels = levels_of(AMBIENT.get())
        level = levels[-1]  # no step of the loop may seem to change it
        before, answers = len(level.nodes), len(level.answers)
        found = self.system(t, y)
        nodes = level.nodes[before:]
        asked = len(level.answers) > answers and (self.moves or self.checked)
        if asked or any([node.memory for node in nodes]):
            raise NotImplementedError
        if self.checked:
            order = len([one for one in levels if one.differentiates])
            free, moving = [
                {level.symbol(recorded(x, level.cls))} if classes_in(x) else set() for x in (t, y)
            ]
            check_smooth(nodes, free, moving, order == 1)
        return found


KINKS = {np.maximum, np.minimum, np.clip, np.abs, abs}
CASTS = {np.astype, np.array}


def recorded(x: Any, cls: type) -> Any:
    """Return the value of a tensor at the level of a class."""
    while isinstance(x, Tensor) and type(x) is not cls:
        x = x.elem()
    return x


def check_smooth(nodes: list, free: set, moving: set, kinks: bool) -> None:
    """Refuse nodes that may jump, but for what depends on a `free` time alone.

    A kink that is divided by what depends on the `moving` state may be a sign, which jumps.
    """
    divides = kinked = False
    for node in nodes:
        parents, func = {*node.parents()}, UFUNC_OF.get(node.func, node.func)
        if parents <= free:
            free.add(node)
            continue
        if parents & moving:
            moving.add(node)
            divides |= is_inverse(func, node.args[-1], moving)
        if func in CASTS and node.form.dtype.kind in "fc":
            continue
        if func in CASTS or func not in SMOOTH:
            kinked = True
            if func not in KINKS or not kinks:
                raise NotImplementedError
    if kinked and divides:
        raise NotImplementedError


INVERSE = {np.reciprocal, np.linalg.inv, np.linalg.solve, np.tan}


def is_inverse(func: Any, last: Any, moving: set) -> bool:
    """Return whether a function with a last argument has poles where the state moves."""
    if func is np.divide:
        return any([last is x for x in moving])
    if func in (np.power, np.float_power):
        return not (isinstance(last, (int, float)) and last > 0)
    return func in INVERSE


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
    """The steps of a method in one direction, `way`, to the time `tf`."""

    def __init__(
        self, method: Any, system: Callable, way: float, tf: float, t_eval: np.ndarray,
        most: float, rtol: Any = 1e-3, atol: Any = 1e-6, max_step: float = np.inf,
        first_step: Any = None, parts: Any = None,
    ):  # fmt: skip
        self.method, self.system, self.way, self.tf, self.t_eval = method, system, way, tf, t_eval
        self.rtol, self.atol = np.maximum(rtol, 100 * EPSILON), np.asarray(atol)
        self.max_step, self.first_step = max_step, first_step
        self.order = method.error_estimator_order
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
        start = t0 + zero, y0, f, size, zero > 1.0, zero > 1.0, 1.0 + zero, states
        end = while_loop(self.goes_on, self.trial, start)
        if np.any(bare(end[-3], asks=False)[0]):
            raise NotImplementedError
        return end[-1], end[-2] + (self.first_step is None)

    def goes_on(self, carry: tuple) -> Any:
        t, *_, failed, _, _ = carry
        return (self.way * (t - self.tf) < 0) & ~failed

    def trial(self, carry: tuple) -> tuple:
        """Try a step, and take it if its error is small enough."""
        t, y, f, size, rejected, failed, calls, states = carry
        least = 10 * EPSILON * np.abs(t)
        failed = (rejected & (size < least)) | (calls > self.most)
        size = chosen(rejected, size, np.minimum(np.maximum(size, least), self.max_step))
        ahead = t + size * self.way
        ahead = chosen(self.way * (ahead - self.tf) > 0, self.tf, ahead)
        h = ahead - t
        size = np.abs(h)
        method = self.method
        slopes = [f]
        for row, c in zip(method.A[1:], method.C[1:]):
            slopes.append(self.system(t + c * h, y + h * combined(row, slopes)))
        new = y + h * combined(method.B, slopes)
        slopes.append(self.system(t + h, new))
        error = self.error(h, slopes, y, new)
        taken = error < 1
        factor = SAFETY * chosen(error == 0, 1.0, error) ** (-1 / (self.order + 1))
        grown = chosen(error == 0, MOST, chosen(factor < MOST, factor, MOST))
        grown = chosen(rejected & (grown > 1), 1.0, grown)
        size = size * chosen(taken, grown, chosen(factor > LEAST, factor, LEAST))
        calls = calls + (len(slopes) - 1.0)
        after = taken & (self.way * (self.t_eval - t) > 0)
        inside = after & (self.way * (self.t_eval - ahead) <= 0)
        if method is sci.DOP853:
            first = taken & (t == self.t0) & (self.t_eval[0] == self.t0)
            calls = calls + chosen(np.any(inside) | first, len(method.C_EXTRA), 0.0)
        x = np.where(inside, (self.t_eval - t) / h, 0.0)[:, None]
        states = np.where(inside[:, None], self.between(x, t, h, y, new, slopes), states)
        y, f = [np.where(taken, a, b) for a, b in ((new, y), (slopes[method.n_stages], f))]
        t = chosen(taken, ahead, t)
        return t, y, f, size, ~taken, failed, calls, states

    def error(self, h: Any, slopes: list, y: Any, new: Any) -> Any:
        """Return the error of a step, which is taken where that is less than 1."""
        method = self.method
        if method is not sci.DOP853:
            return self.size(h * combined(method.E, slopes), y, new)
        fifth, third = [self.size(combined(e, slopes), y, new) for e in (method.E5, method.E3)]
        both = fifth**2 + 0.01 * third**2
        return np.abs(h) * fifth**2 / np.sqrt(chosen(both == 0, 1.0, both))

    def between(self, x: Any, t: Any, h: Any, y: Any, new: Any, slopes: list) -> Any:
        """Return the states at parts `x` of a step."""
        method, found = self.method, 0.0
        if method is not sci.DOP853:
            for column in method.P.T[::-1]:
                found = (found + combined(column, slopes)) * x
            return y + h * found
        more, end = [*slopes], slopes[-1]
        for row, c in zip(method.A_EXTRA, method.C_EXTRA):
            more.append(self.system(t + c * h, y + h * combined(row, more)))
        change = new - y
        rows = [change, h * slopes[0] - change, 2.0 * change - h * (end + slopes[0])]
        rows += [h * combined(row, more) for row in method.D]
        for i, row in enumerate(reversed(rows)):
            found = (found + row) * (1.0 - x if i % 2 else x)
        return y + found
