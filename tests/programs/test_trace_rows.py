"""Every row of the samples as a program: traced, replayed, and equal to the last bit.

What is refused needs a reason in the table of `row_cases`.
"""

import numpy as np
import pytest

import checks
import functier as ft
import samples
from bits import difference
from functier._levels import backward
from functier._programs import passes, recorder, spelling
from functier._rules import elementwise
from row_cases import run, unforeseen

MOST_REFUSED = 0.03


def check(rows, second=False):
    counts, found = run(rows, second)

    assert not unforeseen(found), counts
    assert counts["refused"] <= MOST_REFUSED * sum(counts.values())


def share(rows, config, first, *, one_in):
    """Return a part of the rows, a quick run's is small; with ``--slow --full`` all of them."""
    step = one_in[config.getoption("--slow")]
    return rows if config.getoption("--full") else dict(list(rows.items())[first::step])


def test_rows_are_equal_to_the_last_bit(rows, request):
    check(share(rows, request.config, 0, one_in=(12, 4)))


def test_second_derivatives_are_equal_to_the_last_bit(rows, request):
    check(share(rows, request.config, 1, one_in=(120, 18)), second=True)


def test_ways_for_large_arrays(rows, request, monkeypatch):
    """All arrays count as large: the backward pass and rules write in place."""
    for module in (backward, elementwise):
        monkeypatch.setattr(module, "BIG", 0)
    check(share(rows, request.config, 2, one_in=(120, 24)), second=True)


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
    function = recorder.RecordLevel.function

    def without(self, func, args, kwargs):
        found = function(self, func, args, kwargs)
        return self.lower(found) if func is np.sum and isinstance(found, ft.Tensor) else found

    monkeypatch.setattr(recorder.RecordLevel, "function", without)
    rows = {n: r for n, r in samples.chosen().items() if n.startswith("reduction.sum-")}
    program = {}
    for name, row in rows.items():
        f = checks.leaves_of(row)
        program[name] = ft.trace(f)(*row.leaves)
        again = [x + 1 for x in row.leaves]
        assert difference(program[name](*again), f(*again))
