"""Twins for `scipy.integrate`: differential equations.

NOTE [the values are SciPy's]
    SciPy solves the equation for plain values, one example after the other, and all its choices,
    such as its steps and the times of events, are those. A second solution has the derivatives: by
    forward sensitivities (`_flows`) or by the adjoint (`_adjoint`).
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import FallbackWarning, LevelError, UnsupportedError
from .._core.numpy_facts import shape_of
from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from ._equations import MANY, Equation, listed
from ._flows import EXPLICIT, IMPLICIT, change_of, moved
from ._parts import Layout, NewBatch
from ._problems import Problem, has_tensor, is_plain
from ._replays import Replay
from ._systems import System, as_state

METHODS = {cls.__name__: cls for cls in (*EXPLICIT, *IMPLICIT)}
WAYS = None, "forward", "adjoint", "steps"
OdeResult: Any = type(sci.solve_ivp(lambda t, y: -y, (0, 1), [1.0]))


class OdeResults(OdeResult):  # type: ignore[misc]
    """The results of examples, of which some have no common shape."""

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS and name not in self:
            raise UnsupportedError(
                f"scipy.integrate.solve_ivp: {name} has a different length for each example, "
                f"because each has its own steps and events; pass t_eval, which fixes the times of "
                f"t and y (t_eval=[] where only events count), or call it for each example outside "
                f"of vmap"
            )
        return super().__getattr__(name)


FIELDS = "t", "y", "t_events", "y_events"


# ---- scipy.integrate.solve_ivp ----


@functools.wraps(sci.solve_ivp)
def solve_ivp(
    fun: Callable, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    *, derivative: str | None = None, **options: Any,
) -> Any:  # fmt: skip
    label = "scipy.integrate.solve_ivp"
    _check_way(label, derivative)
    if is_plain(fun):
        return sci.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )
    t0, tf = t_span
    problem = Problem(label, _arguments(args))
    y0, t_eval = as_state(y0), as_state(t_eval)
    asked = [] if events is None else [events] if callable(events) else list(events)
    system = System(fun, problem.args, vectorized)
    constants = {k: v for k, v in options.items() if not callable(v)}
    starts = [t0, tf, y0, t_eval, *constants.values()]

    def solve(e: tuple) -> Any:
        span = problem.value(t0, e), problem.value(tf, e)
        watched = [_event(problem, event, e) for event in asked]
        more = {
            k: problem.function(v, e) if callable(v) else problem.value(v, e)
            for k, v in options.items()
        }
        own = Replay(problem.function(listed(fun), e), system, problem.layout, e, {})
        return sci.solve_ivp(
            own, span, problem.value(y0, e), method,
            problem.value(t_eval, e), dense_output, watched or None, vectorized, **more,
        )  # fmt: skip

    results = problem.solve(solve, starts)
    _check_examples(label, results)
    plain = not problem.met and not has_tensor(*starts) and not dense_output
    if plain and not problem.layout.order:
        return results[0]
    equation = Results(problem, system, t0, tf, y0, t_eval)
    if problem.layout.order:
        starts = [float(problem.value(t0, e)) for e in problem.examples()]
        ends = [_end_of(r, start) for r, start in zip(results, starts)]
        equation.start(derivative, METHODS.get(method, method), ends, options)
    return results[0] if plain else equation.result(results, asked)


def _check_way(label: str, way: Any, ways: tuple = WAYS) -> None:
    if way not in ways:
        named = ", ".join(repr(w) for w in ways)
        raise ValueError(f"{label}: derivative is {way!r}; write one of {named}")


def _arguments(args: Any) -> tuple:
    if args is None:
        return ()
    try:
        return tuple(args)
    except TypeError as error:
        raise TypeError(
            "Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. "
            f"`args=({args},)`)"
        ) from error


def _event(problem: Problem, event: Callable, e: tuple) -> Callable:
    """Return an event for plain values of an example, with SciPy's attributes."""
    plain = problem.function(event, e)
    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(plain, name, getattr(event, name))
    return plain


def _check_examples(label: str, results: list) -> None:
    """Refuse an empty batch, and warn of a loop."""
    if not results:
        raise UnsupportedError(
            f"{label}: the batch has no examples, so the shapes of the results are unknown; call "
            f"it only where there are examples"
        )
    if len(results) > 1:
        warnings.warn(
            f"{label}: each example has its own steps, so {len(results)} examples are solved one "
            f"after the other; for common steps, stack them as one state and call it outside of "
            f"vmap",
            FallbackWarning,
            stacklevel=4,
        )


class Results(Equation):
    """An equation whose results are those of `solve_ivp`, with derivatives."""

    def result(self, results: list, events: list) -> Any:
        """Return SciPy's result for all examples, with derivatives."""
        own: dict[str, Any] = {"sol": None}
        if results[0].sol is not None:
            own["sol"] = DenseSolution(self, [r.sol for r in results])
        lost = self._of_events(results, events, own)
        if len({len(r.t) for r in results}) == 1:
            own["t"], own["y"] = self._of_times(results, events)
        else:
            lost |= {"t", "y"}
        made = (OdeResults if lost else type(results[0]))(results[0])
        for name in list(made):
            if name in lost:
                del made[name]
            else:
                made[name] = own[name] if name in own else self.joined(results, name)
        return made

    def joined(self, results: list, name: str) -> Any:
        return self.problem.joined([r[name] for r in results])

    def _of_times(self, results: list, events: list) -> tuple[Any, Any]:
        """Return the times and the states at these."""
        ts, ys = [r.t for r in results], [r.y for r in results]
        count = len(ts[0])
        differ = any(not np.array_equal(t, ts[0]) for t in ts)
        times = self.constant(ts) if differ else np.array(ts[0], float)
        values = self.constant([np.reshape(y, (-1, count)) for y in ys]) if count else ys[0]
        if not self.order or not count:
            return times, values
        columns: Any = range(count)
        if self.t_eval is not None:
            change = change_of(self.t_eval)
        else:
            first, final = change_of(self.t0), change_of(self.tf)
            if any(r.status == 1 for r in results):
                final = self._change_of_end(results, events, final)
            elif any(r.status < 0 for r in results):  # before the end
                reached = self.constant([r.status == 0 for r in results])
                final = None if final is None else np.where(reached, final, 0.0)
            change, columns = None, []
            if first is not None or final is not None:
                zero = np.zeros(())
                ends = [zero if c is None else c for c in (first, final)]
                change = [ends[0], *[zero] * (count - 2), ends[1]]
                columns = [j for j, c in ((0, first), (count - 1, final)) if c is not None]
                times = np.stack([times[j] + change[j] for j in range(count)])
        if self.t_eval is not None and change is not None:
            change = change[:count]
            times = times + change
        own = self.state(stop_gradient(times), change, columns)
        return times, values + (own - stop_gradient(own))

    def _change_of_end(self, results: list, events: list, final: Any) -> Any:
        """Return the change of the last time, which is that of an event for some examples."""
        ends = [r.t[-1] for r in results]
        total: Any = 0.0 if final is None else final
        t = self.constant(ends)
        own = self.state(np.stack([t]))[:, 0]
        y = self.constant([r.y[:, -1] for r in results]) + (own - stop_gradient(own))
        for i, event in enumerate(events):
            mine = [
                r.status == 1 and len(r.t_events[i]) > 0 and r.t_events[i][-1] == end
                for r, end in zip(results, ends)
            ]
            if getattr(event, "terminal", None) and any(mine):
                chosen = self.constant(mine)
                change = self.change_of_event(event, t, y, chosen)
                total = np.where(chosen, 0.0 if change is None else change, total)
        return total if isinstance(total, Tensor) else None

    def _of_events(self, results: list, events: list, own: dict) -> set[str]:
        """Note the times and states of events; return the names of what has no common shape."""
        if not events:
            return set()
        found: list[list] = [[], []]
        for i, event in enumerate(events):
            ts, ys = [r.t_events[i] for r in results], [r.y_events[i] for r in results]
            if len({len(t) for t in ts}) != 1:
                return {"t_events", "y_events"}
            times, values = self.constant(ts), self.constant(ys)
            if self.order and len(ts[0]):
                times, values = self._at_event(event, times, values, len(ts[0]))
            found[0].append(times)
            found[1].append(values)
        own["t_events"], own["y_events"] = found
        return set()

    def _at_event(self, event: Callable, times: Any, states: Any, count: int) -> tuple[Any, Any]:
        """Return the times of an event and the states at these, with their derivatives."""
        own, rows = self.state(times), []
        states = states + np.transpose(own - stop_gradient(own))
        for j in range(count):
            t, y = times[j], states[j]
            change = self.change_of_event(event, t, y)
            if change is not None:
                y = moved(self.system, t, y, change, self.order, self.problem.label)
                t = t + change
            rows.append((t, y))
        return np.stack([t for t, _ in rows]), np.stack([y for _, y in rows])


def _end_of(r: Any, t0: float) -> float:
    """Return the last time that a result has."""
    if r.sol is not None:
        return r.sol.ts[-1]
    times = [t0, *r.t, *[t for found in r.t_events or () for t in found]]
    return max(times, key=lambda t: abs(t - t0))


class DenseSolution(sci.OdeSolution):  # type: ignore[misc]
    """The continuous solution of all examples, with derivatives.

    `ts` and `interpolants` are there where all examples share them.
    """

    def __init__(self, equation: Equation, solutions: list):
        self.equation, self.solutions = equation, solutions
        if len(solutions) == 1:
            self.__dict__.update(vars(solutions[0]))
        else:
            self.t_min = equation.constant([s.t_min for s in solutions])
            self.t_max = equation.constant([s.t_max for s in solutions])

    def __call__(self, t: Any) -> Any:
        """Return the state at a time, or at several along the last axis."""
        equation, t = self.equation, as_state(t)
        plain = self._plain(t)
        examples = list(np.ndindex(equation.batch))
        values = equation.constant([s(plain[e]) for s, e in zip(self.solutions, examples)])
        order = Layout().order
        if not order or equation.flow is None:
            return values
        fixed, change = stop_gradient(t), change_of(t)
        if not shape_of(t):
            fixed, change = np.stack([fixed]), None if change is None else np.stack([change])
        equation.order = order
        for e, solution in zip(examples, self.solutions):
            if np.any((plain[e] < solution.t_min) | (plain[e] > solution.t_max)):
                raise UnsupportedError(
                    f"scipy.integrate.solve_ivp: sol(t) has no derivative outside of its times, "
                    f"{solution.t_min:.6g} to {solution.t_max:.6g}; solve for a longer t_span"
                )
        own = equation.state(fixed, change, range(shape_of(fixed)[0]))
        own = own if shape_of(t) else own[:, 0]
        return values + (own - stop_gradient(own))

    def _plain(self, t: Any) -> np.ndarray:
        """Return the plain times of all examples."""
        layout = self.equation.layout
        used = set(layout.used)
        try:
            plain = layout.parts(stop_gradient(t))[layout.zero]
        except (NewBatch, LevelError):
            layout.used = used
            raise UnsupportedError(
                "scipy.integrate.solve_ivp: the times of sol(t) have a batch that the solution "
                "does not have; pass all times as one array, sol(ts)"
            ) from None
        return np.broadcast_to(plain, self.equation.batch + shape_of(t))


# ---- scipy.integrate.odeint ----

PARAMETERS = inspect.signature(sci.odeint)
TOLERANCE = 1.49012e-8
"""The defaults of `odeint` for `rtol` and `atol`."""


@functools.wraps(sci.odeint)
def odeint(
    func: Callable, y0: Any, t: Any, *more: Any, derivative: str | None = None, **options: Any
) -> Any:
    label = "scipy.integrate.odeint"
    _check_way(label, derivative, WAYS[:3])
    if is_plain(func):
        return sci.odeint(func, y0, t, *more, **options)
    given = dict(PARAMETERS.bind(func, y0, t, *more, **options).arguments)
    for name in ("func", "y0", "t"):
        del given[name]
    args, jac = given.pop("args", ()), given.pop("Dfun", None)
    full_output, first = given.get("full_output", 0), bool(given.pop("tfirst", False))
    problem = Problem(label, args)
    y0, t = as_state(y0), as_state(t)
    starts = [y0, t, *given.values()]

    def ordered(f: Callable) -> Callable:
        return f if first else lambda t, y, *args: f(y, t, *args)

    func, jac = ordered(func), jac and ordered(jac)
    system = System(func, problem.args)

    def solve(e: tuple) -> Any:
        found = sci.odeint(
            Replay(problem.function(listed(func), e), system, problem.layout, e, {}),
            problem.value(y0, e), problem.value(t, e), tfirst=True,
            Dfun=jac and problem.function(listed(jac), e),
            **{k: problem.value(v, e) for k, v in given.items()},
        )  # fmt: skip
        return found if full_output else (found,)

    results = problem.solve(solve, starts)
    _check_examples(label, results)
    plain = not problem.met and not has_tensor(*starts)
    if plain and not problem.layout.order:
        return results[0] if full_output else results[0][0]
    if full_output and len(results) != 1:
        raise UnsupportedError(
            f"{label}: full_output has one report, and there are {len(results)} examples; leave it "
            f"out, or call it for each example outside of vmap"
        )
    states = _states(problem, system, jac, y0, t, results, given, derivative)
    if plain:
        states = results[0][0]
    return (states, *results[0][1:]) if full_output else states


def _states(
    problem: Problem, system: System, jac: Any, y0: Any, t: Any, results: list, given: dict,
    way: str | None,
) -> Any:  # fmt: skip
    """Return the states of `odeint` with their derivatives."""
    y0 = np.reshape(fnp.asarray(y0), -1)
    equation = Equation(problem, system, t[0], t[-1], y0, t)
    values = equation.constant([r[0] for r in results])
    if not equation.order:
        return values
    names = {"rtol": "rtol", "atol": "atol", "h0": "first_step", "hmax": "max_step"}
    options = {names[k]: v for k, v in given.items() if k in names and v}
    if jac is not None:
        by_column = given.get("col_deriv", 0)
        options["jac"] = lambda t, y, *args: (
            np.transpose(as_state(jac(t, y, *args))) if by_column else jac(t, y, *args)
        )
    if given.get("ml") is not None or given.get("mu") is not None:
        options.pop("jac", None)  # it has bands alone
    options = {"rtol": TOLERANCE, "atol": TOLERANCE, **options}
    ends = [problem.value(t, e)[-1] for e in problem.examples()]
    equation.start(way, sci.LSODA, ends, options)
    change = change_of(t)
    own = equation.state(stop_gradient(t), change, range(shape_of(t)[0]))
    own = np.transpose(own)
    return values + (own - stop_gradient(own))


# ---- in a program ----


def takes_adjoint(count: int, args: tuple, kwargs: dict) -> bool:
    """Return whether reverse mode of `solve_ivp` by `count` numbers takes the adjoint."""
    given = dict(zip(("fun", "t_span", "y0", "method"), args)) | kwargs
    method = given.get("method", "RK45")
    return _many(count, given, METHODS.get(method, method) in IMPLICIT)


def takes_adjoint_of_odeint(count: int, args: tuple, kwargs: dict) -> bool:
    return _many(count, dict(zip(("func", "y0"), args)) | kwargs, True)


def _many(count: int, given: dict, implicit: bool) -> bool:
    way = given.get("derivative")
    return way == "adjoint" or (
        way is None and "y0" in given and count * np.size(as_state(given["y0"])) >= MANY[implicit]
    )
