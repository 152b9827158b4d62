"""Every check of `checks.py` over every row of the sample table."""

import warnings

import numpy as np
import pytest

import checks
import samples

HEAVY = ("vmap_nested", "vmap_of_derivatives")
"""Half of the time of all checks (10 to 20 ms a row, the others 1 to 9): these run for the
first row of each function, and for the others where slow tests run."""


def cases() -> list:
    """One case for every row and every check that applies to it."""
    found, known = [], set()
    for name, row in samples.named().items():
        function = row.name or row.func
        for check, run in checks.checks_of(row).items():
            slow = check in HEAVY and function in known
            marks = [pytest.mark.slow] if slow else []
            found.append(pytest.param(row, run, id=f"{name}:{check}", marks=marks))
        known.add(function)
    return found


@pytest.mark.parametrize(("row", "check"), cases())
def test_row(row, check):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        check(row)
