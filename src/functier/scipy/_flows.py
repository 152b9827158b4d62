"""The flow of a differential equation at all levels, by forward sensitivities.

NOTE [the system of the parts]
    A state that depends on parameters has parts: its value, and its derivatives (see `_parts`).
    The parts of ``f(t, y)`` are functions of those of ``y`` alone. So the parts of the state solve
    a larger system of plain numbers, which SciPy solves: each derivative of any order and mode is
    some of its unknowns. A part is unknown until it is met; then the solver begins again.

NOTE [one example at a time]
    Each example has its own steps. A solver asks for the slope of one example, and `fun` answers
    for all, where the others have the state of that one.

NOTE [the Jacobian of the parts]
    The derivatives of a part by itself are those of ``f`` by ``y``, the same for all parts. What is
    left out are the derivatives by the parts of lower orders, which Newton's method corrects.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .._core.errors import UnsupportedError
from .._core.numpy_facts import Shape, shape_of
from .._core.tensor import Tensor
from .._transforms.jacobian import jacfwd
from .._transforms.stop_gradient import stop_gradient
from ..progress import during
from ._integrands import Integrand, moving_jump
from ._parts import Layout, NewBatch, Parts, Path
from ._replays import Replay
from ._systems import as_state

EXPLICIT: tuple[Any, ...] = sci.RK23, sci.RK45, sci.DOP853
IMPLICIT: tuple[Any, ...] = sci.Radau, sci.BDF, sci.LSODA

Fun = Callable[[Any, Any], Any]


class Settings(NamedTuple):
    """SciPy's options for solving a system, with `atol` for each component of the state.

    `slope` returns a plain Jacobian of an example, where the caller knows one. With `own_steps`
    the error of the value alone decides about steps, as in SciPy's solution, which goes to `bound`.
    """

    label: str
    method: Any
    rtol: Any
    atol: Any
    options: dict[str, Any]
    slope: Callable | None = None
    own_steps: bool = False
    bound: Any = None
    checked: bool = True


def plain_of(layout: Layout, x: Any) -> np.ndarray:
    """Return the plain values of all examples of something that has no derivatives."""
    return layout.parts(stop_gradient(as_state(x)))[layout.zero]


class Pieces:
    """The parts of a state at the levels of a layout, as one vector for each example.

    The vector has the value, then for each derivative the state's change in one direction after
    the other. `places` has a part's path, where it begins and ends, and its axes in the vector.
    """

    def __init__(self, layout: Layout):
        self.layout = layout
        self.shapes: dict[Path, Shape] = {}
        self.places: list[tuple[Path, int, int, Shape]] = []
        self.used = 0
        self.time = 0.0  # of the latest slope

    def meet(self, parts: Parts) -> bool:
        """Note the forms of parts; tell if one was not known."""
        ndim, before = len(self.layout.batch_shape()), len(self.shapes)
        for path, x in parts.items():
            self.shapes.setdefault(path, shape_of(x)[ndim:])
        if len(self.shapes) == before:
            return False
        stop, self.places = 0, []
        for path in sorted(self.shapes, key=lambda path: (order_of(path), path)):
            n, *rest = self.shapes[path]
            start, stop = stop, stop + n * math.prod(rest)
            self.places.append((path, start, stop, (*rest, n)))
        return True

    def note(self, news: NewBatch) -> None:
        """Forget forms that had fewer batch axes; raise news that are of another layout."""
        if news.layout is not self.layout:
            raise news
        if len(self.layout.used) > self.used:
            self.used = len(self.layout.used)
            self.shapes.clear()

    def paths(self) -> list[Path]:
        """Return the known paths, the value first."""
        return [path for path, *_ in self.places]

    def sizes(self) -> dict[Path, int]:
        """Return the number of directions of each derivative."""
        return {path: math.prod(shape[:-1]) for path, *_, shape in self.places[1:]}

    def pack(self, parts: Parts, e: tuple) -> Any:
        """Return the vector of an example."""
        if self.meet(parts):
            raise NewBatch(self.layout)
        rows = []
        for path, start, stop, shape in self.places:
            found = parts.get(path)
            rows.append(
                np.zeros(stop - start)
                if found is None
                else np.reshape(np.transpose(found[e], (*range(1, len(shape)), 0)), -1)
            )
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def divide(self, vector: Any) -> Iterator[tuple[Path, Any]]:
        """Yield the path of each part, and the part of a vector, whose later axes are kept."""
        for path, start, stop, shape in self.places:
            last, later = len(shape) - 1, shape_of(vector)[1:]
            part = np.reshape(vector[start:stop], shape + later)
            if last:
                rest = range(last + 1, last + 1 + len(later))
                part = np.transpose(part, (last, *range(last), *rest))
            yield path, part

    def state(self, vector: Any) -> Any:
        """Return the state of a vector of an example, which is given to all examples."""
        ones = (1,) * len(self.layout.batch_shape())
        return self.layout.tensor(
            {path: np.reshape(x, ones + shape_of(x)) for path, x in self.divide(vector)}
        )

    def states(self, columns: dict[tuple, Any]) -> Any:
        """Return the state at several times, from one array of vectors for each example."""
        batch = self.layout.batch_shape()
        found: dict[Path, list] = {path: [] for path in self.shapes}
        for e in np.ndindex(batch):
            for path, x in self.divide(columns[e]):
                found[path].append(np.moveaxis(x, -1, 1))  # after the axis of the state
        joined = {}
        for path, rows in found.items():
            x = np.stack(rows)
            joined[path] = np.reshape(x, batch + shape_of(x)[1:])
        return self.layout.tensor(joined)

    def tile(self, each: Any) -> np.ndarray:
        """Return a vector with numbers for the components of a state, repeated for each part."""
        _, _, n, _ = self.places[0]
        return np.tile(np.broadcast_to(each, (n,)), self.places[-1][2] // n if n else 1)

    def slope(self, fun: Fun, e: tuple) -> Fun:
        """Return the slope of the vector of an example as a function of time and vector."""

        def slope(t: Any, vector: Any) -> Any:
            self.time = t
            found = fun(t, self.state(vector))
            return self.pack(self.layout.parts(found), e)

        return slope

    def spread(self, jacobian: np.ndarray) -> np.ndarray:
        """Return the Jacobian of a vector: see NOTE [the Jacobian of the parts]."""
        _, _, size, _ = self.places[-1]
        return np.kron(np.eye(size // len(jacobian) if size else 0), jacobian)


class Along(Integrand):
    """The parts of a slope along a solution: each is computed once."""

    def parts(self, x: Any) -> Parts:
        return self.func(x)


CHECKED = 64
"""The number of elements up to which a derivative of the slope is searched for jumps."""


def as_real(x: np.ndarray) -> np.ndarray:
    """Return the real and imaginary parts of an array as one."""
    return np.stack([x.real, x.imag]) if x.dtype.kind == "c" else x


def order_of(path: Path) -> int:
    """Return the order of a part as a derivative."""
    return sum(map(bool, path))


class Flow:
    """The state that starts as `y0` at `t0`, until `t1`, at all levels around the caller.

    The times have no derivatives, and may differ from example to example.
    """

    def __init__(self, fun: Fun, t0: Any, t1: Any, y0: Any, settings: Settings):
        self.fun, self.t0, self.t1, self.y0, self.settings = fun, t0, t1, y0, settings
        self.layout = Layout()
        self.pieces = Pieces(self.layout)
        self.solutions: dict[tuple, Any] = {}
        self.slopes: dict[tuple, Fun] = {}
        self.steps: dict[tuple, dict[Any, Any]] = {}
        self._again(lambda: None)

    def _again(self, run: Callable[[], Any]) -> Any:
        """Return what `run` does when all parts and all batches are known."""
        while True:
            try:
                if not self.solutions:
                    self._solve()
                return run()
            except NewBatch as news:
                self.pieces.note(news)
                self.solutions = {}

    def _solve(self) -> None:
        layout, pieces = self.layout, self.pieces
        starts, ends = plain_of(layout, self.t0), plain_of(layout, self.t1)
        first = layout.parts(self.y0)
        pieces.meet(first)
        check_real(self.settings.label, layout, first[layout.zero])
        shape = layout.batch_shape()
        bounds = plain_of(layout, self.settings.bound) if self.settings.own_steps else ends
        spans = [np.broadcast_to(x, shape) for x in (starts, ends, bounds)]
        pieces.meet(layout.parts(self.fun(spans[0][(0,) * len(shape)], self.y0)))
        self.solutions = {
            e: self._solve_one(e, [float(x[e]) for x in spans], pieces.pack(first, e))
            for e in np.ndindex(shape)
        }
        if self.settings.checked and layout.order:
            for e in self.solutions:
                self.check_jumps(e, self.fun)

    def check_jumps(self, e: tuple, fun: Fun) -> None:
        """Refuse a slope that jumps where the state or a parameter decides: see `_integrands`."""
        layout, pieces, solution = self.layout, self.pieces, self.solutions[e]

        def call(t: float) -> Any:
            return fun(t, pieces.state(solution(t)))

        def parts(t: float) -> Parts:
            found = self.slopes[e](t, solution(t))
            return {path: as_real(x) for path, x in pieces.divide(found)}

        along = Along(layout, parts, (), lambda t: t, scalar=False)
        slopes = np.stack([self.slopes[e](t, y) for t, y in self.steps[e].items()])
        order = max(layout.order, 1)
        lower = [found for found in pieces.divide(slopes.T) if order_of(found[0]) < order]
        table = {path: np.moveaxis(as_real(x), -1, 0) for path, x in lower}
        small = [p for p, x in table.items() if x[:1].size <= CHECKED or not any(p)]
        for t, *rows in zip(self.steps[e], *table.values()):
            along.known[t] = dict(zip(table, rows))
        found = moving_jump(along, small, call)
        if found is not None:
            raise UnsupportedError(
                f"{self.settings.label}: the slope, or a derivative of it, jumps near t = "
                f"{found[0]:.6g}, and {found[1]} of tensors may decide when, so the derivative "
                f"has a term for that. If the time is a constant, branch on t alone. "
                f"If it moves, end there with a terminal event, and continue from its time and "
                "state with another call"
            )

    def _solve_one(self, e: tuple, span: list[float], vector: Any) -> Any:
        """Return SciPy's continuous solution for an example."""
        t0, t1, bound = span
        self.pieces.time = t0
        label, method, rtol, atol, options, *_ = self.settings
        pieces, events, options = self.pieces, None, dict(options)
        slope = Replay(pieces.slope(self.fun, e), self.fun, pieces.layout, e, pieces.sizes())
        self.slopes[e] = slope
        if self.settings.own_steps:
            method = own_steps(method, len(atol))
            if options.get("first_step") is None and t0 != bound:
                options["first_step"] = self._first_step(slope, t0, bound, vector)
            if bound != t1:
                events = _at_time(t1)
        if issubclass(method, IMPLICIT):
            options["jac"] = self._jacobian(e)
        if t0 == bound:
            options.pop("first_step", None)

        def passed() -> int:
            return int(100 * (pieces.time - t0) / (bound - t0 or 1.0))

        with during(f"{label}: derivatives", passed, 100, "%"):
            found = sci.solve_ivp(
                slope, (t0, bound), vector, method, dense_output=True, events=events,
                rtol=rtol, atol=pieces.tile(atol), **options,
            )  # fmt: skip
        if not found.success:
            raise UnsupportedError(
                f"{label}: the system of the derivatives could not be solved beyond t = "
                f"{found.t[-1]:.6g} ({found.message}); end t_span before, or try another method"
            )
        self.steps[e] = dict(zip(found.t, found.y.T))
        return found.sol

    def _first_step(self, slope: Fun, t0: float, bound: float, vector: np.ndarray) -> float:
        """Return the first step that SciPy takes for the value alone."""
        _, method, rtol, atol, options, *_ = self.settings
        n = len(atol)

        def value(t: Any, y: Any) -> Any:
            return slope(t, np.concatenate([y, vector[n:]]))[:n]

        more = {"max_step": options["max_step"]} if "max_step" in options else {}
        solver = method(value, t0, vector[:n], bound, rtol=rtol, atol=atol, **more)
        return solver.h_abs

    def _jacobian(self, e: tuple) -> Fun:
        """Return the plain Jacobian of an example as a function of time and vector."""
        pieces, layout = self.pieces, self.layout
        n = pieces.shapes[layout.zero][0]
        given = self.settings.slope

        def run(t: Any, vector: np.ndarray) -> np.ndarray:
            ones = (1,) * len(layout.batch_shape())
            state = layout.constant(np.reshape(vector[:n], (*ones, n)))
            found = stop_gradient(jacfwd(lambda y: self.fun(t, y))(state))
            return np.reshape(layout.parts(found)[layout.zero][e].T, -1)

        replay = Replay(run, self.fun, layout, e, {(): n}, n)

        def jacobian(t: Any, vector: np.ndarray) -> Any:
            y = vector[:n]
            if given is not None:
                return pieces.spread(given(t, y, e))
            found = replay(t, np.concatenate([y, np.reshape(np.eye(n), -1)]))
            return pieces.spread(np.reshape(found, (n, n)).T)

        return jacobian

    def at(self, times: Any) -> Any:
        """Return the state at an array of times, along its second axis."""

        def read() -> Any:
            plain = plain_of(self.layout, times)
            batch = self.layout.batch_shape()
            plain = np.broadcast_to(plain, batch + plain.shape[-1:])
            return self.pieces.states({e: self._read(e, plain[e]) for e in np.ndindex(batch)})

        return self._again(read)

    def _read(self, e: tuple, times: np.ndarray) -> np.ndarray:
        """Return the vectors of an example; it has to be within its own range of times."""
        solution = self.solutions[e]
        return solution(np.clip(times, solution.t_min, solution.t_max))

    def integral(self, integrand: Callable[[Any], dict], points: int) -> dict:
        """Return the integrals over all times, by a Gauss rule for each step of the solver.

        `integrand` returns a dict of tensors for a time. Time counts as rising.
        """
        places, shares = np.polynomial.legendre.leggauss(points)

        def run() -> dict:
            layout, total = self.layout, {}  # type: ignore[var-annotated]
            batch = layout.batch_shape()
            for e in np.ndindex(batch):
                ts = np.unique(self.solutions[e].ts)
                for a, b in itertools.pairwise(ts):
                    for place, share in zip((places + 1) / 2, shares / 2):
                        for key, x in integrand(a + place * (b - a)).items():
                            for path, part in layout.parts(x).items():
                                rows = total.setdefault(key, {})
                                if path not in rows:
                                    rows[path] = np.zeros(part.shape, part.dtype)
                                rows[path][e] += share * (b - a) * part[e]
            return {key: layout.tensor(rows) for key, rows in total.items()}

        return self._again(run)


def own_steps(method: Any, n: int) -> Any:
    """Return a method whose steps depend on the first `n` components alone."""

    class OwnSteps(method):  # type: ignore[misc, valid-type]
        def _estimate_error_norm(self, K: Any, h: Any, scale: Any) -> Any:
            return super()._estimate_error_norm(K[:, :n], h, scale[:n])

    return OwnSteps


def _at_time(end: float) -> Any:
    """Return a terminal event at a time."""

    def event(t: Any, _: Any) -> Any:
        return t - end

    event.terminal = True  # type: ignore[attr-defined]
    return event


def check_real(label: str, layout: Layout, value: Any) -> None:
    """Refuse a complex state where reverse mode would differentiate it."""
    if np.result_type(value).kind == "c" and any(
        stage.differentiates == "reverse" for stage in layout.stages
    ):
        raise UnsupportedError(
            f"{label}: reverse mode of a complex state is not supported; write the system for its "
            f"real and imaginary parts, or use jvp"
        )


# ---- times with derivatives ----


def moved(fun: Fun, t: Any, y: Any, change: Any, order: int, label: str) -> Any:
    """Return the state at ``t + change``, where `change` is zero and has derivatives.

    One step of a Runge-Kutta method of that order is exact, as higher powers of `change` vanish.
    """
    if order <= 1:
        return y + change * fun(t, y)
    known: Iterable[Any] = [m for m in EXPLICIT if m.order >= order]
    method = next(iter(known), None)
    if method is None:
        raise UnsupportedError(
            f"{label}: derivatives with respect to a time are supported up to order 8, and {order} "
            f"transforms are around; pass functier.stop_gradient of the times"
        )
    slopes: list[Any] = []
    for row, c in zip(method.A, method.C):
        stage = y
        for a, k in zip(row, slopes):
            stage = stage + (change * float(a)) * k if a else stage
        slopes.append(fun(t + change * float(c), stage))
    for b, k in zip(method.B, slopes):
        y = y + (change * float(b)) * k if b else y
    return y


def change_of(x: Any) -> Any:
    """Return what is left of a tensor without its value: zeros with derivatives, or None."""
    if not isinstance(x, Tensor):
        return None
    fixed = stop_gradient(x)
    return None if fixed is x else x - fixed
