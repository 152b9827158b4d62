"""The tests of leaks, in a process whose heap is small: a search looks through all objects."""

import subprocess
import sys
from pathlib import Path

import pytest

LEAKS = Path(__file__).with_name("leaks.py")


@pytest.mark.slow
def test_in_a_small_process():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(LEAKS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
