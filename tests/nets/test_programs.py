"""Drawn programs that are compiled, beside eager mode, to the last bit.

Each is compiled once and called with several inputs of the same forms, some of them again later: so
answers change, and earlier programs come back. A result that differs by rounding alone is counted
apart; 1 in 1000 may: a rule of eager mode may take another way for arrays than for the tensors of a
trace. Machine code may round in another way.
"""

import pytest
from hypothesis import strategies as st

from faults.planted import nets_of_programs as faulty
from strategies.branches import branching
from strategies.nestings import AGAIN, nested
from strategies.nets import net
from strategies.outcomes import judge_compiled, others
from strategies.reasons import COMPILED
from strategies.writes import writing

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
    if compiled := judge_compiled(judge, f, inputs, calls, backend=backend):
        judge.counts.seen["as they are"] += not compiled.programs
        judge.right()
    return None


def are_compiled(counts):
    """Require that most functions ran as programs: one that runs as it is is always right."""
    assert counts.seen["as they are"] <= 1 + counts.right // 20, counts.summary()


@net(
    "programs", COMPILED, examples=(40, 3000), settle=are_compiled,
    drawn=st.one_of(BRANCHING, WRITING),
)  # fmt: skip
def test_a_compiled_program_gives_what_eager_mode_gives(judge, drawn):
    is_compiled(judge, drawn)


@net(
    "machine code", COMPILED, examples=(40, 2000), settle=are_compiled,
    drawn=st.one_of(BRANCHING, WRITING),
)  # fmt: skip
def test_machine_code_gives_what_eager_mode_gives(judge, drawn):
    pytest.importorskip("llvmlite")
    is_compiled(judge, drawn, CALLS[:3], "llvm")


# ---- faults that are planted, and found ----


@pytest.mark.parametrize(
    ("plant", "drawn"), faulty.FAULTS, ids=[row[0].__name__ for row in faulty.FAULTS]
)
def test_a_fault_is_found(monkeypatch, plant, drawn):
    plant(monkeypatch)
    test_a_compiled_program_gives_what_eager_mode_gives.net.finds(drawn=drawn)
