"""The tests of leaks, in a process whose heap is small: a search looks through all objects."""

import subprocess
import sys
from pathlib import Path

import pytest

from functier.debug import _leaks

LEAKS = Path(__file__).with_name("leaks.py")


@pytest.mark.slow
def test_in_a_small_process():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(LEAKS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_search_ends_where_nobody_holds_anything(monkeypatch):
    """Each step of it is a pass over all objects."""
    asked = []
    monkeypatch.setattr(_leaks, "holders_of", lambda objects: asked.append(objects) or [])

    search = _leaks._Search([object()])

    assert len(asked) == len(search.objects) == 1
