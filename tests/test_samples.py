"""Every check of `checks.py` over every row of the sample table."""

import warnings

import numpy as np
import pytest

import checks
import samples


def cases() -> list:
    """One case for every row and every check that applies to it."""
    found = []
    for name, row in samples.named().items():
        for check, run in checks.checks_of(row).items():
            found.append(pytest.param(row, run, id=f"{name}:{check}"))
    return found


@pytest.mark.parametrize(("row", "check"), cases())
def test_row(row, check):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        check(row)
