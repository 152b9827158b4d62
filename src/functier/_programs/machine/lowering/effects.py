"""Memories of a program: writes and reads at places that are known, in their order.

NOTE [what a read sees]
    A read of exactly what was written last, with no write in between that overlaps, takes the
    value itself, and so does one of any part of a memory that has one number everywhere. A read
    that no write to the memory follows is the memory itself, and other reads copy from it, after
    the writes that overlap. A write runs after the reads and writes that overlap; in their own loop
    where the place is the same, element by element. Writes that nobody reads from memory are never
    done.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...._mutation.stores import may_meet
from ... import stores
from ...graph import Node
from .nodes import DTYPES, Lowering, dtype_of, rule
from .places import Pattern, gather, indices_of, spaced
from .products import at, is_basic, shape_in
from .steps import Buffer, Growing, Literal, Moving, Place, Ref, Step, Unknown, growing_in, moving

MANY = 1 << 16
"""The places of so many elements in so many steps are looked at."""

EXACT = 4096
"""Of memories with so many elements the overlap of places is exact."""


class Elements(NamedTuple):
    """Elements of a memory: as bits, those of the first step of the loops around, and those of all
    steps; and by how many bytes they move on with each counter.
    """

    first: int
    by: tuple[int, ...]
    all: int

    def meet(self, other: "Elements") -> bool:
        """Return whether elements may meet others in one step."""
        if self.by == other.by:
            return bool(self.first & other.first)
        return bool(self.all & other.all)

    def cover(self, other: "Elements") -> bool:
        """Return whether elements include others in each step."""
        return self.by == other.by and not other.first & ~self.first


class Access(NamedTuple):
    """A read or write of a memory: the elements, where they are, and the step."""

    elements: Elements
    where: Any
    step: Step
    value: Any


class Memory:
    """A memory while the steps of its effects are collected.

    `writes` are those that can be seen; `reads` those that no later write follows. In a body a
    memory from outside has its `buffer` there.
    """

    def __init__(self, low: Lowering, size: int, dtype: np.dtype, buffer: Buffer | None = None):
        self.low, self.size, self.dtype = low, size, dtype
        self.buffer = buffer or Buffer(size * dtype.itemsize)
        bits = (1 << size) - 1 if size <= EXACT else -1
        self.all = Elements(bits, (), bits)
        self.writes: list[Access] = []
        self.reads: list[Access] = []
        self.known: dict[Any, tuple[Ref, Elements]] = {}

    def window(self, layout: Any, parts: Any) -> tuple[Ref, Elements]:
        """Return what a layout shows at a basic index, and its elements."""
        key = layout, str(parts)
        found = self.known.get(key)
        if found is None:
            offset, shape, strides = layout
            step = self.dtype.itemsize
            if growing_in((shape, strides)):
                raise Unknown("the form of a view grows")
            if type(offset) is Growing:
                far = moving(offset.first * step, tuple([s * step for s in offset.steps]))
            else:
                far = offset * step
            place = Place(self.buffer, far, tuple([s * step for s in strides]))
            ref = Ref(shape, self.dtype, place, ())
            if parts is not None:
                if not is_basic(parts):
                    raise Unknown("its index is not basic")
                ref = at(ref, parts)
            found = self.known[key] = ref, self.elements(ref)
        return found

    def target(self, layout: Any, parts: Any) -> tuple[Ref, Elements]:
        """Return a window that is written to."""
        ref, elements = self.window(layout, parts)
        if may_meet(ref.shape, ref.place.strides, self.dtype.itemsize):
            raise Unknown("several elements are written to one place")
        return ref, elements

    def elements(self, ref: Ref) -> Elements:
        offset = ref.place.offset
        by = offset.by if type(offset) is Moving else ()
        if self.size > EXACT:
            return Elements(-1, by, -1)
        step = self.dtype.itemsize
        axes = [*zip(ref.shape, ref.place.strides)]
        first = bits_at(offset // step, axes, step)
        if not by:
            return Elements(first, by, first)
        axes += zip(self.low.counts, by)
        if math.prod([n for n, _ in axes]) > MANY:
            return Elements(first, by, self.all.all)
        return Elements(first, by, bits_at(offset // step, axes, step))

    def where(self, ref: Ref) -> Any:
        return ref.place.offset, ref.place.strides, ref.shape

    def sources(self, elements: Elements) -> tuple[Step, ...]:
        return tuple([x.step for x in self.writes if x.elements.meet(elements)])

    def read(self, ref: Ref, elements: Elements, stays: bool = False) -> Any:
        """Return the value that stands at a place now, and `stays` there if it does."""
        where = self.where(ref)
        seen = [access for access in self.writes if access.elements.meet(elements)]
        if seen and seen[-1].value is not None:
            last = seen[-1]
            if last.where == where or (type(last.value) is Literal and self.is_all(last.where[2])):
                return last.value
        source = ref._replace(steps=self.sources(elements))
        if stays:
            return source
        copied = self.low.copied(source, ref.shape)
        (step,) = copied.steps
        step.effect = True
        self.reads.append(Access(elements, where, step, None))
        return copied

    def order(self, step: Step, elements: Elements, where: Any) -> None:
        """Let a step that writes run after all that it would disturb."""
        for access in (*self.writes, *self.reads):
            if access.elements.meet(elements):
                together = where is not None and access.where == where
                step.after[access.step] = together and step.after.get(access.step, True)
        step.effect = True

    def write(self, ref: Ref, elements: Elements, value: Any) -> None:
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
        self.order(step, elements, where)
        if self.is_all(ref.shape):
            self.writes, self.reads = [], []
        elif self.size <= EXACT:
            self.writes = [a for a in self.writes if not elements.cover(a.elements)]
            self.reads = [a for a in self.reads if not elements.cover(a.elements)]
        self.writes.append(Access(elements, where, step, value))

    def is_all(self, shape: tuple[int, ...]) -> bool:
        """Tell whether an array of a shape, whose elements share no place, is all of the memory."""
        return math.prod(shape) == self.size

    def whole(self) -> Ref:
        """Return the elements in their order."""
        place = Place(self.buffer, 0, (self.dtype.itemsize,))
        return Ref((self.size,), self.dtype, place, self.sources(self.all))

    def pass_to(self, step: Step, writes: bool) -> None:
        """Note a step that reads any elements, and may write to any."""
        step.effect = True
        if writes:
            self.order(step, self.all, None)
            self.reads.clear()
            self.writes = [*self.writes, Access(self.all, None, step, None)]
        else:
            self.reads.append(Access(self.all, None, step, None))


def bits_at(start: int, axes: list[tuple[int, int]], step: int) -> int:
    """Return the elements along some axes, pairs of size and stride, as bits."""
    places = np.full((), start)
    for n, stride in axes:
        places = places[..., None] + np.arange(n) * (stride // step)
    bits = 0
    for place in places.ravel().tolist():
        bits |= 1 << place
    return bits


def memory_at(low: Lowering, made: Any) -> Memory | None:
    """Return the memory that a node stands for, if it does."""
    found = low.shared.get(made) if type(made) is Node else None
    if type(found) is Memory:
        return found
    return new_memory(low, made) if type(made) is Node and made.func is stores.memory_of else None


def new_memory(low: Lowering, made: Node) -> Memory:
    size, dtype = made.args
    if dtype not in DTYPES:
        raise Unknown(f"the memory has the dtype {dtype}")
    found = low.shared[made] = Memory(low, size, dtype)
    return found


def memory_in(low: Lowering, node: Node) -> Memory:
    """Return the memory of an effect."""
    found = memory_at(low, node.args[0])
    if found is None:
        raise Unknown("the memory is not known")
    return found


@rule(stores.get)
def _get(low: Lowering, node: Node) -> Any:
    _, layout, parts = node.args
    memory = memory_in(low, node)
    dtype_of(node.form)
    return memory.read(*memory.window(layout, parts), low.stays(node))


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
    ref, elements = memory.target(layout, parts)
    if type(value) is Ref and len(value.shape) > len(ref.shape):
        lead = len(value.shape) - len(ref.shape)
        place = value.place._replace(strides=value.place.strides[lead:])
        value = Ref(value.shape[lead:], value.dtype, place, value.steps)
    if ref.size:
        memory.write(ref, elements, value)
    return ()


@rule(stores.add)
def _add(low: Lowering, node: Node) -> Any:
    _, layout, parts, x = node.args
    memory = memory_in(low, node)
    value = value_of(low, x)
    if not np.can_cast(value.dtype, memory.dtype, "same_kind"):
        raise Unknown("the value is of another kind")
    ref, elements = memory.target(layout, parts)
    if type(value) is Ref and len(value.shape) > len(ref.shape):
        raise Unknown("the value has more axes")
    if memory.dtype.kind == "b":
        raise Unknown("it adds to truth values")
    if ref.size:
        wants = (memory.dtype, memory.dtype)
        before = memory.read(ref, elements)
        total = low.element(np.add, [before, value], ref.shape, memory.dtype, wants)
        memory.write(ref, elements, total)
    return ()


@rule(stores.get_at)
def _get_at(low: Lowering, node: Node) -> Any:
    memory = memory_in(low, node)
    value = memory.whole()
    pattern = Pattern(value.shape, value.place.strides, (node.args[1],), node.form.shape)
    found = gather(low, value, pattern, indices_of(low, pattern), node)
    memory.pass_to(found.steps[0], False)
    return found


@rule(stores.put_at, stores.add_at)
def _write_at(low: Lowering, node: Node) -> Any:
    memory = memory_in(low, node)
    ref = memory.whole()
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
    memory.pass_to(step, True)
    return ()
