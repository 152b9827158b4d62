"""The benchmark: its workloads compute what they claim, and its report what was measured.

Nothing is timed here, and no other library is needed.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from bench import (
    budget,
    first_calls,
    libraries,
    memory,
    pictures,
    report,
    scaling,
    session,
    threads,
    timing,
    trees,
)  # fmt: skip
from bench import run as command_line
from bench.workloads import LIST, WORKLOADS, dispatch
from support.basics import raises

ROOT = Path(__file__).parents[2]
FUNCTIER = libraries.Library()


# ---- workloads ----


@pytest.mark.parametrize("name", WORKLOADS)
def test_functier_gives_the_result_found_by_hand(name):
    workload = WORKLOADS[name].small()
    result = workload.call(FUNCTIER)()
    assert trees.disagreement(result, workload.expected(), 1e-8) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_machine_code_gives_the_result_found_by_hand(name):
    pytest.importorskip("llvmlite")
    workload = WORKLOADS[name].small()
    call = workload.call(libraries.MachineCode())
    assert trees.disagreement(call(), workload.expected(), 1e-8) is None


@pytest.mark.parametrize("name", WORKLOADS)
def test_compiled_workloads_give_the_result_found_by_hand(name):
    workload = WORKLOADS[name].small()
    call = workload.call(libraries.Compiled())
    call()
    assert trees.disagreement(call(), workload.expected(), 1e-8) is None


def test_workloads_have_names_of_their_own_and_descriptions():
    assert len(WORKLOADS) == len(LIST)
    assert all(type(workload).__doc__ for workload in LIST)


def test_a_workload_has_a_floor_or_a_second_way():
    for workload in LIST:
        assert workload.floor or type(workload).expected is not session.Workload.expected


def test_disagreement_sees_what_differs():
    expected = {"a": np.array([1.0, 2.0]), "b": (np.zeros(3),)}
    assert trees.disagreement([expected["a"], np.zeros(3)], expected) is None
    assert "shapes" in trees.disagreement([np.ones(3), np.zeros(3)], expected)
    assert "off by 5.0e-01" in trees.disagreement([np.array([1.0, 3.0]), np.zeros(3)], expected)
    assert "off by" in trees.disagreement([np.array([1.0, np.nan]), np.zeros(3)], expected)


def test_a_loop_stands_in_for_vmap():
    def f(tree, x):
        return {"sum": tree["w"] @ x, "first": tree["w"]}

    tree, x = {"w": np.arange(6.0).reshape(3, 2)}, np.array([1.0, 10.0])
    first, total = libraries.loop_vmap(f, (0, None))(tree, x)
    np.testing.assert_array_equal(total, tree["w"] @ x)
    np.testing.assert_array_equal(first, tree["w"])


def test_what_a_library_does_not_have_is_missing():
    raises(libraries.Missing, lambda: FUNCTIER.pmap(np.sin), "functier has no pmap")


# ---- timing ----


def test_rounds_are_interleaved_and_start_with_another_call_each(monkeypatch):
    monkeypatch.setattr(timing, "SLICE", 0.0)
    order, now = [], [0.0]

    def call(name, seconds):
        def run():
            order.append(name)
            now[0] += seconds

        return run

    calls = {"a": call("a", 1.0), "b": call("b", 2.0), "c": call("c", 4.0)}
    seconds = timing.interleave(calls, lambda: now[0], 4)
    assert seconds == {"a": [1.0] * 4, "b": [2.0] * 4, "c": [4.0] * 4}
    assert "".join(order[-24::2]) == "abc" + "bca" + "cab" + "abc"  # each first to warm up


def test_a_ratio_is_the_median_of_the_ratios_within_a_round():
    ours, theirs = [1.0, 10.0, 3.0], [2.0, 10.0, 1.0]  # the middle round was disturbed
    assert timing.ratio(ours, theirs) == 1.0
    assert statistics.median(ours) / statistics.median(theirs) == 1.5


# ---- report ----


def made_up():
    rounds = {
        "functier": [2e-6, 2e-6, 2e-6],
        "torch": [4e-6, 4e-6, 6e-6],
        "torch_ag": [1e-6, 1e-6, 1e-6],
        "mygrad": [3e-6, 3e-6, 3e-6],
        "numpy": [1e-6, 5e-7, 1e-6],
    }
    row = {
        "times": rounds,
        "errors": {},
        "first_call": {},
        "other_load": 0.07,
        "bound": None,
        "compiled_bound": 0.5,
    }
    only_ours = {"functier": rounds["functier"]}
    bounded = {"functier": [3e-3] * 3, "numpy": [1e-3] * 3}
    return {
        "meta": {"threads": "1"},
        "workloads": {
            "one": row,
            "two": {**row, "times": only_ours, "errors": {"jax": "wrong"}, "other_load": None},
            "three": {**row, "times": bounded, "bound": 2.5, "first_call": {"jax_jit": 2.0}},
        },
        "memory": {
            "chain": {"functier": {"peak": 502.0}, "mygrad": {"error": "MemoryError"}},
            "calls": {
                "functier": {
                    "calls": 200000,
                    "microseconds": 15.0,
                    "collector_share": 0.0123,
                    "grown": 8192,
                    "grown_after_collection": 0,
                }
            },
            "allocation": {"numpy": {"total": 88.0, "peak": 48.0}},
            "sums": {"functier": {"peak": 2.14}, "numpy": {"peak": 2.0}},
        },
        "imports": {"numpy": 70.04},
        "scaling": {
            curve.name: {
                name: {str(n): [2e-6, 1e-6, 3e-6] for n in curve.sizes[:3]}
                for name in ("functier", "numpy")
            }
            for curve in scaling.CURVES
        },
    }


def cells(text, key):
    """The cells of the rows that start with `key`."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines if line[0].strip() == key]


def test_the_table_of_times():
    text = report.times_table(made_up()["workloads"])
    head = ["workload", "functier", "torch", "torch.autograd", "mygrad", "by hand", "other load"]
    assert cells(text, "workload") == [head]
    one = ["one", "2 µs", "4 µs ±25%", "1 µs", "3 µs", "1 µs ±25%", "7%"]
    assert cells(text, "one") == [one]
    assert cells(text, "two") == [["two", "2 µs", *[report.NOTHING] * 5]]


def test_the_table_of_ratios():
    text = report.ratios_table(made_up()["workloads"])
    one = ["one", "0.67 mygrad", "0.50", "2.00", "0.67", "2.00"]  # torch_ag is not counted
    assert cells(text, "one") == [one]
    assert cells(text, "two") == [["two", *[report.NOTHING] * 5]]
    assert cells(text, "three")[0][-1] == "**3.00** (bound 2.5)"


def test_the_table_of_first_calls():
    data = made_up()["workloads"]
    assert report.first_calls_table(data) == ""
    data["one"]["times"]["functier_np"] = [1e-6, 1e-6, 1e-6]
    data["one"]["first_call"] = {"functier": 0.5, "functier_np": 2e-3, "jax_jit": 1.0}
    text = report.first_calls_table(data)

    assert cells(text, "workload") == [["workload", "functier", "functier_np, first", "warm"]]
    assert cells(text, "one") == [["one", "2 µs", "2 ms", "1 µs"]]
    assert cells(text, "two") == [["two", "2 µs", *[report.NOTHING] * 2]]


def compiled():
    data = made_up()["workloads"]
    data["one"]["times"] |= {"functier_c": [5e-7, 5e-7, 1e-6], "jax_jit": [2e-6, 2e-6, 1e-6]}
    data["three"]["times"] |= {"functier_c": [2e-3] * 3, "jax_jit": [2e-3] * 3}
    return data


def test_the_table_of_machine_code():
    assert report.compiled_table(made_up()["workloads"]) == ""
    text = report.compiled_table(compiled())
    assert cells(text, "workload") == [["workload", "jax_jit", "by hand"]]
    assert cells(text, "one") == [["one", "0.25 (bound 0.5)", "1.00"]]
    assert cells(text, "three") == [["three", "**1.00** (bound 0.5)", "2.00"]]


def test_two_threads_are_timed():
    pytest.importorskip("llvmlite")
    found = threads.measure(2, ("overhead_grad",))
    assert not found or {n: len(x) for n, x in found["overhead_grad"].items()} == {"1": 2, "2": 2}
    text = report.markdown({"meta": {}, "threads": {"a": {"1": [2e-3, 1e-3], "2": [3e-3, 5e-4]}}})
    assert cells(text, "a") == [["a", "1 ms", "500 µs", "0.50 (bound 0.6)"]]


def test_first_calls_are_timed_part_by_part(monkeypatch):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    for name, (make, _) in first_calls.PROGRAMS.items():
        monkeypatch.setitem(first_calls.PROGRAMS, name, (make, 6))
        times = first_calls.measured(name, "functier")
        assert 0 < times["recording"] + times["passes"] < times["first three calls"]
        assert times["a later call"] > 0
    found = {"a": {"functier": {"recording": 2e-3, "passes": 1e-3}}}
    text = report.markdown({"meta": {}, "first_calls": found})
    assert cells(text, "a") == [["a", "–", "2 ms", "1 ms", "–", "–", "–"]]  # noqa: RUF001
    found["a"]["jax_jit"] = {"first three calls": 0.5, "a later call": 1e-5}
    text = report.markdown({"meta": {}, "first_calls": found})
    assert cells(text, "a")[0][-2:] == ["500 ms", "10 µs"]


def test_the_whole_report():
    text = report.markdown(made_up())
    assert "- two, jax is left out: wrong" in text
    assert "- three: jax_jit compiles for 2 s" in text
    assert cells(text, "functier")[0] == ["functier", "502 (bound 510)"]
    assert cells(text, "mygrad") == [["mygrad", "MemoryError"]]
    assert cells(text, "functier")[1] == ["functier", "200,000", "15 µs", "1.2%", "8 kB", "0 kB"]
    assert cells(text, "functier")[2] == ["functier", "2.14 (bound 3)"]
    assert cells(text, "by hand")[:2] == [["by hand", "88.0", "48.0"], ["by hand", "2.00"]]
    assert cells(text, "numpy") == [["numpy", "70.0"]]
    assert cells(text, "10,000") == [["10,000", "2 µs", "2 µs"]]
    assert "nan" not in text and "None" not in text


@pytest.mark.parametrize(
    "draw",
    [lambda p: report.draw(made_up()["scaling"], p), lambda p: pictures.levels().savefig(p)],
    ids=["scaling", "levels"],
)
def test_the_picture_is_drawn(tmp_path, draw):
    draw(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_picture_of_levels_has_their_names_and_numbers():
    assert pictures.seen() == (["grad(f)", "vmap(f)", "Tensor"], ["shape ()"] * 2 + ["[0. 1. 2.]"])


# ---- memory and scaling ----


def test_allocations_counts_what_is_freed_again():
    ones = np.ones(100_000)

    def work():
        for _ in range(3):
            kept = ones + 1.0  # the one before goes when the next is there
        return kept

    with memory.Allocations() as allocations:
        kept = work()
    assert allocations.total == pytest.approx(3 * ones.nbytes, rel=0.05)
    assert allocations.peak == pytest.approx(2 * ones.nbytes, rel=0.05)
    assert kept[0] == 2.0


def test_sums_in_place_take_three_arrays_at_most():
    by_hand = memory.sums(None, 20_000)["peak"]
    assert 2.0 <= by_hand < 2.2
    assert by_hand <= memory.sums(FUNCTIER, 20_000)["peak"] <= report.SUMS_BOUND


@pytest.mark.parametrize("curve", scaling.CURVES, ids=lambda curve: curve.name)
def test_curves_compute_what_numpy_does(curve):
    n = curve.sizes[1]
    found, expected = curve.call(FUNCTIER, n)(), curve.by_hand(n)()
    assert trees.disagreement(found, expected, 1e-12) is None


# ---- the command ----


def test_the_command_measures_and_reports(tmp_path):
    command = [sys.executable, str(ROOT / "tests" / "bench" / "run.py"), "--threads", "1"]
    command += ["--only", "overhead_grad", "--libs", "functier", "--rounds", "2"]
    command += ["--out", str(tmp_path / "a.b")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "a.b.json").read_text(encoding="utf-8"))
    assert list(data["workloads"]) == ["overhead_grad"]
    assert len(data["workloads"]["overhead_grad"]["times"]["functier"]) == 2
    text = (tmp_path / "a.b.md").read_text(encoding="utf-8")
    assert cells(text, "overhead_grad") and text in done.stdout


def test_a_wrong_result_is_not_timed_and_fails_the_run(tmp_path, monkeypatch):
    class Wrong(dispatch.SquareGrad):
        def expected(self):
            return 7.0

    monkeypatch.setitem(session.WORKLOADS, "overhead_grad", Wrong())
    monkeypatch.setattr(session, "settle", lambda: None)  # the collector is that of all tests
    args = argparse.Namespace(
        only="overhead_grad", libs="functier", threads=1, rounds=2, out=str(tmp_path / "wrong")
    )
    raises(SystemExit, lambda: session.run(args), "functier fails or is wrong: overhead_grad")
    assert "functier is left out: off by" in (tmp_path / "wrong.md").read_text(encoding="utf-8")


def test_the_command_knows_the_libraries():
    assert command_line.LIBRARIES.split(",") == list(libraries.LIBRARIES)


def test_only_chooses_by_parts_of_names():
    workloads, sections = session.choose("hessian,memory")
    assert [w.name for w in workloads] == ["hessian_50", "hessian_200"]
    assert sections == ["memory"]
    assert session.choose("") == (LIST, list(session.SECTIONS))


def test_the_page_about_speed_names_the_command():
    text = (ROOT / "design/site/pages/project/speed.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^python3 .*tests/bench/.*$", text, re.MULTILINE)
    script, *options = command.rpartition(" && ")[2].split()[1:]
    assert (ROOT / script).is_file()
    command_line.parse(options)
    extra = re.search(r'-e "\.\[(\w+)\]"', command)[1]
    assert re.search(rf"^{extra} = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


def test_the_budgets_name_what_the_library_does(monkeypatch):
    def once(call):
        call()
        return budget.EMPTY + 1.0

    monkeypatch.setattr(budget, "nanoseconds", once)
    steps, parts = dict(budget.operation()), dict(budget.gradient())
    assert list(steps)[:-2] == list(budget.STEPS)
    assert steps["the whole, as it is"] == parts["the whole"] == pytest.approx(1.0)
    x, y = np.ones(2), np.ones(2)
    with ft.vmap() as B:
        *_, whole = budget.operation_steps().values()
        np.testing.assert_array_equal(whole(B(x), B(y)).elem(), [2.0, 2.0])
