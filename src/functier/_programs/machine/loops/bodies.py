"""Bodies of nests: the instructions of one step of the inner loop."""

from typing import Any

import numpy as np

from ..elementary import rule_of
from ..text.emitter import BOOL, INT64, Value
from .nests import Apply, ArgReduce, Gather, Load, Pad, Reduce, Scatter, Store

INT8 = np.dtype(np.int8)


class Body:
    """The body of a nest while it is written, at an index of the last axis."""

    def __init__(self, writer: Any, index: str, pointers: list[str]):
        self.w, self.index, self.pointers = writer, index, pointers
        self.moved: dict[int, str] = {}
        self.values: list[Any] = []
        nest = writer.nest
        n = nest.space[-1] if nest.space else 1
        again = writer.width > 1 and n % writer.width
        self.mask = (
            self.lanes_from(writer.done) if again and index != "0" and self.needs_mask() else None
        )

    def needs_mask(self) -> bool:
        """Return whether elements that are computed again would change the result."""
        return self.rewrites() or any([type(line) is Reduce for line in self.w.nest.body])

    def rewrites(self) -> bool:
        """Return whether it writes what it reads: what is computed again has other values then."""
        body = self.w.nest.body
        read = {line.stream for line in body if type(line) is Load}
        return any([type(line) is Store and line.stream in read for line in body])

    def lane_numbers(self) -> Value:
        """Return the indices of the lanes."""
        e = self.w.e
        first = e.broadcast(self.index, INT64)
        if not e.width:
            return first
        lanes = ", ".join([f"i64 {i}" for i in range(e.width)])
        return e.add(first, Value(f"<{lanes}>", INT64))

    def lanes_from(self, done: str) -> Value:
        e = self.w.e
        return e.compare("ge", self.lane_numbers(), e.broadcast(done, INT64))

    def stride(self, stream: int) -> int:
        strides = self.w.nest.streams[stream].strides
        return strides[-1] if strides else 0

    def pointer(self, stream: int) -> str:
        """Return the place of an array's elements of this step."""
        found = self.moved.get(stream)
        if found is None:
            found = self.w.move(self.pointers[stream], self.index, self.stride(stream))
            self.moved[stream] = found
        return found

    def write(self) -> None:
        w = self.w
        sums = iter(w.sums)
        for line in w.nest.body:
            value = None
            if type(line) is Reduce:
                found = next(sums)
                pointer = "" if found.level >= 0 else self.pointer(line.stream)
                found.add(self.value(line.value), pointer, self.mask)
            elif type(line) is ArgReduce:
                next(sums).add(self.value(line.value), self.lane_numbers(), self.mask)
            else:
                value = getattr(self, f"write_{type(line).__name__.lower()}")(line)
            self.values.append(value)
        refused = w.e.refused()
        if refused is not None:
            w.refuses = True
            w.set(w.status, w.e.either(w.get(w.status, BOOL), refused))
            w.e.refusals.clear()

    def value(self, x: Any) -> Value:
        if type(x) is int:
            return self.values[x]
        return self.w.e.constant(x.value, x.dtype)

    def write_load(self, line: Load) -> Value:
        stream = self.w.nest.streams[line.stream]
        pointer = self.pointer(line.stream)
        return self.w.e.load(pointer, stream.dtype, self.stride(line.stream))

    def write_store(self, line: Store) -> None:
        stream = self.w.nest.streams[line.stream]
        value, pointer, stride = self.value(line.value), self.pointer(line.stream), None
        if self.w.width:
            stride = self.stride(line.stream)
        if self.mask is not None and self.rewrites():  # of values that may come from there
            before = self.w.e.load(pointer, stream.dtype, stride)
            value = self.w.e.select(self.mask, value, before)
        self.w.e.store(value, pointer, stride)

    def write_apply(self, line: Apply) -> Value:
        e = self.w.e
        given = [e.cast(self.value(x), d) for x, d in zip(line.args, line.dtypes)]
        if line.func == "copy":
            return given[0]
        if line.func == "cast":
            return e.cast(given[0], line.result)
        if line.func is np.where:
            return e.select(*given)
        if line.checked and line.func is np.divide:
            e.refuse(e.compare("eq", given[1], 0.0))
        value = rule_of(line.func)(e, *given)
        if line.checked and line.func is np.power:
            right = e.both(e.compare("gt", given[0], 0.0), e.compare("lt", e.abs(value), np.inf))
            e.refuse(e.invert(right))
        return value

    # ---- places that the values say ----

    def offsets(self, places: tuple) -> Value:
        """Return the bytes to add for indices; those out of bounds are refused."""
        e = self.w.e
        total = None
        for x, size, stride in places:
            index = e.cast(self.value(x), INT64)
            if size:
                index = self.inside(index, e.constant(size, INT64))
            step = e.mul(index, e.constant(stride, INT64))
            total = step if total is None else e.add(total, step)
        assert total is not None
        return total

    def inside(self, index: Value, size: Value) -> Value:
        """Return indices from 0 on; those out of bounds are 0, and refused."""
        e = self.w.e
        index = e.select(e.compare("lt", index, 0), e.add(index, size), index)
        inside = e.both(e.compare("ge", index, 0), e.compare("lt", index, size))
        e.refuse(e.invert(inside))
        return e.select(inside, index, e.constant(0, INT64))

    def is_same(self, places: tuple) -> bool:
        """Return whether indices are the same in all lanes."""
        body = self.w.nest.body
        for x, _, _ in places:
            if type(x) is int:
                line = body[x]
                if type(line) is not Load or self.stride(line.stream):
                    return False
        return True

    def write_gather(self, line: Gather) -> Value:
        e, w = self.w.e, self.w
        stream, stride = w.nest.streams[line.stream], self.stride(line.stream)
        offsets = self.offsets(line.places)
        pointer = self.pointer(line.stream)
        if not e.width or self.is_same(line.places):
            far = e.lane(offsets, 0)
            pointer = w.let(f"getelementptr i8, ptr {pointer}, i64 {far}")
            return e.load(pointer, stream.dtype, stride)
        if stride:
            lanes = ", ".join([f"i64 {i * stride}" for i in range(e.width)])
            offsets = e.add(offsets, Value(f"<{lanes}>", INT64))
        places = e.emit(f"getelementptr i8, ptr {pointer}, {e.typed(offsets)}", INT64)
        always = Value("splat (i1 true)", BOOL)
        return self.masked("gather", places.text, stream.dtype, always, "poison")

    def masked(
        self, way: str, places: str, dtype: np.dtype, mask: Value, others: str
    ) -> Value:  # fmt: skip
        """Load the lanes of a mask, and set the other ones.

        `way` is ``"load"`` from a pointer on, or ``"gather"`` from a pointer for each lane.
        """
        e = self.w.e
        n = e.width
        memory = "i8" if dtype == BOOL else e.scalar_type(dtype)
        kind = f"<{n} x {memory}>"
        ending = {"double": "f64", "float": "f32"}.get(memory, memory)
        pointers, suffix = ("ptr", "p0") if way == "load" else (f"<{n} x ptr>", f"v{n}p0")
        name = f"@llvm.masked.{way}.v{n}{ending}.{suffix}"
        self.w.declarations[name] = f"declare {kind} {name}({pointers}, i32, <{n} x i1>, {kind})"
        value = e.emit(
            f"call {kind} {name}({pointers} {places}, i32 {dtype.itemsize}, {e.typed(mask)}, "
            f"{kind} {others})", dtype, memo=False,
        )  # fmt: skip
        if dtype == BOOL:
            value = e.emit(f"icmp ne {kind} {value.text}, zeroinitializer", BOOL)
        return value

    def write_scatter(self, line: Scatter) -> None:
        e, w = self.w.e, self.w
        dtype = w.nest.streams[line.stream].dtype
        far = self.offsets(line.places).text
        pointer = w.let(f"getelementptr i8, ptr {self.pointer(line.stream)}, i64 {far}")
        value = self.value(line.value)
        if line.adds:
            value = rule_of(np.add)(e, e.load(pointer, dtype), value)
        e.store(value, pointer)

    def write_pad(self, line: Pad) -> Value:
        """Load the elements inside of the bounds; outside is zero, or what comes from the end."""
        e, w = self.w.e, self.w
        stream, stride = w.nest.streams[line.stream], self.stride(line.stream)
        pointer = w.move(w.origins[line], self.index, stride)
        if line.wraps:
            return self.wrapped(line, pointer)
        mask, near = None, "true"
        for k, (low, high) in enumerate(line.bounds):
            last = k == len(line.bounds) - 1
            if (low, high) == (0, w.nest.space[k]):
                continue
            place = self.lane_numbers() if last else e.broadcast(w.indices[k], INT64)
            first, width = (self.index, max(e.width, 1)) if last else (w.indices[k], 1)
            for test in (f"slt i64 {first}, {high}", f"sgt i64 {first}, {low - width}"):
                near = w.let(f"and i1 {near}, {w.let(f'icmp {test}')}")
            inside = e.both(
                e.compare("ge", place, e.constant(low, INT64)),
                e.compare("lt", place, e.constant(high, INT64)),
            )
            mask = inside if mask is None else e.both(mask, inside)
        if mask is None:
            return e.load(pointer, stream.dtype, stride)
        dtype = stream.dtype
        if not e.width:
            zero, memory = w.slot(e, dtype), "i8" if dtype == BOOL else e.scalar_type(dtype)
            w.head.append(f"  store {memory} {'0.0' if dtype.kind == 'f' else 0}, ptr {zero}")
            pointer = w.let(f"select i1 {mask.text}, ptr {pointer}, ptr {zero}")
            return e.load(pointer, dtype, 0)
        # Lanes that are not loaded take long, too, where there is no memory.
        pointer = w.let(f"select i1 {near}, ptr {pointer}, ptr %p{line.stream}")
        return self.lanes_at(pointer, dtype, stride, mask)

    def wrapped(self, line: Pad, pointer: str) -> Value:
        """Load elements of a row, before the bound those of its end."""
        e, w = self.w.e, self.w
        dtype, stride = w.nest.streams[line.stream].dtype, self.stride(line.stream)
        low, n = line.bounds[-1] if line.bounds else (0, 1)
        if not low:
            return e.load(pointer, dtype, stride)
        other = w.move(pointer, str(n), stride)
        before = w.let(f"icmp ult i64 {self.index}, {low}")
        end = w.let(f"select i1 {before}, ptr {other}, ptr {pointer}")
        if not e.width:
            return e.load(end, dtype, 0)
        after = w.let(f"sub i64 {low}, {self.index}")
        some = w.let(f"icmp slt i64 {after}, {e.width}")
        begin = w.let(f"select i1 {some}, ptr {pointer}, ptr {other}")
        after = w.let(f"select i1 {some}, i64 {after}, i64 {e.width}")
        after = w.let(f"select i1 {before}, i64 {after}, i64 0")
        after = w.let(f"trunc i64 {after} to i8")
        lanes = Value(f"<{', '.join([f'i8 {i}' for i in range(e.width)])}>", INT8)
        mask = e.compare("ge", lanes, e.broadcast(after, INT8))
        first, second = [
            self.lanes_at(x, dtype, stride, m) for x, m in ((begin, mask), (end, e.invert(mask)))
        ]
        return e.select(mask, first, second)

    def lanes_at(self, pointer: str, dtype: np.dtype, stride: int, mask: Value) -> Value:
        """Load the lanes of a mask from a row; the others are zero."""
        if stride == dtype.itemsize:
            return self.masked("load", pointer, dtype, mask, "zeroinitializer")
        e, n = self.w.e, self.w.e.width
        lanes = ", ".join([f"i64 {i * stride}" for i in range(n)])
        places = e.emit(f"getelementptr i8, ptr {pointer}, <{n} x i64> <{lanes}>", INT64)
        return self.masked("gather", places.text, dtype, mask, "zeroinitializer")


def origin(writer: Any, line: Pad, pointers: list[str]) -> str:
    """Write where the row of an array would begin that covers a part of the loop."""
    nest = writer.nest
    strides, pointer = nest.streams[line.stream].strides, pointers[line.stream]
    far = -sum([low * s for (low, _), s in zip(line.bounds, strides)])
    pointer = writer.let(f"getelementptr i8, ptr {pointer}, i64 {far}")
    for k, (low, _) in enumerate(line.bounds[:-1]):
        if line.wraps and low:
            before = writer.let(f"icmp ult i64 {writer.indices[k]}, {low}")
            end = writer.let(f"select i1 {before}, i64 {nest.space[k] * strides[k]}, i64 0")
            pointer = writer.let(f"getelementptr i8, ptr {pointer}, i64 {end}")
    return pointer
