"""Attributes of an array in the standard besides a namespace: its device, and its memory;
libraries that are written for the standard.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from support.basics import equal, raises

X = np.array([0.3, 1.7])

LEVELS = {
    "grad": lambda f: ft.grad(lambda x: np.sum(f(x) or x))(X),
    "jvp": lambda f: ft.jvp(lambda x: f(x) or x, (X,), (X,)),
    "vmap": lambda f: ft.vmap(lambda x: f(x) or x)(np.stack([X, X])),
    "vmap(grad)": lambda f: ft.vmap(ft.grad(lambda x: np.sum(f(x) or x)))(np.stack([X, X])),
}


@pytest.mark.parametrize("name", LEVELS)
def test_a_tensor_of_a_level_keeps_its_memory(name):
    def f(x):
        assert x.device == "cpu" and x.to_device("cpu") is x
        assert x.__dlpack_device__() == X.__dlpack_device__()
        assert x.mT is not None if x.ndim > 1 else True
        for export in (x.__dlpack__, lambda: np.from_dlpack(x)):
            raises(ft.ConversionError, export, "hand the result of the transform")
        raises(ValueError, lambda: x.to_device("gpu"), "move it before")

    # Also for code that has caught it.
    raises(ft.ConversionError, lambda: LEVELS[name](f), "hand the result of the transform")


def test_a_plain_tensor_shares_its_memory():
    x = ft.Tensor(X.copy())
    y = np.from_dlpack(x)
    equal(y, X)
    assert np.shares_memory(y, x.elem())
    assert not np.shares_memory(np.from_dlpack(x, copy=True), x.elem())


def test_an_array_made_inside_a_level_is_shown():
    """Another library sees plain writes, and would not see a tensor that is written to it."""

    def f(x, early, export):
        a = x.__array_namespace__().asarray([1.0, 2.0])
        b = np.from_dlpack(a)
        b[0] = 7.0
        assert a[0] == 7.0
        a[0] = 1.5
        equal(b, np.array([1.5, 2.0]))
        if early:
            a[1] = x[0]
        copy = np.from_dlpack(a, copy=True)
        copy[0] = 7.0
        equal(b, np.array([1.5, 2.0]))
        del b
        a[1] = x[0]
        return np.sum(np.from_dlpack(a) if export else a)

    def run(early, export):
        return ft.grad(lambda x: f(x, early, export))(X)

    with pytest.raises(ft.MutationError, match="in use and would not see it"):
        run(True, False)
    raises(ft.ConversionError, lambda: run(False, True), "__dlpack__")
    equal(run(False, False), np.array([1.0, 0.0]))


def test_a_tensor_whose_level_has_ended_exports_nothing():
    kept = []
    ft.grad(lambda x: kept.append(x) or np.sum(x))(X)
    raises(ft.EscapedTensorError, lambda: kept[0].__dlpack__())


def test_numbers_of_a_tensor():
    assert complex(ft.Tensor(2.0)) == 2 + 0j
    assert [10, 20, 30][ft.Tensor(np.array(1))] == 20
    picked = []
    ft.vmap(lambda x: picked.append([10, 20][np.argmax(np.array([0, 1]), keepdims=False)]) or x)(X)
    assert picked == [20]


# SciPy's and scikit-learn's array API functions on tensors, in a process with SCIPY_ARRAY_API


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
