"""Joining arrays, and splitting them: several operands, or several results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.numpy_facts import Index, Shape, Value
from .axes import as_number, batch_shape, flatten_examples, normalize, shift
from .constructors import NUMBERS, composite, linear
from .own_code import by_own_code

WEAK = {float, int, bool, np.float64}

# ---- joining ----


def _broadcast_batch(k: int, arrays: Sequence[Value]) -> Value:
    """Return the operands as arrays that all have the whole batch."""
    batches = [np.shape(a)[:k] for a in arrays]
    if all(b == batches[0] for b in batches) and len(batches[0]) == k:
        return arrays
    batch = batch_shape(k, *arrays)
    return [
        a
        if b == batch
        else np.full(batch, a)  # a number: a fifth of the time
        if type(a) in NUMBERS
        else np.broadcast_to(a, (*batch, *np.shape(a)[k:]))
        for a, b in zip(arrays, batches)
    ]


def _index_along(axis: int, ndim: int, item: Value) -> Value:
    """Return the index that is `item` along one axis."""
    return (slice(None),) * shift(axis, 0, ndim) + (item,)


def _concatenate_vmap(
    k: int, arrays: Sequence[Value], axis: int | None = 0, **options: Any
) -> Value:
    if any(type(a) in NUMBERS for a in arrays):  # they are weak
        options.setdefault("dtype", np.result_type(*arrays))
    arrays = _broadcast_batch(k, arrays)
    if axis is None:
        return np.concatenate([flatten_examples(k, a) for a in arrays], k, **options)
    return np.concatenate(arrays, shift(axis, k, np.ndim(arrays[0]) - k), **options)


def _concatenate_vjp(
    g: Value, index: Index, shapes: Sequence[Shape], axis: int | None = 0
) -> Value:
    """Return the part of `g` that belongs to operand `index`."""
    if axis is None:
        sizes = [int(np.prod(s, dtype=int)) for s in shapes[: index + 1]]
        return np.reshape(g[sum(sizes[:-1]) : sum(sizes)], shapes[index])
    start = sum([s[axis] for s in shapes[:index]])
    return g[_index_along(axis, len(shapes[0]), slice(start, start + shapes[index][axis]))]


linear(
    np.concatenate,
    "arrays axis out dtype casting",
    "arrays",
    variadic="arrays",
    vmap=_concatenate_vmap,
    vjp={"arrays": _concatenate_vjp},
)


def _stack_vmap(k: int, arrays: Sequence[Value], axis: int = 0, **options: Any) -> Value:
    arrays = _broadcast_batch(k, arrays)
    return np.stack(arrays, shift(axis, k, np.ndim(arrays[0]) - k + 1), **options)


def _stack(arrays: Sequence[Value], axis: int = 0, **options: Any) -> Value:
    """`numpy.stack`; of numbers `numpy.array`, which takes a tenth of the time."""
    if not axis and not options and WEAK.issuperset(map(type, arrays)):
        made = np.array(arrays)
        if made.dtype.kind == "f":  # large integers are unsigned there
            return made
    return np.stack(arrays, axis, **options)


linear(
    np.stack,
    "arrays axis out dtype casting",
    "arrays",
    variadic="arrays",
    kernel=_stack,
    vmap=_stack_vmap,
    vjp={"arrays": lambda g, index, axis=0: g[_index_along(axis, np.ndim(g), index)]},
)


by_own_code(np.hstack, np.vstack, np.dstack, np.column_stack, np.append)


def _list_depth(arrays: Value) -> Value:
    """Return the depth to which the lists of a block are nested, the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError("numpy.block: only lists can arrange blocks; write a list for the tuple")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("numpy.block: a list of blocks cannot be empty")
    depths = {_list_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ValueError(f"numpy.block: list depths are mismatched: {sorted(depths)}")
    return 1 + depths.pop()


def _rank(arrays: Value) -> Value:
    return max(map(_rank, arrays)) if isinstance(arrays, list) else np.ndim(arrays)


def _join(arrays: Value, depth: int, ndim: int) -> Value:
    """Join the innermost lists along the last axis, and the outer ones along those before it."""
    if depth:
        return np.concatenate([_join(a, depth - 1, ndim) for a in arrays], -depth)
    missing = ndim - np.ndim(arrays)
    return np.reshape(arrays, (1,) * missing + np.shape(arrays)) if missing else arrays


@lambda body: composite(np.block, body)
def _block(arrays: Value) -> Value:
    depth = _list_depth(arrays)
    return _join(arrays, depth, max(depth, _rank(arrays))) if depth else np.copy(arrays, "C")


# ---- splitting ----


def _piece_bounds(n: int, indices_or_sections: Value) -> Value:
    """Return the first index and the end of every piece of `n` elements."""
    if np.ndim(indices_or_sections) == 0:
        each, rest = divmod(n, int(indices_or_sections))
        sizes = [each + 1] * rest + [each] * (int(indices_or_sections) - rest)
        ends = [int(e) for e in np.cumsum(sizes)]
    else:
        ends = [*indices_or_sections, n]
    pieces = [slice(i, j).indices(n) for i, j in zip([0, *ends], ends)]
    return [(start, max(start, stop)) for start, stop, _ in pieces]


def _array_split_vjp(
    g: Value, ary_shape: Shape, ary_dtype: np.dtype, indices_or_sections: Value, axis: int = 0
) -> Value:
    """Concatenate the pieces; where they overlap, add them up in their places."""
    (axis,) = normalize(axis, len(ary_shape))
    n = ary_shape[axis]
    bounds = _piece_bounds(n, indices_or_sections)
    if [0, *[stop for _, stop in bounds]] == [*[start for start, _ in bounds], n]:
        return np.concatenate(g, axis)

    def whole(piece: Value, start: Value, stop: Value) -> Value:
        before, after = [
            np.zeros((*ary_shape[:axis], m, *ary_shape[axis + 1 :]), ary_dtype)
            for m in (start, n - stop)
        ]
        return np.concatenate([before, piece, after], axis)

    return sum([whole(piece, *bound) for piece, bound in zip(g, bounds)])


def _bind_array_split(ary: Value, indices_or_sections: Value, axis: int = 0) -> dict[str, Any]:
    """Name the operands; places or a number that are tensors become those of all examples."""
    return {"ary": ary, "indices_or_sections": _as_places(indices_or_sections), "axis": axis}


def _as_places(places: Value) -> Value:
    if not np.iterable(places):
        return as_number(places)
    return [as_number(place) for place in places] if _holds_tensors(places) else places


def _holds_tensors(places: Value) -> bool:
    return hasattr(places, "level") or (
        isinstance(places, (list, tuple)) and any([hasattr(p, "level") for p in places])
    )


linear(
    np.array_split,
    "ary indices_or_sections axis",
    bind=_bind_array_split,
    vmap=lambda k, ary, indices_or_sections, axis=0: np.array_split(
        ary, indices_or_sections, shift(axis, k, ary.ndim - k)
    ),
    vjp={"ary": _array_split_vjp},
)


by_own_code(np.split, np.hsplit, np.vsplit, np.dsplit)


linear(
    np.unstack,
    "x axis",
    vmap=lambda k, x, axis=0: np.unstack(x, axis=shift(axis, k, x.ndim - k)),
    vjp={"x": lambda g, axis=0: np.stack(g, axis)},
)
