"""A net of drawn programs with loops: with steps that are rolled into loops, and without.

    PYTHONPATH=tests:src python -m nets.loops 200 --seed 3
    PYTHONPATH=tests:src python -m nets.loops --seed 3 --number 17
    PYTHONPATH=tests:src python -m nets.loops 200 --seed 3 --backend llvm

Each number is a program of one to three loops, some in others, as `nets.looping.draw` writes it. It
is traced by itself and under a transform, once with the pass that makes loops and once without.
Both programs are called with several arguments, of which some answer guards in another way: the
results have to be the same to the last bit, errors of the same type, and arguments and generators
the same afterwards. So have the source that people read, a program out of a pickle, and the
compiled function, beside eager mode.

Of the loops whose steps are alike, those that become loops of the program are counted.
"""

import linecache
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import optree

import functier as ft
import functier.numpy as fnp
from functier._cpython.code import file_of_code, line_of
from functier._programs import passes, stores
from functier._programs.bodies import rolled
from functier._programs.entries import Mismatch
from functier._programs.graph import Graph, Node
from functier._programs.loops import every_node, is_loop
from strategies.outcomes import difference, is_rounding
from support.basics import silent

from .commands import main
from .looping.draw import Program, Span, draw, values
from .verdicts import Verdicts

REASONS: dict[str, str] = {
    r"^DataDependentError: ": "Python code asks for what differs from example to example",
    r"^RandomnessError: trace.*a draw inside a chunk, or in functier.checkpoint, would be": (
        "the generator of a chunk of examples is a new one in each call"
    ),
}
"""Refusals that a user has to accept: those of a trace where eager mode gives a result."""

SHARE = 0.95
"""This part of the loops whose steps are alike has to be found."""

BUGS = NameError, UnboundLocalError, TypeError, AttributeError, KeyError, IndexError, SystemError
"""Errors that no call of a program raises, but the program itself."""

Way = tuple[str, Callable]


# ---- what runs ----


def total(tree: Any) -> Any:
    """Return a real number that depends on all parts of a result."""
    found = 0.0
    for x in optree.tree_leaves(tree):
        if np.result_type(x).kind in "fc":
            x = np.real(x * (0.5 - 0.25j)) if np.result_type(x).kind == "c" else x
            found = found + np.sum(np.sin(x))
    return found


def ways_of(f: Callable, program: Program, r: random.Random) -> list[Way]:
    """Return the program under some transforms, as functions of its arguments."""
    chosen = sorted(r.sample(range(4), r.choice([1, 2])))  # among x, y, s and xs

    def loss(*args: Any) -> Any:
        return total(f(*args))

    def tangents(args: tuple) -> tuple:
        return tuple([np.ones_like(x) * 0.5 for x in args])

    def mapped(g: Callable) -> Callable:
        how = {"branches": "split"} if "guards" in program.features else {}
        axes = tuple([0 if i in chosen else None for i in range(5)])

        def call(*args: Any) -> Any:
            many = [np.stack([x, x * 0.5]) if i in chosen else x for i, x in enumerate(args)]
            return ft.vmap(g, in_dims=axes, randomness="different", **how)(*many)

        return call

    gradient = ft.grad(loss, argnums=tuple(chosen))
    return [
        ("grad", gradient),
        ("grad and value", ft.grad_and_value(loss, argnums=tuple(chosen))),
        ("jvp", lambda *args: ft.jvp(f, args, tangents(args))),
        ("vmap", mapped(f)),
        ("vmap of grad", mapped(gradient)),
        ("grad of vmap", ft.grad(lambda *args: total(mapped(f)(*args)), argnums=tuple(chosen))),
        *([] if np.iscomplexobj(program.args[0]) else forward(loss, chosen[0])),
    ]


def forward(loss: Callable, number: int) -> list[Way]:
    """Return the transforms that take no complex argument."""
    return [
        ("jacfwd", ft.jacfwd(loss, argnums=number, randomness="same")),
        ("hessian", ft.hessian(loss, argnums=number, randomness="same")),
    ]


@contextmanager
def rolling(roll: Callable[[Graph], Graph]) -> Iterator[None]:
    """Make loops by a function."""
    before = passes.PASSES["roll"]
    passes.PASSES["roll"] = roll
    try:
        yield
    finally:
        passes.PASSES["roll"] = before


@contextmanager
def large(size: int) -> Iterator[None]:
    """Let values from so many bytes on be large: their memory is freed and used again."""
    before = stores.LARGE
    stores.LARGE = size
    try:
        yield
    finally:
        stores.LARGE = before


class Case:
    """A drawn program with its generator: what a call leaves there counts."""

    def __init__(self, text: str, name: str):
        self.rng = ft.random.default_rng(3)
        space: dict[str, Any] = {"np": np, "ft": ft, "fnp": fnp, "rng": self.rng}
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), space)
        self.f, self.file = space["f"], name
        self.start = self.rng.bit_generator.state

    def outcome(self, f: Callable, args: tuple) -> tuple:
        """Return the result or the error of a call, the arguments then, and the generator."""
        self.rng.bit_generator.state = self.start
        given = tuple([x.copy() for x in args])
        try:
            result = f(*given)
        except Exception as error:
            result = error
        return result, given, repr(self.rng.bit_generator.state)


def others(program: Program, number: int) -> tuple:
    """Return arguments of the same forms: some are near, others are not."""
    g = np.random.default_rng(number)
    found = []
    for x in program.args:
        kind = {"c": "complex", "f": ""}[x.dtype.kind]
        moved = values(x.shape, kind, g) * (1e-3 if number % 2 else 1.0)
        found.append((x + moved.astype(x.dtype))[()])
    return tuple(found)


# ---- what is the same ----


def problem_of(found: tuple, expected: tuple, exact: bool = True) -> str | None:
    """Say how two outcomes differ."""
    (a, given, state), (b, wanted, other) = found, expected
    if isinstance(a, Exception) or isinstance(b, Exception):
        if type(a) is not type(b):
            return f"got {short(a)}, expected {short(b)}"
    elif (problem := difference(a, b)) is not None:
        return problem
    elif exact and (problem := of_types(a, b)) is not None:
        return problem
    if (problem := difference(given, wanted)) is not None:
        return f"of the arguments: {problem}"
    return "the generator is elsewhere" if state != other else None


def of_types(a: Any, b: Any) -> str | None:
    """Say which leaves differ in their type, or in the order in memory."""
    for x, y in zip(optree.tree_leaves(a), optree.tree_leaves(b)):
        if type(x) is not type(y):
            return f"a {type(x).__name__}, expected a {type(y).__name__}"
        if type(x) is np.ndarray and x.strides != y.strides:
            return f"strides {x.strides}, expected {y.strides}"
    return None


def narrow(outcome: tuple, args: tuple) -> Any:
    """Return an outcome as float32 where the arguments are: wider results have their errors."""
    if args[0].dtype != np.float32 or isinstance(outcome[0], Exception):
        return outcome
    leaves, structure = optree.tree_flatten(outcome[:2])
    leaves = [np.float32(x) if np.result_type(x).char == "d" else x for x in leaves]
    return structure.unflatten(leaves)


def short(x: Any) -> str:
    return f"{type(x).__name__}: {x}"[:200] if isinstance(x, Exception) else "a result"


# ---- which loops are rolled ----


def lines_of(node: Node, file: str) -> set[int]:
    """Return the lines of the file that have made a node."""
    place = node.place or ()
    pairs = zip(place[::2], place[1::2])
    return {line_of(code, where) for code, where in pairs if file_of_code(code) == file}


class Count:
    """The nodes of each line of a program, and the lines that have a loop."""

    def __init__(self, graph: Graph, file: str):
        self.nodes: dict[int, int] = {}
        self.loops: set[int] = set()
        for node in every_node(graph):
            for line in () if node.func is None else lines_of(node, file):
                self.nodes[line] = self.nodes.get(line, 0) + 1
            if is_loop(node):
                body: Any = node.func
                for inner in every_node(body.body):
                    self.loops |= lines_of(inner, file)

    def of(self, span: Span) -> int:
        return sum([n for line, n in self.nodes.items() if span.first <= line <= span.last])

    def has_loop(self, span: Span) -> bool:
        return any([span.first <= line <= span.last for line in self.loops])


FEWEST_NODES = 3
"""So many nodes of a step, at least, make a loop that is counted."""


def is_rolled(span: Span, before: Count, after: Count) -> bool | None:
    """Tell if a loop of the source is one of the program; None where it need not be."""
    nodes = before.of(span)
    if not span.regular or span.count < 4 or nodes < FEWEST_NODES * span.count:
        return None
    # Some of the first steps and of the last ones may differ from the others.
    return after.has_loop(span) and after.of(span) <= 4 * nodes / span.count + 4


# ---- the net ----


def failing(f: Any, inputs: list[tuple]) -> str | None:
    """Say how a program of a compiled function fails, after which it would be traced again."""
    for args in inputs:
        for variant in f._variants:
            try:
                variant.entry(*[x.copy() for x in args])
            except BUGS as error:
                return f"its program fails: {short(error)}"
            except (Mismatch, Exception):
                pass
    return None


class Loops:
    """Runs numbers of a seed and counts; `roll` makes the loops."""

    def __init__(
        self, counts: Verdicts, seed: int, roll: Callable[[Graph], Graph] = rolled,
        backend: str = "numpy", most: int = 3,
    ):  # fmt: skip
        self.counts, self.seed, self.roll = counts, seed, roll
        self.backend, self.most = backend, most
        self.unclear = self.regular = self.found = 0
        self.rounded: list[str] = []
        self.flat: list[str] = []

    def run(self, number: int) -> None:
        size = 0 if number % 2 else stores.LARGE
        with silent(), large(size):
            program = draw(self.seed, number)
            name = f"<loops {self.seed} {number}>"
            case = Case(program.text, name)
            r = random.Random(hash((self.seed, number, 1)))
            ways = [("value", case.f), r.choice(ways_of(case.f, program, r))]
            for way, g in ways:
                self.judge(number, program, case, way, g)
            linecache.cache.pop(name)

    def judge(self, number: int, program: Program, case: Case, way: str, g: Callable) -> None:
        """Compare the programs of one function, with loops and without."""
        head = (
            f"# python -m nets.loops --seed {self.seed} --number {number}: {way}\n{program.text}# "
        )
        inputs = [program.args, *[others(program, i) for i in range(self.most)]]
        eager = [case.outcome(g, args) for args in inputs]
        with rolling(lambda graph: graph):
            flat = case.outcome(ft.trace(g), program.args)[0]
            before = None if isinstance(flat, Exception) else Count(flat._graph, case.file)
        with rolling(self.roll):
            looped = case.outcome(ft.trace(g), program.args)[0]
        if isinstance(flat, Exception) or isinstance(looped, Exception):
            if type(flat) is not type(looped):
                self.counts.wrong.append(f"{head}traced: {short(looped)}, not {short(flat)}")
            elif isinstance(eager[0][0], Exception):
                self.unclear += 1
            else:
                self.counts.refuse(head, flat)
            return
        assert before is not None
        self.count(head, program, before, Count(looped._graph, case.file))
        try:
            problem = self.problem(case, inputs, flat, looped)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            problem = self.compiled(head, case, g, inputs, eager)
        if problem is None:
            self.counts.right += 1
        else:
            self.counts.wrong.append(f"{head}{problem}")

    def count(self, head: str, program: Program, before: Count, after: Count) -> None:
        for span in program.spans:
            found = is_rolled(span, before, after)
            if found is not None:
                self.regular += 1
                self.found += found
                if not found:
                    self.flat.append(f"{head}lines {span.first} to {span.last}: "
                                     f"{before.of(span)} nodes, then {after.of(span)}")  # fmt: skip

    def problem(self, case: Case, inputs: list[tuple], flat: Any, looped: Any) -> str | None:
        """Say how a program with loops differs from one without."""
        expected = [case.outcome(flat, args) for args in inputs]
        for i, args in enumerate(inputs):
            problem = problem_of(case.outcome(looped, args), expected[i])
            if problem is not None:
                return f"call {i}: {problem}"
        case.rng.bit_generator.state = case.start
        again = [pickle.loads(pickle.dumps(program)) for program in (looped, flat)]
        problem = problem_of(*[case.outcome(program, inputs[0]) for program in again])
        if problem is not None:
            return f"out of a pickle: {problem}"
        space = {"CONSTANTS": looped.constants}
        exec(looped.source, space)
        for i, args in enumerate(inputs):
            found = case.outcome(space[looped.name], args)
            if isinstance(found[0], Exception):  # text alone, which leaves a generator where it is
                found = (*found[:2], expected[i][2])
            problem = problem_of(found, expected[i])
            if problem is not None:
                return f"the source, call {i}: {problem}\n{looped.source}"
        return None

    def compiled(
        self, head: str, case: Case, g: Callable, inputs: list[tuple], eager: list
    ) -> str | None:
        """Say how the compiled function differs from eager mode."""
        with rolling(self.roll):
            f = ft.compile(g, backend=self.backend, warm=True)
            for i in [*range(len(inputs)), 0]:
                found = case.outcome(f, inputs[i])
                problem = problem_of(found, eager[i], exact=False)
                if problem is None:
                    continue
                if is_rounding(*[narrow(x, inputs[i]) for x in (found, eager[i])]):
                    self.rounded.append(f"{head}call {i}: {problem}")
                    continue
                return f"compiled, call {i}: {problem}"
        return failing(f, inputs)

    def summary(self) -> str:
        return (
            f"{self.counts.summary()}; {self.found} of {self.regular} loops rolled, "
            f"{self.unclear} said nothing, {len(self.rounded)} by rounding"
        )

    def settle(self) -> None:
        """Raise where a case is wrong, or too many are refused, rounded or without loops."""
        self.counts.settle(rounded=self.rounded if self.backend == "numpy" else ())
        assert self.found >= SHARE * self.regular, "\n".join(self.flat)


def net(seed: int, **given: Any) -> Loops:
    return Loops(Verdicts("loops", REASONS), seed, **given)


if __name__ == "__main__":
    sys.exit(main(__doc__, net))
