"""Tests that fail today: each says what is right, and functier gives something else.

Every test of this folder is expected to fail, with an AssertionError or with what its own mark
``xfail(raises=...)`` names. One that passes is an error of the suite: who mends a fault moves its
test to the folder of the subject.
"""

import linecache
import sys
import textwrap
import types
from contextlib import ExitStack
from pathlib import Path

import pytest

import functier as ft


def pytest_collection_modifyitems(items):
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            mark = item.get_closest_marker("xfail")
            raises = mark.kwargs["raises"] if mark else AssertionError
            item.own_markers[:] = [m for m in item.own_markers if m.name != "xfail"]
            item.add_marker(pytest.mark.xfail(strict=True, raises=raises))


@pytest.fixture
def adopted(monkeypatch):
    """A function that makes a module of a text, and adopts it for the test."""
    with ExitStack() as stack:

        def make(text):
            module = types.ModuleType("open_adoptee")
            monkeypatch.setitem(sys.modules, module.__name__, module)
            text, file = textwrap.dedent(text), "open_adoptee.py"
            lines = len(text), None, text.splitlines(True), file
            monkeypatch.setitem(linecache.cache, file, lines)
            exec(compile(text, file, "exec"), vars(module))
            stack.enter_context(ft.adopt(module.__name__))
            return module

        yield make
