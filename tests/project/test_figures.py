"""The figures of the house: lines, names of the kernel, and facts about CPython are counted right.

The command itself is not run here: it reads all files and starts processes.
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from support import figures
from support.figures import (
    CPYTHON,
    Package,
    floors,
    kernel_names,
    kinds,
    longest,
    sizes,
    text_of,
    uses,
)
from support.sources import count, is_document

SAMPLE = '''\
"""A module.

With a second line.
"""

import sys  # a comment

# a comment with "quotes"
TABLE = {
    "a": 1,

    # inside
    "b": "# no comment",
}
"""What is below a name is a docstring."""


def f(x):
    """One line."""
    text = """

    # no comment
    """
    return lambda: x + \\
        1


def g(): "A docstring."; return None
'''


def counted(text):
    return count(text, ast.parse(text))


def test_lines_statements_and_docstrings_are_counted():
    assert counted(SAMPLE) == (13, 7, 7)
    assert counted("") == (0, 0, 0)
    assert counted("'''x'''\n") == (0, 0, 1)
    assert counted("if x:\n    pass\nelse:\n    y = 'é'; '''z'''\n") == (4, 3, 1)


def by_tokens(text):
    """The number of lines with a token that is code."""
    silent = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
    strings = {node.lineno for node in ast.walk(ast.parse(text)) if is_document(node)}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        document = token.type == tokenize.STRING and token.start[0] in strings
        if tokenize.tok_name[token.type] not in silent and not document:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


@pytest.mark.parametrize(
    "name", ["support/sources.py", "support/figures.py", "project/test_figures.py"]
)
def test_lines_of_code_are_those_with_tokens(name):
    text = (Path(__file__).parents[1] / name).read_text()

    assert counted(text).code == by_tokens(text)
    assert counted(SAMPLE).code == by_tokens(SAMPLE)


FILES = {
    "__init__": "from ._core.op import Op as Op",
    "_core/__init__": "",
    "_core/op": "class Op: ...\nclass Hidden: ...",
    "errors": "from ._core.op import Error",
    "_levels/__init__": "from .._core.op import Op",
    "_levels/level": "x._value",
    "_cpython": "def frame(): ...",
    "_programs/__init__": "from .._core.op import Hidden as Known, Op\nfrom .._core.op import Op",
    "_programs/a/b": "from ..._levels import level as own\nown.resume(own.Level, other.name)",
    "nn/__init__": "from .. import _programs\nfrom .._programs.a import b\nfrom typing import Any",
    "optim": "from ._cpython import frame\nfrom . import errors\nerrors.Error",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "functier" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Package(tmp_path / "functier")


def test_names_of_the_kernel_are_found(package):
    own = {"_core.op.Hidden", "_core.op.Op", "_levels.level.resume", "_levels.level.Level"}

    assert kernel_names(package) == {
        "_programs": {f"functier.{name}" for name in own},
        "nn": set(),
        "optim": {"functier.errors.Error"},
    }


def test_a_room_is_above_those_it_imports_from(package):
    rooms = ["_core", "errors", "_levels", "_programs", "nn"]

    assert floors(package, rooms).items() >= {
        "_core": 1, "errors": 2, "_levels": 2, "_programs": 3, "nn": 4
    }.items()  # fmt: skip


def test_sizes_are_those_of_folders_and_loose_files(package):
    rooms, lengths = sizes(package.folder)
    gathered, _ = sizes(package.folder, loose="(files)")

    assert rooms["_programs"] == {
        "files": 2, "lines": 4, "code": 4, "statements": 4, "docstrings": 0
    }  # fmt: skip
    assert rooms["errors"]["files"] == 1
    assert gathered["(files)"]["files"] == 4
    assert "errors" not in gathered
    assert lengths["nn/__init__.py"] == 3
    assert next(iter(longest(lengths))) == "nn/__init__.py"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import sys\nsys._getframe(1).f_back.f_locals", {"frames": 3}),
        ("from types import CodeType, ModuleType\nf.__code__.co_names", {"code": 3}),
        ("import dis as d\nd.get_instructions(f)", {"code": 1}),
        ("code.replace(co_consts=())", {"code": 1}),
        ("import gc\ngc.get_referrers(x), gc.collect()", {"gc": 1}),
        ("getattr(sys, 'getrefcount', None)", {"counts": 1}),
        ("import ctypes\nctypes.pythonapi.Py_IncRef, ctypes.c_int", {"C": 1}),
        ("from sys import setprofile", {"tracing": 1}),
        ("import _thread, functools\nfunctools._lru_cache_wrapper", {"private": 2}),
        ("x._value = y._value, y._extra", {"_value": 2, "_extra": 1}),
        ("TEXT = '''\ny._extra = sys._getframe(1)\n'''", {"_extra": 1, "frames": 1}),
        ("'''A docstring has sys._getframe(1).f_back and x._value.'''", {}),
        ("from .types import CodeType\nself._getframe, x.freeze(), dis.get, _a._b", {}),
    ],
)
def test_facts_about_cpython_are_found(text, found):
    assert Counter(kinds(ast.parse(text))) == found


def test_each_name_has_its_kind_and_no_other():
    names = [(name, kind) for kind, patterns in CPYTHON.items() for name in patterns]
    known = [(name, kind) for name, kind in names if not set(name) & set("*[")]

    assert known
    assert all(figures.kind_of(name) == kind for name, kind in known)
    assert len({name for name, _ in names}) == len(names)


def test_a_name_that_is_used_twice_counts_twice():
    assert sorted(uses(ast.parse("import os\nos.a.b, os.a"))) == [".b", "os", "os.a", "os.a"]


def test_tables_are_aligned():
    table = {"long name": {"n": 10, "m": 2}, "total": {"n": 10}}

    assert text_of("title", table).splitlines() == [
        "title       n  m",
        "long name  10  2",
        "total      10  -",
    ]
