"""Tests of what users see import public names, and those of the kernel import no other room.

A file that looks inside has the mark `inside`, which says why. The faults that tests plant are in
one folder, which looks inside instead of them. The bounds go down, and never up.
"""

import ast
import re

import pytest

from support.rooms import ROOMS, ROOT
from support.sources import room, tree_of

FILES = sorted((ROOT / "tests").rglob("test_*.py"))
FAULTS = sorted((ROOT / "tests/faults/planted").glob("*.py"))
HELPERS = sorted({*(ROOT / "tests").rglob("*.py")} - {*FILES, *FAULTS})
PRIVATE = re.compile(r"functier\.(\w+\.)*_[a-z]\w*[\w.]*")
MOST = 86
"""The most files of tests and of planted faults that import a private name, or patch one."""

MOST_HELPERS = 33
"""The most other files of the folder that do so: helpers, rows, benchmarks."""

OUTER = {"_adopt", "_dask", "_programs", "nn", "numpy", "optim", "scipy", "testing"}
"""The rooms that the kernel does not need."""


def imported(tree):
    """The modules and names that a file imports, in full, and those that it patches by a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if PRIVATE.fullmatch(node.value) else []


def looks_inside(tree):
    return any(PRIVATE.fullmatch(name) for name in imported(tree))


def outer_rooms(tree):
    """The rooms outside of the kernel that a file imports from."""
    names = [name for name in imported(tree) if name.startswith("functier.")]
    return {room(name) for name in names} & OUTER


def reason(tree):
    """Why a file looks inside, as its mark `inside` says; else an empty text."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            for call in ast.walk(node.value):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.inside":
                    return ast.literal_eval(call.args[0])
    return ""


def test_few_files_look_inside():
    assert sum(looks_inside(tree_of(path)) for path in [*FILES, *FAULTS]) <= MOST
    assert sum(looks_inside(tree_of(path)) for path in HELPERS) <= MOST_HELPERS


def test_a_file_that_looks_inside_says_why_and_no_other_does():
    for path in FILES:
        text = reason(tree_of(path))
        assert bool(text) == looks_inside(tree_of(path)), path
        assert not text or (text.endswith(".") and len(text.split()) > 3), path


def test_no_test_of_the_kernel_imports_another_room():
    kernel = tuple(ROOT / path for path in ROOMS["kernel"].paths.split())
    files = [path for path in FILES if {*path.parents} & {*kernel}]
    assert len(files) > 50
    assert not [path for path in files if outer_rooms(tree_of(path))]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("from functier._core.table import OPS", id="a private module"),
        pytest.param("from functier import _core", id="a private room"),
        pytest.param("import functier.numpy._copies", id="a private file of a public room"),
        pytest.param("from functier.numpy import _copies as c", id="another name for it"),
        pytest.param("patch('functier._levels.views.note', f)", id="what is patched by its name"),
    ],
)
def test_a_file_that_looks_inside_is_found(text):
    assert looks_inside(ast.parse(text))
    assert not looks_inside(ast.parse("import functier as ft\nfrom functier.protocol import op"))


def test_a_room_outside_of_the_kernel_is_found():
    text = (
        "import functier.numpy as fnp\nfrom functier.scipy import linalg\nfrom functier import nn"
    )

    assert outer_rooms(ast.parse(text)) == {"numpy", "scipy", "nn"}
    assert not outer_rooms(ast.parse("import functier as ft\nfrom functier._levels import level"))
