"""Every check of `checks.py` over the rows of the sample table, family by family."""

import warnings

import numpy as np
import pytest

import checks
import samples
from rows import run_each

LATER = {"second", "vmap_nested", "vmap_strided", "vmap_of_derivatives", "derivatives_of_vmap"}
"""Checks that a quick run leaves out for SciPy's functions: nestings are those of their parts."""


PRODUCTS = {"vmap", "vmap_nested", "vmap_of_derivatives", "derivatives_of_vmap"}
"""Checks of plans and sizes: a run of all rows takes each with each."""


@pytest.mark.parametrize("check", checks.CHECKS)
@pytest.mark.parametrize("family", samples.families())
def test_rows_of(family, check, rows, request):
    """Every row of the family passes the check, if it applies."""
    slow = request.config.getoption("--slow")
    if check in LATER and family.startswith("scipy_") and family != "scipy_special" and not slow:
        return
    run, applies = checks.CHECKS[check]
    options = {"whole": True} if slow and check in PRODUCTS else {}

    def quietly(row):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            run(row, **options)

    own = samples.of(rows, family)
    run_each({name: row for name, row in own.items() if applies(row)}, quietly)


def test_all_rows_are_of_a_family(rows):
    assert set(rows) == {name for f in samples.families() for name in samples.of(rows, f)}


def test_each_check_applies_to_some_chosen_row():
    for check, (_, applies) in checks.CHECKS.items():
        assert check == "warning" or any(map(applies, samples.chosen().values())), check
