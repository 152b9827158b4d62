"""Every row of the samples as a program: traced, replayed, and equal to the last bit.

A check reports right, refused and wrong. What is refused needs a reason in `REASONS`.
"""

import re
import warnings
from collections import Counter

import numpy as np
import pytest

import checks
import functier as ft
import samples
from bits import difference
from functier._levels import backward
from functier._programs import passes, recorder, spelling
from functier._rules import elementwise
from row_cases import cases

REASONS = {
    r"constant\.(shares_memory|may_share_memory)": "it asks for the memory of an array",
    r"scipy_\w+\..*draws from NumPy's global generator": "SciPy draws for an estimate",
    r"scipy_places\.(KDTree|ConvexHull)": "SciPy's object is made of the values",
    r"scipy_places\.directed_hausdorff": "SciPy shuffles the points",
    r"scipy_stats_tests\.(student|intervals|choices|kolmogorov|places)-.* value another": (
        "the row leaves out the attributes of a result, which a program does not return"
    ),
    r"scipy_rotation\.from_rotvec-d\[3\],d\[2,3\] value another order in memory": (
        "SciPy's compiled code returns rotated vectors as a transposed array"
    ),
}
"""Rows that are refused or have another order in memory than plain arguments, and why."""

TO_ROUNDING = {
    r"scipy_(integrate\.simpson|stats\.entropy).* vjp of vjp": (
        "a rule leaves a choice out where no element needs it, which changes the order of a sum"
    ),
    r"scipy_(interpolate|splines|rotation)\..* (value|vjp by operand \d)$": (
        "SciPy's compiled code computes plain tables in another order"
    ),
}
"""Rows that plain arguments compute in another order than tensors, so that some last bits differ.
"""

MOST_REFUSED = 0.03


def run(rows, second=False):
    """Trace and replay some rows; return the counts, and the names of those that are not right."""
    counts, found = Counter(), {}
    for name, row in rows.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for kind, f, args in cases(row, second):
                try:
                    expected = f(*args)
                except Exception:
                    if " of " not in kind:
                        raise
                    continue  # it has no second derivative, or is not smooth there
                try:
                    program = ft.trace(f)(*args)
                except ft.LevelError as error:
                    counts["refused"] += 1
                    found[f"{name} {kind}"] = f"refused: {error}"
                    continue
                try:
                    loose = any(re.match(r, f"{name} {kind}") for r in TO_ROUNDING)
                    wrong = difference(program(*args), expected, 1e-13 if loose else 0.0)
                except Exception as error:  # which the function itself has not raised
                    wrong = f"{type(error).__name__}: {error}"
                counts["wrong" if wrong else "right"] += 1
                if wrong:
                    found[f"{name} {kind}"] = wrong
    return counts, found


def check(rows, second=False):
    counts, found = run(rows, second)

    assert not {
        k: v for k, v in found.items() if not any(re.match(r, f"{k} {v}") for r in REASONS)
    }, counts
    assert counts["refused"] <= MOST_REFUSED * sum(counts.values())


def share(rows, config, first):
    """Return a part of the rows; with ``--slow --full`` all, which takes minutes."""
    step = 6 if config.getoption("--slow") else 120
    return rows if config.getoption("--full") else dict(list(rows.items())[first::step])


def test_rows_are_equal_to_the_last_bit(rows, request):
    if not request.config.getoption("--slow"):
        rows = dict(list(rows.items())[::12])
    check(rows)


def test_second_derivatives_are_equal_to_the_last_bit(rows, request):
    check(share(rows, request.config, 1), second=True)


def test_ways_for_large_arrays(rows, request, monkeypatch):
    """All arrays count as large: the backward pass and rules write in place."""
    for module in (backward, elementwise):
        monkeypatch.setattr(module, "BIG", 0)
    check(share(rows, request.config, 2), second=True)


# ---- planted faults ----


@pytest.fixture
def some_rows():
    rows = samples.chosen()
    return {name: rows[name] for name in list(rows)[::40]}


def test_a_wrong_identity_is_found(some_rows, monkeypatch):
    monkeypatch.setitem(passes.IDENTITIES, np.cos, lambda node, args: args[0])

    assert run({n: r for n, r in samples.chosen().items() if n.startswith("elementwise.sin-")})[1]


def test_a_wrong_spelling_is_found(some_rows, monkeypatch):
    monkeypatch.setitem(spelling.OPERATORS, np.multiply, "+")

    assert run(some_rows)[1]


def test_a_value_that_is_not_recorded_is_found(some_rows, monkeypatch):
    record = recorder.RecordLevel.record

    def without(self, func, args, kwargs):
        found = record(self, func, args, kwargs)
        return self.lower(found) if func is np.sum and isinstance(found, ft.Tensor) else found

    monkeypatch.setattr(recorder.RecordLevel, "record", without)
    rows = {n: r for n, r in samples.chosen().items() if n.startswith("reduction.sum-")}
    program = {}
    for name, row in rows.items():
        f = checks.leaves_of(row)
        program[name] = ft.trace(f)(*row.leaves)
        again = [x + 1 for x in row.leaves]
        assert difference(program[name](*again), f(*again))
