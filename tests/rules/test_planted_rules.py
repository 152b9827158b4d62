"""Every rule of the real table is made wrong once, and the chosen rows of the samples find it;
the checks of all rows.

So a quick run finds each of these faults, and a run of all rows does, too. Which rows find which
is frozen in `faults/rules.jsonl`.
"""

import pytest

import samples
from faults import rules
from support import checks, planted
from support.basics import load_all
from support.rows import run_each
from support.turns import in_part

load_all()


def test_each_rule_is_in_the_inventory():
    names = {name for found, _, _ in rules.kinds() for name in found}

    assert set(rules.read()) == names, "python tests/faults/rules.py adds what is new"


@pytest.mark.slow
def test_what_was_found_is_found():
    run_each({name: (name, pairs) for name, pairs in rules.read().items()}, lambda r: check(*r))


def check(name, pairs):
    assert bool(pairs) == (name not in planted.LEFT_OUT), "no row finds the fault"
    assert not rules.lost(name, pairs)


@pytest.mark.parametrize("name", sorted(planted.ZERO))
def test_a_fault_that_no_row_finds_is_reported(name):
    rows = planted.rows_of_rules(
        {name: planted.every_rule()[name]}, samples.chosen_of("elementwise")
    )

    assert planted.wrong_derivative(planted.every_rule()[name], rows.get(name, {}))[1] == []


# ---- the choice of rows ----


def test_all_that_find_a_fault_are_rows_of_a_quick_run():
    found = {row for pairs in rules.read().values() for row, _ in pairs}

    assert found <= set(samples.chosen())
    assert {check for pairs in rules.read().values() for _, check in pairs} <= {
        *planted.FIRST_ORDER,
        *planted.BATCHING,
    }


def test_a_quick_run_of_the_room_of_scipy_finds_each_fault_of_its_rules():
    families = {name: family for family in samples.families() for name in samples.of(family)}

    for name, pairs in rules.read().items():
        found = [(families[row], check) for row, check in pairs]
        if found and all(samples.is_of_scipy(family) for family, _ in found):
            assert any(planted.is_quick(*each) for each in found), name


def test_what_is_chosen_especially_is_there_and_no_first_row():
    firsts = {*samples.firsts(False), *samples.firsts(True)}

    assert samples.ESPECIALLY <= set(samples.named()) - firsts


# ---- Every check of `checks.py` over the rows of NumPy's functions, family by family ----


NESTED = ["vmap_nested", "derivatives_of_vmap"]
"""Checks of which a quick run takes one for each row, in turn: nestings are those of parts."""


@pytest.mark.parametrize("check", checks.CHECKS)
@pytest.mark.parametrize("family", [f for f in samples.families() if not samples.is_of_scipy(f)])
def test_rows_of(family, check, rows_of, full, request):
    """Every row of the family passes the check, if it applies."""
    applies = checks.CHECKS[check][1]
    rows = in_part(rows_of(family), check, full)
    own = {name: row for name, row in rows.items() if applies(row)}
    if check in NESTED and not request.config.getoption("--slow"):
        own = dict(list(own.items())[NESTED.index(check) :: len(NESTED)])
    run_each(own, lambda row: checks.run_check(check, row, full))


def test_each_check_applies_to_some_chosen_row():
    for check, (_, applies) in checks.CHECKS.items():
        assert check == "warning" or any(map(applies, samples.chosen().values())), check
