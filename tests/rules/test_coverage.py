"""The coverage page agrees with the table of operations and with the samples."""

import re

from coverage_page import PAGE, page, version


def entries(text):
    """The line of each function."""
    return {m[1]: m[0] for m in re.finditer(r"^\| `(.*?)` \|.*$", text, re.M)}


def test_the_page_is_up_to_date():
    stored, now = PAGE.read_text(), page()
    if f"NumPy {version()}," in stored:
        assert stored == now, "write it anew: python tests/coverage_page.py"
    else:  # another NumPy has some functions more or less
        stored, now = entries(stored), entries(now)
        both = set(stored) & set(now)
        assert len(both) > 300
        assert {n: stored[n] for n in both} == {n: now[n] for n in both}


def test_no_function_is_without_a_reason():
    for line in entries(PAGE.read_text()).values():
        words = [cell.strip() for cell in line.strip("|").split("|")]
        assert "no" not in words[1:4] or words[4], line
