"""Loops of a program as routines: a body with a counter, and the calls of one step."""

import hashlib
import math

from ..lowering.loops import Body, Carried, Made
from ..lowering.steps import Buffer, Part, Place, Step
from ..text.emitter import ATTRIBUTES
from ..text.routines import Kernel, numbers
from .arena import laid_out
from .calling import Caller, texts_of
from .fusion import Call, called, calls_of
from .tiles import tiled

CALL = 50
"""About as many instructions as a call takes, or a step of a loop besides its calls."""

COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"

SLICE = 1 << 23
"""After so many instructions, about, a loop looks at signals."""

FEW = 256
"""Loops over so many elements are written in line in a body."""

Options = tuple[int, bool, int]
"""The bytes of a vector, whether products and sums contract, and the threads."""


def routines_of(part: Part, outputs: list[Step], options: Options) -> list[Call]:
    """Return the routines that compute the outputs, in order; loops are routines, too."""
    calls = []
    for call in calls_of(part, outputs, *options):
        body = call.kernel
        if type(body) is Body:
            call = Routine(body, routines_of(body, body.writers, options)).called(call.places)
            if type(part) is not Body:
                call = tiled(call, *options)
        calls.append(call)
    return calls


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
        """Return the lines that look at signals now and then, if a loop is long: see `pauses`."""
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
            if not made.small:  # its result is what it has taken
                (number,) = made.source.ring[:1]
                lines.append(
                    f"  call void @llvm.memcpy.p0.p0.i64(ptr {self.result(number)}, "
                    f"ptr %p{made.begin}, i64 {made.bytes}, i1 false)"
                )
        return [*lines, "  br label %done"]

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
            for made in (*body.carried.values(), *self.made) if made.last is not None
        ])  # fmt: skip
        pause = self.pause(caller, self.work, body.loop.count)
        lines = [
            "entry:", *self.variables(), *entry, *self.begin(),
            "step:", f"  {own} = phi i64 [ 0, %entry ], [ %after, %latch ]", *self.pointers(),
            *step, f"  %after = add nuw nsw i64 {own}, 1", *pause, "latch:",
            f"  %more = icmp ult i64 %after, {body.loop.count}",
            "  br i1 %more, label %step, label %done", "done:",
            *caller.lines, *caller.ends(caller.refuses),
        ]  # fmt: skip
        kind = "i32" if caller.refuses else "void"
        given = [f"ptr %p{i}" for i in range(len(body.operands) + len(body.results))]
        text = "\n".join([f"({', '.join([*given, 'ptr %arena'])}) noinline {ATTRIBUTES} {{",
                          *lines, "}"])  # fmt: skip
        name = f"loop_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
        head = {"memcpy": COPY} if body.test is not None else {}
        texts = {**head, **texts_of(self.calls), name: f"define internal {kind} @{name}{text}"}
        return Kernel(name, texts, self.arena, caller.refuses)
