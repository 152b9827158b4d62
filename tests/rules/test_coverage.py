"""The coverage pages agree with the table of operations and with the samples."""

import pytest

from support import scipy_coverage
from support.coverage_page import PAGE, entries, page, stored, version
from support.scipy_names import GAPS


def test_the_page_is_up_to_date():
    text, now = PAGE.read_text(), entries()
    if f"NumPy {version()}," in text:
        assert text == page(now), "write it anew: python tests/support/coverage_page.py"
    else:  # another NumPy has some functions more or less
        there = stored(text)
        both = set(there) & set(now)
        assert len(both) > 300
        assert {n: there[n] for n in both} == {n: now[n] for n in both}


def test_no_function_is_without_a_reason():
    for name, (*words, note) in stored(PAGE.read_text()).items():
        assert "no" not in words or note, name


# ---- SciPy ----


@pytest.fixture(scope="module")
def scipys():
    return scipy_coverage.entries()


@pytest.mark.slow
def test_the_page_of_scipy_is_up_to_date(scipys):
    text, now = scipy_coverage.PAGE.read_text(), scipy_coverage.page(scipys)
    if f"SciPy {scipy_coverage.version()}," in text:
        assert text == now, "write it anew: python tests/support/scipy_coverage.py"
    else:
        assert len(set(stored(text)) & set(stored(now))) > 300


@pytest.mark.slow
def test_what_is_promised_of_scipy_is_there(scipys):
    """In grad, jvp and vmap; at most one name in ten has a gap, and each gap a reason."""
    names = scipy_coverage.promised()
    without = {
        name
        for name in names
        if name not in scipys or scipys[name][:3] not in (("yes",) * 3, ("loop", "yes", "yes"))
    }

    assert without == set(GAPS)
    assert len(without) <= len(names) / 10
    assert len(names) > 180


def test_a_gap_of_a_distribution_is_found(monkeypatch):
    def refusing(*args):
        raise scipy_coverage.ft.NoRuleError("none")

    words = scipy_coverage.measured(refusing, (1.0, 2.0))

    assert words == ("no", "no", "no", "0, 1")
