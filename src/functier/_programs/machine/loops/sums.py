"""Reductions of a nest, while it is written.

NOTE [sums]
    Each lane adds at most `RUN` numbers before its sum goes to a pair of numbers, a sum and what
    it lacks (Knuth's two-sum). The error is below that of NumPy's pairwise sums.
"""

from typing import Any

import numpy as np

from ..elementary import rule_of
from ..text.emitter import INT64, Emitter, Value
from .nests import Reduce

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
            self.slots = self.made_slots()

    def made_slots(self) -> list[str]:
        """Return the variables that the lanes are in."""
        return [self.w.slot(self.w.e, self.dtype) for _ in range(1 + 2 * self.paired)]

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


class Product(Sum):
    """A product of floats in the order of the elements, which is NumPy's: in another one a part
    of it may overflow.
    """

    def made_slots(self) -> list[str]:
        return [self.w.slot(self.w.s, self.dtype)]

    def begin(self) -> None:
        one = self.w.s
        one.store(one.constant(self.start, self.dtype), self.slots[0])

    def add(self, value: Value, pointer: str, mask: Value | None) -> None:
        if self.level < 0:
            super().add(value, pointer, mask)
            return
        w, one = self.w, self.w.s
        if mask is not None:
            value = w.e.select(mask, value, self.constant())
        before = one.load(self.slots[0], self.dtype)
        if w.width:
            kind, lanes = one.type(self.dtype), w.e.type(self.dtype)
            name = f"@llvm.vector.reduce.fmul.v{w.width}{'f64' if kind == 'double' else 'f32'}"
            w.declarations[name] = f"declare {kind} {name}({kind}, {lanes})"
            given = f"{kind} {before.text}, {lanes} {value.text}"
            value = Value(w.let(f"call {kind} {name}({given})"), self.dtype)
        else:
            value = one.mul(before, value)
        one.store(value, self.slots[0])

    def finish(self, pointers: list[str]) -> None:
        one, pointer = self.w.s, pointers[self.line.stream]
        value = one.load(self.slots[0], self.dtype)
        if self.fills:
            value = self.combine(one, one.load(pointer, self.dtype), value)
        one.store(value, pointer)


def reduction(writer: Any, line: Any) -> Sum:
    """Return what writes a reduction."""
    if type(line) is not Reduce:
        return Extremum(writer, line)
    floats = writer.nest.streams[line.stream].dtype.kind == "f"
    return (Product if line.func is np.multiply and floats else Sum)(writer, line)


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
