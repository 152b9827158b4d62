"""Tests of what users see import public names, and those of the kernel import no other room.

Both are counted here. The bounds are near what the suite has now: they go down, and never up.
"""

import ast
import re

import pytest

from support.rooms import ROOMS, ROOT
from support.sources import room, tree_of

FILES = sorted((ROOT / "tests").rglob("test_*.py"))
PRIVATE = re.compile(r"functier\.(\w+\.)*_[a-z]\w*[\w.]*")
MOST = 175
"""The most files of tests that import a private name of functier, or patch one by path."""

MOST_OF_KERNEL = 19
"""The most files of tests of the kernel that import one of `OUTER`, mostly `functier.numpy`."""

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


@pytest.fixture(scope="module")
def kernel():
    folders = [ROOT / path for path in ROOMS["kernel"].paths.split()]
    return [path for folder in folders for path in sorted(folder.rglob("test_*.py"))]


def test_few_files_look_inside():
    assert sum(looks_inside(tree_of(path)) for path in FILES) <= MOST


def test_few_tests_of_the_kernel_import_another_room(kernel):
    assert sum(bool(outer_rooms(tree_of(path))) for path in kernel) <= MOST_OF_KERNEL


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
