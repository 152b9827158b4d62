"""Every check of `checks.py` over the rows of SciPy's functions, family by family.

A quick run takes the values of all rows, and of the chosen rows the checks that find planted
faults: nestings are those of parts.
"""

import pytest

import samples
from support import checks
from support.planted import is_quick
from support.rows import run_each
from support.turns import in_part

CASES = [
    pytest.param(family, check, marks=[] if is_quick(family, check) else pytest.mark.slow)
    for family in samples.families() if samples.is_of_scipy(family)
    for check in checks.CHECKS
]  # fmt: skip


@pytest.mark.parametrize("family, check", CASES)
def test_rows_of(family, check, rows_of, full):
    """Every row of the family passes the check, if it applies."""
    applies = checks.CHECKS[check][1]
    rows = samples.of(family) if check == "value" else rows_of(family)
    rows = in_part(rows, check, full)
    own = {name: row for name, row in rows.items() if applies(row)}
    run_each(own, lambda row: checks.run_check(check, row, full))
