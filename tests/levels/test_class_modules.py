"""Code that finds the functions for an array by the module of its class, which is NumPy's."""

import importlib
import inspect
import pickle
import sys

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from differences import check

X = np.array([0.7, 1.3, 2.1])
NESTINGS = [("grad",), ("jvp",), ("vmap",), ("vmap", "grad"), ("grad", "vmap")]


def library(x):
    return sys.modules[x.__class__.__module__.split(".")[0]]


def by_name(x):
    return {"numpy": np}[type(x).__module__.split(".")[0]]


def imported(x):
    return importlib.import_module(getattr(type(x), "__module__").partition(".")[0])  # noqa: B009


HELPERS = {
    "a table": by_name,
    "sys.modules": library,
    "an import": imported,
    "its beginning": lambda x: np if type(x).__module__.startswith("numpy") else None,
    "inspect": lambda x: inspect.getmodule(type(x)),
    "its namespace": lambda x: x.__array_namespace__(),
    "of what is made": lambda x: library(fnp.zeros(3)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("name", HELPERS)
def test_the_functions_are_found(name, nesting):
    find = HELPERS[name]
    check(nesting, lambda x: find(x).sqrt(x) * find(x[0]).sum(x), X, lambda x: np.sqrt(x) * x.sum())


def test_classes_say_whose_they_are():
    seen = []
    ft.grad(lambda x: (seen.append((repr(type(x)), type(x).__name__, f"{type(x)}")), x)[1])(1.0)
    assert seen == [("<class 'functier grad(<lambda>)'>", "grad(<lambda>)", seen[0][0])]


def test_a_class_is_still_not_pickled():
    classes = []
    ft.grad(lambda x: (classes.append(type(x)), x)[1])(1.0)
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(classes[0])


def test_a_fault_is_found(monkeypatch):
    for name in ("a table", "sys.modules", "an import", "its beginning"):
        find = HELPERS[name]

        def f(x, find=find):
            type.__setattr__(type(x), "__module__", "functier._levels.level")
            return find(x).sqrt(x)

        with pytest.raises((KeyError, AttributeError)):
            ft.grad(f)(1.5)
