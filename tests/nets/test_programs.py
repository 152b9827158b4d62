"""Drawn programs that are compiled, beside eager mode, to the last bit.

Each is compiled once and called with several inputs of the same forms, some of them again later: so
answers change, and earlier programs come back. A result that differs by rounding alone is counted
apart; 1 in 1000 may: a rule of eager mode may take another way for arrays than for the tensors of a
trace. Machine code may round in another way.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from functier._core.sharing import MEMORY
from functier._programs import passes, recorder, stores
from strategies.branches import branching
from strategies.nestings import AGAIN, nested
from strategies.nets import net
from strategies.outcomes import judge_compiled, others
from strategies.reasons import COMPILED
from strategies.writes import writing
from support.basics import ours

CALLS = (0, 1, 2, 3, 0, 2, 1)
"""The inputs of the calls, by number: each comes back."""

BRANCHING = nested(branching(), kinds=("grad", "jvp", "split", "grad and value", "hessian"))
WRITING = nested(writing(), whole=85)


def is_compiled(judge, drawn, calls=CALLS, backend="numpy"):
    """A compiled program gives what eager mode gives, or a refusal that is foreseen."""
    program, nesting = drawn
    inner = nesting.levels[-1].chosen if nesting.levels else ()
    outside = any(i not in inner for i, x in enumerate(program.args) if x.dtype.kind == "f")
    if outside and AGAIN & {level.kind for level in nesting.levels}:
        return judge.unclear("what is outside is written to again")
    inputs = [program.args, *[others(program.args, i) for i in range(3)]]
    f = nesting.by_functier(program.function())
    if judge_compiled(judge, f, inputs, calls, backend=backend):
        judge.right()
    return None


@net("programs", COMPILED, examples=(40, 3000), drawn=st.one_of(BRANCHING, WRITING))
def test_a_compiled_program_gives_what_eager_mode_gives(judge, drawn):
    is_compiled(judge, drawn)


@net("machine code", COMPILED, examples=(40, 2000), drawn=st.one_of(BRANCHING, WRITING))
def test_machine_code_gives_what_eager_mode_gives(judge, drawn):
    pytest.importorskip("llvmlite")
    is_compiled(judge, drawn, CALLS[:3], "llvm")


# ---- faults that are planted, and found ----


def drop_answers(monkeypatch):
    convert = recorder.RecordLevel.convert

    def without(self, x, how, *args):
        found = convert(self, x, how, *args)
        self.answers.clear()
        return found

    monkeypatch.setattr(recorder.RecordLevel, "convert", ours(without))


def guard_no_mask(monkeypatch):
    monkeypatch.setattr(recorder.RecordLevel, "guard", ours(lambda self, x, how: None))


def share_reads_across_a_write(monkeypatch):
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


def drop_the_last_write(monkeypatch):
    drop = passes.drop_dead

    def careless(graph):
        writes = [node for node in graph.nodes if node.memory and node.func is not passes.memory_of]
        last = [node for node in writes if node.func not in passes.READS][-1:]
        graph.nodes = [node for node in graph.nodes if node not in last]
        return drop(graph)

    monkeypatch.setitem(passes.PASSES, "drop_dead", careless)


def write_over_live_values(monkeypatch):
    monkeypatch.setattr(stores, "LARGE", 0)
    for func in (np.flip, np.transpose, np.reshape, np.ravel, np.real):
        monkeypatch.setitem(MEMORY, func, "fresh")


FAULTS = [
    (drop_answers, BRANCHING), (guard_no_mask, BRANCHING), (share_reads_across_a_write, WRITING),
    (drop_the_last_write, WRITING), (write_over_live_values, WRITING),
]  # fmt: skip


@pytest.mark.parametrize(("plant", "drawn"), FAULTS, ids=[row[0].__name__ for row in FAULTS])
def test_a_fault_is_found(monkeypatch, plant, drawn):
    plant(monkeypatch)
    test_a_compiled_program_gives_what_eager_mode_gives.net.finds(drawn=drawn)
