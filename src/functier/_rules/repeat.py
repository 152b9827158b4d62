"""Operations that repeat elements."""

import math
from collections.abc import Sequence

import numpy as np

from .._core.numpy_facts import Shape, Value
from .axes import as_number, as_whole, flatten_examples, shift
from .constructors import composite, data_dependent_vmap, linear, primitive


@primitive
def segment_sum(a: Value, counts: Value, axis: int) -> Value:
    """Return the sums of runs along an axis, of `counts` elements each; 0 for an empty run."""
    counts = np.asarray(counts).astype(np.intp)
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    out = np.zeros((*a.shape[:axis], len(counts), *a.shape[axis + 1 :]), a.dtype)
    if len(filled):
        out[(slice(None),) * axis + (filled,)] = np.add.reduceat(a, starts, axis)
    return out


linear(
    segment_sum,
    "a counts axis",
    vmap=lambda k, a, counts, axis: segment_sum(a, counts, axis + k),
    vjp={"a": lambda g, counts, axis: np.repeat(g, counts, axis)},
)

_refuse_batch = data_dependent_vmap(np.repeat, "pass the same repeats for every example")


def _repeat_vmap(k: int, a: Value, repeats: Value, axis: int | None = None) -> Value:
    if hasattr(repeats, "shape"):
        if any(n != 1 for n in repeats.shape[:k]):
            _refuse_batch(k, a, repeats)
        repeats = np.reshape(repeats, repeats.shape[k:])
        if not repeats.size:  # an empty list has become an array of floats
            repeats = repeats.astype(np.intp)
    if axis is None or (np.ndim(a) == k and axis in (0, -1)):
        return np.repeat(flatten_examples(k, a), repeats, k)
    return np.repeat(a, repeats, shift(axis, k, np.ndim(a) - k))


def _repeat_vjp(g: Value, a_shape: Shape, repeats: Value, axis: int | None = None) -> Value:
    """Return the sum over the copies of each element."""
    own: Shape
    if axis is None or len(a_shape) < 2:
        own, axis = (int(np.prod(a_shape, dtype=int)),), 0
    else:
        own, axis = a_shape, shift(axis, 0, len(a_shape))
    if np.size(repeats) == 1:
        times = int(np.reshape(repeats, ()))
        each = np.reshape(g, (*own[: axis + 1], times, *own[axis + 1 :]))
        return np.reshape(np.sum(each, axis + 1), a_shape)
    return np.reshape(segment_sum(g, repeats, axis), a_shape)


def _bind_repeat(a: Value, repeats: Value, axis: int | None = None) -> dict:
    """Return the parameters by name; NumPy casts a number of repeats, and no array of them."""
    if not np.ndim(repeats):
        repeats = as_whole(repeats)
    return {"a": a, "repeats": repeats, "axis": axis}


linear(
    np.repeat,
    "a repeats axis",
    "a repeats",
    bind=_bind_repeat,
    vmap=_repeat_vmap,
    by_value="repeats",
    vjp={"a": _repeat_vjp},
)


@lambda body: composite(np.tile, body)
def _tile(A: Value, reps: Value) -> Value:
    """Broadcast along new axes, each in front of the axis that it repeats."""
    reps = tuple(reps) if np.iterable(reps) else (reps,)
    shape = np.shape(A)
    ndim = max(len(shape), len(reps))
    shape = (1,) * (ndim - len(shape)) + shape
    reps = (1,) * (ndim - len(reps)) + reps
    apart = np.reshape(A, [m for n in shape for m in (1, n)])
    whole = np.broadcast_to(apart, [m for r, n in zip(reps, shape) for m in (r, n)])
    tiled = np.reshape(whole, tuple(r * n for r, n in zip(reps, shape)))
    return np.copy(tiled) if math.prod(reps) == 1 or np.size(A) == 1 else tiled


@lambda body: composite(np.resize, body)
def _resize(a: Value, new_shape: int | Sequence[int]) -> Value:
    """The elements in a row, over and over until the new shape is full."""
    sizes = new_shape if np.iterable(new_shape) else (new_shape,)
    new_shape = tuple([as_number(n) for n in sizes])
    size = int(np.prod(new_shape, dtype=int))
    if min(new_shape, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not a.size or not size:
        return np.zeros_like(a, shape=new_shape)
    times = -(-size // a.size)
    row = np.copy(np.ravel(a)) if times == 1 else np.tile(np.ravel(a), times)
    return np.reshape(row if row.size == size else row[:size], new_shape)
