"""SciPy's and scikit-learn's array API functions on tensors, in a process with SCIPY_ARRAY_API."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("library_calls.py")


def run(*words):
    name = "sklearn" if "sklearn" in words else "scipy"
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done


def test_calls_of_scipy():
    done = run("scipy")
    assert not done.returncode, done.stdout
    assert done.stdout.startswith("{'right': 20}")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["scipy", "sklearn"])
def test_all_calls(library):
    done = run(library, "all")
    assert not done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("library", ["scipy", "sklearn"])
def test_a_wrong_tangent_is_found(library):
    done = run(library, "", "planted")
    assert done.returncode and "under jvp: wrong" in done.stdout


@pytest.mark.slow
def test_calls_of_sklearn():
    done = run("sklearn")
    assert not done.returncode, done.stdout
    assert done.stdout.startswith("{'right': 16}")
