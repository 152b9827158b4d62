"""Each row of the source documents has a test that carries its id, or stands in a list here.

The rows are the systems and rules of RFC-0001 (A), the essay on levels as classes (B), the
notes on extending autograd (C) and modules (D), on tensor-like types (E), and on the native
layer, modes and libraries (F). A test carries an id in its docstring or name; the page
design/source-documents.md answers the rows that NumPy cannot have as they are written.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NOTE = TESTS.parent / "design" / "source-documents.md"
COUNTS = {"A": 66, "B": 42, "C": 59, "D": 16, "E": 34, "F": 19}
ROWS = {f"{letter}{n:02}" for letter, count in COUNTS.items() for n in range(1, count + 1)}
ID = re.compile(r"(?<![A-Za-z0-9_])([A-F][0-9]{2})(?![A-Za-z0-9])")

WITHOUT: set[str] = set()
"""The rows that no test carries yet. It must be exactly right, so it can only shrink."""


@functools.cache
def carried():
    """The ids in the names and docstrings of tests, each with the tests that carry it."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        source = path.read_text(encoding="utf-8")
        if not re.search("[A-F][0-9]{2}", source):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                text = f"{node.name.replace('_', ' ')} {ast.get_docstring(node) or ''}"
                for row in ID.findall(text):
                    found.setdefault(row, []).append(f"{path.name}::{node.name}")
    return found


def test_there_are_so_many_rows():
    assert len(ROWS) == sum(COUNTS.values()) == 236


def test_each_row_has_a_test():
    assert ROWS - set(carried()) == WITHOUT


def test_no_test_carries_a_row_that_does_not_exist():
    assert set(carried()) <= ROWS


@pytest.mark.parametrize("text", ["A01, and B15.", "test A01", "(F09): so"])
def test_an_id_is_found(text):
    assert set(ID.findall(text)) <= ROWS and ID.findall(text)


@pytest.mark.parametrize("text", ["np.float32 A1", "0xA01", "_A01", "A011", "GA01", "a01"])
def test_what_is_no_id_is_not_found(text):
    assert not ID.findall(text)


def test_the_note_answers_rows_that_exist():
    answered = set(ID.findall(NOTE.read_text(encoding="utf-8")))
    assert answered and answered <= ROWS
