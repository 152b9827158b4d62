"""Every check of `checks.py` over the rows of NumPy's functions, family by family."""

import pytest

import checks
import samples
from rows import run_each

NESTED = ["vmap_nested", "derivatives_of_vmap"]
"""Checks of which a quick run takes one for each row, in turn: nestings are those of parts."""


@pytest.mark.parametrize("check", checks.CHECKS)
@pytest.mark.parametrize("family", [f for f in samples.families() if not samples.is_of_scipy(f)])
def test_rows_of(family, check, rows_of, request):
    """Every row of the family passes the check, if it applies."""
    whole, applies = request.config.getoption("--slow"), checks.CHECKS[check][1]
    own = {name: row for name, row in rows_of(family).items() if applies(row)}
    if check in NESTED and not whole:
        own = dict(list(own.items())[NESTED.index(check) :: len(NESTED)])
    run_each(own, lambda row: checks.run_check(check, row, whole))


def test_each_check_applies_to_some_chosen_row():
    for check, (_, applies) in checks.CHECKS.items():
        assert check == "warning" or any(map(applies, samples.chosen().values())), check
