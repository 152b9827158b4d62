"""A differential equation with its derivatives, in one of three ways.

NOTE [three ways]
    Forward sensitivities (`_flows`) make the system larger. The adjoint (`_adjoint`) costs the same
    for any number of parameters. The steps of the value are forward sensitivities whose own error
    does not count, so they are those of SciPy's solution, as the derivative of its code would be.

NOTE [times with derivatives]
    A time is the plain one and a change, which is zero and has derivatives. A step of a
    Runge-Kutta method goes from one to the other (`moved`). That of an event follows from its
    equation, by chord steps as for a root (see `_problems`).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.numpy_facts import dtype_of, shape_of
from .._transforms.jvp import jvp
from .._transforms.stop_gradient import stop_gradient
from ._adjoint import AdjointFlow
from ._flows import EXPLICIT, IMPLICIT, Flow, Fun, Settings, change_of, moved, plain_of
from ._parts import Layout, NewBatch
from ._problems import Problem
from ._systems import System, as_state

MANY = {True: 200, False: 1000}
"""The number of unknowns, of a method with a Jacobian or without, at which reverse mode changes.

Forward sensitivities of fewer are faster than the adjoint, as measured.
"""

FAR = 1e-6
"""The time that an event may be off, as one that jumps is."""


def flow_of(
    way: str | None, fun: Fun, t0: Any, t1: Any, y0: Any, settings: Settings
) -> Flow | AdjointFlow:
    """Return the flow of an equation in one of the `WAYS`."""
    layout = Layout()
    if way == "steps":
        if not issubclass(settings.method, EXPLICIT):
            raise ValueError(
                f"{settings.label}: derivative='steps' follows the steps of RK23, RK45 and DOP853; "
                f"for method={settings.method.__name__!r} pass 'forward' or 'adjoint'"
            )
        return Flow(fun, t0, t1, y0, settings._replace(own_steps=True))
    levels = [level for level in layout.stages if level.differentiates == "reverse"]
    many = MANY[issubclass(settings.method, IMPLICIT)]
    if levels and (way == "adjoint" or (way is None and _unknowns(fun, t0, y0) >= many)):
        return AdjointFlow(levels[0], fun, t0, t1, y0, settings)
    return Flow(fun, t0, t1, y0, settings)


def _unknowns(fun: Fun, t0: Any, y0: Any) -> int:
    """Return the number of first derivatives of the state of an example."""
    layout = Layout()
    while True:
        try:
            start = plain_of(layout, t0)
            found = layout.parts(y0) | layout.parts(fun(start[(0,) * start.ndim], y0))
            break
        except NewBatch:
            continue
    first = [x for path, x in found.items() if sum(map(bool, path)) == 1]
    return sum(x.size for x in first) // max(1, int(np.prod(layout.batch_shape())))


def listed(fun: Callable) -> Callable:
    """Return a function whose tuples are arrays."""

    @functools.wraps(fun, updated=())
    def listed(*given: Any) -> Any:
        found = fun(*given)
        return list(found) if isinstance(found, tuple) else found

    return listed


class Equation:
    """An equation with its derivatives: the plain results of all examples get those."""

    def __init__(
        self, problem: Problem, system: System, t0: Any, tf: Any, y0: Any, t_eval: Any = None
    ):
        self.problem, self.system, self.t0, self.tf = problem, system, t0, tf
        self.t_eval, self.layout = t_eval, problem.layout
        self.batch, self.order = self.layout.batch_shape(), self.layout.order
        self.y0 = y0
        self.flow: Flow | AdjointFlow | None = None

    def start(self, way: str | None, method: Any, ends: list, options: dict) -> None:
        """Make the flow that has the derivatives."""
        problem, first = self.problem, (0,) * len(self.batch)
        y0 = fnp.asarray(self.y0)
        if dtype_of(y0).kind != "c":
            y0 = np.astype(y0, np.float64)
        change = change_of(self.t0)
        if change is not None:
            y0 = moved(self.system, self.t0, y0, -change, self.order, problem.label)
        jac = options.get("jac")
        plain = {k: v if callable(v) else problem.value(v, first) for k, v in options.items()}
        kept = {k: plain[k] for k in ("first_step", "max_step", "min_step") if k in plain}
        settings = Settings(
            problem.label, method, plain.get("rtol", 1e-3),
            np.broadcast_to(plain.get("atol", 1e-6), shape_of(y0)[:1]), kept,
            None if jac is None else functools.partial(self._slope, jac),
            bound=stop_gradient(self.tf),
        )  # fmt: skip
        last = self.constant(ends)
        self.flow = flow_of(way, self.system, stop_gradient(self.t0), last, y0, settings)

    def _slope(self, jac: Any, t: Any, y: Any, e: tuple) -> np.ndarray:
        """Return the Jacobian that the caller gave, at a plain time and state."""
        given = self.problem.function(listed(jac), e)(t, y) if callable(jac) else jac
        given = self.problem.value(given, e)
        return given.toarray() if hasattr(given, "toarray") else np.asarray(given)

    def constant(self, values: list) -> Any:
        """Return values of all examples without derivatives."""
        rows = np.array(values)
        return self.layout.constant(rows.reshape(self.batch + rows.shape[1:]))

    # ---- times and states ----

    def state(self, times: Any, change: Any = None, columns: Any = ()) -> Any:
        """Return the state at plain times, with the derivatives of changes of some columns."""
        assert self.flow is not None
        found = self.flow.at(times)
        if change is None:
            return found
        count = shape_of(times)[-1]
        rows = [found[:, j] for j in range(count)]
        for j in columns:
            rows[j] = moved(
                self.system, times[j], rows[j], change[j], self.order, self.problem.label
            )
        return np.stack(rows, 1)

    def change_of_event(self, event: Callable, t: Any, y: Any, chosen: Any = True) -> Any:
        """Return the change of the time of an event: see NOTE [times with derivatives].

        `chosen` tells for each example if it has the event.
        """
        label, order = self.problem.label, self.order

        def value(change: Any) -> Any:
            state = moved(self.system, t, y, change, order, label)
            return np.reshape(as_state(event(t + change, state, *self.system.args)), ())

        found = value(0.0)
        residual = stop_gradient(found)
        if residual is found:
            return None
        fixed = stop_gradient(y)

        def along(s: Any) -> Any:
            slope = stop_gradient(self.system(t, fixed))
            return np.reshape(as_state(event(t + s, fixed + s * slope, *self.system.args)), ())

        rate = stop_gradient(jvp(along, (0.0,), (1.0,))[1])
        rate = np.where(chosen, rate, 1.0)
        off = np.where(chosen, residual, 0.0) / np.where(rate == 0, 1.0, rate)
        if not np.all(plain_of(self.layout, (rate != 0) & (np.abs(off) <= FAR))):
            raise UnsupportedError(
                f"{label}: an event jumps, or does not change along the solution, so its time has "
                f"no derivative; pass functier.stop_gradient of what it closes over"
            )
        change: Any = 0.0
        for _ in range(order):
            change = change - (value(change) - residual) / rate
        return change
