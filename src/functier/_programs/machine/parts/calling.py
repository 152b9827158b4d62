"""The text of calls of routines, and the memory that they share: buffers in one block."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from ..lowering.steps import Buffer, Moving, Place
from .fusion import Call

ALIGNED = 64


def laid_out(calls: list[Call]) -> int:
    """Give each buffer its place in the block, and return the bytes of the block."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for time, call in enumerate(calls):
        used = [place.buffer for place in call.places]
        if call.scratch is not None:
            used.append(call.scratch)
        for buffer in used:
            if buffer.kind == "arena":
                first.setdefault(buffer, time)
                last[buffer] = time
    space = Space()
    active: list[tuple[int, int, int]] = []  # a heap: until when, from where, how much
    for buffer, time in first.items():
        while active and active[0][0] < time:
            space.free(*heappop(active)[1:])
        size = -(-max(buffer.size, 1) // ALIGNED) * ALIGNED
        buffer.offset = space.take(size)
        heappush(active, (last[buffer], buffer.offset, size))
    return space.top


class Space:
    """Bytes from 0 on, of which some are taken; the rest are gaps, and what is behind the last.

    Each call costs a search among the gaps, however many parts are taken.

    Attributes
    ----------
    top : int
        The number of bytes in use so far, gaps included.
    """

    def __init__(self) -> None:
        self.end = self.top = 0
        self.sizes: list[tuple[int, int]] = []  # of the gaps, and their beginnings, in order
        self.ends: dict[int, int] = {}  # of each gap, by its beginning
        self.begins: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Return the beginning of the smallest gap that is large enough, or the end."""
        at = bisect_left(self.sizes, (size, 0))
        if at == len(self.sizes):
            begin, self.end = self.end, self.end + size
            self.top = max(self.top, self.end)
            return begin
        _, begin = self.sizes[at]
        end = self.close(begin)
        if begin + size < end:
            self.open(begin + size, end)
        return begin

    def free(self, begin: int, size: int) -> None:
        """Give bytes back, which become one gap with those beside them."""
        end = begin + size
        if begin in self.begins:
            before = self.begins[begin]
            self.close(before)
            begin = before
        if end in self.ends:
            end = self.close(end)
        if end == self.end:
            self.end = begin
        else:
            self.open(begin, end)

    def open(self, begin: int, end: int) -> None:
        self.ends[begin], self.begins[end] = end, begin
        insort(self.sizes, (end - begin, begin))

    def close(self, begin: int) -> int:
        """Take a gap out, and return its end."""
        end = self.ends.pop(begin)
        del self.begins[end]
        del self.sizes[bisect_left(self.sizes, (end - begin, begin))]
        return end


class Caller:
    """The lines of a function that makes calls.

    Parameters
    ----------
    base : callable
        A function of a buffer outside of the arena, which returns the name of its pointer.
    counters : sequence of str
        The names of the counters of loops, the outermost first.
    """

    def __init__(self, base: Callable[[Buffer], str], counters: Sequence[str] = ()):
        self.base, self.counters = base, counters
        self.lines: list[str] = []
        self.known: dict[Any, str] = {}
        self.count = 0
        self.refuses = False

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        """Add an instruction, and return the name of its result."""
        self.count += 1
        self.line(f"%x{self.count} = {text}")
        return f"%x{self.count}"

    def label(self, name: str) -> str:
        """Return a new name for a block."""
        self.count += 1
        return f"{name}{self.count}"

    def read(self, name: str, row: dict[str, int]) -> str:
        """Return a pointer that may be in a row in memory."""
        if name not in row:
            return name
        place = self.let(f"getelementptr ptr, ptr %row, i64 {row[name]}")
        return self.let(f"load ptr, ptr {place}")

    def grown(self, start: int, by: Sequence[int]) -> str:
        """Return a number that grows with the counters."""
        found = str(start)
        for step, counter in zip(by, self.counters):
            if step:
                far = counter if step == 1 else self.let(f"mul nsw i64 {counter}, {step}")
                found = far if found == "0" else self.let(f"add nsw i64 {found}, {far}")
        return found

    def pointer(self, place: Place) -> str:
        """Return the name of the pointer to a place."""
        buffer, offset, _ = place
        key = id(buffer), offset
        found = self.known.get(key)
        if found is None:
            if buffer.kind == "arena":
                found, offset = "%arena", offset + buffer.offset
            else:
                found = self.base(buffer)
            far = self.grown(int(offset), offset.by if type(offset) is Moving else ())
            if far != "0":
                found = self.let(f"getelementptr i8, ptr {found}, i64 {far}")
            self.known[key] = found
        return found

    def call(self, calls: Iterable[Call], inlined: Callable[[Call], bool] | None = None) -> None:
        """Make calls in order; those that are `inlined` are written in line."""
        for call in calls:
            given = [self.pointer(place) for place in call.places]
            scratch = "null"
            if call.scratch is not None:
                scratch = self.pointer(Place(call.scratch, 0, ()))
            text = call.kernel.call(given, scratch)
            if inlined is not None and inlined(call):
                text = f"{text} alwaysinline"
            if call.kernel.status:
                self.unless(self.let(f"icmp ne i32 {self.let(text)}, 0"))
            else:
                self.line(text)

    def unless(self, bad: str) -> None:
        """End with a status where a condition holds."""
        label = self.label("next")
        self.line(f"br i1 {bad}, label %refused, label %{label}")
        self.lines.append(f"{label}:")
        self.refuses = True

    def ends(self, status: bool = True) -> list[str]:
        """Return the last lines."""
        refused = ["refused:", "  ret i32 1"] if self.refuses else []
        return ["  ret i32 0" if status else "  ret void", *refused]


def texts_of(calls: Iterable[Call]) -> dict[str, str]:
    """Return the texts of the module that calls need."""
    texts: dict[str, str] = {}
    for call in calls:
        for name, text in call.kernel.texts.items():
            if texts.setdefault(name.lstrip("@"), text) != text:  # LLVM crashes at some
                raise ValueError(f"there are two bodies for {name}")
    return texts
