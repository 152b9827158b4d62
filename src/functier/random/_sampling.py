"""Draws from a source at the levels around it, for `functier.random`.

NOTE [the axes of a draw]
    A draw has one axis for each "different" level around it, outermost first, and then those
    that its caller asked for. One call of NumPy's method fills it, and it becomes a tensor
    of these levels. Parameters that vary along a level have their axis in the same place:
    `unwrap_levels` moves it there.

NOTE [same]
    At a "same" level each example draws the numbers that it would draw by itself. There is one
    draw where no parameter varies along the level. Where one does, each example starts from the
    same state; the source then continues with another stream, since some examples may have
    taken more numbers than others.
"""

import copy
import functools
import operator
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._core.errors import MutationError, NoRuleError, RandomnessError
from .._core.numpy_facts import Function, Shape, Value, shape_of, stretch
from .._core.root import DISABLED
from .._core.tensor import Tensor
from .._cpython.frames import current_frame
from .._levels.batch import BatchLevel
from .._levels.level import Level
from .._levels.lineage import AMBIENT, innermost_class, inward, levels_of
from .._transforms.chunks.chunk import CHUNK
from .._transforms.chunks.streams import AFTER, following, stream_of

Size = int | Sequence[int] | None

Seed = (
    int | Sequence[int] | np.ndarray | np.random.SeedSequence | np.random.BitGenerator
    | np.random.Generator | None
)  # fmt: skip
"""The seeds that `numpy.random.default_rng` takes."""


class Source(Protocol):
    """A `functier.random.Generator`, whose class is made of this module."""

    _lock: Any


WHOLE = slice(None)

FORWARD = "write {}(..., randomness='same') for the derivative of one draw"
DRAW_REMEDIES = {
    **dict.fromkeys(("jacfwd", "hessian", "hessian_diagonal", "laplacian"), FORWARD),
    "vmap": "write vmap(..., randomness='different') for different numbers for each example, or "
    "randomness='same' for the same numbers for all",
}
OTHER_DRAW_REMEDY = "draw before {} and pass the numbers in"
"""The remedies that messages propose, by transform."""


def is_outside_levels(operands: tuple) -> bool:
    """Return whether no level takes part: none is around the call, and no operand is a tensor."""
    return AMBIENT.get() is Tensor and not has_tensor(operands)


def has_tensor(operands: tuple) -> bool:
    for x in operands:
        if isinstance(x, Tensor):
            return True
    return False


# ---- a level that notes draws ----


def noting_level() -> Any:
    """Return the level around this call that notes draws, or None."""
    cls = AMBIENT.get()
    if cls is Tensor:
        return None
    found = None
    for level in levels_of(cls):
        found = level
    return found if found is not None and found.kind.guards and found.live else None


def is_noted_alone(operands: tuple) -> bool:
    """Tell if no level takes part but one that notes draws, which calls NumPy's method itself."""
    level = noting_level()
    if level is None:
        return False
    if any([isinstance(x, Tensor) and type(x) is not level.cls for x in operands]):
        return False
    inner = AMBIENT.get()
    return not any([other is not level and other.batches for other in levels_of(inner)])


def make(source: Source, function: Function, *args: Any) -> Value:
    """Return ``function(stream, *args)`` with the stream of a source, which is locked.

    A level that notes draws has the call made anew each time.
    """
    stream = stream_of(source, CHUNK.get())
    level = noting_level()
    return function(stream, *args) if level is None else level.draw(source, stream, function, args)


def refuse_noted(source: Source, what: str, instead: str) -> None:
    """Raise where a level notes draws, and a call would take the stream itself."""
    level = noting_level()
    if level is not None and not level.has_made(source):
        raise level.refusal(
            RandomnessError,
            f"{what} would be the same in each call of the program; {instead}",
        )


class Draw(NamedTuple):
    """A draw of NumPy's generator.

    Attributes
    ----------
    name : str
        The method, for messages.
    function : callable
        ``(stream, *operands, size)``; `stream` is a generator of NumPy.
    cores : tuple of int
        The number of trailing axes of each operand that do not broadcast; 0 by default.
    each : bool
        True where `function` takes the operands of one example only.
    """

    name: str
    function: Function
    cores: tuple[int, ...] = ()
    each: bool = False


@functools.cache
def draw_of(name: str, *cores: int) -> Draw:
    """Return the draw that is a method of NumPy's generator as it stands."""
    return Draw(name, getattr(np.random.Generator, name), cores)


def batch_levels(operands: tuple, name: str) -> list[BatchLevel]:
    """Return the levels of vmap around a draw, outermost first; raise where one refuses draws."""
    found: list[BatchLevel] = []
    for level in levels_of(innermost_class(operands, current_frame())):
        if level.batches and level.cls not in DISABLED.get():
            if level.randomness == "error":
                transform = level.label.partition("(")[0]
                raise level.refusal(
                    RandomnessError,
                    f"rng.{name}(...) draws, and randomness is 'error', the default; "
                    f"{DRAW_REMEDIES.get(transform, OTHER_DRAW_REMEDY).format(transform)}",
                )
            found.insert(0, level)
    return found


def as_shape(size: Size) -> tuple[int, ...]:
    if size is None:
        return ()
    return tuple(size) if np.iterable(size) else (operator.index(size),)  # type: ignore[arg-type]


# ---- one draw ----


def sample(
    source: Source, draw: Draw, operands: tuple = (), size: Size = None, near: tuple = ()
) -> Value:
    """Make a draw at the levels around it.

    Parameters
    ----------
    operands : tuple
        The values that the draw depends on; tensors of batch levels get the axes of these in
        front.
    size : int, tuple of int or None
        The shape for each example; None for that of the operands broadcast together.
    near : tuple
        Values that the numbers will be combined with: their levels are around the draw too.
    """
    everything = operands + near
    if is_outside_levels(everything):
        with source._lock:
            return draw.function(stream_of(source, CHUNK.get()), *operands, size)
    if is_noted_alone(operands) and not batch_levels(near, draw.name):
        with source._lock:
            return make(source, draw.function, *operands, size)
    levels = batch_levels(everything, draw.name)
    with source._lock:
        stream = stream_of(source, CHUNK.get())
        different = [level for level in levels if level.randomness == "different"]
        lead = tuple([_batch_size(level, draw.name) for level in different])
        tensors = has_tensor(operands)
        if not tensors and not lead:
            return make(source, draw.function, *operands, size)
        if not tensors and not draw.each:
            shape = as_shape(size)
            if size is None and operands:
                shape = _loop_shape([shape_of(x) for x in operands], draw.cores)
            return _wrap_in_levels(make(source, draw.function, *operands, lead + shape), different)
        refuse_noted(
            source, f"rng.{draw.name}(...) with parameters that are tensors, inside vmap,",
            "draw standard numbers, and compute what the parameters say",
        )  # fmt: skip
        values = [unwrap_levels(x, levels, draw.name, i) for i, x in enumerate(operands)]
        return _draw_along(stream, draw, values, levels, lead, size)


def _draw_along(
    stream: np.random.Generator, draw: Draw, values: list, levels: list[BatchLevel], lead: Shape,
    size: Size,
) -> Value:  # fmt: skip
    """Draw with operands that have an axis of size 1 or more for each level."""
    k = len(levels)
    varying = np.broadcast_shapes(*[v.shape[:k] for v in values])
    if size is None and not draw.each:
        shape: Any = _loop_shape([v.shape[k:] for v in values], draw.cores)
    else:
        shape = size if draw.each else as_shape(size)
    if not draw.each:
        values = align_operands(k, values, draw.cores, k + len(shape))
    different = [i for i, level in enumerate(levels) if level.randomness == "different"]
    same = [i for i in range(k) if i not in different and varying[i] > 1]

    def once(chosen: tuple) -> Value:
        """Draw at one place along the levels in `same`."""
        own = [_select(v, k, dict(zip(same, chosen)), different) for v in values]
        if not draw.each:
            return draw.function(stream, *own, lead + shape if lead or shape else None)
        m = len(lead)
        rows = []
        for place in np.ndindex(*lead):
            row = [v[tuple([i if n > 1 else 0 for i, n in zip(place, v.shape[:m])])] for v in own]
            rows.append(np.asarray(draw.function(stream, *row, shape)))
        if rows:
            return np.stack(rows).reshape((*lead, *rows[0].shape))
        form = np.asarray(
            draw.function(copy.deepcopy(stream), *[_stand_in(v, m) for v in own], shape)
        )
        return np.empty((*lead, *form.shape), form.dtype)

    if not same:
        return _wrap_in_levels(once(()), [levels[i] for i in different])
    start, rows = copy.deepcopy(stream), []
    for chosen in np.ndindex(*[varying[i] for i in same]):
        stream.bit_generator.state = start.bit_generator.state
        rows.append(np.asarray(once(chosen)))
    stream.bit_generator.state = following(start, AFTER).bit_generator.state
    result = np.stack(rows).reshape(*[varying[i] for i in same], *rows[0].shape)
    kept = sorted([*same, *different])
    order = [same.index(i) if i in same else len(same) + different.index(i) for i in kept]
    result = result.transpose(*order, *range(len(order), result.ndim))
    return _wrap_in_levels(result, [levels[i] for i in kept])


def _stand_in(value: Value, m: int) -> Value:
    """Return a valid operand for an example of an empty batch, which has none."""
    shape = value.shape[m:]
    return np.full(shape, 1 if value.dtype.kind in "iu" else 1 / max(1, *shape[-1:]))[()]


def _select(value: Value, k: int, chosen: dict[int, int], different: list[int]) -> Value:
    """Take `value` at one place of some of its `k` leading axes; keep those in `different`."""
    index: list[Any] = []
    for i in range(k):
        if i in different:
            index.append(WHOLE)
        else:
            index.append(chosen.get(i, 0) if value.shape[i] > 1 else 0)
    return value[tuple(index)]


def _loop_shape(shapes: list, cores: tuple) -> tuple[int, ...]:
    """Return the shape that shapes without their core axes broadcast to."""
    cores = cores or (0,) * len(shapes)
    return np.broadcast_shapes(*[s[: len(s) - c] for s, c in zip(shapes, cores)])


def align_operands(k: int, values: list, cores: tuple = (), rank: int = 0) -> list:
    """Return arrays of rank `rank` or more that broadcast but for `k` leading and core axes."""
    cores = cores or (0,) * len(values)
    rank = max([rank, *[v.ndim - c for v, c in zip(values, cores)]])
    return [stretch(k, v, v.shape, rank + c) for v, c in zip(values, cores)]


def _batch_size(level: BatchLevel, name: str) -> int:
    if level.size is None:
        raise ValueError(
            f"{level}: rng.{name}(...) draws for each example, and the level has no batch size "
            f"yet; make a tensor of it first, B(xs), or write vmap(..., axis_size=n)"
        )
    return level.size


# ---- into the levels, and out of them ----


def _wrap_in_levels(value: Value, levels: list[BatchLevel]) -> Value:
    """Return a tensor of the levels, whose axes are the first of `value`, outermost first."""
    for level in levels:
        (value,) = level.insert([value], [0], "a draw")
    return value


def unwrap_levels(
    x: Value, levels: list[BatchLevel], name: str = "", place: int = 0, stop: bool = False
) -> Value:
    """Return an operand as a plain array with an axis for each level, of size 1 where it does
    not vary. With `stop` its derivatives are dropped, else it must not have any.
    """
    for level in reversed(levels):
        x = _unwrap_derivatives(x, name, place, stop)
        if type(x) is level.cls:
            x = level.elem(x)
        else:
            x = level.lower(x)
            x = np.reshape(x, (1, *shape_of(x)))
    x = _unwrap_derivatives(x, name, place, stop)
    if isinstance(x, Tensor) and x.level.kind.guards and x.level.depth and x.level.live:
        x.level.guard(x, "a parameter of a draw")
        x, _ = x.parts()
    if isinstance(x, Tensor):  # of no level, or of one that has ended
        x = x.level.unwrap(x) if x.level.depth else x.elem()
    return np.asarray(x)


def _unwrap_derivatives(x: Value, name: str, place: int, stop: bool) -> Value:
    """Return `x` without the outermost levels that differentiate or are disabled."""
    while isinstance(x, Tensor) and (level := type(x).level).depth and level.live:
        if level.kind.guards:
            break
        if type(x) not in DISABLED.get():
            if level.batches:
                break
            if level.records:
                level.unknown_value("a draw")
            if not stop:
                raise _no_derivative(level, name, place)
        x = level.elem(x)
    return x


def freeze(x: Value, levels: list[BatchLevel]) -> Value:
    """Return `x` without its derivatives, as an array with an axis for each level."""
    return unwrap_levels(x, levels, stop=True)


def restore_levels(value: Value, levels: list[BatchLevel]) -> Value:
    """Undo `freeze`; levels along which nothing varies are left out."""
    k = len(levels)
    kept = [i for i in range(k) if value.shape[i] > 1 or levels[i].size == 1]
    shape = tuple([value.shape[i] for i in kept]) + value.shape[k:]
    return _wrap_in_levels(value.reshape(shape), [levels[i] for i in kept])


DISCRETE = frozenset({
    "binomial", "choice", "geometric", "hypergeometric", "integers", "logseries", "multinomial",
    "multivariate_hypergeometric", "negative_binomial", "poisson", "zipf",
})  # fmt: skip


def _no_derivative(level: Level, name: str, place: int) -> NoRuleError:
    parameters = list(signature(getattr(np.random.Generator, name)).parameters)
    parameter = "p" if name == "choice" else parameters[place + 1]
    if name in DISCRETE:
        reason = "the numbers are integers, which jump when the parameter changes"
    else:
        reason = "the method takes different steps when the parameter changes"
    return NoRuleError(
        f"{level}: the numbers of rng.{name}(...) have no derivative by {parameter!r}: {reason}; "
        f"write functier.stop_gradient({parameter}) for a draw at its value; the derivative of an "
        f"expectation is that of the draw's log density times what is averaged"
    )


def pick(array: Value, index: Value, axis: int) -> Value:
    """Take `array` at `index` along an axis; `np.take` dispatches on the array only."""
    if isinstance(index, Tensor) and not isinstance(array, Tensor):
        return index.level.function(np.take, (array, index), {"axis": axis})
    return np.take(array, index, axis=axis)


def refuse_write(operands: tuple, name: str, instead: str) -> None:
    """Raise where a call that writes to an array is inside a level."""
    if is_outside_levels(operands):
        return
    levels: list[Level] = list(batch_levels(operands, name))
    levels += [type(x).level for x in operands if isinstance(x, Tensor)]
    if levels:
        raise levels[-1].refusal(
            MutationError,
            f"rng.{name}(...) would write to an array that is not a tensor of this level, or "
            f"that all examples share; write {instead}",
        )


# ---- draws that are differentiated by their parameters ----


def _scaled(z: Value, scale: Value) -> Value:
    return scale * z


def _located(z: Value, loc: Value, scale: Value) -> Value:
    return loc + scale * z


def _weibull(z: Value, a: Value) -> Value:
    none = np.equal(a, 0)
    return np.where(none, 0.0, z ** (1 / np.where(none, 1.0, a)))


def _triangular(u: Value, left: Value, mode: Value, right: Value) -> Value:
    base = right - left
    is_left = u * base <= mode - left
    part = np.where(is_left, u * (mode - left), (1 - u) * (right - mode)) * base
    length = np.sqrt(part)
    return np.where(is_left, left + length, right - length)


PATHS: dict[str, tuple[str, Callable]] = {
    "exponential": ("standard_exponential", _scaled),
    "gamma": ("standard_gamma", _scaled),
    "gumbel": ("gumbel", _located),
    "laplace": ("laplace", _located),
    "logistic": ("logistic", _located),
    "lognormal": ("standard_normal", lambda z, mean, sigma: np.exp(mean + sigma * z)),
    "normal": ("standard_normal", _located),
    "pareto": ("standard_exponential", lambda z, a: np.expm1(z / a)),
    "power": ("standard_exponential", lambda z, a: (-np.expm1(-z)) ** (1 / a)),
    "rayleigh": ("rayleigh", _scaled),
    "triangular": ("random", _triangular),
    "uniform": ("random", lambda u, low, high: low + (high - low) * u),
    "weibull": ("standard_exponential", _weibull),
}
"""By method: NumPy's method that draws the standard numbers, and NumPy's formula for these and
the parameters (``numpy/random/src/distributions/distributions.c``)."""


def draw_by_formula(
    source: Source, name: str, operands: tuple, size: Size = None, fixed: int = 0
) -> Value:
    """Draw by the formula in `PATHS` where an operand is a tensor, else by NumPy.

    Derivatives go through the formula. The first `fixed` operands are parameters of the
    standard draw, which has no derivative with respect to them.
    """

    if not has_tensor(operands) or is_noted_alone(operands):
        return sample(source, draw_of(name), operands, size)
    levels = batch_levels(operands, name)
    values = align_operands(len(levels), [freeze(x, levels) for x in operands])
    with source._lock:  # NumPy checks the parameters by a draw of nothing
        empty = (*np.broadcast_shapes(*[v.shape for v in values]), 0)
        draw_of(name).function(
            stream_of(source, CHUNK.get()), *[v[..., None] for v in values], empty
        )
    shape = np.broadcast_shapes(*[shape_of(x) for x in operands])
    if size is not None:
        wanted = as_shape(size)
        if not _is_broadcastable(shape, wanted):
            raise ValueError(
                f"rng.{name}(...): size {wanted} does not fit its parameters, which have the "
                f"shape {shape} together; write size={shape}, or leave size out"
            )
        shape = wanted
    standard, formula = PATHS[name]
    draw = Draw(name, lambda stream, *own: getattr(stream, standard)(*own[:-1], size=own[-1]))
    z = sample(source, draw, operands[:fixed], shape or None, near=operands)
    return formula(np.float64(z) if type(z) is float else z, *operands[fixed:])


def _is_broadcastable(shape: tuple, wanted: tuple) -> bool:
    """Return whether an array of a shape can be broadcast to another."""
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


def find_derivative_level(operands: tuple) -> Level | None:
    """Return a level of derivatives in one of the operands, or None."""
    for operand in operands:
        for x in inward(operand):
            level = type(x).level
            off = not level.depth or level.batches or level.kind.guards
            off = off or type(x) in DISABLED.get()
            if not off:
                return level
    return None
