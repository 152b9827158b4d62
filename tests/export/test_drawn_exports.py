"""Drawn programs that are exported, beside the same programs as `compile` runs them, to the bit.

Each is exported with one input and called with three. A status is no result, except for the input
of the example. What `compile` runs as machine code alone is exported, but for few; other programs
are refused for a reason that is foreseen.
"""

import tempfile
from pathlib import Path

import numpy as np
import optree
import pytest
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import functier as ft
from faults.planted import programs as faulty
from strategies.branches import branching
from strategies.loops import looping
from strategies.nestings import nested
from strategies.nets import net
from strategies.outcomes import others
from strategies.reasons import COMPILED, LOOPS
from strategies.writes import writing
from support.basics import silent

REASONS = COMPILED | LOOPS | {
    r"the index has no arrays": "such a place is NumPy's to find",
    r"the index has a mask, or a list": "how many elements there are depends on their values",
    r"Python code has made a choice with it, and it is rounded": "NumPy's bits decide",
    r"the machine does not know the (function|ufunc)": "it is a function of NumPy's alone",
    r"np.errstate is to raise there": "C has no exceptions",
    r"(has|of) the (dtype|type) complex": "C functions take real numbers",
    r"it has the dtype complex": "C functions take real numbers",
    r"has options": "some options of NumPy's functions are NumPy's",
    r"it writes, or reads what is written to": "the write has an order or an index of NumPy's",
    r"it is a part of a result of NumPy's": "what makes it is NumPy's",
    r"which a set or a dict uses as a key": "the key is a value of Python's",
    r"it is computed in|its result is of|it takes|several results|of several arrays": (
        "machine code has no such form"
    ),
    r"Python code reads these values, and chooses by them": "the choice is for a whole batch",
    r"the code would call": "a function of the C library",
    r"some libraries leave out a factor of zero": "the library of NumPy decides",
    r"which is a part of NumPy": "NumPy's library computes it",
}  # fmt: skip
DRAWN = st.one_of(
    nested(branching(), kinds=("grad", "jvp", "split", "grad and value", "hessian")),
    nested(writing(), whole=85), nested(looping()),
)  # fmt: skip


def leaves_of(tree):
    return [np.asarray(x) for x in optree.tree_leaves(tree)]


def difference(found, expected):
    """The difference of results to the last bit; a NaN is one with any bits."""
    found, expected = leaves_of(found), leaves_of(expected)
    if len(found) != len(expected):
        return f"{len(found)} results for {len(expected)}"
    for x, y in zip(found, expected):
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"{x.dtype}{x.shape} for {y.dtype}{y.shape}"
        same = (x == y) & (np.signbit(x) == np.signbit(y)) if x.dtype.kind == "f" else x == y
        if not np.all(same | (x != x) & (y != y)):
            return f"{x!r} for {y!r}"
    return ""


def is_exported(judge, drawn, folder):
    """An exported program gives the bits of a compiled one, a status, or a foreseen refusal."""
    program, nesting = drawn
    f = nesting.by_functier(program.function())
    inputs = [program.args, *[others(program.args, i) for i in range(2)]]
    compiled = ft.compile(f, backend="llvm", warm=True)
    try:
        compiled(*[x.copy() for x in program.args])
    except Exception:
        return judge.unclear("there is no result")
    whole = "the whole program" in compiled.explain()
    try:
        made = ft.export(folder / "f", f, *[x.copy() for x in program.args], shared=False)
    except (ft.UnsupportedError, ft.ConversionError) as error:
        if whole or not judge.counts.foreseen(error):
            return judge.refuse(error)
        return judge.unclear("a part of it is NumPy's")
    except Exception as error:
        return judge.refuse(error)
    writes = "_after;" in made.header.read_text().replace("_after: ", "_after;")
    for i, args in enumerate(inputs):
        try:
            found = made.functions["f"](*[x.copy() for x in args])
        except ValueError as error:
            judge.counts.seen["a status"] += 1
            if i == 0 and "status 2" in str(error):
                judge.wrong(f"the example gives a status: {error}")
            continue
        mine = [x.copy() for x in args]
        expected = compiled(*mine)
        if writes:
            found = found[0]
        if "not watched" in compiled.explain():  # an object of the test has died meanwhile
            return judge.unclear("the function itself has run")
        if problem := difference(found, expected):
            judge.wrong(f"input {i}: {problem}")
    return judge.right()


@net("exports", REASONS, examples=(30, 120, 2000), drawn=DRAWN)
def test_an_exported_program_gives_the_bits_of_a_compiled_one(judge, drawn):
    with silent(), tempfile.TemporaryDirectory() as folder:
        is_exported(judge, drawn, Path(folder))


def test_a_wrong_constant_is_found(monkeypatch, tmp_path):
    faulty.other_constants(monkeypatch)
    x = np.arange(3.0)
    made = ft.export(tmp_path / "g", lambda x: x * np.array([0.1, 0.2, 0.4]), x, shared=False)
    assert difference(made.functions["g"](x), x * np.array([0.1, 0.2, 0.4]))
