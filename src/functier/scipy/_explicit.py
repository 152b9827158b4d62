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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.ambient import AMBIENT
from .._core.numpy_facts import UFUNC_OF, dtype_of, shape_of
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._custom.steps import Step
from .._levels.lineage import levels_of
from ._equations import MANY
from ._flows import EXPLICIT, IMPLICIT
from ._integrands import SMOOTH
from ._ode import METHODS, TOLERANCE
from ._stepping import LARGEST, Rodas, Steps, relative, steps_of
from ._systems import System, as_state

OPTIONS = frozenset({"rtol", "atol", "max_step", "first_step"})
WAYS = None, "forward", "steps"
MOST_CALLS = 20_000
"""The slopes of an explicit method by which an equation is not stiff."""

EMPTY: Any = sci.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
"""A result of SciPy's, for its class and its message."""


def solve_ivp(
    values: Callable, fun: Callable, t_span: Any, y0: Any, method: Any = "RK45",
    t_eval: Any = None, dense_output: bool = False, events: Any = None, vectorized: bool = False,
    args: Any = None, *, derivative: str | None = None, moves: bool, checked: bool, **options: Any,
) -> Any:  # fmt: skip
    """Solve an equation as SciPy's function does, whose `values` are those of implicit methods.

    Where it `moves`, its derivatives are asked for. Where it is `checked`, the slope may not jump.
    `NotImplementedError` is for a call that a loop cannot make.
    """
    kind = METHODS.get(method, method)
    explicit, times, args = kind in EXPLICIT, [t_eval, *t_span], tuple(args or ())
    fits = (
        (explicit or kind in IMPLICIT)
        and derivative in WAYS[: 3 if explicit else 2] and t_eval is not None
        and not (dense_output or events)
        and options.keys() <= OPTIONS | ({"jac"} if not explicit else set())
        and not classes_in(*options.values())
        and all([level.guards for cls in classes_in(times) for level in levels_of(cls)])
    )  # fmt: skip
    y0 = as_state(y0)
    if not fits or len(shape_of(y0)) != 1 or dtype_of(y0).kind not in "iuf" or not shape_of(y0)[0]:
        raise NotImplementedError
    system = System(fun, args, vectorized)
    if not (explicit or moves):
        if checked:
            check_slope(system, t_span[0], y0)
        more = t_eval, dense_output, events, vectorized, args
        return values(fun, t_span, y0, method, *more, **options)
    if explicit:
        kinds = [(steps_of(kind), np.inf)]
    else:
        options.pop("jac", None)
        kinds = OF_STIFF if kind is sci.LSODA and shape_of(y0)[0] > LARGEST else OF_STIFF[1:]
    y, calls = solution(
        kinds, Slope(system, moves, checked), t_span, y0, t_eval, derivative, moves, options
    )
    return type(EMPTY)(
        t=as_floats(t_eval), y=y.T, sol=None, t_events=None, y_events=None, nfev=calls, njev=0,
        nlu=0, status=0, message=EMPTY.message, success=True,
    )  # fmt: skip


OF_STIFF: list[tuple[type[Steps], float]] = [(steps_of(sci.DOP853), MOST_CALLS), (Rodas, np.inf)]
"""The steps for derivatives of methods that find out if an equation is stiff, with most calls."""


def solution(
    kinds: Sequence, slope: "Slope", t_span: Any, y0: Any, t_eval: Any, derivative: str | None,
    moves: bool, options: dict,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the states at given times, and the calls of the slope, by the first kind that fits."""
    t_eval, y0 = as_floats(t_eval), y0 if dtype_of(y0) == np.float64 else as_floats(y0)
    t0, tf = [x if classes_in(x) else float(x) for x in t_span]
    way = np.sign(tf - t0)
    low, high = sorted([t0, tf])
    if t_eval.ndim != 1 or not t_eval.size or np.any((t_eval < low) | (t_eval > high)):
        raise NotImplementedError
    if not way or np.any((t_eval[1:] - t_eval[:-1]) * way <= 0):
        raise NotImplementedError
    if moves and derivative != "steps":
        most = np.inf if derivative else MANY[kinds[0][0] is Rodas]
        options = options | {"parts": Step.errors(relative, shape_of(y0)[0], most)}
        tf = t_eval[-1]  # later errors of the derivatives do not count
        if tf == t0:
            raise NotImplementedError
    *others, last = kinds
    level = levels_of(AMBIENT.get())[-1]
    for steps, most in others:
        answers = len(level.answers)
        try:
            with np.errstate(all="ignore"):  # where the equation is stiff, slopes overflow
                return steps(slope, way, tf, t_eval, most, **options).solve(t0, y0)
        except NotImplementedError:
            del level.answers[answers:]
    steps, most = last
    return steps(slope, way, tf, t_eval, most, **options).solve(t0, y0)


def odeint(
    values: Callable, func: Callable, y0: Any, t: Any, args: tuple = (), *more: Any,
    tfirst: bool = False, rtol: Any = TOLERANCE, atol: Any = TOLERANCE, derivative: Any = None,
    moves: bool, checked: bool, **options: Any,
) -> Any:  # fmt: skip
    """Solve an equation as SciPy's function does, whose `values` are its own."""
    if more or options.keys() - {"Dfun", "mxstep"} or derivative not in WAYS[:2]:
        raise NotImplementedError
    fun = func if tfirst else lambda t, y, *args: func(y, t, *args)
    system, start = System(fun, tuple(args)), np.reshape(as_state(y0), -1)
    if not moves:
        if checked:
            check_slope(system, as_floats(t)[0], start)
        return values(func, y0, t, args, tfirst=tfirst, rtol=rtol, atol=atol, **options)
    t, options = as_floats(t), {"rtol": rtol, "atol": atol}
    slope = Slope(system, True, False)
    return solution(OF_STIFF, slope, (t[0], t[-1]), start, t, derivative, True, options)[0]


def check_slope(system: System, t: Any, y0: Any) -> None:
    """Refuse a slope that may jump, where no loop computes the values."""
    level = levels_of(AMBIENT.get())[-1]
    start = as_floats(t), as_state(y0) + 0.0
    given = [x if classes_in(x) else level.record(np.positive, (x,), {}) for x in start]
    Slope(system, False, True)(*given)


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
