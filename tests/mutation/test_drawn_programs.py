"""Drawn programs that write, under nests of transforms and by NumPy; and faults that are found."""

import numpy as np
import optree
import pytest
from hypothesis import strategies as st

import functier as ft
from faults.planted import levels as faulty
from functier._levels.views import WRITERS
from strategies.nestings import AGAIN, STEP, nested
from strategies.nets import net
from strategies.reasons import CONSTANT, OUTSIDE, WRITES
from strategies.writes import writing, writing_badly

pytestmark = pytest.mark.inside("Programs run as code that has not written before, too.")

TOLERANCE = (1e-11, 3e-6, 3e-5, 1e-3)
"""The differences that are allowed, by the order of the derivative."""


@net(
    "writes", WRITES, examples=(100, 500, 100_000),
    drawn=nested(writing(), least=1, whole=85), before=st.booleans(),
)  # fmt: skip
def test_writes_under_transforms_are_numpys(judge, drawn, before):
    """Values are those of a loop, derivatives those of differences."""
    program, nesting = drawn
    own, plain = program.function(), program.function(fnp=np)
    inner = nesting.levels[-1].chosen
    outside = any(i not in inner for i, x in enumerate(program.args) if x.dtype.kind == "f")
    if outside and AGAIN & {level.kind for level in nesting.levels}:
        return judge.unclear("what is outside is written to again")
    if before:  # else as a function that has written before
        WRITERS.clear()
    try:
        expected = results(nesting.by_numpy(plain)(*program.args))
    except Exception:
        return judge.unclear("NumPy refuses an example")
    single = 1e6 if "float32" in program.text else 1.0

    def check(found):
        problem = problem_of(results(found), expected, nesting.order, single)
        assert not problem or not is_wrong(nesting, own, plain, program.args), problem

    return judge(
        lambda: nesting.by_functier(own)(*[x.copy() for x in program.args]), check,
        OUTSIDE if outside else CONSTANT if program.indexes else None,
    )  # fmt: skip


def results(tree):
    return [np.asarray(x) if not isinstance(x, ft.Tensor) else x for x in optree.tree_leaves(tree)]


def problem_of(found, expected, order, scale=1.0):
    """Describe how results differ; their size does not matter."""
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for i, (a, e) in enumerate(zip(found, expected)):
        if isinstance(a, ft.Tensor):
            return f"result {i} is a tensor, {a!r}"
        if a.shape != e.shape or (a.dtype != e.dtype and not order):
            return f"result {i}: {a.dtype}{a.shape}, expected {e.dtype}{e.shape}"
        size = max(1.0, float(np.max(np.abs(e), initial=0.0)))
        if np.isfinite(e).all() and size < 1e4 ** max(1, order):
            off = np.max(np.abs(a - e), initial=0.0) / size
            if not off <= TOLERANCE[order] * scale:
                return f"result {i}: got {a}, expected {e}"
    return None


def is_wrong(nesting, own, plain, args):
    """Tell if results differ where no kink is near: by smaller steps, and at points near by."""
    for seed in range(3):
        near = args
        if seed:
            g = np.random.default_rng(seed)
            near = [x + 0.01 * g.normal(size=x.shape) if x.dtype.kind == "f" else x for x in args]
        found = results(nesting.by_functier(own)(*[x.copy() for x in near]))
        for step in (STEP, STEP / 4, STEP / 16):
            expected = results(nesting.by_numpy(plain, step)(*near))
            if problem_of(found, expected, nesting.order, (STEP / step) ** 2) is None:
                return False
    return True


@net(
    "refused writes", examples=(30, 200, 20_000), most=1.0,
    drawn=nested(writing_badly(), least=1),
)  # fmt: skip
def test_what_numpy_refuses_is_refused(judge, drawn):
    program, nesting = drawn
    if program.bad is None:
        return judge.unclear("NumPy takes the last statement")

    def taken(found):
        raise AssertionError(f"NumPy refuses {program.bad!r}")

    own = program.function()
    return judge(lambda: nesting.by_functier(own)(*program.args), taken, {"": "NumPy does, too"})


# ---- faults that are planted, and found ----


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("plant", "writes", "views", "kinds"), faulty.FAULTS,
    ids=[plant.__name__ for plant, *_ in faulty.FAULTS],
)  # fmt: skip
def test_a_fault_is_found(monkeypatch, plant, writes, views, kinds):
    plant(monkeypatch)
    narrow = writing(writes=writes, views=views)
    test_writes_under_transforms_are_numpys.net.finds(
        drawn=nested(narrow, kinds=kinds, least=1, whole=85)
    )
