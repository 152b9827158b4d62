"""The flow of a differential equation in reverse mode, by the adjoint.

NOTE [the adjoint]
    The cotangent of the state runs backward in time, ``a' = -(df/dy)^T a``, and jumps by the
    cotangent of each result. The cotangent of the start is ``a(t0)``. That of anything else that
    the function depends on is the integral of ``(df/dp)^T a``, by a Gauss rule on the steps of
    `a`. The cost of a step does not depend on the number of parameters.

NOTE [levels and the adjoint]
    One level of reverse mode has an adjoint, the innermost one. Levels inside it make the system
    larger, as forward sensitivities (see `_flows`), and each of their examples has its own. For
    levels outside of it both ways in time are flows of their own, by forward sensitivities: an
    adjoint of an adjoint would need the state at all times.

NOTE [what the function depends on]
    While the state is computed, the tape of each call of the function is asked for the earlier
    nodes that it reaches. These are the parameters, and nobody has to list them. The backward pass
    calls the function again, as a checkpoint does; all that it reaches has its contents of then.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as sci  # type: ignore[import-untyped]

from .._control.effects import Effects
from .._control.masks import Surroundings
from .._core.errors import LevelError
from .._core.numpy_facts import Value, dtype_of, shape_of
from .._core.tensor import Tensor
from .._levels.backward import Stretch
from .._levels.kept import owned
from .._transforms.stop_gradient import stop_gradient
from .._transforms.vmap import vmap
from ..progress import during
from ._flows import Flow, Fun, Pieces, Settings
from ._parts import Layout, NewBatch

SHARE = 0.1
"""The part of the tolerances that both solutions get, as their errors add up."""
SMALLEST = 1e-13
"""The smallest relative tolerance that SciPy takes without a warning, about."""


class Inner(Layout):
    """The levels inside one that differentiates: the parts are tensors of that level."""

    def __init__(self, level: Any):
        super().__init__()
        self.classes = self.classes[: self.classes.index(level.cls)]
        self.order = sum(bool(stage.differentiates) for stage in self.stages)
        self.zero = (0,) * self.order

    def _end(self, x: Any) -> Any:
        return x


class AdjointFlow:
    """The state that starts as `y0` at `t0`, until `t1`, with an adjoint at a grad level."""

    def __init__(self, level: Any, fun: Fun, t0: Any, t1: Any, y0: Any, settings: Settings):
        self.cls, self.fun, self.settings = level.cls, fun, settings
        self.stretch = Stretch()
        self.inner = Inner(level)
        self.pieces = Pieces(self.inner)
        self.given = t0, t1, y0
        self._run()

    def _run(self) -> None:
        while True:
            try:
                self._solve()
                return
            except NewBatch as news:
                self.pieces.note(news)

    def _solve(self) -> None:
        t0, t1, y0 = self.given
        inner, pieces = self.inner, self.pieces
        starts, ends = self.plain(t0), self.plain(t1)
        first = inner.parts(y0)
        pieces.meet(first)
        rtol = self.settings.rtol
        settings = self.settings._replace(
            rtol=np.maximum(rtol * SHARE, np.minimum(rtol, SMALLEST)),
            atol=pieces.tile(self.settings.atol) * SHARE, slope=None,
        )  # fmt: skip
        self.examples = {}
        for e in np.ndindex(inner.batch_shape()):
            slope = pieces.slope(self.fun, e)
            self.examples[e] = Example(
                self, slope, starts[e], ends[e], pieces.pack(first, e), settings
            )

    def plain(self, x: Any) -> Any:
        """Return values without derivatives, with an axis for each batch level inside."""
        value = self.inner.parts(stop_gradient(x))[self.inner.zero]
        batch = self.inner.batch_shape()
        return np.broadcast_to(value, batch + shape_of(x))

    def at(self, times: Any) -> Any:
        """Return the state at an array of times, along its second axis."""
        try:
            plain = self.plain(times)
        except NewBatch as news:
            self.pieces.note(news)
            self._run()
            return self.at(times)
        return self.pieces.states({e: one.at(plain[e]) for e, one in self.examples.items()})


class Example:
    """The flow of one example of the levels inside."""

    def __init__(
        self, owner: AdjointFlow, slope: Fun, t0: Any, t1: Any, vector: Any, settings: Settings
    ):
        self.cls, self.stretch, self.slope = owner.cls, owner.stretch, slope
        self.t0, self.t1, self.settings = t0, t1, settings
        self.around, self.owner = Surroundings(), owner
        self.passed = 0  # of the times, by the backward pass
        self.parameters: dict[int, Any] = {}  # nodes, by number
        self.origin: Any = None
        if type(vector) is self.cls:
            vector, self.origin = vector.parts()
        self.flow = Flow(self._slope, t0, t1, vector, settings._replace(checked=False))
        for e in self.flow.solutions:
            self.flow.check_jumps(e, lambda t, y: slope(t, self.cls.level.track([y])[0]))

    def _slope(self, t: Any, vector: Any) -> Any:
        """Return the slope without its derivatives, and note what it depends on."""
        found = self.slope(t, vector)
        if type(found) is not self.cls:
            return found
        value, node = found.parts()
        self.parameters |= self.stretch.reached(node)
        return value

    def at(self, times: Any) -> Any:
        """Return the state as a vector for each time."""
        value = self.flow.at(times)
        parents = [*self.parameters.values()]
        if self.origin is not None:
            parents.append(self.origin)
        if not parents:
            return value
        label = self.settings.label
        then = Effects([self.owner.fun, self.settings.slope])

        def pull(cotangents: tuple) -> list:
            (g,) = cotangents
            if g is None:
                return [None] * len(parents)
            with then.again(label):
                return self._pull(times, owned(g), parents)

        (node,) = Stretch.replace(parents, pull, 1)
        return self.cls.join(value, node)

    def _pull(self, times: Any, g: Value, parents: list) -> list:
        """Return the cotangents of all parents; those of a batch of directions at once."""
        around: list[tuple[Any, int]] = []
        g = np.reshape(g, (1, *shape_of(g)))
        while isinstance(g, Tensor) and not issubclass(self.around.ambient, type(g)):
            level: Any = g.level
            if not level.batches:
                raise LevelError(
                    f"{self.settings.label}: {level} differentiates its cotangents outside of the "
                    f"transform that the solution was computed in; use forward mode there"
                )
            rows = level.unwrap(g)
            around.append((level, len(rows)))
            g = np.reshape(rows, (-1, *shape_of(rows)[2:]))
        text, count = f"{self.settings.label}: backward pass", shape_of(times)[0]
        with during(text, lambda: self.passed, count, " times"):
            found = self.around.run(self._backward, times, g)
        results = []
        for node in parents:
            c = found.get(node[0])
            if c is not None:
                for level, n in reversed(around):
                    c = np.reshape(c, (n, -1, *shape_of(c)[1:]))
                    (c,) = level.insert([c], [0], self.settings.label)
                c = c[0]
            results.append(c)
        return results

    def _backward(self, times: Any, g: Value) -> dict[int, Value]:
        """Return the cotangents by the numbers of nodes, each with an axis of directions."""
        forward = np.sign(self.t1 - self.t0)
        order = np.argsort((times - self.t0) * forward, kind="stable")
        times = np.take_along_axis(times, order, 0)
        g = np.take_along_axis(g, np.reshape(order, (1, 1, -1)), 2)
        size = _largest(g)
        g = g / size
        m, n, count = shape_of(g)
        settings = self.settings._replace(
            atol=np.tile(self.settings.atol, m),
            own_steps=False,
            checked=False,
            options=self._options(),
        )
        totals: dict[int, Value] = {}
        adjoint: Any = np.zeros((m, n))
        for k in reversed(range(count)):
            self.passed = count - 1 - k
            adjoint = adjoint + g[:, :, k]
            end = times[k - 1] if k else self.t0
            flow = Flow(self._adjoint_slope, times[k], end, np.reshape(adjoint, -1), settings)

            def quadrature(t: Any, flow: Flow = flow) -> dict:
                a = np.reshape(flow.at(np.array([t]))[:, 0], (m, n))
                found = self._products(t, a)
                found.pop(None, None)
                return found

            for key, c in flow.integral(quadrature, points_of(settings.method)).items():
                c = c * forward
                totals[key] = totals[key] + c if key in totals else c
            adjoint = np.reshape(flow.at(np.stack([end]))[:, 0], (m, n))
        if self.origin is not None:
            key = self.origin[0]
            totals[key] = totals[key] + adjoint if key in totals else adjoint
        return {key: np.astype(c * size, dtype_of(c)) for key, c in totals.items()}

    def _options(self) -> dict[str, Any]:
        """Return the options that are right for the way back, too."""
        known = ("max_step", "min_step")
        return {k: v for k, v in self.settings.options.items() if k in known}

    def _adjoint_slope(self, t: Any, vector: Any) -> Any:
        n = len(self.settings.atol)
        adjoint = np.reshape(vector, (-1, n))
        found = self._products(t, adjoint, state_only=True).get(None)
        return np.zeros(shape_of(vector)) if found is None else np.reshape(-found, -1)

    def _products(self, t: Any, rows: Any, state_only: bool = False) -> dict[Any, Value]:
        """Return the products of rows with the derivatives of the slope.

        The key None is for those by the state, and numbers of nodes are for the others.
        """
        state = self.flow.at(np.array([t]))[:, 0]
        (tracked,) = self.cls.level.track([state])
        found = self.slope(t, tracked)
        if type(found) is not self.cls:
            return {}
        (_, node), (_, leaf) = found.parts(), tracked.parts()
        inputs: dict[Any, Any] = {None: leaf}
        if not state_only:
            reached = self.stretch.reached(node)
            if reached.keys() - self.parameters.keys():
                raise LevelError(
                    f"{self.settings.label}: in the backward pass the function depends on a value "
                    f"that it did not depend on before; let it depend on the same values at all "
                    f"times, or pass derivative='forward'"
                )
            inputs |= reached
        if len(rows) == 1:
            products = self.stretch.pull(node, rows[0], inputs)
            return {key: np.reshape(c, (1, *shape_of(c))) for key, c in products.items()}
        kept: list[Any] = []

        def pull(row: Value) -> list:
            products = self.stretch.pull(node, row, inputs)
            kept[:] = products
            return [*products.values()]

        return dict(zip(kept, vmap(pull)(rows)))


def _largest(g: Value) -> Value:
    """Return the size of cotangents, by which they are divided: the adjoint is linear in them."""
    fixed = stop_gradient(g)
    size = np.max(np.abs(fixed), axis=(0, 1, 2))
    return np.where(size > 0, size, 1.0)


def points_of(method: Callable) -> int:
    """Return the number of nodes of a Gauss rule that is as accurate as a method."""
    return 5 if isinstance(method, type) and issubclass(method, sci.DOP853) else 3
