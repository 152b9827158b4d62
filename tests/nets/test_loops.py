"""Drawn programs with loops: with steps that are rolled into loops, and without.

Each program is traced under transforms, once with the pass that makes loops and once without. Both
programs are called with several arguments, of which some answer guards in another way. Of the loops
whose steps are alike, those that become loops of the program are counted.
"""

import operator
import pickle
from itertools import pairwise

import pytest
from hypothesis import strategies as st

import functier as ft
from functier._cpython.code import file_of_code, line_of
from functier._programs import passes, stores
from functier._programs.bodies import rolled
from functier._programs.graph import Node
from functier._programs.loops import Count, Table, every_node, is_loop
from functier._programs.stores import add, put
from strategies import outcomes
from strategies.loops import looping
from strategies.nestings import nested
from strategies.nets import net
from strategies.outcomes import judge_compiled, large, others, outcome, problem_of, rolling
from strategies.reasons import LOOPS

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


def counted(value, change):
    """Return an argument with other numbers that grow."""
    kind = type(value)
    if kind is Count:
        return change(value)
    if kind is tuple or kind is list:
        return kind([counted(part, change) for part in value])
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return slice(*[counted(part, change) for part in parts])
    return value


def recount(node, change):
    for x in node.func.body.nodes:
        x.args = counted(x.args, change)
    node.func.reads = counted(node.func.reads, change)


def double_a_stride(node, graph):
    recount(node, lambda c: Count(c.start, c.step * 2))


def begin_one_step_later(node, graph):
    def later(count):
        return Count(
            count.start + count.step if type(count.start) is int else count.start, count.step
        )

    recount(node, later)


def drop_guards(node, graph):
    node.func.body.guards.clear()


def swap_writes(node, graph):
    nodes = node.func.body.nodes
    writes = [k for k, x in enumerate(nodes) if x.func is put or x.func is add]
    for i, k in pairwise(writes):
        if nodes[i].args[0] is nodes[k].args[0] and not {*nodes[i:k]} & {*nodes[k].parents()}:
            nodes[i], nodes[k] = nodes[k], nodes[i]
            return


def keep_stale_values(node, graph):
    """A list has the values that each step begins with."""
    loop = node.func
    outputs = loop.body.outputs
    before = dict(zip(outputs[: loop.carried], loop.body.inputs))
    outputs[loop.lasts :] = [before.get(y, y) for y in outputs[loop.lasts :]]


def carry_values_of_a_step_before(node, graph):
    loop = node.func
    k = loop.carried
    if not k:
        return
    late = Node(None, (), {}, loop.body.inputs[0].form)
    after = loop.body.outputs[0]
    loop.body.inputs.insert(k, late)
    loop.body.nodes.insert(k, late)
    loop.body.outputs[0] = late
    loop.body.outputs.insert(k, after)
    node.args = (*node.args[:k], node.args[0], *node.args[k:])
    loop.carried, loop.lasts = k + 1, loop.lasts + 1
    for x in every_node(graph):
        if x.func is operator.getitem and x.args[0] is node and x.args[1] >= k:
            x.args = node, x.args[1] + 1
    loop.body.renumber()


def shift_a_table(node, graph):
    for x in node.args:
        if type(x) is Table:
            x.values = [*x.values[1:], x.values[0]]


FAULTS = [
    double_a_stride, begin_one_step_later, drop_guards, swap_writes, keep_stale_values,
    carry_values_of_a_step_before, shift_a_table,
]  # fmt: skip


WRITING = nested(looping().filter(lambda program: program.features["writes"] > 1), most=0)
"""Programs alone, which write twice: the fault that needs it would be found late among others."""


@pytest.mark.long
@pytest.mark.parametrize("spoil", FAULTS)
def test_a_fault_of_each_loop_is_found(monkeypatch, spoil):
    def roll(graph):
        graph = rolled(graph)
        for node in [x for x in every_node(graph) if is_loop(x)]:
            spoil(node, graph)
        return graph

    monkeypatch.setitem(passes.PASSES, "roll", roll)
    NET.finds(drawn=WRITING if spoil is swap_writes else nested(looping(), most=0))


def test_a_loop_that_is_not_found(monkeypatch):
    monkeypatch.setitem(passes.PASSES, "roll", lambda graph: graph)
    counts = NET.counts()
    NET.run(counts, 10, seed=1)
    with pytest.raises(AssertionError, match="0 rolled"):
        enough(counts)
