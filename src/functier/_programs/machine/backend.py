"""The backend of machine code: a program whose known parts are builtins of compiled code."""

import math
import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dead import goes_on
from ..entries import Mismatch
from ..graph import Form, Graph, instances_in
from ..invariant import summed
from ..loops import Count, Loop, every_graph, every_guard, every_node, is_arm, is_loop, unrolled
from ..program import Program
from ..replays import Changed, Replay
from .calls import builtin
from .compiler import engine
from .linalg import blas, inner
from .lowering import effects, loops, places, products, reductions
from .lowering.steps import strides_out
from .parts import complex_rules, fourier
from .parts.answers import chooses, flagged
from .parts.complexes import in_pairs
from .parts.division import Division, Stage, after, input_form, with_many_effects
from .parts.lengths import NONE, ROOM, fixed, free_loops, tells_if_longer
from .parts.modules import PIECE, Text, TooLong

__all__ = ["MachineProgram", "use_machine"]

REGISTERED = effects, loops, places, products, reductions, complex_rules, fourier
"""The modules whose import fills the tables of rules."""

FEW = 1000
"""A loop of so many nodes is written out where answers depend on values that are rounded."""

SHORT = 8
"""Also a loop of so many steps where the machine does not know a function."""

LENGTH, A_CALL = 3_000_000, 128
"""Nobody waits for more bytes of text than these, and so many for each call of a program."""

LONG_TEXT = "machine code takes long to make; backend='llvm' makes it"


class Numpys(BaseException):
    """A loop of any length is NumPy's."""


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


class Maker:
    """A maker of parts; its text tells how long LLVM took."""

    def __init__(self, contract: bool, threads: int):
        self.contract, self.threads = contract, threads
        self.length = self.modules = 0
        self.seconds = 0.0
        self.fallbacks: list[Fallback] = []

    def texts_of(self, division: Division, most: float) -> tuple[Division, dict[Stage, Text]]:
        """Return the texts of parts that have at most so many bytes, and a division with these."""
        while True:
            texts: dict[Stage, Text] = {}
            left = most
            direct = division.direct()
            if direct is not None:
                direct.taken = list(division.graph.inputs)
            parts = [part for part in division.stages.values() if part.outputs]
            try:
                for part in parts:
                    text = self.text_of(part, left)
                    texts[part] = text
                    left -= text.length
                return division, texts
            except TooLong as long:  # the first calls, as later ones take their results
                lost, *more = parts[len(texts) :]
                first = int(0.9 * long.args[0] * len(lost.nodes))
                late = [*lost.nodes[first:], *[x for part in more for x in part.nodes]]
                late = [x for x in late if x.func is not operator.getitem] or lost.nodes
                beyond = division.beyond | after(division.graph, late)
                loops: list[Any] = [x.func for x in beyond if is_loop(x)]
                if any(map(goes_on, loops)):
                    raise Numpys from None
                division = Division(division.graph, self.contract, beyond)

    def text_of(self, part: Stage, most: float) -> Text:
        """Return the text of a part, of at most so many bytes."""
        many = signature_of(part).many
        return Text(part, part.taken, self.contract, self.threads, many, most, PIECE)

    def builtin_of(self, text: Text, direct: bool) -> Any:
        """Return the builtin of a part."""
        part = text.part
        signature = signature_of(part)._replace(arena_bytes=text.arena, long=text.is_long())
        fallback = Fallback(part)
        symbols = {**blas.addresses(), **inner.addresses(), **text.symbols}
        begin = time.thread_time()
        found = builtin.make_builtin(text.text, signature, fallback, symbols, modules=text.modules)
        self.seconds += time.thread_time() - begin
        self.length += text.length
        self.modules += 1 + len(text.modules)
        self.fallbacks.append(fallback)
        if direct:
            return found

        def guarded(*args: Any) -> Any:
            try:
                return found(*args)
            except Mismatch:  # NumPy has given another layout
                return fallback(*args)

        guarded.makes_new_arrays = True  # type: ignore[attr-defined]  # so that operands are let go
        return guarded

    def loop_of(self, loop: Any) -> Loop | None:
        """Return a loop of NumPy's with parts in its steps; None if there are none that pay.

        A call of a part costs as much as one of NumPy, and each of its results is an array.
        """
        body = loop.body
        # A part does not know the number of the step.
        poor = {x for x in body.nodes if is_loop(x) or instances_in((x.args, x.kwargs), Count)}
        if loop.ends or every_guard(body) or any([x.memory for x in every_node(body)]):
            return None
        while True:
            division = Division(body, self.contract, poor)
            parts = [part for part in division.stages.values() if part.outputs]
            more = {
                x for part in parts if len(part.inside) < 3 + len(part.outputs) for x in part.nodes
            }
            if not more:
                break
            poor = poor | more
        made = {}
        for part in parts:
            made[part] = self.builtin_of(self.text_of(part, math.inf), False)
        if not made:
            return None
        steps = with_functions(division.rest(), made)
        found = Loop(steps, loop.count, loop.carried, loop.reads, loop.lasts)
        found.places = loop.places
        return found

    def __str__(self) -> str:
        size = f"{self.length / 1e6:.1f} MB of text in modules: {self.modules:,}"
        return f"LLVM: {self.seconds:.2f} s for {size}" if self.modules else ""


def signature_of(part: Stage) -> builtin.Signature:
    """Return the forms of a part."""
    forms = [form_in(part, node) for node in part.taken]
    return builtin.Signature(tuple(forms), tuple([output.form for output in part.outputs]))


def with_functions(graph: Graph, made: dict) -> Graph:
    """Return a program with functions for its parts and loops."""
    for node in graph.nodes:
        if type(node.func) in (Stage, Loop):
            node.func = made.get(node.func, node.func)
    return graph


def copy_of_view(x: Any) -> Any:
    """Return an array that is not a view of an operand, as a part makes it."""
    return x.copy("K") if type(x) is np.ndarray and x.base is not None else x


def form_in(part: Stage, node: Any) -> Form:
    """Return the form of an input of a part."""
    form = input_form(node.form)
    if part.division.is_inside(node) and form.kind is np.ndarray:
        return form._replace(strides=strides_out(form))
    return form


def divided(graph: Graph, contract: bool, bounded: bool = False) -> tuple[Graph, Division]:
    """Return a program, and what of it the machine computes.

    A loop that the machine does not know is written out if it is small, else it is NumPy's, as one
    is whose steps have arms.
    """
    numpys: set[Any] = set()
    while True:
        flags = flagged(graph, numpys)
        division = Division(flags, contract, with_many_effects(flags) if bounded else set())
        pairs = zip(filter(is_loop, graph.nodes), filter(is_loop, flags.nodes))
        left: list[Any] = [(own.func, new) for own, new in pairs if new not in division.known]
        if any([goes_on(loop) for loop, _ in left]):
            raise Numpys
        lost: set[Any] = {loop for loop, new in left if new not in division.beyond} - numpys
        if not lost:
            return flags, division
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
    left : bool
        Whether NumPy makes all calls of a loop.
    reasons : list of str
        The calls that stay NumPy's, and why.
    fallbacks : list of Fallback
        For each part.
    cost : str
        What LLVM took.
    """

    def __init__(
        self, graph: Graph, name: str, contract: bool = False, threads: int = 1,
        bounded: bool = False,
    ):  # fmt: skip
        calls = sum([node.func is not None for each in every_graph(graph) for node in each.nodes])
        most = LENGTH + A_CALL * calls if bounded else math.inf
        self.chooses = any(map(chooses, graph.nodes))
        graph, division = divided(graph, contract, bounded)
        maker = Maker(contract, threads)
        division, texts = maker.texts_of(division, most)
        self.bounds = {i for i, guard in enumerate(graph.guards) if tells_if_longer(guard.node)}
        numpys: set[Any] = division.outside - division.beyond - division.rounded
        own_loops = [node for node in graph.nodes if is_loop(node) and node in numpys]
        inner = {node: maker.loop_of(node.func) for node in own_loops}
        self.left = None in inner.values()
        self.reasons = [
            f"{getattr(node.func, '__name__', node.func)}: {division.reasons[node]}"
            f"{', but for parts of a step' if inner.get(node) else ''}"
            for node in graph.nodes
            if node in division.outside
            and node in division.reasons
            and node.func is not operator.getitem
        ]
        if left := len(division.outside.intersection(division.beyond)):
            self.reasons.append(f"{left:,} calls: {LONG_TEXT}")
        self.parts = len(texts)
        self.loops = sum([is_loop(node) for part in texts for node in part.inside])
        self.run: Callable | None = None
        self.direct = division.direct() is not None
        made = {part: maker.builtin_of(text, self.direct) for part, text in texts.items()}
        self.fallbacks, self.cost = maker.fallbacks, str(maker)
        if self.direct:
            (self.run,) = made.values()
        elif made or any(inner.values()):
            found = {node.func: loop for node, loop in inner.items() if loop is not None}
            rest = with_functions(division.rest(), made | found)
            names = [f"x{i}" for i in range(len(rest.inputs))]
            self.run = Replay(rest, "program", names).function


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
    paired = in_pairs(graph)

    def making(graph: Graph) -> tuple[MachineProgram, Callable]:
        free = free_loops(graph)

        def make(room: int) -> MachineProgram:
            lengths = fixed(graph, free, room)
            return MachineProgram(lengths, program.name, contract, threads, bounded=bounded)

        try:
            return make(ROOM), make
        except Numpys:
            free = NONE
            return make(0), make

    try:
        machine, make = making(paired)
        if machine.left and paired is not graph:  # NumPy has more calls of pairs
            machine, make = making(graph)
    except Exception as error:  # NumPy's program is there
        return [f"no machine code: {type(error).__name__}: {error}"]
    if machine.run is not None:
        again = machine.bounds or machine.chooses
        program._run = asked_again(machine, program._run, make) if again else machine.run
        program._checks = not machine.direct
    whole = ", the whole program" if machine.direct else ""
    return [
        f"compiled parts: {machine.parts}{whole}",
        machine.cost,
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
            except (Numpys, MemoryError):
                bounds = set()
        return found

    return both
