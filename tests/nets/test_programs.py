"""The net of compiled programs over a slice of a seed, and faults that it finds."""

import numpy as np
import pytest

from functier._core.sharing import MEMORY
from functier._programs import passes, recorder, stores
from nets.commands import check_fault, run_slice
from nets.programs import CALLS, net
from support.basics import ours


def test_drawn_programs(full, record_property):
    found = net(2026, calls=CALLS if full else CALLS[:5])
    run_slice(found, 1500 if full else 8, record_property)


def test_drawn_programs_as_machine_code(full, monkeypatch, record_property):
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    found = net(2027, calls=CALLS[:3], backend="llvm")
    run_slice(found, 900 if full else 12, record_property)


def test_an_answer_that_is_not_guarded(monkeypatch):
    convert = recorder.RecordLevel.convert

    def without(self, x, how, *args):
        found = convert(self, x, how, *args)
        self.answers.clear()
        return found

    monkeypatch.setattr(recorder.RecordLevel, "convert", ours(without))
    check_fault(net(2026), range(0, 60, 3))


def test_a_mask_that_is_not_guarded(monkeypatch):
    monkeypatch.setattr(recorder.RecordLevel, "guard", ours(lambda self, x, how: None))
    check_fault(net(2026), range(0, 60, 3))


def test_a_read_that_is_shared_across_a_write(monkeypatch):
    share = passes.share

    def careless(graph):
        reads = [node for node in graph.nodes if node.func in passes.READS]
        for node in reads:
            node.memory = False
        graph = share(graph)
        for node in reads:
            node.memory = True
        return graph

    monkeypatch.setitem(passes.PASSES, "share", careless)
    check_fault(net(2026), [n for n in range(60) if n % 3])


def test_a_write_that_is_dropped(monkeypatch):
    drop = passes.drop_dead

    def careless(graph):
        writes = [node for node in graph.nodes if node.memory and node.func is not passes.memory_of]
        last = [node for node in writes if node.func not in passes.READS][-1:]
        graph.nodes = [node for node in graph.nodes if node not in last]
        return drop(graph)

    monkeypatch.setitem(passes.PASSES, "drop_dead", careless)
    check_fault(net(2026), [n for n in range(60) if n % 3])


def test_memory_of_a_live_value_that_is_written_over(monkeypatch):
    monkeypatch.setattr(stores, "LARGE", 0)
    for func in (np.flip, np.transpose, np.reshape, np.ravel, np.real):
        monkeypatch.setitem(MEMORY, func, "fresh")
    check_fault(net(2026), range(60))
