"""The backend of machine code: a program whose known parts are builtins of compiled code."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dead import goes_on
from ..entries import Mismatch
from ..graph import Form, Graph
from ..invariant import summed
from ..loops import every_graph, every_guard, every_node, is_arm, is_loop, unrolled
from ..program import Program
from ..replays import Changed, Replay
from .calls import builtin
from .compiler import engine
from .linalg import blas, inner
from .lowering import effects, loops, places, products, reductions
from .lowering.steps import Buffer, strides_out
from .parts.answers import chooses, flagged
from .parts.calling import Caller, laid_out, texts_of
from .parts.division import Division, Stage, input_form
from .parts.fusion import Call
from .parts.lengths import NONE, ROOM, fixed, free_loops, tells_if_longer
from .parts.loops import routines_of
from .text.emitter import ATTRIBUTES

__all__ = ["MachineProgram", "use_machine"]

REGISTERED = effects, loops, places, products, reductions
"""The modules whose import fills the table of rules."""

MANY = 128
"""A part of more calls than these is several functions."""

FEW = 1000
"""A loop of so many nodes is written out where answers depend on values that are rounded."""

SHORT = 8
"""Also a loop of so many steps where the machine does not know a function."""

CALLS = 10_000
"""With so many calls, those of a loop counted once, LLVM would take long."""

LENGTH = 3_000_000
"""So would it with the text of a part that is as long."""

LONG = 1 << 15
"""From so many elements on other threads of Python run meanwhile."""


class TooLong(BaseException):
    """Machine code would take long to make, and nobody has asked for it by name."""


class Numpys(BaseException):
    """A loop of any length is NumPy's."""


class Text:
    """The text of a part. If there are `many` values, it gets their pointers in a row in memory.

    Attributes
    ----------
    text : str
    arena : int
        The bytes of memory that it needs.
    symbols : dict of str to int
        The addresses of the constants.
    """

    def __init__(
        self, part: Stage, inputs: list, contract: bool, threads: int = 1, many: bool = False
    ):
        self.part, self.many = part, many
        options = engine.vector_bytes(), contract, threads
        self.calls = routines_of(part, part.writers, options)
        self.arena = laid_out(self.calls)
        numbers = {node: i for i, node in enumerate(inputs)}
        self.inputs = {i: numbers.get(node) for i, node in enumerate(part.inputs)}
        self.symbols = {
            f"constant{i}": array.__array_interface__["data"][0]
            for i, array in enumerate(part.constants)
        }
        self.text = self.written(len(inputs))

    def base(self, buffer: Buffer) -> str:
        """Return the name of the pointer to a buffer."""
        if buffer.kind == "constant":
            return f"@constant{buffer.index}"
        if buffer.kind == "input":
            return f"%in{self.inputs[buffer.index]}"
        return f"%out{buffer.index}"

    def written(self, count: int) -> str:
        """Return the module: the routines, and the functions that call them in order."""
        head = [f"@{name} = external global i8" for name in self.symbols]
        return "\n".join([*head, *texts_of(self.calls).values(), self.main(count)])

    def main(self, count: int) -> str:
        """Return the functions that call the routines."""
        names = [f"%in{i}" for i in range(count)]
        names += [f"%out{i}" for i in range(len(self.part.outputs))]
        given = ["%row"] if self.many else names
        row = {name: i for i, name in enumerate(names if self.many else ())}
        parameters = ", ".join([f"ptr {name}" for name in [*given, "%arena"]])
        if len(self.calls) <= MANY:
            return f"define i32 @part({parameters}) {self.body(self.calls, row)}"
        # The time for one function of many calls grows faster than their number.
        pieces, lines = [], []
        for n, start in enumerate(range(0, len(self.calls), MANY)):
            body = self.body(self.calls[start : start + MANY], row)
            pieces.append(f"define internal i32 @piece{n}({parameters}) noinline {body}")
            lines.append(f"  %s{n} = call i32 @piece{n}({parameters})")
            lines.append(f"  %bad{n} = icmp ne i32 %s{n}, 0")
            lines.append(f"  br i1 %bad{n}, label %refused, label %next{n}")
            lines.append(f"next{n}:")
        lines += ["  ret i32 0", "refused:", "  ret i32 1"]
        main = "\n".join([f"define i32 @part({parameters}) {ATTRIBUTES} {{", *lines, "}"])
        return "\n".join([*pieces, main])

    def body(self, calls: list[Call], row: dict[str, int]) -> str:
        """Return the body of a function that makes some calls.

        Pointers that are in a row are read for each call: so many do not fit into registers.
        """
        caller = Caller(self.base)
        if row:
            caller.base = lambda buffer: caller.read(self.base(buffer), row)
        for call in calls:
            caller.call([call])
            if row:
                caller.known.clear()
        return "\n".join([f"{ATTRIBUTES} {{", *caller.lines, *caller.ends(), "}"])

    def is_long(self) -> bool:
        sizes = [place.buffer.size for call in self.calls for place in call.places]
        return max(sizes, default=0) >= 8 * LONG


class Fallback:
    """A part as NumPy calls, for calls that the machine does not serve."""

    def __init__(self, part: Stage):
        self.part = part
        self.run: Callable | None = None
        self.calls = 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        if self.run is None:
            own = [f"x{i}" for i in range(len(args))]
            self.run = Replay(self.part.program(), "part", own).function
        with np.errstate(all="ignore"):
            found = self.run(*args)
        return tuple([copy_of_view(x) for x in found])

    def __str__(self) -> str:
        """Return what `explain` says of the part, if there is something."""
        return f"a part has run as NumPy calls in {self.calls} calls" if self.calls else ""


def function_of(
    part: Stage, inputs: list, direct: bool, contract: bool, threads: int, bounded: bool
) -> tuple[Any, Fallback]:
    """Return the builtin of a part, and what runs instead; a `bounded` part is not long."""
    forms = [form_in(part, node) for node in inputs]
    results = [output.form for output in part.outputs]
    signature = builtin.Signature(tuple(forms), tuple(results))
    text = Text(part, inputs, contract, threads, signature.many)
    if bounded and len(text.text) > LENGTH:
        raise TooLong(f"few of its {len(part.inside):,} calls are alike")
    signature = signature._replace(arena_bytes=text.arena, long=text.is_long())
    fallback = Fallback(part)
    symbols = {**blas.addresses(), **inner.addresses(), **text.symbols}
    found = builtin.make_builtin(text.text, signature, fallback, symbols)
    if direct:
        return found, fallback

    def guarded(*args: Any) -> Any:
        try:
            return found(*args)
        except Mismatch:  # NumPy has given another layout
            return fallback(*args)

    guarded.makes_new_arrays = True  # type: ignore[attr-defined]  # so that operands are let go
    return guarded, fallback


def copy_of_view(x: Any) -> Any:
    """Return an array that is not a view of an operand, as a part makes it."""
    return x.copy("K") if type(x) is np.ndarray and x.base is not None else x


def form_in(part: Stage, node: Any) -> Form:
    """Return the form of an input of a part."""
    form = input_form(node.form)
    if part.division.is_inside(node) and form.kind is np.ndarray:
        return form._replace(strides=strides_out(form))
    return form


def divided(graph: Graph, contract: bool) -> tuple[Graph, Division]:
    """Return a program, and what of it the machine computes.

    A loop that the machine does not know is written out if it is small, else it is NumPy's, as one
    is whose steps have arms.
    """
    numpys: set[Any] = set()
    while True:
        flags = flagged(graph, numpys)
        division = Division(flags, contract)
        pairs = zip(filter(is_loop, graph.nodes), filter(is_loop, flags.nodes))
        lost: set[Any] = {own.func for own, new in pairs if new not in division.known} - numpys
        if not lost:
            return flags, division
        if any(map(goes_on, lost)):
            raise Numpys
        answers = {loop for loop in lost if every_guard(loop.body)}
        answers |= {node.func for node in filter(is_loop, division.rounded)}
        few = {x for x in lost if length_of(x) <= FEW and (x in answers or x.count <= SHORT)}
        few = {x for x in few if not any(map(is_arm, every_node(x.body)))}
        if few:
            graph = unrolled(graph, few)
        else:
            numpys |= lost


def length_of(loop: Any) -> int:
    """Return the number of nodes of a loop that is written out."""
    own = [length_of(x.func) if is_loop(x) else x.func is not None for x in loop.body.nodes]
    return loop.count * sum(own)


class MachineProgram:
    """A program with compiled parts: `run` is a function of its inputs.

    Attributes
    ----------
    parts : int
        The number of compiled parts.
    loops : int
        The number of loops of the program that are in parts.
    direct : bool
        Whether the program is one builtin.
    chooses : bool
        Whether Python code has chosen in its loops.
    bounds : set of int
        The numbers of the guards that tell if a loop has more steps than there is room for.
    reasons : list of str
        The calls that stay NumPy's, and why.
    fallbacks : list of Fallback
        For each part.
    """

    def __init__(
        self, graph: Graph, name: str, contract: bool = False, threads: int = 1,
        bounded: bool = False,
    ):  # fmt: skip
        calls = sum([node.func is not None for each in every_graph(graph) for node in each.nodes])
        if bounded and calls > CALLS:
            raise TooLong(f"there are {calls:,} calls")
        self.chooses = any(map(chooses, graph.nodes))
        graph, division = divided(graph, contract)
        self.bounds = {i for i, guard in enumerate(graph.guards) if tells_if_longer(guard.node)}
        self.reasons = [
            f"{getattr(node.func, '__name__', node.func)}: {division.reasons[node]}"
            for node in graph.nodes
            if node in division.outside
            and node in division.reasons
            and node.func is not operator.getitem
        ]
        parts = [part for part in division.stages.values() if part.outputs]
        self.parts = len(parts)
        self.loops = sum([is_loop(node) for part in parts for node in part.inside])
        self.run: Callable | None = None
        self.fallbacks: list[Fallback] = []
        direct = division.direct()
        self.direct = direct is not None
        if direct is not None:
            direct.taken = list(graph.inputs)
            self.run, fallback = function_of(direct, graph.inputs, True, contract, threads, bounded)
            self.fallbacks = [fallback]
        elif parts:
            made = {}
            for part in parts:
                made[part], fallback = function_of(
                    part, part.taken, False, contract, threads, bounded
                )
                self.fallbacks.append(fallback)
            rest = division.rest()
            for node in rest.nodes:
                if type(node.func) is Stage:
                    node.func = made[node.func]
            own = [f"x{i}" for i in range(len(rest.inputs))]
            self.run = Replay(rest, "program", own).function


def unsuitable() -> str:
    """Return why this process or processor has no machine code that pays; else nothing."""
    triple, _, features = engine.host()
    if triple.startswith(("x86_64", "i686")) and "+fma" not in features:
        return "the processor has no fused multiply-add"
    return builtin.supported()


def use_machine(
    program: Program, graph: Graph, contract: bool, threads: int, bounded: bool
) -> list[Any]:
    """Let a program with this graph run its known parts as machine code.

    A `bounded` one stays NumPy's where that would take long to make.

    Return texts, or what has one: how many there are, why the other parts are NumPy calls, and
    how often a part did not serve.
    """
    missing = unsuitable()
    if missing:
        return [f"no machine code: {missing}"]
    graph = summed(graph)
    free = free_loops(graph)

    def make(room: int) -> MachineProgram:
        lengths = fixed(graph, free, room)
        return MachineProgram(lengths, program.name, contract, threads, bounded=bounded)

    try:
        try:
            machine = make(ROOM)
        except Numpys:
            free = NONE
            machine = make(0)
    except TooLong as error:
        return [f"no machine code: {error}, which takes long to make; backend='llvm' makes it"]
    except Exception as error:  # NumPy's program is there
        return [f"no machine code: {type(error).__name__}: {error}"]
    if machine.run is not None:
        again = machine.bounds or machine.chooses
        program._run = asked_again(machine, program._run, make) if again else machine.run
        program._checks = not machine.direct
    whole = ", the whole program" if machine.direct else ""
    return [
        f"compiled parts: {machine.parts}{whole}",
        *[f"NumPy's: {text}" for text in machine.reasons],
        *machine.fallbacks,
    ]


def asked_again(machine: MachineProgram, other: Callable, make: Callable) -> Callable:
    """Return a function that runs `other` where an answer has changed, which tells which one.

    Guards in loops have other numbers in the machine's program. If none has changed, and a loop had
    more steps than there is room for, `make` makes a program with more.
    """
    run, bounds, room = machine.run, machine.bounds, ROOM

    def both(*args: Any) -> Any:
        nonlocal run, bounds, room
        try:
            return run(*args)  # type: ignore[misc]
        except Changed as changed:
            longer = changed.args[0] in bounds
        found = other(*args)
        if longer:
            room *= ROOM
            try:
                more = make(room)
                run, bounds = more.run or run, more.bounds
            except (TooLong, MemoryError):
                bounds = set()
        return found

    return both
