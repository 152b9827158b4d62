"""The command that checks one function: `tests/support/function.py`."""

import numpy as np
import pytest

import samples
from functier.testing import operations
from support import function, planted
from support.surface import rows_of

RULE = operations()[np.cbrt].vjp["x"]


@pytest.fixture(autouse=True)
def page(monkeypatch, tmp_path):
    """A copy of the page of coverage, and nets that have no time."""
    copy = tmp_path / "coverage.md"
    copy.write_text(function.coverage_page.PAGE.read_text())
    monkeypatch.setattr(function.coverage_page, "PAGE", copy)
    monkeypatch.setattr(function, "SECONDS", 0.0)
    return copy


def test_the_row_of_a_function_is_written_with_its_counts(page, capsys):
    right = page.read_text()
    row = "| `cbrt` | yes | yes | yes |  |\n"
    page.write_text(right.replace(row, "").replace("425 functions", "424 functions"))

    assert function.main(["np.cbrt"]) == 0
    assert page.read_text() == right
    text = capsys.readouterr().out
    assert "pass  elementwise.cbrt-d[2,3]: value, vmap," in text
    assert "fault in numpy.cbrt:vjp:x: found by elementwise.cbrt-d[2,3], jvp" in text
    assert "coverage of `numpy.cbrt`: yes | yes | yes |  (before: no row)" in text
    assert "left to `pytest tests/nets --full`: " in text


def test_a_wrong_rule_is_found_and_named(page, monkeypatch, capsys):
    right, before = RULE.fn, page.read_text()
    planted.replaced(monkeypatch, [(RULE, lambda g, *saved: right(g, *saved) * 1.001)])

    assert function.main(["cbrt"]) == 1
    text = capsys.readouterr().out
    assert "FAILS elementwise.cbrt-d[2,3]: value" in text
    assert "jvp: AssertionError\n" in text and "Not equal to tolerance" in text
    assert page.read_text() == before


def test_a_fault_that_no_row_finds_is_missed(monkeypatch):
    monkeypatch.setattr(samples, "chosen", dict)
    lines, complete = function.plant_faults(np.cbrt, {})

    assert not complete
    assert "fault in numpy.cbrt:vjp:x: NOT FOUND by its rows" in lines


def test_a_net_runs_the_cases_of_a_row(capsys):
    results = function.Results(rows_of("numpy.cbrt", np.cbrt))
    results.run_nets(float("inf"))

    assert not results.left and not any(results.failed.values())
    for net in ("traces", "forms", "sizes", "aliasing", "both modes", "dtypes"):
        assert f" {net} (" in " ".join(results.passed["elementwise.cbrt-d[2,3]"])


def test_a_function_without_rows_is_told_where_they_go(monkeypatch, capsys):
    monkeypatch.setattr(function, "rows_of", lambda name, func: {})

    assert function.main(["numpy.cbrt"]) == 1
    assert "add one to tests/samples/elementwise.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "near"), [("np.sotr", "numpy.sort"), ("linalg.slogdett", "numpy.linalg.slogdet")]
)
def test_an_unknown_name_is_answered_with_near_ones(name, near):
    with pytest.raises(SystemExit, match=f"there is no function '.*'; near names: .*{near}"):
        function.main([name])


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("scipy.interpolate.CubicSpline", "scipy_interpolate.slope-d[6],d[6],d[3]"),
        ("scipy.stats.norm", "scipy_stats_continuous.edges-d[2],d[]"),
        ("scipy.cluster.vq.whiten", "scipy_places.whiten-d[6,2]"),
        ("scipy.linalg.svdvals", "scipy_linalg_decompositions.svdvals-d[2,3]"),
    ],
)
def test_rows_of_a_function_are_found_where_they_stand(name, row):
    pytest.importorskip("scipy")
    found = rows_of(*function.find(name))

    assert row in found and len(found) < 10
