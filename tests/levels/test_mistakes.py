"""Common mistakes: the message of each, and that following the message is right."""

import cmath
import linecache
import math
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg

import functier as ft
from functier._core import hints as _hints
from functier._core.remedies import CALLS, GENERAL
from support.basics import has_all, raises
from support.mistake_runs import expected, run
from support.mistakes import ROWS
from support.misuses import ROWS as MISUSES

CASES = [(row, mode) for row in ROWS for mode in row.modes]


@pytest.mark.parametrize("row,mode", CASES, ids=[f"{r.remedy}-{m}" for r, m in CASES])
def test_a_mistake_and_its_remedy(row, mode):
    with pytest.raises(row.error) as error:
        run(mode, row.wrong, row.xs)
    text = str(error.value)
    assert re.search(row.pattern, text), text
    assert re.match(r"(vmap|grad|jvp)\(program\): ", text), text
    assert "elem()" not in text

    result = run(mode, row.right, row.xs)

    wanted = expected(mode, row.wrong, row.xs)
    for r, w in zip(*[v if isinstance(v, tuple) else (v,) for v in (result, wanted)], strict=True):
        np.testing.assert_allclose(np.asarray(r), w, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("row", MISUSES, ids=lambda row: row.name)
def test_a_misuse_and_the_call_that_its_message_asks_for(row):
    with pytest.raises(row.error) as error:
        row.wrong()
    has_all(str(error.value), *row.says)
    assert "elem()" not in str(error.value) or isinstance(error.value, ft.EscapedTensorError)

    np.testing.assert_allclose(row.right(), row.result)


def test_there_are_as_many_as_were_asked_for():
    """Sixty, of each table by itself."""
    assert min(len(ROWS), len(MISUSES)) >= 60


# ---- names that are one function in two libraries ----

KNOWN = {name.removeprefix("math.") for name in CALLS}
INTEGERS = {"gcd": 6, "lcm": 6}
TWO = {"atan2", "copysign", "fmod", "hypot", "nextafter", "pow"} | INTEGERS.keys()
OTHER = {"ldexp", "frexp", "modf", "trunc", "ceil", "floor", "prod"}
"""Of which `math` asks for something else than one float, or gives a pair; `prod` runs."""
NAMES = [n for n in dir(math) if callable(getattr(math, n)) and hasattr(np, n) and n[0] != "_"]


def compile_source(source):
    """Return the function of a source without a file, as a notebook makes it."""
    name = f"<source {source}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    found = {}
    exec(compile(source, name, "exec"), {"math": math, "cmath": cmath}, found)
    return found["program"]


@pytest.mark.parametrize("name", sorted({*NAMES} - KNOWN - OTHER))
def test_numpy_has_what_math_has_under_the_name(name):
    """The message says `numpy.<name>` without knowing what that does."""
    second = INTEGERS.get(name, 0.75)
    xs = np.array([4, 9]) if name in INTEGERS else np.array([0.5, 0.25]) + (name == "acosh")
    args = f"x, {second}" if name in TWO else "x"
    slow, fast = getattr(math, name), getattr(np, name)
    rest = (second,) if name in TWO else ()

    with pytest.raises(ft.LevelError) as error:
        ft.vmap(compile_source(f"def program(x):\n    return math.{name}({args})\n"))(xs)
    assert f"write numpy.{name}({args}) for math.{name}({args})" in str(error.value)
    result = ft.vmap(lambda x: fast(x, *rest))(xs)
    np.testing.assert_allclose(result, [slow(x, *rest) for x in xs], rtol=1e-15)


@pytest.mark.parametrize("name", [n for n in dir(cmath) if hasattr(np, n) and n[0] != "_"])
def test_numpy_has_what_cmath_has_under_the_name(name):
    if not callable(getattr(cmath, name)) or name == "isclose":
        return
    xs = np.array([0.5, -0.25])

    with pytest.raises(ft.LevelError) as error:
        ft.vmap(compile_source(f"def program(x):\n    return cmath.{name}(x)\n"))(xs)
    assert f"write numpy.{name}(x + 0j) for cmath.{name}(x)" in str(error.value)
    result = ft.vmap(lambda x: getattr(np, name)(x + 0j))(xs)
    np.testing.assert_allclose(result, [getattr(cmath, name)(x) for x in xs], rtol=1e-12)


# ---- where there is less to read ----


def test_without_positions_the_remedy_is_a_general_one(monkeypatch):
    """As with ``python -X no_debug_ranges``."""
    monkeypatch.setattr(_hints, "node_at", lambda frame: None)
    for row in ROWS:
        if row.table is not GENERAL:
            with pytest.raises(ft.LevelError, match="; write "):
                run(row.modes[0], row.wrong, row.xs)
    with pytest.raises(ft.ConversionError, match=r"write functier\.scipy\.linalg\.solve for scipy"):
        ft.grad(lambda b: np.sum(scipy.linalg.solve(np.eye(2), b)))(np.ones(2))


def test_a_reader_that_fails_does_not_hide_the_error(monkeypatch):
    monkeypatch.setattr(_hints, "node_at", lambda frame: 1 / 0)
    raises(ft.ConversionError, lambda: ft.grad(lambda x: float(x))(1.0), GENERAL["float"])


def test_no_source_and_no_positions():
    for source, flags in (
        ("def program(x): return math.sin(x)", []),
        ("def program(x): return math.sin(x)", ["-X", "no_debug_ranges"]),
    ):
        program = f"""
import math, functier
found = {{"math": math}}
exec({source!r}, found)
try:
    functier.grad(found["program"])(1.0)
except functier.ConversionError as error:
    print(error)
"""
        done = subprocess.run(
            [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=True
        )
        assert "numpy.sin(x) for math.sin(x)" in done.stdout


def test_a_write_without_source_is_known_by_its_instruction():
    """As after Python's prompt, before 3.13."""
    found = {"np": np}
    exec("def f(x):\n    y = np.zeros(3)\n    y[0] = x\n    return y", found)
    with pytest.raises(ft.MutationError, match=r"in y\[i\] = x, float.* write y = functier\."):
        ft.vmap(found["f"])(np.array([1.0, 2.0]))


def test_a_function_of_another_library_that_is_transformed_itself():
    raises(
        ft.ConversionError,
        lambda: ft.vmap(scipy.linalg.solve)(np.stack([np.eye(2)] * 3), np.ones((3, 2))),
        "vmap(solve) | which scipy.linalg.solve calls",
        "functier.scipy.linalg.solve for scipy.linalg.solve",
    )
    with pytest.raises(ft.ConversionError, match=r"numpy\.sin\(x\) for math\.sin\(x\)"):
        ft.vmap(math.sin)(np.array([1.0, 2.0]))


def test_names_of_the_user_are_used():
    table = np.arange(5.0)
    with pytest.raises(ft.ConversionError, match=r"functier\.tensor\(table\)\[x\] for table\[x\]"):
        ft.vmap(lambda i: table[i])(np.arange(3))
    with pytest.raises(ft.ConversionError, match=r"functier\.tensor\(table\)\.dot\(v \* 2\)"):
        ft.vmap(lambda v: table.dot(v * 2))(np.ones((3, 5)))
