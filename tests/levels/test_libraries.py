"""The module to adopt: what a message says of a library is followed literally, and is right.

A library is a package in a folder of installed packages, whose code cannot be edited.
"""

import importlib
import re
import sys
import textwrap
from statistics import NormalDist

import numpy as np
import pytest
import scipy.linalg.lapack
from scipy import optimize

import functier as ft
from levels.test_import_lines import RUNS, X, message
from support.tables import sources
from support.turns import few

ADOPTION = re.compile(r'write functier\.adopt\("([\w.]+)"\) before the transform')

LIBRARY = sources("""
array of a list :: import numpy as np // def f(x): return np.array([x, 1.0, x * x])
float :: def f(x): return float(x) ** 2
math :: import math // def f(x): return math.sin(x) * math.pi
the error function :: import math // def f(x): return math.erf(x) * math.dist([x], [2.0])
int :: def f(x): return x * int(x * 3)
a cached function :: import functools // @functools.lru_cache // def square(x): return x * x //
    def f(x): return x + square(x)
from math :: from math import exp // def f(x): return exp(x) * x
max :: def f(x): return max(x, 1.0) * x
a write :: import numpy as np // def f(x): // \tout = np.zeros(3) // \tout[1] = x * x //
    \treturn out
a sum in place :: import numpy as np // def f(x): // \ttotal = np.zeros(2) // \ttotal += x * x //
    \treturn total
vectorize :: import numpy as np // square = np.vectorize(lambda v: v * v) //
    def f(x): return square(x)
full :: from numpy import full as filled // def f(x): return filled(2, x)
Python's own :: from statistics import NormalDist // def f(x): return NormalDist().cdf(x) * x
a helper :: import numpy as np // def _pair(x): return np.asarray([x, 2 * x]) // class Model: //
    \tdef predict(self, x): return np.mean(_pair(x)) // def f(x): return Model().predict(x)
""")
LIBRARY_CASES = [
    (name, mode)
    for name in LIBRARY
    for mode in RUNS
    if name not in ("max", "int") or "vmap" in mode
]  # without a batch, these run as they are
"""A quick run adopts every library, each under one mode or two, and uses every mode."""
COMPILED = sources("""
compiled :: import numpy as np // from scipy.spatial._ckdtree import cKDTree //
    def f(x): return np.array([x, 1.0])
an if :: def f(x): return x if x > 1.0 else 1.0
a class :: import numpy as np // def f(x): return np.float64(x)
""")
"""Modules of a library that an adoption would not make right."""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A function that installs a module and returns its `f`, by way of a package."""
    home = tmp_path / "site-packages"
    package = home / "surveyed"
    package.mkdir(parents=True)
    monkeypatch.syspath_prepend(home)

    def install(source):
        (package / "__init__.py").write_text("from .inner import f\n")
        (package / "inner.py").write_text(textwrap.dedent(source))
        importlib.invalidate_caches()
        return importlib.import_module("surveyed").f

    yield install
    for name in ("surveyed", "surveyed.inner"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("case", few(LIBRARY_CASES, 3), ids="-".join)
def test_a_library_is_adopted_as_the_message_says(case, library):
    name, mode = case
    f = library(LIBRARY[name])
    run, expected = RUNS[mode]
    wanted = expected(f)

    text = message(run, lambda x: f(x))

    assert ADOPTION.search(text), text
    assert "site-packages" not in text and "functier.numpy as" not in text
    with ft.adopt(ADOPTION.search(text)[1]):
        np.testing.assert_allclose(run(lambda x: f(x)), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", COMPILED)
def test_no_adoption_where_it_would_not_help(name, library):
    f = library(COMPILED[name])

    text = message(lambda f: ft.vmap(f)(X), f)

    assert "adopt" not in text and "; write " in text


def test_what_is_adopted_already_is_not_named_again(library):
    f = library("""
        import numpy as np
        def f(x):
            return np.float64(float(x) + np.array([x])[0])
        """)
    with ft.adopt("surveyed.inner"):
        try:
            ft.vmap(f)(X)
        except ft.LevelError as error:
            assert "adopt" not in str(error)


def test_a_module_of_pythons_own_is_named_to_an_adopted_library_and_to_the_user(library):
    f = library(LIBRARY["Python's own"])
    with ft.adopt("surveyed"):
        for called in (f, NormalDist().cdf, lambda x: NormalDist(x, 1.0).cdf(1.0)):
            assert ADOPTION.search(message(lambda f: ft.grad(f)(0.5), called))[1] == "statistics"
    text = message(lambda f: ft.grad(f)(0.5), NormalDist().inv_cdf)  # compiled
    assert "adopt" not in text and "; write " in text


# ---- compiled functions ----


def test_compiled_functions_are_named():
    from scipy.linalg.blas import ddot as product
    from scipy.spatial import cKDTree

    tree = cKDTree(np.ones((3, 2)))
    for program, name in (
        (lambda x: product(x, X), "scipy.linalg.blas.ddot"),
        (lambda x: scipy.linalg.lapack.dgesv(np.eye(2), x), "scipy.linalg.lapack.dgesv"),
        (lambda x: tree.query(x), "scipy.spatial.cKDTree.query"),
    ):
        text = message(lambda f: ft.vmap(f)(np.stack([X, X])), program)
        assert f"numpy.asarray(x), which {name} calls, would turn a batch" in text
        twin = "write functier.scipy.spatial.cKDTree for scipy.spatial.cKDTree"
        assert (twin if "cKDTree" in name else "g = functier.sequential_vmap(") in text
        assert "adopt" not in text


@pytest.mark.parametrize("solve", ["brentq", "bisect", "root_scalar"])
def test_an_error_of_compiled_code_shows_the_conversion_that_failed(solve):
    """SciPy's solvers raise their own errors where a function returned a tensor."""

    def root(a):
        if solve == "root_scalar":
            bracket = [0.0, 3.0]
            return optimize.root_scalar(lambda x, a: x * x - a, args=(a,), bracket=bracket).root
        return getattr(optimize, solve)(lambda x: x * x - a, 0.0, 3.0)

    with pytest.raises(ft.ConversionError, match=rf"scipy\.optimize\.{solve} calls"):
        ft.grad(root)(2.0)
    split = ft.vmap(root, branches="split")(np.array([2.0, 3.0]))
    np.testing.assert_allclose(split, np.sqrt([2.0, 3.0]))
