"""The net of stale programs over objects of all classes of Python's library, NumPy and SciPy.

A way is an object, a change of it, and a number that is read of it; see `nets.stale.objects`. After
the change a compiled function gives what the plain one gives, or is refused.
"""

import importlib.util
import itertools
import re
from collections import Counter

import numpy as np
import pytest

import functier as ft
from faults.planted import nets_of_loops as faulty
from nets.stale.net import REASONS, same
from nets.stale.objects import Way, limited, ways
from nets.verdicts import Verdicts

pytestmark = pytest.mark.usefixtures("quiet", "own_folder")

X = np.array([0.5, -1.0, 2.0])
TRANSFORMS = {"plain": lambda f: f, "grad": ft.grad, "vmap": ft.vmap}
BACKENDS = "numpy", *["llvm"] * bool(importlib.util.find_spec("llvmlite"))
MODES = [*itertools.product(TRANSFORMS, BACKENDS)]
STEPS = False, False, True, False
"""Whether the object changes before a call."""

numbers = itertools.count()


@pytest.fixture
def own_folder(monkeypatch, tmp_path):
    """Let objects that make files make them elsewhere."""
    monkeypatch.chdir(tmp_path)


class Unfit(BaseException):
    """The plain function gives the same after the change, or differs from call to call."""


def results(space, f, x):
    """Yield the results of the calls, or their errors."""
    for changes in STEPS:
        if changes:
            try:
                space["change"]()
            except Exception:
                raise Unfit from None
        try:
            yield f(x)
        except Exception as error:
            yield error


def alike(x, y, exact=True):
    return np.shape(x) == np.shape(y) and same(x, y, exact)


def run(way, transform, backend):
    """Return how the function was called after the change, and the results that differ."""
    code = compile(way.source(), f"/user/user_{next(numbers)}.py", "exec")
    spaces = [{"__name__": "user"} for _ in range(3)]
    for space in spaces:
        exec(code, space)
    plain, again, fast = [TRANSFORMS[transform](space["f"]) for space in spaces]
    fast = ft.compile(fast, backend=backend)
    x = np.stack([X, 2 * X]) if transform == "vmap" else X
    wanted = [*results(spaces[0], plain, x)]
    if isinstance(wanted[0], Exception) or alike(wanted[1], wanted[2]):
        raise Unfit
    if not all(map(alike, results(spaces[1], again, x), wanted)):
        raise Unfit  # an address, or a draw
    found = [*results(spaces[2], fast, x)]
    wrong = [(y, z) for y, z in zip(found, wanted) if not alike(y, z, backend == "numpy")]
    for y, z in wrong:
        if isinstance(y, Exception) and not isinstance(z, Exception):
            raise y
    reason = re.search("not watched: (.*)", fast.explain())
    how = re.sub(r" \w+(\.\w+)+|\d+", " ...", reason[1]) if reason else "traced again"
    return how, wrong


def judge(counts, way, mode):
    """Run a way in a mode, and count it; return how it was called, or None if it does not fit."""
    found = []

    def check(outcome):
        found.append(outcome[0])
        assert not outcome[1], f"{outcome[1]}"

    with limited(20.0):
        try:
            counts.judge(f"{way}, {mode}", lambda: run(way, *mode), check)
        except Unfit:
            return None
    return found[0] if found else "refused"


def test_objects_that_change(verdicts, full, record_property):
    counts, how, known = verdicts("objects", REASONS), Counter(), set()
    for i, way in enumerate(ways() if full else ways(40, 20)):
        for mode in MODES if full else MODES[i % len(MODES) :][:1]:
            found = judge(counts, way, mode)
            if found is not None:
                how[found] += 1
                known.add(way)
    record_property("net", f"objects: {len(known)} ways; {dict(how.most_common(20))}")
    counts.settle(0.1)
    assert len(known) >= (3000 if full else 50)


def test_an_object_that_is_not_looked_at_is_found(monkeypatch):
    way = Way("collections.deque", "K([2.0, 5.0])", "d.append(3.0)", "len(d)")
    counts = Verdicts("planted", REASONS)
    assert judge(counts, way, MODES[0]) == "traced again"
    faulty.without(lambda fact: fact.kind == "items")(monkeypatch)
    judge(counts, way, MODES[0])
    assert len(counts.wrong) == 1
