"""The integrand of a function of SciPy in plain parts: its range, its limits and its jumps.

NOTE [limits]
    The derivative by a limit is that of the integral from the limit without its derivatives to
    the limit itself. A Gauss rule gives it, with so many points that it is exact for all levels
    around. Where the limits differ from example to example, one range stands for all of them.

NOTE [jumps]
    Where a jump of the integrand moves with a value, the derivative of the integral has a term
    that the integral of the derivative lacks. So a part that may be differentiated is searched for
    jumps between the nodes so far. At a jump the integrand runs once more, and each function of
    values with a derivative is noted. Where all of these are smooth, the jump stays where it is.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .._control.masks import bare
from .._core.ambient import AMBIENT
from .._core.errors import LevelError, UnsupportedError
from .._core.numpy_facts import dtype_of, name_of
from .._core.tensor import Tensor, canonical
from .._cpython.code import name_of_code
from .._cpython.frames import Frame, code_at
from .._cpython.functions import Hearing, read_code
from .._transforms.stop_gradient import stop_gradient
from ..modes import TensorFunctionMode
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
        self.spots: set[float] = set()  # where a rule does not see a jump: see NOTE [jumps]

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


def check_jumps(
    label: str, integrand: Integrand, span: Range, points: Any, paths: Iterable[Path]
) -> None:
    """Refuse an integrand whose jumps may move: see NOTE [jumps]."""
    known = np.zeros(0) if points is None else np.unique(points)
    width = 1e-6 * np.ptp(sorted(integrand.known) or [0.0])
    for path in [p for p in paths if sum(map(bool, p)) < integrand.layout.order]:
        for node in (*_jumps_at_spots(integrand, path), *_jumps(integrand, path)):
            x = np.ravel(span.arguments(node)) if not span.shared else np.array([node])
            if known.size and np.min(np.abs(x[:, None] - known)) <= width:
                continue
            with Noting() as noted, _noting_conversions(noted.found):
                integrand.func(integrand.place(node), *integrand.args)
            if noted.found:
                raise UnsupportedError(
                    f"{label}: the integrand, or a derivative of it, jumps near {x[0]:.6g}, and "
                    f"{noted.found[0]} of tensors may decide where, so the derivative has a term "
                    f"for that. If the place is a constant c, write quad(..., points=[c]). "
                    f"If it moves, write two integrals with the place as a limit, each of a "
                    f"function that does not jump"
                )


def moving_jump(
    integrand: Integrand, paths: Iterable[Path], call: Callable[[float], Any]
) -> tuple[float, str] | None:
    """Return a node where a part jumps, and the function in `call` that may decide where."""
    for path in paths:
        for node in _jumps(integrand, path):
            # Lists of tensors do not become arrays while a mode is on; they decide nothing.
            forgotten, noted = AMBIENT.get().level.forgotten(), Noting()
            with suppress(LevelError), forgotten, noted, _noting_conversions(noted.found):
                call(node)
            if noted.found:
                return node, noted.found[0]
    return None


class Noting(TensorFunctionMode):
    """Notes the functions of values with a derivative that are not smooth."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __tensor_function__(
        self, func: Callable, types: Iterable, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        meant, operands, _ = canonical(func, args, kwargs or {})
        if meant is np.where and not isinstance(operands[0], Tensor):
            meant = np.add
        found = func(*args, **(kwargs or {}))
        rounds = meant is np.astype and dtype_of(found).kind not in "fc"
        if (meant not in SMOOTH or rounds) and any(map(_has_derivative, operands)):
            self.found.append(name_of(meant))
        return found


@contextmanager
def _noting_conversions(found: list[str]) -> Iterator[None]:
    """Note each tensor that becomes a plain number: no mode sees that."""

    def note(frame: Frame, event: str, argument: Any) -> None:
        if event == "call" and code_at(frame) in CONVERSIONS:
            found.append(name_of_code(code_at(frame)))

    with Hearing(note):
        yield


CONVERSIONS = {
    read_code(f)
    for f in (
        Tensor.__bool__, Tensor.__int__, Tensor.__index__, Tensor.__float__, Tensor.__complex__,
        Tensor.__array__, Tensor.item, Tensor.tolist, bare,
    )
}  # fmt: skip
"""The code of conversions to plain numbers; `bare` is that of the twins of builtins."""


def _has_derivative(x: Any) -> bool:
    """Return whether a value has a derivative at any level."""
    return stop_gradient(x) is not x if isinstance(x, Tensor) else False


SMOOTH = {
    np.add, np.subtract, np.multiply, np.negative, np.positive, np.divide, np.power,
    np.float_power, np.square, np.reciprocal, np.exp, np.exp2, np.expm1, np.log, np.log1p,
    np.log2, np.log10, np.sqrt, np.cbrt, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh,
    np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.hypot, np.logaddexp,
    np.matmul, np.dot, np.vecdot, np.tensordot, np.einsum, np.sum, np.mean, np.prod, np.cumsum,
    np.linalg.solve, np.linalg.inv, np.reshape, np.ravel, np.transpose, np.moveaxis, np.swapaxes,
    np.expand_dims, np.squeeze, np.broadcast_to, np.roll, np.repeat, np.flip, np.real,
    np.imag, np.astype, np.stack, np.concatenate, np.copy, operator.getitem, stop_gradient,
}  # fmt: skip
"""Functions that do not make a jump, or a derivative that jumps, at finite values.

`astype` rounds where it gives whole numbers.
"""


def note_spots(integrand: Integrand, limits: tuple[float, float], low: Any, high: Any) -> None:
    """Note the ends and the middles of subintervals, where a rule does not see a jump.

    Those of an infinite range are given for the variable t of ``(1 - t) / t``.
    """
    spots = np.concatenate([low, high, (np.asarray(low) + high) / 2])
    finite = np.isfinite(limits)
    if not finite.all():
        away = (1 - spots[spots > 0]) / spots[spots > 0]
        if finite.any():
            spots = limits[0] + away if finite[0] else limits[1] - away
        else:
            spots = np.concatenate([away, -away, [0.0]])
    inside = spots[(spots > limits[0]) & (spots < limits[1])]
    integrand.spots.update(inside[:MOST_SPOTS].tolist())


MOST_SPOTS = 100
TINY = 1e-6
"""The part of the largest value that a part may change by at a spot."""


def _jumps_at_spots(integrand: Integrand, path: Path) -> Iterator[float]:
    """Yield the spots where an element of a part jumps."""
    if len(integrand.known) < 2 or not integrand.spots:
        return
    nodes, values = integrand.values(path, integrand.shape(path))
    width, largest = float(np.ptp(nodes)), np.max(np.abs(values), axis=0)
    zero = np.zeros(integrand.shape(path))

    def step(spot: float, part: float) -> np.ndarray:
        away = part * max(min(width, 1.0), abs(spot))
        ends = [integrand.at(spot + d).get(path, zero) for d in (-away, away)]
        return np.abs(ends[1] - ends[0])

    with np.errstate(all="ignore"):
        for spot in sorted(integrand.spots):
            wide = step(spot, 1e-9)
            moves = wide > TINY * largest
            if np.any(moves) and np.any(moves & (step(spot, 1e-12) > 0.6 * wide)):
                yield spot


def _jumps(integrand: Integrand, path: Path) -> Iterator[float]:
    """Yield the nodes where an element of a part jumps, as far as the nodes so far show them.

    The steepest step between two of them and the largest one are looked at.
    """
    if len(integrand.known) < 2:
        return
    nodes, values = integrand.values(path, integrand.shape(path))
    table = values.reshape(len(nodes), -1)
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(table), axis=0)
        steps = np.abs(np.diff(table, axis=0))
        slopes = steps / np.diff(nodes)[:, None]
    for k in np.flatnonzero(largest > 0):
        for i in {int(np.argmax(slopes[:, k])), int(np.argmax(steps[:, k]))}:
            if steps[i, k] > SMALL * largest[k]:
                place = _jump(
                    integrand, path, int(k), nodes[i], nodes[i + 1], steps[i, k], largest[k]
                )
                if place is not None:
                    yield place


def _jump(
    integrand: Integrand, path: Path, k: int, low: float, high: float, step: float, largest: float
) -> float | None:
    """Return the place between two nodes where an element of a part jumps, or None."""

    def value(node: float) -> float:
        part = integrand.at(float(node)).get(path)
        return 0.0 if part is None else float(part.reshape(-1)[k])

    first, left, right = step, value(low), value(high)
    for n in range(1, 60):
        middle = low + (high - low) / 2
        if not low < middle < high:
            return middle
        between = value(middle)
        if abs(between - left) >= abs(right - between):
            high, right = middle, between
        else:
            low, left = middle, between
        step = abs(right - left)
        if step <= SMALL * largest or step < first * 0.6**n:
            return None
    return low
