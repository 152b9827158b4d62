"""The suite itself: what a crash shows, the order of the tests, and the numbers that are drawn;
tests of many rows.
"""

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier
from support.basics import raises
from support.rows import run_each
from support.turns import shuffle

TESTS = Path(__file__).parents[1]
CRASH = "import ctypes\n\ndef deep():\n    ctypes.string_at(0)\n\ndef test_it():\n    deep()\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows makes an error of it")
@pytest.mark.parametrize(
    "options", [[], ["-n", "1", "--max-worker-restart", "0"]], ids=["one process", "a worker"]
)
def test_a_crash_shows_its_stack(options, tmp_path):
    """The summary shows that of a worker, and the standard error that of the only process."""
    if options:
        pytest.importorskip("xdist")
    (tmp_path / "test_crash.py").write_text(CRASH)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # that of the project is not asked
    paths = [str(TESTS), str(Path(functier.__file__).parents[1])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *options, "test_crash.py"],
        cwd=tmp_path, env=env, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    shown = done.stdout.partition("the crash of gw0")[2] if options else done.stderr
    assert done.returncode, done.stdout
    assert 'test_crash.py", line 4 in deep' in shown, done.stdout + done.stderr
    assert 'test_crash.py", line 7 in test_it' in shown


def test_an_order_is_that_of_its_seed_and_keeps_modules_together():
    paths = [Path(f"{name}.py") for name in "abcde"]
    tests = [types.SimpleNamespace(path=path, name=n) for path in paths for n in range(6)]

    def order(seed):
        items = list(tests)
        shuffle(items, seed)
        return items

    assert order(1) == order(1) != order(2)
    assert {*map(id, order(1))} == {*map(id, tests)}
    modules = [item.path for item in order(1)][::6]
    assert [item.path for item in order(1)] == [path for path in modules for _ in range(6)]
    assert modules != paths and [item.name for item in order(1)][:6] != list(range(6))


def test_drawn_numbers_do_not_depend_on_the_modules_that_are_loaded(tmp_path):
    def drawn():
        found = []

        @settings(max_examples=300)
        @given(st.integers())
        def note(number):
            found.append(number)

        note()
        return found

    before, path = drawn(), tmp_path / "numbers_of_a_module.py"
    path.write_text("NUMBERS = 123456789, 987654321\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        assert drawn() == before
    finally:
        del sys.modules[path.stem]


# ---- A test of many rows runs all of them, and names those that fail with their messages ----


def positive(x):
    assert x > 0, f"{x} is too small"


def test_all_rows_that_fail_are_named_with_their_messages():
    with pytest.raises(AssertionError) as error:
        run_each({"one": 1, "minus one": -1, "zero": 0, "text": ""}, positive)

    text = str(error.value)
    assert text.startswith("3 of 4 rows fail\n")
    assert "minus one: AssertionError: -1 is too small" in text
    assert "zero: AssertionError: 0 is too small" in text
    assert "text: TypeError: '>' not supported" in text
    assert "\none: " not in text
    assert isinstance(error.value.__cause__, AssertionError)  # shown with its lines


def test_a_row_that_should_have_raised_fails():
    def raising(x):
        raises(ValueError, lambda: float(x))

    run_each({"word": "word"}, raising)
    with pytest.raises(AssertionError, match="number: Failed: DID NOT RAISE"):
        run_each({"number": "1"}, raising)


def test_a_table_without_rows_is_a_mistake(request):
    assert request.config.getini("empty_parameter_set_mark") == "fail_at_collect"
