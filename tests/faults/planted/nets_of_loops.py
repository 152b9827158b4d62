"""Planted faults: what the nets of loops and of stale programs find."""

import operator
import re
from contextlib import nullcontext
from itertools import pairwise
from types import FunctionType

from faults.planted import change
from functier._control import given
from functier._control.effects import Effects
from functier._core import reached
from functier._programs import (
    compiled,
    dead,
    dependencies,
    entries,
    guards,
    integers,
    outside,
    passes,
    reads,
    recorder,
    repeated,
    sampled,
    trace,
)
from functier._programs.bodies import rolled
from functier._programs.graph import Node
from functier._programs.loops import Count, Table, every_node, is_loop
from functier._programs.machine.parts import division
from functier._programs.stores import add, put
from support.basics import ours

# ---- nets given ----


def spoil_bodies(monkeypatch, spoil):
    """Let each body of a loop have a fault."""

    class Spoilt(repeated.Body):
        def __init__(self, *args):
            super().__init__(*args)
            spoil(self)

    monkeypatch.setattr(repeated, "Body", Spoilt)


def recount(body, change):
    for node in body.nodes:
        node.args = counted(node.args, change)


see_no_effects = change(Effects, "happened", lambda self: False)


def count_ahead(monkeypatch):
    def later(count):
        return Count(count.start + count.step, count.step) if count.start else count

    spoil_bodies(monkeypatch, lambda body: recount(body, later))


def take_elements_of_another_step(monkeypatch):
    def before(count):
        return count if count.start else Count(-1, count.step)

    spoil_bodies(monkeypatch, lambda body: recount(body, before))


def drop_guards(monkeypatch):
    spoil_bodies(monkeypatch, lambda body: body.graph.guards.clear())


def keep_values_of_other_steps(monkeypatch):
    right = given.Pull.__call__
    monkeypatch.setattr(
        given.Pull, "__call__", lambda self, cs, kept: right(self, cs, [x[::-1] for x in kept])
    )


drop_cotangents = change(given, "unchanged", lambda g, *rest: 0.0 * g)
change_variables_before_the_backward_pass = change(
    Effects, "undone", lambda self, *given: nullcontext()
)


drop_what_may_raise = change(dead, "may_raise", lambda node, further=False: False)
leave_stand_ins = change(
    sampled.Samples, "settle", lambda self, nodes, answers, outputs: (answers, outputs)
)


FAULTS = [
    (see_no_effects, (), "effects"), (count_ahead, (), "count"),
    (take_elements_of_another_step, (), "count"), (drop_guards, (), "guards"),
    (keep_values_of_other_steps, ("grad",), "loop"), (drop_cotangents, ("grad",), "loop"),
    (leave_stand_ins, (), "effects"),
]  # fmt: skip
"""Each with the level that it needs, and with what its programs have: else it is found late."""


loop_that_is_not_found = change(given, "LEAST", given.ENDLESS + 1)


# ---- nets stale ----


def without(drops):
    """Plant a fault: some facts are not compared."""

    def plant(patch):
        real = compiled.Guards
        some = ours(lambda facts, *rest: real([x for x in facts if not drops(x)], *rest))
        patch.setattr(compiled, "Guards", some)

    return plant


def unchecked(pattern, instead="False"):
    """Plant a fault: a check is not in the sources that are generated."""

    def run(text, space):
        exec(re.sub(pattern, instead, text), space)

    return lambda patch: patch.setattr(entries, "exec", run, raising=False)


def replaced(owner, name, other):
    other = ours(other) if type(other) is FunctionType else other
    return lambda patch: patch.setattr(owner, name, other)


def both(*plants):
    return lambda patch: [plant(patch) for plant in plants]


INSIDE = guards.Writer.inside
NEVER = property(lambda self: False, lambda self, value: None)


NO_TYPES = replaced(reads.Reads, "made", lambda self, kind, given: None)


PLANTED = {
    "names that are read": (
        replaced(reads.Reads, "entry", lambda self, space, name, words: space.get(name)),
        "number", "global",
    ),
    "missing names": (without(lambda fact: fact.value is guards.EMPTY), "over a builtin", "global"),
    "functions that are entered": (
        replaced(dependencies.Watch, "enter", lambda *given: None),
        "of a function of a module", "argument",
    ),
    "states that Python does not show": (
        replaced(outside.Outside, "state", lambda *given: None), "iterator", "closure",
    ),
    "calls of functions in C": (
        replaced(reads.Reads, "native", lambda *given: None), "getattr", "closure",
    ),
    "types of numbers": (replaced(guards, "same", operator.eq), "int or bool", "global"),
    "signs of zeros": (replaced(guards, "same", operator.eq), "sign of zero", "closure"),
    "static arguments": (unchecked(r"v\d+ is not k\d+"), "text", "argument"),
    "types of static arguments": (
        unchecked(r"type\(v\d+\) is not \w+ (?=or v)", "False "), "int or bool", "argument",
    ),
    "parts of static arguments": (
        replaced(entries, "is_same", operator.eq), "equal frozen set", "argument",
    ),
    "keys of arguments": (unchecked(r"facts_of\(given\) != facts"), "key of a dict", "argument"),
    "what nodes keep": (unchecked(r"facts_of\(given\) != facts"), "aux of a node", "argument"),
    "options of modules": (unchecked(r"facts_of\(given\) != facts"), "int or bool", "module"),
    "attributes of data": (unchecked(r"\[\*w\d+\] != n\d+"), "attribute that appears", "argument"),
    "types of arguments": (unchecked(r"type\(v\d+\) is not t\d+(?=:)"), "is a float", "argument"),
    "dtypes of arguments": (unchecked(r"\(v\d+\.dtype is not .*?\)"), "other dtype", "argument"),
    "strides of arguments": (unchecked(r"v\d+\.strides != z\d+"), "other order", "argument"),
    "lengths of arguments": (unchecked(r"len\(a\d+\) != \d+"), "appended", "argument"),
    "orders of arguments": (
        unchecked(r"\[\*(a\d+)\] != (t\d+)", r"{*\1} != {*\2}"), "order of a dict", "argument",
    ),
    "answers": (
        replaced(
            recorder, "Graph", lambda *parts, made=recorder.Graph: made(*parts[:3], [])
        ),
        "comparison", "argument",
    ),
    "classes of values": (
        replaced(recorder.RecordLevel, "class_of", lambda level, x: type(x)), "is an array",
        "argument",
    ),
    "texts": (
        replaced(recorder.RecordLevel, "text", lambda level, x, how, *spec: str(x._value)),
        "text of it", "argument",
    ),
    "flags": (unchecked(r"v\d+\.flags\.writeable is not \w+"), "writeable", "argument"),
    "arrays that are one": (unchecked(r"v\d+ is not v\d+"), "arrays that are one", "argument"),
    "memory": (replaced(entries, "meet", lambda x, y: False), "memory of two", "argument"),
    "memory of a transform's arguments": (
        unchecked(r"meeting\(.*?\) != met"), "memory of the argument", "argument grad",
    ),
    "whole numbers that are asked for": (
        replaced(recorder, "number", lambda level, x: x._value), "whole number as a float",
        "argument",
    ),
    "whole numbers as parameters": (
        replaced(integers, "asked", lambda level, x: x), "axis by a whole number", "argument",
    ),
    "types of whole numbers": (
        both(NO_TYPES, replaced(integers, "asks_for_type", lambda watch: False)), "type is int",
        "argument",
    ),
    "types of values": (NO_TYPES, "type is float", "argument"),
    "rounding of machine code": (
        replaced(division, "rounded", lambda *given: (set(), set())), "rounding",
        "argument machine",
    ),
    "writes that a trace takes back": (
        replaced(outside.Outside, "take_back", lambda self: None), "global beside a list", "global",
    ),
    "ends that are caught": (
        lambda patch: patch.setattr(outside.Outside, "dead", NEVER, raising=False),
        "write that is caught", "closure",
    ),
    "states of classes in C": (
        replaced(outside, "hidden_in", lambda kind: False), "structure of ctypes", "closure",
    ),
    "contents of records": (
        replaced(outside.Outside, "hides", lambda self, kind: None), "record", "closure",
    ),
    "keys and indices": (replaced(reads.Reads, "key", lambda self, key: None),
                         "list as an index", "closure"),
    "code in threads": (replaced(reads, "is_pure_function", lambda func: True), "in a thread",
                        "closure"),
    "calls of the system": (replaced(reads, "is_pure_function", lambda func: True),
                            "size of a file", "closure"),
    "generators that are reached": (
        replaced(reached.Generators, "note", lambda self, x: None), "generator in lists", "closure",
    ),
    "forms that machine code does not see": (
        replaced(guards.Writer, "inside", lambda self, forms: [
            line for line in INSIDE(self, True) if "shape" not in line
        ]),
        "shape of an array", "closure machine",
    ),
    "draws": (replaced(trace, "check_draws", lambda *given: None), "generator", "global"),
    "containers that are given": (
        replaced(trace, "check_unchanged", lambda *given: None), "memo", "argument",
    ),
}  # fmt: skip
"""The facts that are looked at: a fault that leaves each out, and the way and place of a cell."""


FACTS_OF_GUARDS = [*guards.FORMS, *guards.TESTS]
"""The kinds of facts that guards compare."""


# ---- nets loops ----


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


def recount_in_loops(node, change):
    for x in node.func.body.nodes:
        x.args = counted(x.args, change)
    node.func.reads = counted(node.func.reads, change)


def double_a_stride(node, graph):
    recount_in_loops(node, lambda c: Count(c.start, c.step * 2))


def begin_one_step_later(node, graph):
    def later(count):
        return Count(
            count.start + count.step if type(count.start) is int else count.start, count.step
        )

    recount_in_loops(node, later)


def drop_guards_in_loops(node, graph):
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


FAULTS_OF_LOOPS = [
    double_a_stride, begin_one_step_later, drop_guards_in_loops, swap_writes, keep_stale_values,
    carry_values_of_a_step_before, shift_a_table,
]  # fmt: skip


def fault_of_each_loop(monkeypatch, spoil):
    def roll(graph):
        graph = rolled(graph)
        for node in [x for x in every_node(graph) if is_loop(x)]:
            spoil(node, graph)
        return graph

    monkeypatch.setitem(passes.PASSES, "roll", roll)


def loop_that_is_not_found_in_loops(monkeypatch):
    monkeypatch.setitem(passes.PASSES, "roll", lambda graph: graph)
