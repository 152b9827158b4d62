"""The integrand of a function of SciPy in plain parts, its range, and its limits.

NOTE [limits]
    The derivative by a limit is that of the integral from the limit without its derivatives to
    the limit itself. A Gauss rule gives it, with so many points that it is exact for all levels
    around. Where the limits differ from example to example, one range stands for all of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.errors import UnsupportedError
from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from ._parts import Layout, Parts, Path

SMALL = 1e-4
"""The part of the largest value that a difference of neighbours may have without a question."""


class Integrand:
    """The parts of an integrand at the nodes of a rule: each is computed once.

    `place` makes the argument out of a node.
    """

    def __init__(self, layout: Layout, func: Callable, args: tuple, place: Callable, scalar: bool):
        self.layout, self.func, self.args, self.place = layout, func, args, place
        self.scalar, self.met = scalar, False
        self.known: dict[float, Parts] = {}
        self.spots: set[float] = set()  # where a rule does not see a jump: see `_jumps`

    def at(self, node: float) -> Parts:
        """Return the parts at a node."""
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = self.parts(self.place(node))
        return found

    def parts(self, x: Any) -> Parts:
        """Return the parts of the integrand for an argument."""
        y = self.func(x, *self.args)
        if isinstance(y, Tensor):
            self.met = True
            if self.scalar and y.ndim:
                float(np.zeros(y.shape))  # raises as for SciPy, unless there is one element
                y = np.reshape(y, ())  # type: ignore[arg-type]  # a tensor dispatches
        return self.layout.parts(y)

    def paths(self) -> list[Path]:
        """Return the paths of all parts that have been met, the value first."""
        found = {path for parts in self.known.values() for path in parts}
        return sorted(found, key=lambda path: (sum(map(bool, path)), path))

    def shape(self, path: Path) -> tuple[int, ...]:
        """Return the shape of a part."""
        return next(parts[path].shape for parts in self.known.values() if path in parts)

    def values(self, path: Path, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes so far in rising order, and a part at each."""
        nodes = sorted(self.known)
        zero = np.zeros(shape)
        return np.array(nodes), np.array([self.known[u].get(path, zero) for u in nodes])


class Range:
    """The range of an integral: limits without derivatives, and how nodes become arguments.

    `low` and `high` have the batch axes. SciPy integrates over `limits`.
    """

    def __init__(self, label: str, layout: Layout, a: Any, b: Any):
        first, last = [layout.parts(stop_gradient(x))[layout.zero] for x in (a, b)]
        self.layout = layout
        shape = layout.batch_shape()
        first, last = np.broadcast_to(first, shape), np.broadcast_to(last, shape)
        self.sign = np.where(last < first, -1.0, 1.0)
        self.low, self.high = np.minimum(first, last), np.maximum(first, last)
        ends = np.unique(np.stack([self.low, self.high]).reshape(2, -1), axis=1)
        self.shared = ends.shape[1] <= 1
        self.scale = np.ones(shape)
        if self.shared:
            self.limits = tuple(ends[:, 0].astype(float)) if ends.size else (0.0, 0.0)
            return
        kinds = np.unique(np.isinf(ends), axis=1)
        if kinds.shape[1] > 1:
            raise UnsupportedError(
                f"{label}: the limits of some examples are infinite, and those of others are not; "
                f"call it for these examples separately"
            )
        self.limits = tuple(np.where(kinds[:, 0], ends[:, 0], 0.0))
        if not kinds.any():
            self.limits = 0.0, 1.0
            self.scale = self.high - self.low

    def place(self, node: float) -> Any:
        """Return the argument for a node: a number, or one for each example."""
        if self.shared:
            return node
        return self.layout.constant(self.arguments(node))

    def arguments(self, node: Any) -> np.ndarray:
        """Return the plain arguments of all examples for a node."""
        start = self.low if np.isfinite(self.low).all() else self.high
        return start + self.scale * node

    def nodes(self, points: Any, e: tuple) -> Any:
        """Return the nodes of an example for arguments."""
        if self.shared or not self.scale[e]:
            return points
        return (points - self.low[e]) / self.scale[e]


def plain_constant(label: str, name: str, layout: Layout, value: Any) -> Any:
    """Return an argument that has to be a constant, the same for all examples, as plain values."""
    if value is None or not has_tensor(value):
        return value
    values = [stop_gradient(v) for v in value] if isinstance(value, (list, tuple)) else value
    if values is value:
        values = stop_gradient(value)
        moves = values is not value
    else:
        moves = any(v is not w for v, w in zip(values, value))
    if moves:
        raise UnsupportedError(
            f"{label}: {name} has a derivative, which this function does not give; pass "
            f"functier.stop_gradient({name}) where it is a constant"
        )
    found = [layout.parts(v)[layout.zero] for v in (values if isinstance(value, list) else [value])]
    if any(x.ndim for x in found):
        raise UnsupportedError(
            f"{label}: {name} differs from example to example; pass plain values, or call it for "
            f"each example outside of vmap"
        )
    return found if isinstance(value, list) else found[0][()]


def has_tensor(value: Any) -> bool:
    parts = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(v, Tensor) for v in parts)


def with_limits(
    label: str, integrand: Integrand, span: Range, a: Any, b: Any, value: Any,
    weight: Callable | None = None,
) -> Any:  # fmt: skip
    """Return the value with its derivatives with respect to the limits: see NOTE [limits]."""
    layout = integrand.layout
    spots, shares = np.polynomial.legendre.leggauss((layout.order + 1) // 2 or 1)
    for limit, name, sign in ((b, "b", 1.0), (a, "a", -1.0)):
        fixed = stop_gradient(limit)
        if fixed is limit:
            continue
        plain = np.broadcast_to(layout.parts(fixed)[layout.zero], layout.batch_shape())
        if np.isinf(plain).any():
            continue
        _check_end(label, integrand, span, name, plain)
        change = limit - fixed
        for spot, share in zip((spots + 1) / 2, shares / 2):
            x = fixed if layout.order == 1 else fixed + spot * change
            y = integrand.func(x, *integrand.args)
            y = y if weight is None else y * weight(x)
            if layout.order == 1:  # no slope of the integrand counts, which may be infinite
                y = stop_gradient(y)
            term = (sign * share) * change * y
            _check_finite(label, layout, name, term)
            value = value + term
    return value


GROWTH = 0.1
"""The least share by which an infinite integrand grows from 1e-6 to 1e-12 before its limit."""


def _check_finite(label: str, layout: Layout, name: str, term: Any) -> None:
    """Refuse a limit where a derivative of the integrand is infinite, and is asked for."""
    if layout.order > 1 and not all(np.isfinite(x).all() for x in layout.parts(term).values()):
        raise UnsupportedError(
            f"{label}: a derivative of the integrand is not finite at the limit {name}; pass "
            f"functier.stop_gradient({name}) where it is a constant"
        )


def _check_end(label: str, integrand: Integrand, span: Range, name: str, plain: np.ndarray) -> None:
    """Refuse a limit with a derivative where the integrand is infinite or jumps."""
    layout = integrand.layout
    with np.errstate(all="ignore"):
        width = np.where(np.isfinite(span.high - span.low), span.high - span.low, 1.0)
        inward = np.where(plain == span.low, 1.0, -1.0) * np.maximum(width, 1e-3 * np.abs(plain))
        parts = [integrand.parts(layout.constant(plain + inward * d)) for d in (0.0, 1e-12, 1e-6)]
        end, near, far = [np.abs(found[layout.zero]) for found in parts]
        grows = (end >= near) & (near - far > GROWTH * far)  # as a logarithm that rounding spares
        if not np.all(np.isfinite(end)) or np.any(grows):
            raise UnsupportedError(
                f"{label}: the integrand is not finite at the limit {name}, so the integral has "
                f"no finite derivative with respect to it; pass functier.stop_gradient({name}) "
                f"where it is a constant"
            )
        for path in {path for found in parts for path in found}:
            if sum(map(bool, path)) >= layout.order:
                continue
            end, near, far = [found.get(path, np.zeros(())) for found in parts]
            largest = np.maximum(np.abs(end), np.abs(far))
            jumps = np.abs(end - near) > np.maximum(SMALL * largest, 0.6 * np.abs(end - far))
            if np.any(jumps & (width > 0).reshape(width.shape + (1,) * (jumps.ndim - width.ndim))):
                raise UnsupportedError(
                    f"{label}: the integrand, or a derivative of it, jumps at the limit {name}, "
                    f"with respect to which the integral is differentiated; integrate a function "
                    f"that does not jump there"
                )
