"""Descriptions of elements that are not finite: their number, their place, and their origin."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.errors import NonFiniteError
from .._core.tensor import Tensor
from .._transforms.chunks.chunk import CHUNK, Chunk


class Part(NamedTuple):
    """An array inside all levels of a value, with the labels of its leading batch axes."""

    bare: np.ndarray
    batch: tuple[str, ...]
    of: str  # the phrase for a tangent, else ""


def parts(x: Any) -> Iterator[Part]:
    """Yield the arrays of numbers inside a value, such as the primal and the tangent."""
    if isinstance(x, (tuple, list)):
        for y in x:
            yield from parts(y)
    elif isinstance(x, Tensor):
        level = getattr(x.level, "level", x.level)
        if level.records:
            return  # its numbers are known later
        own = [str(part) for part in level.group()] if level.batches else []
        value, *extra = x.parts()
        for bare, batch, of in parts(value):
            yield Part(bare, (*batch, *own), of)
        if level.differentiates == "forward":
            for bare, batch, of in parts(extra):
                yield Part(bare, batch, f" in the tangent of {level}{of}")
    elif isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        bare = np.asarray(x)
        if bare.dtype.kind in "fciu":
            yield Part(bare, (), "")


class Fault(NamedTuple):
    """Elements of a result that are not finite."""

    part: Part
    bad: np.ndarray  # a mask of the elements
    nan: bool  # whether a NaN is among them; otherwise they are infinite
    made: bool  # whether the call made them; otherwise an operand had them
    given: str  # the phrase for the operands
    there: bool  # whether the operands have values at the place of the first element
    values: str  # these values, or a summary of the operands

    @property
    def first(self) -> tuple[int, ...]:
        return tuple(map(int, np.argwhere(self.bad)[0]))

    @property
    def what(self) -> str:
        return counted(self.part.bare, self.bad) + self.part.of

    def place(self) -> str:
        bare, batch, _ = self.part
        k, index = len(batch), self.first
        examples = [f", example {i} of {label}" for i, label in zip(index, batch)]
        first = "first at" if self.bad.sum() > 1 else "at"
        chunk = CHUNK.get()
        if isinstance(chunk, Chunk):
            examples.insert(0, f", in the chunk from {chunk.start} to {chunk.stop} of {chunk.size}")
        return f"{first} index {index[k:]} of shape {bare.shape[k:]}" + "".join(reversed(examples))

    def error(self, text: str, lines: str) -> NonFiniteError:
        values = f"\n  {'where' if self.there else 'with'} {self.values}" if self.values else ""
        return NonFiniteError(f"{text}, {self.place()}{values}\n  at {lines}")


def find_fault(
    nans: bool, infs: bool, result: Any, operands: list[tuple[str, Any]], elementwise: bool
) -> Fault | None:
    """Return the first fault in `result`: elements that are NaN or infinite, as asked for."""
    for part in parts(result):
        if part.bare.dtype.kind in "fc":
            nan = np.isnan(part.bare) if nans else np.zeros(part.bare.shape, bool)
            inf = np.isinf(part.bare) if infs else np.zeros(part.bare.shape, bool)
            if nan.any() or inf.any():
                return _fault(part, nan, inf, operands, elementwise)
    return None


def _fault(
    part: Part, nan: np.ndarray, inf: np.ndarray, operands: list[tuple[str, Any]], elementwise: bool
) -> Fault:
    # A primal does not depend on tangents.
    inside = [(name, p) for name, x in operands for p in parts(x) if part.of or not p.of]
    views = [aligned(p, part) if elementwise else None for _, p in inside]
    there = bool(views) and all(v is not None for v in views)
    shown: list = views if there else [p.bare for _, p in inside]
    had_nan = had_inf = np.False_
    for v in shown:
        had_nan = had_nan | (np.isnan(v) if there else np.isnan(v).any())
        had_inf = had_inf | (np.isinf(v) if there else np.isinf(v).any())
    bad, made = nan & ~had_nan, True
    if not bad.any():
        bad = inf & ~(had_nan | had_inf)
    if not bad.any():
        bad, made = nan if nan.any() else inf, False
    given = "operands without NaN" if np.any(had_inf) else "finite operands"
    found = Fault(part, bad, bool(nan[bad].any()), made, given, there, "")
    texts = [
        f"{name or 'saved'}{p.of} = " + (f"{v[found.first].item()!r}" if there else ranged(v))
        for v, (name, p) in zip(shown, inside)
    ]
    return found._replace(values=", ".join(texts))


def aligned(operand: Part, result: Part) -> np.ndarray | None:
    """Return an operand broadcast to an elementwise result, or None where that fails."""
    b, k = len(operand.batch), len(result.batch)
    shape = operand.bare.shape
    lacking = (result.bare.ndim - k) - (len(shape) - b)
    if b > k or lacking < 0:
        return None
    shape = (*shape[:b], *(1,) * (k - b + lacking), *shape[b:])
    try:
        return np.broadcast_to(operand.bare.reshape(shape), result.bare.shape)
    except ValueError:
        return None


def ranged(v: np.ndarray) -> str:
    """Return the form and the range of an array for a message."""
    form = f"{v.dtype}{list(v.shape)}"
    if v.dtype.kind == "c" or not v.size:
        return form
    return f"{form} from {v.min().item()!r} to {v.max().item()!r}"


def counted(values: np.ndarray, bad: np.ndarray) -> str:
    """Return the numbers of NaNs and infinities for a message."""
    nans = int(np.isnan(values[bad]).sum())
    infs = int(bad.sum()) - nans
    texts = [f"{nans} NaN{'s' if nans > 1 else ''}"] if nans else []
    texts += [f"{infs} infinit{'ies' if infs > 1 else 'y'}"] if infs else []
    return " and ".join(texts)
