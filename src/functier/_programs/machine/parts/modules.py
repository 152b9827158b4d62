"""The text of a part: its routines, and functions that call them, in modules of bounded size.

NOTE [modules]
    The time for one function of many calls grows faster than their number, and a module in memory
    is many times its text. So the routines of a long part are called by several functions, which
    are compiled a few at a time, each module with the routines that it calls. They find the places
    of all values in one table.
"""

import math
from collections.abc import Sequence

from ..compiler import engine
from ..lowering.loops import Body
from ..lowering.steps import Buffer, Part, Step
from ..text.emitter import ATTRIBUTES
from .calling import Caller, laid_out, texts_of
from .division import Stage
from .fusion import Call, call_of, items_of
from .loops import Options, Routine, tiled

MANY = 128
"""A part of more calls than these is several functions."""

PIECE = 500_000
"""About so many bytes of text are compiled at once."""

PIECES = "ptr %row, ptr %arena"
"""The parameters of a function of some calls."""

LONG = 1 << 15
"""From so many elements on other threads of Python run meanwhile."""


LINE = 64
"""About so many bytes of text has a pointer in a call."""


class TooLong(BaseException):
    """The text has more bytes than anybody waits for; the number says which part of it has them."""


def routines_of(
    part: Part, outputs: list[Step], options: Options, most: float = math.inf
) -> list[Call]:
    """Return the routines that compute the outputs, in order; loops are routines, too."""
    calls: list[Call] = []
    length = 0
    known: set[str] = set()
    items = items_of(part, outputs)
    for item in items:
        call = call_of(item, *options)
        body = call.kernel
        if type(body) is Body:
            call = Routine(body, routines_of(body, body.writers, options)).called(call.places)
            if type(part) is not Body:
                call = tiled(call, *options)
        calls.append(call)
        length += LINE * len(call.places)
        length += sum([len(text) for name, text in call.kernel.texts.items() if name not in known])
        known.update(call.kernel.texts)
        if length > most:
            raise TooLong((len(calls) - 1) / len(items))
    return calls


class Text:
    """The text of a part. If there are `many` values, it gets their pointers in a row in memory.

    Attributes
    ----------
    text : str
        The module with the function of the part.
    functions : list of str
        The lines of this one, and of those that are in its module.
    modules : list of tuple
        Other modules, whose functions that one calls: the names of these, and a text.
    length : int
        The bytes of all text.
    arena : int
        The bytes of memory that it needs.
    symbols : dict of str to int
        The addresses of the constants.
    """

    def __init__(
        self, part: Stage, inputs: list, contract: bool, threads: int = 1, many: bool = False,
        most: float = math.inf, piece: float = math.inf,
    ):  # fmt: skip
        self.part, self.many = part, many
        options = engine.vector_bytes(), contract, threads
        self.calls = routines_of(part, part.writers, options, most)
        self.arena = laid_out(self.calls)
        numbers = {node: i for i, node in enumerate(inputs)}
        self.inputs = {i: numbers.get(node) for i, node in enumerate(part.inputs)}
        self.symbols = {
            f"constant{i}": array.__array_interface__["data"][0]
            for i, array in enumerate(part.constants)
        }
        self.given = [f"%in{i}" for i in range(len(inputs))]
        self.given += [f"%out{i}" for i in range(len(part.outputs))]
        self.row = {x: i for i, x in enumerate(self.given)}
        self.modules: list[tuple[list[str], str]] = []
        self.text = self.written(piece)
        self.length = len(self.text) + sum([len(text) for _, text in self.modules])

    def base(self, buffer: Buffer) -> str:
        """Return the name of the pointer to a buffer."""
        if buffer.kind == "constant":
            return f"@constant{buffer.index}"
        if buffer.kind == "input":
            return f"%in{self.inputs[buffer.index]}"
        return f"%out{buffer.index}"

    def written(self, most: float) -> str:
        """Return the module of the part; functions that do not fit into it go to other modules."""
        given = ", ".join(
            [f"ptr {x}" for x in (*(["%row"] if self.many else self.given), "%arena")]
        )
        head = f"define i32 @part({given}) {ATTRIBUTES} {{"
        groups = grouped(self.calls, most)
        if len(groups) < 2:
            self.functions = [head, *self.body(self.calls, self.row if self.many else {})]
            return self.module([], self.calls, self.functions)
        main = Caller(self.base)
        row = "%row" if self.many else main.let(f"alloca [{len(self.given)} x ptr]")
        for i, x in enumerate(() if self.many else self.given):
            main.line(f"store ptr {x}, ptr {main.let(f'getelementptr ptr, ptr {row}, i64 {i}')}")
        names = []
        lines: list[str] = []
        calls: list[Call] = []
        last = max([number for number, (_, full) in enumerate(groups) if full], default=-1)
        for number, (group, full) in enumerate(groups):
            names.append(f"piece{number}")
            linkage = "internal " * (number > last)
            lines.append(f"define {linkage}i32 @{names[-1]}({PIECES}) noinline {ATTRIBUTES} {{")
            lines += self.body(group, self.row)
            calls += group
            status = main.let(f"call i32 @{names[-1]}(ptr {row}, ptr %arena)")
            main.unless(main.let(f"icmp ne i32 {status}, 0"))
            if full:
                self.modules.append((names, self.module([], calls, lines)))
                names, lines, calls = [], [], []
        heads = [f"declare i32 @{name}({PIECES})" for own, _ in self.modules for name in own]
        self.functions = [*lines, head, *main.lines, *main.ends(), "}"]
        return self.module(heads, calls, self.functions)

    def body(self, calls: Sequence[Call], row: dict[str, int]) -> list[str]:
        """Return the body of a function that makes some calls.

        Pointers that are in a row are read for each call: so many do not fit into registers.
        """
        caller = Caller(self.base)
        if row:
            caller.base = lambda buffer: caller.read(self.base(buffer), row)
        for call in calls:
            caller.call([call])
            if self.many:
                caller.known.clear()
        return [*caller.lines, *caller.ends(), "}"]

    def module(self, head: list[str], calls: Sequence[Call], lines: list[str]) -> str:
        """Return a module: functions, and the routines that they call."""
        used = {place.buffer.index for call in calls for place in call.places
                if place.buffer.kind == "constant"}  # fmt: skip
        head = head + [f"@constant{i} = external global i8" for i in sorted(used)]
        return "\n".join([*head, *texts_of(calls).values(), *lines])

    def is_long(self) -> bool:
        """Return whether other threads of Python run meanwhile."""
        sizes = [place.buffer.size for call in self.calls for place in call.places]
        return max(sizes, default=0) >= 8 * LONG


def grouped(calls: Sequence[Call], most: float) -> list[tuple[Sequence[Call], bool]]:
    """Return the calls of each function, and whether its module is full then."""
    found: list[tuple[Sequence[Call], bool]] = []
    begin, size = 0, 0
    known: set[str] = set()
    for end, call in enumerate(calls, 1):
        size += sum([len(text) for name, text in call.kernel.texts.items() if name not in known])
        known.update(call.kernel.texts)
        if size > most or end - begin == MANY or end == len(calls):
            found.append((calls[begin:end], size > most))
            begin = end
            if size > most:
                size, known = 0, set()
    return found
