"""Every row of the samples as a program: traced, replayed, and equal to the last bit.

A check reports right, refused and wrong. What is refused needs a reason in `REASONS`.
"""

import re
import warnings
from collections import Counter

import numpy as np
import optree
import pytest

import checks
import functier as ft
import samples
from functier._programs import passes, recorder, spelling
from samples._batch import examples, free

REASONS = {
    r"constant\.(shares_memory|may_share_memory)": "it asks for the memory of an array",
    r"scipy_\w+\..*draws from NumPy's global generator": "SciPy draws for an estimate",
}
"""Rows that are refused, and why."""

TO_ROUNDING = {
    r"scipy_stats_multivariate\..* value": "a method is SciPy's for plain arguments alone",
}
"""Rows that plain arguments compute by another formula than tensors, so that some last bits differ.
"""

MOST_REFUSED = 0.03


def cases(row):
    """The row, its derivatives and a batch of it, each as a function and its arguments."""
    f = checks.leaves_of(row)
    yield "value", f, row.leaves
    if checks.differentiable(row):
        g, points = checks.function_of(row)
        n = len(points)
        tangents = checks.directions(points, 0)
        weights = checks.directions(g(*points), 100)
        yield "jvp", lambda *a: ft.jvp(g, a[:n], a[n:])[1], [*points, *tangents]
        yield "vjp", lambda *a: ft.vjp(g, *a[:n])[1](list(a[n:])), [*points, *weights]
        for i in (0, n - 1) if n > 1 else ():  # the others are constants of the program
            yield f"vjp by operand {i}", *alone(g, points, i, weights)
    if row.vmap and free(row) and not row.loop:
        many = [examples(row, i, 3) if i in free(row) else x for i, x in enumerate(row.leaves)]
        dims = tuple(0 if i in free(row) else None for i in range(len(many)))
        yield "vmap", ft.vmap(f, dims), many


def alone(g, points, i, weights):
    """The derivative of a function by one operand, and the arguments: that operand, and weights."""

    def f(x, *weights):
        return ft.vjp(lambda x: g(*points[:i], x, *points[i + 1 :]), x)[1](list(weights))

    return f, [points[i], *weights]


def difference(actual, expected, rtol=0.0):
    """Say how two results differ, else return None; all NaNs are alike."""
    a, b = ([np.asarray(x) for x in optree.tree_leaves(tree)] for tree in (actual, expected))
    if [(x.shape, x.dtype) for x in a] != [(x.shape, x.dtype) for x in b]:
        return "another form"
    for x, y in zip(a, b):
        if x.dtype.kind in "fc":
            if not np.allclose(x, y, rtol, 0.0, equal_nan=True):
                return "another value"
        elif not np.array_equal(x, y):
            return "another value"
    return None


def run(rows):
    """Trace and replay some rows; return the counts, and the names of those that are not right."""
    counts, found = Counter(), {}
    for name, row in rows.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for kind, f, args in cases(row):
                expected = f(*args)
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


def test_rows_are_equal_to_the_last_bit(rows, request):
    if not request.config.getoption("--slow"):
        rows = dict(list(rows.items())[::5])
    counts, found = run(rows)

    assert not {
        k: v for k, v in found.items() if not any(re.match(r, f"{k} {v}") for r in REASONS)
    }, counts
    assert counts["refused"] <= MOST_REFUSED * sum(counts.values())


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
