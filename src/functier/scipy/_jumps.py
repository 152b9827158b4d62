"""Jumps of an integrand, which a derivative by parts does not see.

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
from .._core.errors import LevelError, UnsupportedError
from .._core.numpy_facts import name_of
from .._core.tensor import Tensor, canonical
from .._cpython.code import name_of_code
from .._cpython.frames import Frame, code_at
from .._cpython.functions import Hearing, read_code
from .._transforms.stop_gradient import stop_gradient
from ..modes import TensorFunctionMode
from ._integrands import SMALL, Integrand, Range
from ._parts import Path


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
            with suppress(LevelError), Noting() as noted, _noting_conversions(noted.found):
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
        if meant not in SMOOTH and any(map(_has_derivative, operands)):
            self.found.append(name_of(meant))
        return func(*args, **(kwargs or {}))


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
    np.matmul, np.dot, np.sum, np.mean, np.prod, np.reshape, np.transpose, np.astype,
    operator.getitem, stop_gradient,
}  # fmt: skip
"""Functions that do not make a jump, or a derivative that jumps, at finite values."""


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
