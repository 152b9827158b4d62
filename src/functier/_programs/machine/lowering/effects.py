"""Memories of a program: writes and reads at places that are known, in their order.

NOTE [what a read sees]
    A read of exactly what was written last, with no write in between that overlaps, takes the
    value itself. Other reads copy from memory, after the writes that overlap. A write runs after
    the reads and writes that overlap; in their own loop where the place is the same, element by
    element. Writes that nobody reads from memory are never done.
"""

from typing import Any, NamedTuple

import numpy as np

from ...._mutation.layouts import may_meet
from ... import stores
from ...graph import Node
from .nodes import DTYPES, Lowering, dtype_of, rule
from .places import Pattern, gather, indices_of, spaced
from .products import shape_in
from .steps import Buffer, Literal, Place, Ref, Step, Unknown
from .views import at, is_basic

EXACT = 4096
"""Of memories with so many elements the overlap of places is exact."""


class Access(NamedTuple):
    """A read or write of a memory: the elements as bits, where they are, and the step."""

    bits: int
    where: Any
    step: Step
    value: Any


class Memory:
    """A memory while the steps of its effects are collected.

    `writes` are those that can be seen; `reads` those that no later write follows.
    """

    def __init__(self, low: Lowering, size: int, dtype: np.dtype):
        self.low, self.size, self.dtype = low, size, dtype
        self.buffer = Buffer(size * dtype.itemsize)
        self.all = (1 << size) - 1 if size <= EXACT else -1
        self.writes: list[Access] = []
        self.reads: list[Access] = []
        self.known: dict[Any, tuple[Ref, int]] = {}

    def window(self, layout: Any, parts: Any) -> tuple[Ref, int]:
        """Return what a layout shows at a basic index, and its elements as bits."""
        key = layout, str(parts)
        found = self.known.get(key)
        if found is None:
            offset, shape, strides = layout
            step = self.dtype.itemsize
            place = Place(self.buffer, offset * step, tuple([s * step for s in strides]))
            ref = Ref(shape, self.dtype, place, ())
            if parts is not None:
                if not is_basic(parts):
                    raise Unknown("its index is not basic")
                ref = at(ref, parts)
            found = self.known[key] = ref, self.bits(ref)
        return found

    def target(self, layout: Any, parts: Any) -> tuple[Ref, int]:
        """Return a window that is written to."""
        ref, bits = self.window(layout, parts)
        if may_meet(ref.shape, ref.place.strides, self.dtype.itemsize):
            raise Unknown("elements that are written to share a place")
        return ref, bits

    def bits(self, ref: Ref) -> int:
        if self.size > EXACT:
            return -1
        step = self.dtype.itemsize
        places = np.full(ref.shape, ref.place.offset // step)
        for axis, (n, stride) in enumerate(zip(ref.shape, ref.place.strides)):
            shape = (n,) + (1,) * (len(ref.shape) - axis - 1)
            places += (np.arange(n) * (stride // step)).reshape(shape)
        bits = 0
        for place in places.ravel().tolist():
            bits |= 1 << place
        return bits

    def where(self, ref: Ref) -> Any:
        return ref.place.offset, ref.place.strides, ref.shape

    def sources(self, bits: int) -> tuple[Step, ...]:
        return tuple([access.step for access in self.writes if access.bits & bits])

    def read(self, ref: Ref, bits: int) -> Any:
        """Return the value that stands at a place now."""
        where = self.where(ref)
        seen = [access for access in self.writes if access.bits & bits]
        if seen and seen[-1].where == where and seen[-1].value is not None:
            return seen[-1].value
        source = ref._replace(steps=self.sources(bits))
        copied = self.low.copied(source, ref.shape)
        (step,) = copied.steps
        step.effect = True
        self.reads.append(Access(bits, where, step, None))
        return copied

    def order(self, step: Step, bits: int, where: Any) -> None:
        """Let a step that writes run after all that it would disturb."""
        for access in (*self.writes, *self.reads):
            if access.bits & bits:
                together = where is not None and access.where == where
                step.after[access.step] = together and step.after.get(access.step, True)
        step.effect = True

    def write(self, ref: Ref, bits: int, value: Any) -> None:
        """Write a value to a place."""
        where = self.where(ref)
        if type(value) is Ref and (value.shape != ref.shape or value.dtype != self.dtype):
            value = self.low.element("cast", [value], ref.shape, self.dtype, (value.dtype,))
        elif type(value) is Literal and value.dtype != self.dtype:
            value = Literal(
                np.asarray(value.value, value.dtype).astype(self.dtype).item(), self.dtype
            )
        written = self.low.element(
            "copy", [value], ref.shape, self.dtype, (self.dtype,), place=ref.place
        )
        (step,) = written.steps
        self.order(step, bits, where)
        if self.size <= EXACT:
            self.writes = [a for a in self.writes if a.bits & ~bits]
            self.reads = [a for a in self.reads if a.bits & ~bits]
        self.writes.append(Access(bits, where, step, value))


def memory_in(low: Lowering, node: Node) -> Memory:
    """Return the memory of an effect."""
    made = node.args[0]
    found = low.shared.get(made)
    if found is None:
        size, dtype = made.args
        if dtype not in DTYPES:
            raise Unknown(f"the memory has the dtype {dtype}")
        found = low.shared[made] = Memory(low, size, dtype)
    return found


@rule(stores.get)
def _get(low: Lowering, node: Node) -> Any:
    _, layout, parts = node.args
    memory = memory_in(low, node)
    dtype_of(node.form)
    return memory.read(*memory.window(layout, parts))


def value_of(low: Lowering, x: Any) -> Any:
    """Return the value of what is written; a Python number takes the dtype of the memory."""
    return low.value(x)


@rule(stores.put)
def _put(low: Lowering, node: Node) -> Any:
    _, layout, parts, x = node.args
    memory = memory_in(low, node)
    value = value_of(low, x)
    if type(x) is Node and x.form.kind is not np.ndarray and memory.dtype.kind in "iu":
        if not np.can_cast(value.dtype, memory.dtype, "safe"):
            raise Unknown("NumPy checks that the number fits")
    ref, bits = memory.target(layout, parts)
    if type(value) is Ref and len(value.shape) > len(ref.shape):
        lead = len(value.shape) - len(ref.shape)
        place = value.place._replace(strides=value.place.strides[lead:])
        value = Ref(value.shape[lead:], value.dtype, place, value.steps)
    if ref.size:
        memory.write(ref, bits, value)
    return ()


@rule(stores.add)
def _add(low: Lowering, node: Node) -> Any:
    _, layout, parts, x = node.args
    memory = memory_in(low, node)
    value = value_of(low, x)
    if not np.can_cast(value.dtype, memory.dtype, "same_kind"):
        raise Unknown("the value is of another kind")
    ref, bits = memory.target(layout, parts)
    if type(value) is Ref and len(value.shape) > len(ref.shape):
        raise Unknown("the value has more axes")
    if memory.dtype.kind == "b":
        raise Unknown("it adds to truths")
    if ref.size:
        wants = (memory.dtype, memory.dtype)
        before = memory.read(ref, bits)
        total = low.element(np.add, [before, value], ref.shape, memory.dtype, wants)
        memory.write(ref, bits, total)
    return ()


def whole(memory: Memory) -> Ref:
    """Return the elements of a memory, in their order."""
    strides = (memory.dtype.itemsize,)
    return Ref((memory.size,), memory.dtype, Place(memory.buffer, 0, strides), ())


@rule(stores.get_at)
def _get_at(low: Lowering, node: Node) -> Any:
    memory = memory_in(low, node)
    ref = whole(memory)
    pattern = Pattern(ref.shape, ref.place.strides, (node.args[1],), node.form.shape)
    value = ref._replace(steps=memory.sources(memory.all))
    found = gather(low, value, pattern, indices_of(low, pattern), node)
    found.steps[0].effect = True
    memory.reads.append(Access(memory.all, None, found.steps[0], None))
    return found


@rule(stores.put_at, stores.add_at)
def _write_at(low: Lowering, node: Node) -> Any:
    memory = memory_in(low, node)
    ref = whole(memory)
    _, places, x = node.args
    shape = shape_in(places)
    value = low.value(x)
    if type(value) is Ref and len(value.shape) > len(shape):
        raise Unknown("the value has more axes")
    pattern = Pattern(ref.shape, ref.place.strides, (places,), shape)
    place = ref.place._replace(strides=(0,) * len(shape))
    adds = node.func is stores.add_at
    step = Step("scatter", None, [value, *indices_of(low, pattern)], shape, memory.dtype, place)
    step.info = spaced(pattern.strides, shape), tuple(pattern.axes), adds
    low.add(step)
    memory.order(step, memory.all, None)
    memory.reads.clear()
    memory.writes = [*memory.writes, Access(memory.all, None, step, None)]
    return ()
