"""Drawn programs with loops: with steps that are rolled into loops, and without.

Each program is traced under transforms, once with the pass that makes loops and once without. Both
programs are called with several arguments, of which some answer guards in another way. Of the loops
whose steps are alike, those that become loops of the program are counted.
"""

import pickle

import pytest
from hypothesis import strategies as st

import functier as ft
from faults.planted import nets_of_loops as faulty
from functier._cpython.code import file_of_code, line_of
from functier._programs import stores
from functier._programs.loops import every_node, is_loop
from strategies import outcomes
from strategies.loops import looping
from strategies.nestings import nested
from strategies.nets import net
from strategies.outcomes import judge_compiled, large, others, outcome, problem_of, rolling
from strategies.reasons import LOOPS

pytestmark = pytest.mark.inside("Loops that are found in programs are counted by their nodes.")

SHARE = 0.9
"""This part of the loops whose steps are alike has to be found."""


# ---- which loops are rolled ----


def lines_of(node, file):
    """Return the lines of the file that have made a node."""
    place = node.place or ()
    pairs = zip(place[::2], place[1::2])
    return {line_of(code, where) for code, where in pairs if file_of_code(code) == file}


class Nodes:
    """The nodes of each line of a program, and the lines that have a loop."""

    def __init__(self, graph, file):
        self.nodes = {}
        self.loops = set()
        for node in every_node(graph):
            for line in () if node.func is None else lines_of(node, file):
                self.nodes[line] = self.nodes.get(line, 0) + 1
            if is_loop(node):
                for inner in every_node(node.func.body):
                    self.loops |= lines_of(inner, file)

    def of(self, span):
        return sum([n for line, n in self.nodes.items() if span[0] <= line <= span[1]])

    def has_loop(self, span):
        return any([span[0] <= line <= span[1] for line in self.loops])


FEWEST_NODES = 3
"""So many nodes of a step, at least, make a loop that is counted."""


def is_rolled(span, before, after):
    """Tell if a loop of the source is one of the program; None where it need not be."""
    nodes, (_, _, count, regular) = before.of(span), span
    if not regular or count < 4 or nodes < FEWEST_NODES * count:
        return None
    # Some of the first steps and of the last ones may differ from the others.
    return after.has_loop(span) and after.of(span) <= 4 * nodes / count + 4


# ---- the law ----


class Around:
    """The generator outside of a program, which a call leaves in some state."""

    def __init__(self):
        self.rng = ft.random.default_rng(3)
        self.start = self.rng.bit_generator.state

    def restart(self):
        self.rng.bit_generator.state = self.start

    def left(self):
        return repr(self.rng.bit_generator.state)


def kinds_of(program):
    """Return the transforms for a program: batches whose examples branch run apart."""
    batch = "split" if program.features["guards"] else "vmap"
    return batch, "grad", "jvp", "grad and value", "jacfwd", "hessian"


def count(counts, program, before, after):
    for span in program.loops:
        span = (*span[:2], span[2] // (2 if program.halved else 1), span[3])
        found = is_rolled(span, before, after)
        if found is not None:
            counts.seen["loops"] += 1
            counts.seen["rolled"] += found


def enough(counts):
    assert counts.seen["rolled"] >= SHARE * counts.seen["loops"], counts.summary()


@net(
    "loops", LOOPS, examples=(40, 400), settle=enough,
    drawn=nested(looping(), kinds=kinds_of), size=st.sampled_from([stores.LARGE, 0]),
)  # fmt: skip
def test_steps_in_a_loop_give_what_they_give_one_by_one(judge, drawn, size):
    """Results are the same to the last bit, also of the source, and out of a pickle.

    So are errors, arguments and generators. The compiled function gives what eager mode gives.
    """
    (program, nesting), around = drawn, Around()
    f = nesting.by_functier(program.function(rng=around.rng))
    inputs = [program.args, *[others(program.args, i) for i in range(3)]]
    with large(size):
        eager = [outcome(f, args, around) for args in inputs]
        with rolling(lambda graph: graph):
            flat = outcome(ft.trace(f), program.args, around).result
            before = None if isinstance(flat, Exception) else Nodes(flat._graph, program.file)
        looped = outcome(ft.trace(f), program.args, around).result
        if isinstance(flat, Exception) or isinstance(looped, Exception):
            if type(flat) is not type(looped):
                return judge.wrong(f"traced: {outcomes.shown(looped)}, not {outcomes.shown(flat)}")
            if isinstance(eager[0].result, Exception):
                return judge.unclear("eager mode raises")
            return judge.refuse(flat)
        count(judge.counts, program, before, Nodes(looped._graph, program.file))
        if problem := problem_of_loops(around, inputs, flat, looped):
            return judge.wrong(problem)
        compiled = judge_compiled(
            judge, f, inputs, [0, 1, 2, 3, 0], around=around, eager=eager, exact=False
        )
        if compiled is None:
            return None
        if problem := outcomes.failing(compiled, inputs):
            return judge.wrong(problem)
    return judge.right()


def problem_of_loops(around, inputs, flat, looped):
    """Say how a program with loops differs from one without."""
    expected = [outcome(flat, args, around) for args in inputs]
    for i, args in enumerate(inputs):
        if problem := problem_of(outcome(looped, args, around), expected[i], strict=True):
            return f"call {i}: {problem}"
    around.restart()
    again = [pickle.loads(pickle.dumps(program)) for program in (looped, flat)]
    if problem := problem_of(*[outcome(x, inputs[0], around) for x in again], strict=True):
        return f"out of a pickle: {problem}"
    space = {"CONSTANTS": looped.constants}
    exec(looped.source, space)
    for i, args in enumerate(inputs):
        found = outcome(space[looped.name], args, around)
        if isinstance(found.result, Exception):  # text alone leaves a generator where it is
            found = found._replace(left=expected[i].left)
        if problem := problem_of(found, expected[i], strict=True):
            return f"the source, call {i}: {problem}\n{looped.source}"
    return None


# ---- faults that are planted, and found ----


NET = test_steps_in_a_loop_give_what_they_give_one_by_one.net


WRITING = nested(looping().filter(lambda program: program.features["writes"] > 1), most=0)
"""Programs alone, which write twice: the fault that needs it would be found late among others."""


@pytest.mark.long
@pytest.mark.parametrize("spoil", faulty.FAULTS_OF_LOOPS)
def test_a_fault_of_each_loop_is_found(monkeypatch, spoil):

    faulty.fault_of_each_loop(monkeypatch, spoil)
    NET.finds(drawn=WRITING if spoil is faulty.swap_writes else nested(looping(), most=0))


def test_a_loop_that_is_not_found(monkeypatch):
    faulty.loop_that_is_not_found_in_loops(monkeypatch)
    counts = NET.counts()
    NET.run(counts, 10, seed=1)
    with pytest.raises(AssertionError, match="0 rolled"):
        enough(counts)
