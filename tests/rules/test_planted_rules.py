"""Every rule of the real table is made wrong once, and the chosen rows of the samples find it.

So a quick run finds each of these faults, and a run of all rows does, too.
"""

import functools

import pytest

import planted
import samples
from planted import NOT_BATCHED, WITHOUT_ROWS, ZERO
from rows import run_each
from support import load_all

load_all()


# ---- every derivative rule of the table, made wrong by 0.1 % ----


@functools.cache
def rows_of_rules():
    return planted.rows_of_rules(planted.every_rule(), samples.chosen())


@pytest.mark.slow
def test_derivative_rules_that_are_wrong_by_a_thousandth_are_found():
    rules = planted.every_rule()
    left_out = WITHOUT_ROWS | ZERO

    assert left_out <= set(rules)
    run_each(
        {name: (name, rules[name]) for name in rules if name not in left_out},
        lambda r: derivative(*r),
    )
    for name in ZERO:
        with pytest.raises(AssertionError, match="no row finds the fault"):
            derivative(name, rules[name])


def derivative(name, rule):
    """Require that a row finds a derivative rule whose results are 1.001 times too large."""
    ran, found = planted.wrong_derivative(rule, rows_of_rules().get(name, {}))

    assert ran, "no row runs this rule"
    assert found, "no row finds the fault"


# ---- every batching rule of the table, made wrong in each element, numbers by 0.1 % ----


@functools.cache
def rows_of_batching_rules():
    return planted.rows_of_batching_rules(planted.batched(), samples.chosen())


@pytest.mark.slow
def test_batching_rules_that_are_wrong_are_found():
    records = planted.batched()

    assert set(NOT_BATCHED) <= set(records)
    run_each({k: record for k, record in records.items() if k not in NOT_BATCHED}, batched)


def batched(record):
    """Require that a row finds a batching rule whose results are wrong."""
    ran, found = planted.wrong_batch(record, rows_of_batching_rules().get(record.name, {}))

    assert ran, "no row runs this rule"
    assert found, "no row finds the fault"


# ---- the choice of rows ----


def test_what_is_chosen_especially_is_there_and_no_first_row():
    assert samples.ESPECIALLY <= set(samples.named()) - set(samples.firsts(False)) - set(samples.firsts(True))
