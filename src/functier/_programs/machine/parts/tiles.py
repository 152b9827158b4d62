"""Loops over steps in tiles of elements: all steps for some elements, then for the next ones.

NOTE [elements that stay apart]
    A loop runs so if no step takes other elements than its own. All loops over elements in it have
    one space. What they write to is read and written at the same place of a row by all of them, in
    each step. So the elements of a tile stay in the cache. Single numbers are computed again for
    each tile. Lists with the values of many steps do not fit into the cache: they are written and
    read faster a row at a time.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..loops.blocks import LARGE, Cut, block_of
from ..loops.kernels import kernel_of
from ..loops.nests import Apply, Load, Nest, Store, merged, ordered
from ..lowering.loops import SMALL, Carried
from ..lowering.moving import Moving, moving
from ..lowering.steps import Buffer
from ..text.emitter import ATTRIBUTES
from ..text.routines import Kernel
from .calling import Caller, texts_of
from .fusion import Call, called

TILE = 512
"""The elements of a tile."""

FEWEST = 4
"""The least number of tiles that pay."""

CACHE = 1 << 18
"""The bytes that a tile may take."""


class Meeting(BaseException):
    """A step may take elements of another tile."""


class Access(NamedTuple):
    """The use of an array by a loop over elements.

    Attributes
    ----------
    buffer : Buffer
    place : int
        The bytes from the beginning of a row; -1 if they differ from step to step.
    row : int
        The bytes of a row.
    stride : int
        The bytes from an element to the next one; 0 of a single number.
    size : int
        The bytes of an element.
    writes : bool
    rows : int
        The number of places that it comes to, about.
    """

    buffer: Buffer
    place: int
    row: int
    stride: int
    size: int
    writes: bool
    rows: int = 1

    def at(self, buffer: Buffer, far: int, counts: Sequence[int]) -> "Access":
        """Return the access to an array so far from the beginning of another buffer.

        `counts` are the steps of the loops around.
        """
        by = far.by if type(far) is Moving else ()
        rows = math.prod([n for step, n in zip(by, counts) if step])
        apart = self.place >= 0 and not any([step % self.row for step in by])
        place = (self.place + int(far)) % self.row if apart else -1
        return self._replace(buffer=buffer, place=place, rows=self.rows * rows)


def elements_in(call: Call) -> int:
    """Return the elements of the largest loop over elements in a call."""
    if call.loop is not None:
        return max(map(elements_in, call.loop.calls), default=0)
    return math.prod(call.nest.space) if call.nest is not None else 0


def row_of(nest: Nest) -> Nest:
    """Return a loop over elements with one axis, in the order of memory, if it can have one."""
    return merged(ordered(nest, 1))


def accesses_of(call: Call, n: int, counts: Sequence[int] = ()) -> Iterator[Access]:
    """Return what a call does with arrays: of a row of `n` elements, or of single numbers."""
    if call.loop is not None:
        for i, access in accesses_in(call.loop, n):
            yield access.at(*call.places[i][:2], counts)
        return
    if call.nest is None or any([type(x) not in (Load, Apply, Store) for x in call.nest.body]):
        raise Meeting
    nest = row_of(call.nest)
    if nest.space not in ((n,), ()):
        raise Meeting
    for place, stream in zip(call.places, nest.streams):
        size, stride = stream.dtype.itemsize, sum(stream.strides)
        access = Access(place.buffer, 0, n * size, stride, size, stream.writes)
        yield access.at(*place[:2], counts)


def accesses_in(routine: Any, n: int) -> list[tuple[int, Access]]:
    """Return what a loop over steps does with the arrays that it gets, each with its number."""
    body, found = routine.body, []
    if body.test is not None or any([not x.small and len(x.lists) > 1 for x in routine.made]):
        raise Meeting
    own: list[Access] = []
    for call in routine.calls:
        for access in accesses_of(call, n, body.counts):
            numbers, by = pointers_to(routine, access.buffer)
            if not numbers:
                own.append(access)
            far = moving(0, (by,))
            found += [(i, access.at(access.buffer, far, [body.loop.count])) for i in numbers]
    check(own)
    return found


def pointers_to(routine: Any, buffer: Buffer) -> tuple[list[int], int]:
    """Return the numbers of the pointers through which a step has an array, and how many bytes it
    moves on in each; none of memory that each step has for itself.
    """
    body, kind, index = routine.body, buffer.kind, buffer.index
    if kind == "input":
        return [index], 0
    if kind not in ("output", "carried"):
        return [], 0
    numbers = []
    made: Any = routine.made[index] if kind == "output" else body.carried[index]
    while type(made) is Carried:
        numbers.append(made.begin)
        made = made.source
    if made.small:
        return [], 0
    numbers += [len(body.operands) + i for i in made.lists or made.ring]
    return numbers, made.bytes if made.lists else 0


def check(accesses: Sequence[Access]) -> None:
    """Raise `Meeting` where an element that is written may be taken in another tile."""
    known: dict[Buffer, list[Access]] = {}
    for access in accesses:
        known.setdefault(access.buffer, []).append(access)
    for group in known.values():
        if any([x.writes for x in group]):
            rows = {(x.stride, x.stride and (x.place, x.row, x.size)) for x in group}
            (stride, row), *others = rows
            if others or (row and (row[0] < 0 or stride != row[2])):
                raise Meeting


def strides_of(call: Call, n: int) -> dict[int, int] | None:
    """Return the bytes from an element to the next for the arrays that a loop over steps gets.

    None is for a loop whose elements do not stay apart, or not in the cache.
    """
    strides: dict[int, int] = {}
    try:
        pairs = accesses_in(call.loop, n)
        check([access.at(*call.places[i][:2], ()) for i, access in pairs])
    except Meeting:
        return None
    taken: dict[int, int] = {}
    for i, access in pairs:
        if access.stride:
            taken[i] = max(taken.get(i, 0), access.rows * access.size)
    if TILE * sum(taken.values()) > CACHE:
        return None
    given = len(call.loop.body.operands)
    for i, access in pairs:
        again = access.writes and i < given and not access.stride  # it would be written again
        if again or strides.setdefault(i, access.stride) != access.stride:
            return None
    return strides


def cut(calls: Sequence[Call], n: int, size: int, options: tuple) -> list[Call]:
    """Return calls for a tile of so many elements."""
    found = []
    for call in calls:
        if call.loop is not None:
            call = call.loop.like(cut(call.loop.calls, n, size, options)).called(call.places)
        elif call.nest is not None and call.nest.space:
            nest = block_of(row_of(call.nest), Cut(0, size, ()), size)
            work = call.work * size / n
            call = called(kernel_of(nest, *options), call.places, work, nest)
        found.append(call)
    return found


def tiled(call: Call, native: int, contract: bool, threads: int) -> Call:
    """Return the call of a loop over steps in tiles, if that is right and pays."""
    n = elements_in(call)
    strides = None
    if n >= FEWEST * TILE and n > SMALL and (threads == 1 or n < LARGE):
        strides = strides_of(call, n)
    if strides is None:
        return call
    count, rest = divmod(n, TILE)
    calls = [cut([call], n, size, (native, contract))[0] for size in (TILE, rest) if size]
    pointers = [f"%p{i}" for i in range(len(call.places))]
    caller = Caller(lambda buffer: "")

    def run(kernel: Kernel, start: str) -> None:
        given = list(pointers)
        for i, stride in strides.items():
            far = caller.let(f"mul nsw i64 {start}, {stride}")
            given[i] = caller.let(f"getelementptr i8, ptr %p{i}, i64 {far}")
        text = kernel.call(given, "%arena")
        if kernel.status:
            caller.unless(caller.let(f"icmp ne i32 {caller.let(text)}, 0"))
        else:
            caller.line(text)

    caller.line(f"%start = mul nuw nsw i64 %number, {TILE}")
    run(calls[0].kernel, "%start")
    tile, caller.lines = caller.lines, []
    pause = call.loop.pause(caller, calls[0].work, count)
    for other in calls[1:]:
        run(other.kernel, str(count * TILE))
    lines = [
        "entry:", "  br label %tile",
        "tile:", "  %number = phi i64 [ 0, %entry ], [ %after, %latch ]",
        *tile, "  %after = add nuw nsw i64 %number, 1", *pause,
        "latch:", f"  %more = icmp ult i64 %after, {count}",
        "  br i1 %more, label %tile, label %done", "done:",
        *caller.lines, *caller.ends(caller.refuses),
    ]  # fmt: skip
    kind = "i32" if caller.refuses else "void"
    given = ", ".join([f"ptr {pointer}" for pointer in (*pointers, "%arena")])
    text = "\n".join([f"({given}) noinline {ATTRIBUTES} {{", *lines, "}"])
    name = f"tiles_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
    texts = {**texts_of(calls), name: f"define internal {kind} @{name}{text}"}
    scratch = max([other.kernel.scratch for other in calls])
    return called(Kernel(name, texts, scratch, caller.refuses), call.places, call.work)
