"""The net of programs with loops over a slice of a seed, and faults that it finds."""

import operator
from itertools import pairwise

import pytest

from functier._programs.bodies import rolled
from functier._programs.graph import Node
from functier._programs.loops import Count, Table, every_node, is_loop
from functier._programs.stores import add, put
from nets.commands import check_fault, run_slice
from nets.looping.numbers import counted
from nets.loops import net


def test_drawn_programs(full, record_property):
    run_slice(net(2026), 200 if full else 20, record_property)


# ---- faults that are planted, and found ----


def check_spoilt(spoil, *numbers):
    """A fault that is planted in each loop gives wrong results."""

    def roll(graph):
        graph = rolled(graph)
        for node in [x for x in every_node(graph) if is_loop(x)]:
            spoil(node, graph)
        return graph

    check_fault(net(2026, roll=roll, most=1), numbers or range(20))


def recount(node, change):
    for x in node.func.body.nodes:
        x.args = counted(x.args, change)
    node.func.reads = counted(node.func.reads, change)


def test_a_wrong_stride():
    check_spoilt(lambda node, graph: recount(node, lambda c: Count(c.start, c.step * 2)))


def test_a_wrong_first_step():
    def later(count):
        return Count(
            count.start + count.step if type(count.start) is int else count.start, count.step
        )

    check_spoilt(lambda node, graph: recount(node, later))


def test_a_guard_that_is_dropped():
    check_spoilt(lambda node, graph: node.func.body.guards.clear(), *range(60))


def test_writes_that_are_swapped():
    def swap(node, graph):
        nodes = node.func.body.nodes
        writes = [k for k, x in enumerate(nodes) if x.func is put or x.func is add]
        for i, k in pairwise(writes):
            if nodes[i].args[0] is nodes[k].args[0] and not {*nodes[i:k]} & {*nodes[k].parents()}:
                nodes[i], nodes[k] = nodes[k], nodes[i]
                return

    check_spoilt(swap, *range(60))


def test_a_stale_value_that_is_kept():
    """A list has the values that each step begins with."""

    def stale(node, graph):
        loop = node.func
        outputs = loop.body.outputs
        before = dict(zip(outputs[: loop.carried], loop.body.inputs))
        outputs[loop.lasts :] = [before.get(y, y) for y in outputs[loop.lasts :]]

    check_spoilt(stale)


def test_a_carried_value_of_a_step_before():
    def delay(node, graph):
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

    check_spoilt(delay)


def test_a_table_that_is_shifted():
    def shift(node, graph):
        for x in node.args:
            if type(x) is Table:
                x.values = [*x.values[1:], x.values[0]]

    check_spoilt(shift)


def test_a_loop_that_is_not_found():
    found = net(2026, roll=lambda graph: graph)
    for number in range(5):
        found.run(number)

    assert found.regular and not found.found
    with pytest.raises(AssertionError, match="nodes, then"):
        found.settle()
