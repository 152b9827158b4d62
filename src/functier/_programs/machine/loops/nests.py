"""Nests: loops over the elements of arrays, as data, and the reductions in them.

NOTE [sums]
    Each lane adds at most `RUN` numbers before its sum goes to a pair of numbers, a sum and what
    it lacks (Knuth's two-sum). The error is below that of NumPy's pairwise sums.
"""

from typing import Any, NamedTuple

import numpy as np

from ...graph import exact
from ..elementary import rule_of
from ..text.emitter import INT64, Emitter, Value

LIGHT = 10
"""A body of at most so many steps takes several vectors at once."""

MANY = 6
"""From so many long functions on a body calls them, and is not written in line."""


class Stream(NamedTuple):
    """An array that a loop reads or writes.

    Attributes
    ----------
    dtype : numpy.dtype
    strides : tuple of int
        The bytes from one element to the next, along each axis of the loop.
    writes : bool
        Whether the loop writes to it.
    size : int
        The number of elements of the result of a reduction, which lie side by side.
    alone : bool
        Whether no other array of the loop overlaps it.
    """

    dtype: np.dtype
    strides: tuple[int, ...]
    writes: bool = False
    size: int = 0
    alone: bool = True


class Literal(NamedTuple):
    """A number in a body: equal ones have the same bits."""

    value: Any
    dtype: np.dtype

    def __eq__(self, other: object) -> bool:
        return type(other) is Literal and exact(tuple(self)) == exact(tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(exact(tuple(self)))


class Load(NamedTuple):
    stream: int


class Pad(NamedTuple):
    """An element of an array that covers a part of the loop, and zero outside.

    If it `wraps`, the bounds end where the loop does, and before them are the elements of the end.
    """

    stream: int
    bounds: tuple[tuple[int, int], ...]
    wraps: bool = False


class Gather(NamedTuple):
    """An element at indices: triples of a value, the size of the axis and its stride.

    The size is 0 where no value is negative or out of bounds.
    """

    stream: int
    places: tuple[tuple[int, int, int], ...]


class Apply(NamedTuple):
    """A function of values; `checked` refuses what Python's operators raise for."""

    func: Any
    args: tuple[Any, ...]
    dtypes: tuple[np.dtype, ...]
    result: np.dtype
    checked: bool = False


class Store(NamedTuple):
    stream: int
    value: Any


class Scatter(NamedTuple):
    """Add a value at indices."""

    stream: int
    places: tuple[tuple[int, int, int], ...]
    value: Any
    adds: bool


class Reduce(NamedTuple):
    func: np.ufunc
    stream: int
    value: Any


class ArgReduce(NamedTuple):
    """The place of the largest, or smallest, number along the one axis that is reduced."""

    func: Any
    stream: int
    value: Any
    dtype: np.dtype


class Nest(NamedTuple):
    """A loop: the sizes of its axes, its arrays, and its body in order."""

    space: tuple[int, ...]
    streams: tuple[Stream, ...]
    body: tuple[Any, ...]


# ---- the axes of a nest ----


def merged(nest: Nest) -> Nest:
    """Join axes that all arrays pass through like one."""
    space = list(nest.space)
    steps = [list(stream.strides) for stream in nest.streams]
    pads = {i: list(line.bounds) for i, line in enumerate(nest.body) if type(line) is Pad}
    for j in reversed(range(len(space) - 1)):
        n = space[j + 1]
        if all([s[j] == s[j + 1] * n for s in steps]) and all(
            [b[j + 1] == (0, n) for b in pads.values()]
        ):
            for s in steps:
                del s[j]
            for b in pads.values():
                b[j : j + 2] = [(b[j][0] * n, b[j][1] * n)]
            space[j : j + 2] = [space[j] * n]
    return rebuilt(nest, space, steps, pads, range(len(space)))


def rebuilt(nest: Nest, space: list, steps: list, pads: dict, order: Any) -> Nest:
    """Return a nest with its axes in an order."""
    body = list(nest.body)
    for i, bounds in pads.items():
        body[i] = body[i]._replace(bounds=tuple([bounds[k] for k in order]))
    streams = [
        stream._replace(strides=tuple([s[k] for k in order]))
        for stream, s in zip(nest.streams, steps)
    ]
    return Nest(tuple([space[k] for k in order]), tuple(streams), tuple(body))


def ordered(nest: Nest, lanes: int) -> Nest:
    """Put the axes into the order of memory, and the best one for vectors last."""
    count = len(nest.space)
    if count < 2 or 0 in nest.space:
        return nest
    streams = nest.streams

    def cost(k: int) -> float:
        n = nest.space[k]
        far = [s for s in streams if s.strides[k] not in (0, s.dtype.itemsize)]
        return -(-n // lanes) / n * (len(nest.body) + 2) + len(far) + sum([s.writes for s in far])

    inner = min(range(count), key=lambda k: (cost(k), -k))
    for line in nest.body:
        if type(line) is ArgReduce:
            inner = streams[line.stream].strides.index(0)
    rest = [k for k in range(count) if k != inner]
    rest.sort(key=lambda k: -max([abs(s.strides[k]) for s in streams], default=0))
    pads = {i: line.bounds for i, line in enumerate(nest.body) if type(line) is Pad}
    steps = [list(stream.strides) for stream in streams]
    return rebuilt(nest, list(nest.space), steps, pads, [*rest, inner])


SHORT = frozenset({
    np.add, np.subtract, np.multiply, np.negative, np.maximum, np.minimum, np.absolute, np.fabs,
    np.square, np.divide, np.sqrt, np.positive, np.reciprocal, np.less, np.less_equal, np.greater,
    np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.sign, np.floor, np.ceil, np.rint,
    np.trunc, np.isnan, np.isfinite, np.isinf, np.signbit, np.copysign,
    np.logical_xor, np.fmax, np.fmin, np.conjugate, np.where, "cast", "copy",
})  # fmt: skip
"""Functions of a few instructions."""


def lanes_of(nest: Nest, native: int) -> tuple[int, bool]:
    """Return the lanes of a vector, and whether long functions are called."""
    sizes = [s.dtype.itemsize for s in nest.streams]
    heavy = 0
    serial = False
    for line in nest.body:
        if type(line) is Apply:
            sizes += [line.result.itemsize, *[d.itemsize for d in line.dtypes]]
            heavy += line.func not in SHORT
        elif type(line) is Scatter:
            serial = True
    lanes = native // max(sizes, default=8)
    if serial:
        return 0, True
    if not heavy and len(nest.body) <= LIGHT:
        lanes *= 4
    lanes = min(lanes, 64)
    small = int(np.prod(nest.space, dtype=float)) < 256
    return max(lanes, 2), heavy > (1 if small else MANY)


RUN = 64

NOTHING = float(np.add.reduce(np.full(2, -0.0)))
"""The number that NumPy's sums begin with: a zero, whose sign a sum of negative zeros has."""


def identity(func: np.ufunc, dtype: np.dtype) -> Any:
    """Return the number that a reduction begins with."""
    if func is np.add:
        return NOTHING if dtype.kind == "f" else 0
    if func is np.multiply:
        return 1
    if func in (np.logical_and, np.bitwise_and):
        return -1 if func is np.bitwise_and and dtype.kind != "b" else 1
    if func in (np.maximum, np.minimum):
        sign = -1 if func is np.maximum else 1
        if dtype.kind == "f":
            return sign * np.inf
        if dtype.kind == "b":
            return sign > 0
        limits = np.iinfo(dtype)
        return limits.min if func is np.maximum else limits.max
    return 0  # or, xor


class Sum:
    """A reduction of a nest.

    Attributes
    ----------
    level : int
        The first of the last axes that are all reduced: lanes are summed from there on in
        registers. -1 where the last axis is not reduced: elements are added in memory.
    fills : bool
        Whether the result is filled first, since an axis before these is reduced.
    paired : bool
        Whether it keeps a sum and what it lacks: see NOTE [sums].
    """

    def __init__(self, writer: Any, line: Reduce):
        self.w, self.line = writer, line
        nest = writer.nest
        self.stream = nest.streams[line.stream]
        self.dtype = self.stream.dtype
        self.start = identity(line.func, self.dtype)
        strides = self.stream.strides
        level = len(strides)
        while level and not strides[level - 1]:
            level -= 1
        self.level = level if level < len(strides) or not strides else -1
        self.fills = 0 in strides[: level if self.level >= 0 else len(strides)]
        per_lane = 1
        for n in nest.space[level:]:
            per_lane *= n
        self.paired = (
            self.level >= 0 and line.func is np.add and self.dtype.kind == "f"
            and per_lane > RUN * max(writer.width, 1)
        )  # fmt: skip
        if self.level >= 0:
            # The variables that the lanes are in.
            self.slots = [writer.slot(writer.e, self.dtype) for _ in range(1 + 2 * self.paired)]

    def constant(self) -> Value:
        return self.w.e.constant(self.start, self.dtype)

    def begin(self) -> None:
        for slot in self.slots:
            self.w.set(slot, self.constant())

    def reset(self) -> None:
        self.w.set(self.slots[0], self.constant())

    def combine(self, emitter: Emitter, a: Value, b: Value) -> Value:
        return rule_of(self.line.func)(emitter, a, b)

    def flush(self) -> None:
        """Add the sums of the lanes to the pair."""
        e, (slot, high, low) = self.w.e, self.slots
        x, s = self.w.get(slot, self.dtype), self.w.get(high, self.dtype)
        total = e.add(s, x)
        back = e.sub(total, s)
        lost = e.add(e.sub(s, e.sub(total, back)), e.sub(x, back))
        # An infinite sum lacks nothing: what it lacks would be NaN.
        lost = e.select(e.compare("eq", e.sub(total, total), 0.0), lost, 0.0)
        self.w.set(low, e.add(self.w.get(low, self.dtype), lost))
        self.w.set(high, total)

    def add(self, value: Value, pointer: str, mask: Value | None) -> None:
        """Take the values of a step of the loop."""
        e = self.w.e
        if mask is not None:
            value = e.select(mask, value, self.constant())
        if self.level >= 0:
            self.w.set(self.slots[0], self.combine(e, self.w.get(self.slots[0], self.dtype), value))
            return
        stride = self.stream.strides[-1]
        e.store(self.combine(e, e.load(pointer, self.dtype, stride), value), pointer, stride)

    def across(self, values: list[Value]) -> list[Value]:
        """Return what the lanes of a vector come to together."""
        w = self.w
        width = w.width
        while width > 1:
            halves = [[half_of(w, x, width, first) for x in values] for first in (0, width // 2)]
            width //= 2
            w.count += 1
            half = Emitter(width if width > 1 else 0, f"h{w.count}.", w.declarations)
            half.lines, half.block = w.e.lines, w.e.block
            values = self.together(half, *halves)
            w.e.block = half.block
        return values

    def together(self, emitter: Emitter, a: list[Value], b: list[Value]) -> list[Value]:
        return [self.combine(emitter, a[0], b[0])]

    def finish(self, pointers: list[str]) -> None:
        """Write the result, of all lanes."""
        w = self.w
        value = w.get(self.slots[-1] if self.paired else self.slots[0], self.dtype)
        if self.paired:
            value = w.e.add(w.get(self.slots[1], self.dtype), value)
        (value,) = self.across([value])
        w.count += 1
        one = Emitter(0, f"h{w.count}.", w.declarations)
        one.lines, one.block = w.e.lines, w.e.block
        pointer = pointers[self.line.stream]
        if self.fills:
            value = self.combine(one, one.load(pointer, self.dtype), value)
        one.store(value, pointer)
        w.e.block = one.block


def half_of(writer: Any, value: Value, width: int, first: int) -> Value:
    """Return one half of a vector."""
    kind = f"<{width} x {writer.e.scalar_type(value.dtype)}>"
    if width == 2:
        return Value(writer.let(f"extractelement {kind} {value.text}, i32 {first}"), value.dtype)
    lanes = ", ".join([f"i32 {first + i}" for i in range(width // 2)])
    mask = f"<{width // 2} x i32> <{lanes}>"
    text = f"shufflevector {kind} {value.text}, {kind} poison, {mask}"
    return Value(writer.let(text), value.dtype)


class Extremum(Sum):
    """The place of the first largest, or smallest, number of a row."""

    def __init__(self, writer: Any, line: Any):
        self.w, self.line = writer, line
        nest = writer.nest
        self.stream, self.dtype = nest.streams[line.stream], line.dtype
        self.largest = line.func is np.argmax
        self.start = identity(np.maximum if self.largest else np.minimum, self.dtype)
        self.level = max(len(nest.space) - 1, 0)
        self.fills = self.paired = False
        self.slots = [writer.slot(writer.e, self.dtype), writer.slot(writer.e, INT64)]

    def begin(self) -> None:
        self.w.set(self.slots[0], self.constant())
        self.w.set(self.slots[1], self.w.e.constant(0, INT64))

    def better(self, e: Emitter, a: Value, b: Value) -> Value:
        """Tell where `b` comes before `a`: it is beyond, or the first NaN."""
        found = e.compare("gt" if self.largest else "lt", b, a)
        if self.dtype.kind == "f":
            found = e.either(found, e.both(e.isnan(b), e.compare("eq", a, a)))
        return found

    def add(self, value: Value, pointer: Any, mask: Value | None) -> None:
        e = self.w.e
        if mask is not None:
            value = e.select(mask, value, self.constant())
        a, at = self.w.get(self.slots[0], self.dtype), self.w.get(self.slots[1], INT64)
        better = self.better(e, a, value)
        self.w.set(self.slots[0], e.select(better, value, a))
        self.w.set(self.slots[1], e.select(better, pointer, at))

    def together(self, emitter: Emitter, a: list[Value], b: list[Value]) -> list[Value]:
        e = emitter
        better = self.better(e, a[0], b[0])
        worse = self.better(e, b[0], a[0])
        before = e.both(e.invert(worse), e.compare("lt", b[1], a[1]))
        better = e.either(better, before)
        return [e.select(better, y, x) for x, y in zip(a, b)]

    def finish(self, pointers: list[str]) -> None:
        w = self.w
        start = [w.get(self.slots[0], self.dtype), w.get(self.slots[1], INT64)]
        found = self.across(start)[1]
        w.count += 1
        one = Emitter(0, f"h{w.count}.", w.declarations)
        one.lines, one.block = w.e.lines, w.e.block
        one.store(found, pointers[self.line.stream])


def reduction(writer: Any, line: Any) -> Sum:
    """Return what writes a reduction."""
    return (Sum if type(line) is Reduce else Extremum)(writer, line)
