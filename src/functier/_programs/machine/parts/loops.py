"""Loops of a program as routines: a body with a counter, for all elements or tile by tile.

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

from ..loops.kernels import LARGE, Cut, block_of, kernel_of
from ..loops.nests import Apply, Load, Nest, Store, merged, ordered
from ..lowering.loops import SMALL, Body, Carried, Made
from ..lowering.steps import Buffer, Moving, Place, moving
from ..text.emitter import ATTRIBUTES
from ..text.routines import Kernel, numbers
from .calling import Caller, laid_out, texts_of
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
    if (
        body.test is not None
        or body.is_free
        or any([not x.small and len(x.lists) > 1 for x in routine.made])
    ):
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


CALL = 50
"""About as many instructions as a call takes, or a step of a loop besides its calls."""

COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"

MOVE = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"

SLICE = 1 << 23
"""After so many instructions, about, a loop looks at signals."""

FEW = 256
"""Loops over so many elements are written in line in a body."""

Options = tuple[int, bool, int]
"""The bytes of a vector, whether products and sums contract, and the threads."""


def is_short(call: Call) -> bool:
    """Return whether a routine is written in line."""
    return call.nest is not None and math.prod(call.nest.space) <= FEW


def lanes(made: Made) -> str:
    """Return the type of all elements of a small value, side by side."""
    known = numbers(made.dtype)
    name = "i8" if known is None else known.name  # of a bool
    return name if made.size == 1 else f"<{made.size} x {name}>"


class Routine:
    """The text of a loop while it is written."""

    def __init__(self, body: Body, calls: list[Call]):
        self.body, self.calls = body, calls
        self.arena = laid_out(calls)
        self.work = CALL + sum([CALL + call.work for call in calls])
        self.made = list(body.made.values())
        self.elements: dict[Made, str] = {}
        self.level = len(body.counts) - 1
        self.counters = [f"%i{k}" for k in range(self.level + 1)]
        self.caller = Caller(self.base, self.counters)

    def like(self, calls: list[Call]) -> "Routine":
        """Return a loop with other calls."""
        return Routine(self.body, calls)

    def called(self, places: list[Place]) -> Call:
        """Return the call of the loop."""
        work = self.work * self.body.loop.count
        return called(self.kernel(), places, work)._replace(loop=self)

    def base(self, buffer: Buffer) -> str:
        kind, index = buffer.kind, buffer.index
        if kind == "input":
            return f"%p{index}"
        if kind == "counter":
            return f"%k{index}"
        if kind == "carried":
            return f"%c{index}"
        made = self.made[index]
        if made.small:
            return f"%y{index}"
        return self.elements[made] if made.lists else f"%r{index}.0"

    def result(self, number: int) -> str:
        """Return the name of the pointer to a result."""
        return f"%p{len(self.body.operands) + number}"

    def variables(self) -> list[str]:
        """Return the lines that make the variables."""
        found = [f"  %k{k} = alloca i64" for k in range(len(self.body.slots))]
        for name, values in (("y", dict(enumerate(self.made))), ("c", self.body.carried)):
            for i, made in values.items():
                if made.small:
                    size = max(made.bytes, 1)
                    found.append(f"  %{name}{i} = alloca [{size} x i8], align 64")
        return found

    def copies(self, pairs: list[tuple[Made, str, str]]) -> None:
        """Copy values from places to others, at one time."""
        caller, loaded = self.caller, []
        for made, source, _ in pairs:
            text = f"load {lanes(made)}, ptr {source}, align {made.dtype.itemsize}"
            loaded.append(caller.let(text) if made.size else "")
        for (made, _, target), value in zip(pairs, loaded):
            if made.size:
                kind = f"{lanes(made)} {value}"
                caller.line(f"store {kind}, ptr {target}, align {made.dtype.itemsize}")

    def name_of(self, made: Made) -> str:
        """Return the name of the pointer to what a step makes or carries."""
        if type(made) is Carried:
            (found,) = [i for i, x in self.body.carried.items() if x is made]
            return f"%c{found}"
        return self.base(Buffer(0, "output", self.made.index(made)))

    def pointers(self) -> list[str]:
        """Return the lines with the pointers that change from step to step."""
        lines = []
        for i, carried in self.body.carried.items():
            if not carried.small:
                after = self.name_of(carried.source)
                first = f"[ %p{carried.begin}, %entry ]"
                lines.append(f"  %c{i} = phi ptr {first}, [ {after}, %latch ]")
        for i, made in enumerate(self.made):
            names = [f"%r{i}.{k}" for k in range(len(made.ring))]
            if len(names) == 1:
                lines.append(f"  {names[0]} = phi ptr [ {self.result(made.ring[0])}, %entry ], "
                             f"[ {names[0]}, %latch ]")  # fmt: skip
                continue
            for k, name in enumerate(names):
                first = f"[ {self.result(made.ring[k])}, %entry ]"
                lines.append(f"  {name} = phi ptr {first}, [ {names[k - 1]}, %latch ]")
        return lines

    def element(self, made: Made, number: int) -> str:
        """Return the pointer to the element of a list that a step makes."""
        by = (0,) * self.level + (made.bytes,)
        far = self.caller.grown(0, by)
        return self.caller.let(f"getelementptr i8, ptr {self.result(number)}, i64 {far}")

    @staticmethod
    def pause(caller: Caller, work: float, count: int) -> list[str]:
        """Return the lines that look at signals now and then, if a loop is long: see `threads`."""
        steps = 1
        while 2 * steps * work < SLICE:
            steps *= 2
        if steps >= count:
            return ["  br label %latch"]
        caller.refuses = True
        return [
            f"  %rest = and i64 %after, {steps - 1}", "  %now = icmp eq i64 %rest, 0",
            "  br i1 %now, label %pause, label %latch", "pause:",
            "  %signal = call i32 @functier.pause()", "  %ended = icmp ne i32 %signal, 0",
            "  br i1 %ended, label %refused, label %latch",
        ]  # fmt: skip

    def begin(self) -> list[str]:
        """Return the lines that go to the first step; of an arm, if it runs."""
        test = self.body.test
        if test is None:
            return ["  br label %step"]
        lines = [
            f"  %test = load i8, ptr {self.caller.pointer(test.place)}",
            "  %runs = icmp ne i8 %test, 0", "  br i1 %runs, label %step, label %left", "left:",
        ]  # fmt: skip
        for made in self.body.carried.values():
            if not made.small:  # it returns its argument
                (number,) = made.source.ring[:1]
                lines.append(
                    f"  call void @llvm.memcpy.p0.p0.i64(ptr {self.result(number)}, "
                    f"ptr %p{made.begin}, i64 {made.bytes}, i1 false)"
                )
        return [*lines, "  br label %done"]

    def length(self) -> list[str]:
        """Return the lines that load the number of steps, if it is a value from outside."""
        place = self.body.length
        return [] if place is None else [f"  %n = load i64, ptr {self.caller.pointer(place.place)}"]

    def asked(self, own: str) -> list[str]:
        """Return the lines that tell if a step of a loop of any length runs."""
        test = [f"  %on = icmp slt i64 {own}, %n"]
        if self.body.length is None:
            test = ["  %flag = load i8, ptr %c0", "  %on = icmp ne i8 %flag, 0"]
        return [
            *test, f"  %fits = icmp ult i64 {own}, {self.body.loop.count}",
            "  %more = and i1 %on, %fits", "  br i1 %more, label %run, label %done", "run:",
        ]  # fmt: skip

    def end_any(self, own: str) -> None:
        """Write what follows the last step of a loop of any length: see `lowering.loops`."""
        body, caller = self.body, self.caller
        for x in body.carried.values():
            if x.last is not None and not x.small:
                given = f"ptr {self.result(x.last)}, ptr {self.name_of(x)}, i64 {x.bytes}"
                caller.line(f"call void @llvm.memcpy.p0.p0.i64({given}, i1 false)")
        for made in self.made:
            for number in made.lists:
                size = caller.let(f"mul nuw nsw i64 {own}, {made.bytes}")
                far = caller.let(f"sub nsw i64 {body.loop.count * made.bytes}, {size}")
                first = self.result(number)
                end = caller.let(f"getelementptr i8, ptr {first}, i64 {far}")
                given = f"ptr {end}, ptr {first}, i64 {size}"
                caller.line(f"call void @llvm.memmove.p0.p0.i64({given}, i1 false)")
        if body.length is None:
            caller.line(f"store i64 {own}, ptr {self.result(len(body.results) - 1)}")

    def kernel(self) -> Kernel:
        body, caller = self.body, self.caller
        own = self.counters[-1]
        for k, counter in enumerate(self.counters[:-1]):
            pointer = caller.pointer(body.index(k).place)
            caller.line(f"{counter} = load i64, ptr {pointer}")
        self.copies([(c, f"%p{c.begin}", f"%c{i}")
                     for i, c in body.carried.items() if c.small])  # fmt: skip
        entry, caller.lines = caller.lines, []
        for made in self.made:
            if made.lists and not made.small:
                self.elements[made] = self.element(made, made.lists[0])
        for x, slot in body.slots.items():
            far = caller.grown(x.first, x.steps)
            caller.line(f"store i64 {far}, ptr {self.base(slot.buffer)}")
        caller.call(self.calls, is_short)
        pairs = []
        for made in self.made:
            source = self.name_of(made)
            for number in made.lists[not made.small :]:
                pairs.append((made, source, self.element(made, number)))
        for i, carried in body.carried.items():
            if carried.small:
                pairs.append((carried, self.name_of(carried.source), f"%c{i}"))
        self.copies(pairs)
        step, caller.lines = caller.lines, []
        self.copies([
            (made, self.name_of(made), self.result(made.last))
            for made in (*body.carried.values(), *self.made) if made.last is not None and made.small
        ])  # fmt: skip
        pause = self.pause(caller, self.work, body.loop.count)
        before, after = [], [
            f"  %more = icmp ult i64 %after, {body.loop.count}",
            "  br i1 %more, label %step, label %done",
        ]  # fmt: skip
        if body.is_free:
            entry += self.length()
            before, after = self.asked(own), ["  br label %step"]
            self.end_any(own)
        lines = [
            "entry:", *self.variables(), *entry, *self.begin(),
            "step:", f"  {own} = phi i64 [ 0, %entry ], [ %after, %latch ]", *self.pointers(),
            *before, *step, f"  %after = add nuw nsw i64 {own}, 1", *pause, "latch:", *after,
            "done:", *caller.lines, *caller.ends(caller.refuses),
        ]  # fmt: skip
        kind = "i32" if caller.refuses else "void"
        given = [f"ptr %p{i}" for i in range(len(body.operands) + len(body.results))]
        text = "\n".join([f"({', '.join([*given, 'ptr %arena'])}) noinline {ATTRIBUTES} {{",
                          *lines, "}"])  # fmt: skip
        name = f"loop_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        head = {"memcpy": COPY, "memmove": MOVE} if body.test is not None or body.is_free else {}
        texts = {**head, **texts_of(self.calls), name: f"define internal {kind} @{name}{text}"}
        return Kernel(name, texts, self.arena, caller.refuses)
