"""Drawn programs with given loops: compiled, beside eager mode and Python loops.

Each is compiled under transforms and called three times, with two arguments: so guards fail, and
programs come back. Of the loops whose steps have no effects and no guards, those of which one step
is recorded for all are counted, where steps are not rolled into loops, too.
"""

import itertools
import math
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from hypothesis import strategies as st

import functier as ft
from faults.planted import nets_of_loops as faulty
from functier._control import given
from strategies import outcomes, plain_loops
from strategies.given_loops import giving
from strategies.nestings import nested
from strategies.nets import net
from strategies.outcomes import judge_compiled, others, outcome, problem_of, rolling
from strategies.reasons import GIVEN_LOOPS

pytestmark = pytest.mark.inside("Loops of which one step is recorded are counted.")

SHARE = 0.9
"""This part of the loops whose steps are alike has to be recorded by one step."""

EXACT = {"jvp", "vmap"}
"""Levels whose results are those of eager mode to the last bit: they add in the same order."""

LOOPS = "scan(", "fori_loop(", "map(", "while_loop("


class Box:
    """An object with attributes."""

    n, last = 0, 0.0


class Around:
    """The objects and the generator outside of a program, in which a call leaves something."""

    def __init__(self, program, loops=ft):
        self.rng = ft.random.default_rng(3)
        self.start = self.rng.bit_generator.state
        self.space = {
            "lo": loops, "rng": self.rng, "math": math, "itertools": itertools, "Box": Box,
            "LIST": [0.1, 0.2, 0.3, 0.4, 0.5], "HISTORY": [], "BOX": {}, "BUFFER": np.zeros(3),
            **program.plain,
        }  # fmt: skip
        self.f = program.function(**self.space)
        self.space = self.f.__globals__

    def restart(self):
        self.rng.bit_generator.state = self.start
        self.space["HISTORY"].clear()
        self.space["BOX"]["n"] = 0
        self.space["BUFFER"][:] = 0
        self.space["TICKS"] = itertools.count()

    def left(self):
        left = [self.space[name] for name in ("HISTORY", "BOX", "BUFFER", "TICKS")]
        return repr((self.rng.bit_generator.state, *left))


@contextmanager
def counting(found):
    """Note the names of the functions of which one step is recorded for all.

    A function that is traced meanwhile runs by itself, as code runs that the trace does not know.
    """
    right = given.Sample.repeat

    def repeat(self, samples):
        result = right(self, samples)
        if result is not None and result[0] > 1:
            for root in self.roots:
                cells = getattr(root, "__closure__", None) or ()
                parts = [root, getattr(root, "__wrapped__", None)]
                parts += [x.cell_contents for x in cells]
                found.update([getattr(x, "__name__", "") for x in parts])
        return result

    given.Sample.repeat = repeat
    try:
        yield
    finally:
        given.Sample.repeat = right


def steps_of(error):
    """Return the notes of an error that name a step."""
    return [note for note in getattr(error, "__notes__", []) if note.startswith(LOOPS)]


def differing(found, wanted, args):
    problem = problem_of(found, wanted)
    if problem and outcomes.is_rounding(found[:2], wanted[:2], outcomes.is_single(args)):
        return None
    return problem


def kinds_of(program):
    """Return the transforms for a program: batches whose examples branch run apart."""
    odd = {"guards", "choices", "lengths that are values", "while"} & {*program.features}
    batch = "split" if odd else "vmap"
    return "grad", batch, "jvp", "grad and value", "jacfwd", "hessian"


def enough(counts):
    assert counts.seen["by one step"] >= SHARE * counts.seen["loops"], counts.summary()


@net(
    "given loops", GIVEN_LOOPS, examples=(32, 400), settle=enough,
    drawn=nested(giving(), kinds=kinds_of), roll=st.booleans(),
)  # fmt: skip
def test_given_loops_give_compiled_what_they_give_in_eager_mode(judge, drawn, roll):
    """Results are the same, and errors with the step that they name, and what a call leaves.

    Those of eager mode are the ones of the program with Python loops.
    """
    program, nesting = drawn
    around, python = Around(program), Around(program, plain_loops.LOOPS)
    f, g = nesting.by_functier(around.f), nesting.by_functier(python.f)
    kinds = {level.kind for level in nesting.levels}
    inputs = [program.args, others(program.args, len(program.text) % 7)]
    with nullcontext() if roll else rolling(lambda graph: graph):
        eager = [outcome(f, args, around) for args in inputs]
        for args, found in zip(inputs, eager):
            wanted = outcome(g, args, python)
            if isinstance(found.result, Exception) or isinstance(wanted.result, Exception):
                continue  # loops check their carry, and batched ones go on where Python cannot
            if "split" in kinds:  # a Python loop has its effects for each group of examples
                if "HISTORY" in program.text or "BUFFER" in program.text:
                    continue  # and the program may read them
                wanted = wanted._replace(left=found.left)
            if problem := differing(found, wanted, args):
                return judge.wrong(f"eager, beside Python loops: {problem}")
        compiled = judge_compiled(
            judge, f, inputs, [0, 1, 0], around=around, eager=eager, exact=kinds <= EXACT,
            steps_of=steps_of,
        )  # fmt: skip
        if compiled is None:
            return None
        if isinstance(eager[0].result, Exception):
            return judge.right()
        if problem := outcomes.failing(compiled, inputs):
            return judge.wrong(problem)
        if compiled._variants and not roll:
            names = set()
            with counting(names):
                outcome(ft.compile(f), inputs[0], around)
            judge.counts.seen["loops"] += len(program.alike)
            judge.counts.seen["by one step"] += len(program.alike & names)
    return judge.right()


NET = test_given_loops_give_compiled_what_they_give_in_eager_mode.net

# ---- faults that are planted, and found ----


@pytest.mark.long
@pytest.mark.parametrize(
    ("plant", "kinds", "feature"), faulty.FAULTS, ids=lambda x: getattr(x, '__name__', '')
)  # fmt: skip
def test_a_fault_is_found(monkeypatch, plant, kinds, feature):
    plant(monkeypatch)
    programs = giving().filter(lambda program: program.features[feature])
    count = len(kinds)
    NET.finds(drawn=nested(programs, kinds=kinds or ("jvp",), least=count, most=count), most=12)


def test_a_loop_that_is_not_found(monkeypatch):
    faulty.loop_that_is_not_found(monkeypatch)
    counts = NET.counts()
    NET.run(counts, 30, seed=1)
    with pytest.raises(AssertionError, match="0 by one step"):
        enough(counts)
