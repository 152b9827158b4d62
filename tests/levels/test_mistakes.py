"""Common mistakes: the message of each, and that following the message is right."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg

import functier as ft
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


# ---- where there is less to read ----


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
