"""Reads and writes at places that values say: gathers, scatters, and zeros around a value."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._rules import indexing as _indexing
from ...graph import Node, nodes_in
from ...loops import Series
from .nodes import Lowering, dtype_of, is_array, rule
from .products import at, is_basic, reshaped, shape_in
from .steps import Literal, Ref, Step, Unknown, growing_in


class Pattern:
    """An index with arrays of an array of some form: how the loop over its result goes.

    Attributes
    ----------
    strides : tuple of int
        For each axis of the result, the step of the array.
    offset : int
    axes : list of tuple
        For each array in the index the size and the stride of the axis that it indexes.
    spread : list of tuple
        For each of these its shape, among the axes of the result.
    """

    def __init__(self, shape: tuple, steps: tuple, index: Any, result: tuple):
        parts = list(index) if type(index) is tuple else [index]
        kinds = [self.kind(part) for part in parts]
        used = sum([kind in ("array", "int", "slice") for kind in kinds])
        k = -1
        if "..." in kinds:
            k = kinds.index("...")
            more = len(shape) - used
            parts[k : k + 1] = [slice(None)] * more
            kinds[k : k + 1] = ["slice"] * more
        else:
            more = len(shape) - used
            parts += [slice(None)] * more
            kinds += ["slice"] * more
        places = [i for i, kind in enumerate(kinds) if kind in ("array", "int")]
        arrays = [i for i, kind in enumerate(kinds) if kind == "array"]
        if not arrays:
            raise Unknown("the index has no arrays")
        rank = max([len(shape_in(parts[i])) for i in arrays])
        together = places[-1] - places[0] == len(places) - 1
        together &= not places[0] < k <= places[-1]  # an empty ellipsis parts them, too
        self.offset, self.arrays = 0, [parts[i] for i in arrays]
        self.axes: list[tuple[int, int]] = []
        strides: list[int] = []
        before: int | None = None if together else 0
        axis = 0
        for i, (part, kind) in enumerate(zip(parts, kinds)):
            if together and i == places[0]:
                before = len(strides)
            if kind == "None":
                strides.append(0)
                continue
            n, step = shape[axis], steps[axis]
            axis += 1
            if kind == "int":
                self.offset += int(part) % n * step
            elif kind == "array":
                self.axes.append((n, step))
            else:
                begin, _, jump = part.indices(n)
                self.offset += begin * step if len(range(*part.indices(n))) else 0
                strides.append(step * jump)
        assert before is not None
        strides[before:before] = [0] * rank
        after = len(strides) - before - rank
        self.strides = tuple(strides)
        self.spread = [(*shape_in(x), *(1,) * after) for x in self.arrays]
        if len(self.strides) != len(result):
            raise Unknown("the index is of another kind")

    @staticmethod
    def kind(part: Any) -> str:
        """Return the kind of a part of an index."""
        if part is None:
            return "None"
        if part is Ellipsis:
            return "..."
        if type(part) is slice:
            for x in (part.start, part.stop, part.step):
                if type(x) not in (int, type(None)):
                    raise Unknown("the index has a slice that is computed")
            return "slice"
        if type(part) is int or isinstance(part, np.integer):
            return "int"
        form = part.form if type(part) is Node else part
        dtype = getattr(form, "dtype", None)
        if dtype is None or dtype.kind not in "iu":
            raise Unknown("the index has a mask, or a list")
        return "array"


def indices_of(low: Lowering, pattern: Pattern) -> list[Any]:
    """Return the values of the arrays of an index, with the axes of the result."""
    found = []
    for k, (x, shape) in enumerate(zip(pattern.arrays, pattern.spread)):
        value = low.value(x)
        size, step = pattern.axes[k]
        if type(x) is np.ndarray and x.size and x.min() >= 0 and x.max() < size:
            pattern.axes[k] = 0, step  # no place is out of bounds
        if type(value) is Ref:
            strides = value.place.strides + (0,) * (len(shape) - len(value.shape))
            value = value._replace(shape=shape, place=value.place._replace(strides=strides))
        found.append(value)
    return found


def moved(value: Ref, offset: int) -> Ref:
    place = value.place
    return value._replace(place=place._replace(offset=place.offset + offset))


def spaced(strides: tuple, shape: tuple) -> tuple[int, ...]:
    """Return strides without the axes of size 1, which no loop has."""
    return tuple([s for n, s in zip(shape, strides) if n != 1])


def gathered(low: Lowering, node: Node, x: Any, index: Any) -> Ref:
    """Read at an index with arrays."""
    value = low.ref(x)
    pattern = Pattern(value.shape, value.place.strides, index, node.form.shape)
    return gather(low, value, pattern, indices_of(low, pattern), node)


def gather(low: Lowering, value: Ref, pattern: Any, indices: list, node: Node) -> Ref:
    shape, dtype = node.form.shape, dtype_of(node.form)
    place = low.new(shape, dtype, node.form.strides)
    step = Step("gather", None, [moved(value, pattern.offset), *indices], shape, dtype, place)
    step.stored = False
    step.info = spaced(pattern.strides, shape), tuple(pattern.axes)
    low.add(step)
    return Ref(shape, dtype, place, (step,), True)


class Along:
    """The pattern of `take_along_axis`."""

    def __init__(self, value: Ref, axis: int, shape: tuple):
        steps = [0 if n == 1 else s for n, s in zip(value.shape, value.place.strides)]
        self.offset, self.axes = 0, [(value.shape[axis], value.place.strides[axis])]
        steps[axis] = 0
        self.strides = tuple(steps)


@rule(np.take_along_axis)
def _take_along(low: Lowering, node: Node) -> Any:
    given = dict(zip(("arr", "indices", "axis"), node.args), **node.kwargs)
    axis = given.get("axis", -1)
    value = low.ref(given["arr"])
    if axis is None or len(given) > 3 or len(shape_in(given["indices"])) != len(value.shape):
        raise Unknown("np.take_along_axis has options")
    index = low.value(given["indices"])
    if index.dtype.kind not in "iu":
        raise Unknown("the indices are not integers")
    pattern = Along(value, axis % len(value.shape), node.form.shape)
    return gather(low, value, pattern, [index], node)


@rule(np.take)
def _take(low: Lowering, node: Node) -> Any:
    given = dict(zip(("a", "indices", "axis"), node.args), **node.kwargs)
    x, indices = given["a"], given["indices"]
    if not set(given) <= {"a", "indices", "axis"}:
        raise Unknown("np.take has options")
    if type(indices) is list and not any(nodes_in(indices)):
        indices = np.asarray(indices)
    if not is_array(indices) and type(indices) is not np.ndarray:
        raise Unknown("np.take of one index")
    value, axis = low.ref(x), given.get("axis")
    if axis is None or not value.shape:
        value, axis = reshaped(low, value, (value.size,)), 0
    index = (*[slice(None)] * (axis % len(value.shape)), indices)
    pattern = Pattern(value.shape, value.place.strides, index, node.form.shape)
    return gather(low, value, pattern, indices_of(low, pattern), node)


# ---- adding at an index of zeros ----


def zeros(low: Lowering, shape: tuple, dtype: np.dtype) -> Ref:
    found = low.element("copy", [Literal(0, dtype)], shape, dtype, (dtype,))
    found.steps[0].stored = True
    return found


@rule(_indexing.add_at)
def _add_at(low: Lowering, node: Node) -> Any:
    if node.kwargs:
        raise Unknown("it has options")
    values, shape, skeleton, *indices = node.args
    dtype = dtype_of(node.form)
    index = _indexing.fill_holes(skeleton, indices)
    empty = zeros(low, shape, dtype)
    if is_basic(index) and not growing_in(index):
        return written_to(low, empty, at(empty, index), low.value(values))
    loop = probe_shape(shape, index)
    pattern = Pattern(shape, empty.place.strides, index, loop)
    place = empty.place._replace(offset=pattern.offset, strides=(0,) * len(loop))
    value = low.value(values)
    step = Step("scatter", None, [value, *indices_of(low, pattern)], loop, dtype, place)
    # As NumPy's call: what no other value can add to is stored, with the sign of a zero.
    adds = any([np.prod(shape_in(i), dtype=int) > 1 for i in indices])
    step.info = spaced(pattern.strides, loop), tuple(pattern.axes), adds
    step.after[empty.steps[0]] = False
    low.add(step)
    return Ref(shape, dtype, empty.place, (empty.steps[0], step))


def probe_shape(shape: tuple, index: tuple) -> tuple[int, ...]:
    """Return the shape that reading at an index gives."""
    parts = [np.zeros(p.form.shape, np.intp) if type(p) is Node else
             np.zeros_like(p) if type(p) is np.ndarray else p for p in index]  # fmt: skip
    for part in index:
        if Pattern.kind(part) == "array" and 0 in shape:
            raise Unknown("it adds to nothing")
    small = np.broadcast_to(np.int8(0), shape)
    return small[tuple(parts)].shape


def pad(low: Lowering, value: Ref, shape: tuple, bounds: Sequence, wraps: bool = False) -> Ref:
    """Add a step that reads a value inside of bounds along each axis: see `Pad`."""
    place = low.new(shape, value.dtype)
    step = Step("pad", None, [value], shape, value.dtype, place)
    step.stored = False
    strides = [0 if n == 1 else s for n, s in zip(value.shape, value.place.strides)]
    kept = tuple([b for n, b in zip(shape, bounds) if n != 1])
    step.info = spaced(tuple(strides), shape), kept, wraps
    low.add(step)
    return Ref(shape, value.dtype, place, (step,), True)


def padded(low: Lowering, value: Any, shape: tuple, index: Any, node: Node) -> Any:
    """Return zeros with a value at a basic index."""
    dtype = dtype_of(node.form)
    parts = index if type(index) is tuple else (index,)
    ranges = bounds_of(shape, parts)
    own = shape_in(node.args[0]) if node.args else ()
    if ranges is not None and type(value) is Ref and own == tuple([b - a for a, b in ranges]):
        return pad(low, value, shape, ranges)
    empty = zeros(low, shape, dtype)
    return written_to(low, empty, at(empty, index), value)


def written_to(low: Lowering, whole: Ref, part: Ref, value: Any) -> Ref:
    """Return a new array in a part of which, which is a view, a value is written."""
    step = low.element(
        "cast", [value], part.shape, part.dtype, (value.dtype,), place=part.place
    ).steps[0]
    for before in whole.steps:
        step.after[before] = False
    return whole._replace(steps=(*whole.steps, step), straight=False)


def bounds_of(shape: tuple, parts: tuple) -> list[tuple[int, int]] | None:
    """Return the bounds along each axis, if an index is of slices of step 1."""
    parts = list(parts)  # type: ignore[assignment]
    if growing_in(parts) or any([p is not Ellipsis and type(p) is not slice for p in parts]):
        return None
    if Ellipsis in [p if p is Ellipsis else 0 for p in parts]:
        k = [p is Ellipsis for p in parts].index(True)
        parts = [*parts[:k], *[slice(None)] * (len(shape) - len(parts) + 1), *parts[k + 1 :]]  # type: ignore[assignment]
    parts = [*parts, *[slice(None)] * (len(shape) - len(parts))]  # type: ignore[assignment]
    found = []
    for part, n in zip(parts, shape):
        begin, end, step = part.indices(n)
        if step != 1 or (n == 1 and (begin, end) != (0, 1)) or end <= begin:
            return None
        found.append((begin, end))
    return found


# ---- rules ----


@rule(operator.getitem)
def _getitem(low: Lowering, node: Node) -> Any:
    x, index = node.args
    if type(x) is Node and type(x.form) is tuple:
        found = low.values.get(x)
        if type(found) is not tuple or type(index) is not int:
            raise Unknown("it is a part of a result of NumPy's")
        return found[index]
    if type(x) is Node and type(x.form) is Series:
        return at(low.value(x), index)
    if not is_array(x) and type(x) is not np.ndarray:
        raise Unknown("it indexes a number")
    if not is_basic(index):
        return gathered(low, node, x, index)
    value = low.value(x)
    return value if type(value) is Literal else at(value, index)


@rule(_indexing.getitem)
def _getitem_split(low: Lowering, node: Node) -> Any:
    x, skeleton, *indices = node.args
    return gathered(low, node, x, _indexing.fill_holes(skeleton, indices))


@rule(_indexing.place)
def _place(low: Lowering, node: Node) -> Any:
    """Zeros with a value at a basic index: read with bounds, where the steps are one."""
    given = dict(zip(("values", "shape", "index"), node.args), **node.kwargs)
    values, shape, index = given["values"], given["shape"], given["index"]
    if not is_basic(index):
        raise Unknown("its index is not basic")
    return padded(low, low.value(values), shape, index, node)


@rule(np.roll)
def _roll(low: Lowering, node: Node) -> Any:
    given = dict(zip(("a", "shift", "axis"), node.args), **node.kwargs)
    shifts, axes = given["shift"], given.get("axis")
    value = low.ref(given["a"])
    if axes is None:
        value, axes = reshaped(low, value, (value.size,)), 0
    if any(nodes_in((shifts, axes))):
        raise Unknown("np.roll by a number that is computed")
    far = [0] * len(value.shape)
    for shift, axis in np.broadcast(shifts, axes):
        far[axis % len(far)] += int(shift)
    bounds = [(s % max(n, 1), n) for s, n in zip(far, value.shape)]
    return reshaped(low, pad(low, value, value.shape, bounds, True), node.form.shape)
