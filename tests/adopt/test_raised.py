"""Errors that code catches: of single examples they are branches, of all they are shared."""

import sys
import types
import warnings

import numpy as np
import pytest

import functier as ft
from faults.planted import adoption as faulty

SOURCE = """
import math
import warnings
import numpy as np
import scipy.optimize as so

def inverse(v):
    try:
        return np.linalg.inv(np.array([[v, 1.0], [1.0, 1.0]]))[0, 0]
    except np.linalg.LinAlgError:
        return -v

def root(v):
    try:
        return np.linalg.cholesky(np.array([[v, 1.0], [1.0, 1.0]]))[1, 1]
    except np.linalg.LinAlgError:
        return -v

def solution(v):
    try:
        return np.linalg.solve(np.array([[v, 2.0], [1.0, 2.0]]), np.array([1.0, v]))[0]
    except np.linalg.LinAlgError:
        return -v

def bracketed(v):
    try:
        return so.brentq(lambda x: x * x - v, 0.0, 2.0)
    except ValueError:
        return -v

def searched(v):
    try:
        return so.newton(lambda x: x * x - v, 1.0, maxiter=20)
    except RuntimeError:
        return -v

def of_math(v):
    try:
        return math.sqrt(v)
    except ValueError:
        return -v

def of_two(v):
    try:
        return math.log(v + 2.0) + math.acos(v / 4.0)
    except ValueError:
        return -v

def whole(v):
    try:
        return int(np.log(v + 3.0)) + v
    except (ValueError, OverflowError):
        return -v

def place(v):
    try:
        return np.array([4.0, 3.0, 2.0, 1.0])[int(v)] * v
    except IndexError:
        return -v

def divided(v):
    with np.errstate(divide="raise"):
        try:
            return np.asarray(6.0) / (v - 1.0)
        except FloatingPointError:
            return -v

def logged(v):
    with np.errstate(invalid="raise"):
        try:
            return np.log(v)
        except FloatingPointError:
            return -v

def warned(v):
    with warnings.catch_warnings(action="error"):
        try:
            return np.sqrt(v) * 2.0
        except RuntimeWarning:
            return -v

def inside(v):
    total = 0.0
    for shift in (0.0, 1.0, 4.0):
        try:
            total = total + math.sqrt(v - shift)
        except ValueError:
            total = total * 2.0
    return total + v
"""
POINTS = np.array([1.0, 9.0, 2.0, -3.0])
NAMES = (
    "inverse", "root", "solution", "bracketed", "searched", "of_math", "of_two", "whole", "place",
    "divided", "logged", "warned", "inside",
)  # fmt: skip


@pytest.fixture
def module():
    made = sys.modules["raising"] = types.ModuleType("raising")
    exec(SOURCE, vars(made))
    yield made
    del sys.modules["raising"]


def _rows(f, points=POINTS):
    with warnings.catch_warnings(action="ignore"):
        return [f(v) for v in points]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_examples_that_raise_run_apart(name, module):
    f = getattr(module, name)
    expected = _rows(f)
    assert any(np.equal(expected, -POINTS)) or name == "inside"
    with ft.adopt("raising"):
        np.testing.assert_allclose(ft.vmap(f, branches="split")(POINTS), expected, rtol=1e-12)
        slopes = [ft.grad(f)(v) for v in POINTS]
        np.testing.assert_allclose(ft.vmap(ft.grad(f), branches="split")(POINTS), slopes, rtol=1e-9)
        nested = ft.vmap(ft.vmap(f, branches="split"), branches="split")(POINTS.reshape(2, 2))
        np.testing.assert_allclose(nested, np.reshape(expected, (2, 2)), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_code_that_catches_the_error_of_one_example_is_refused(name, module):
    f = getattr(module, name)
    with ft.adopt("raising"), pytest.raises(ft.DataDependentError, match="branches='split'"):
        ft.vmap(f)(POINTS)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_what_all_examples_raise_is_raised_as_it_is(name, module):
    """And what none raises; the code may catch it."""
    f = getattr(module, name)
    raising = {
        "inverse": 1.0,
        "solution": 1.0,
        "bracketed": 9.0,
        "place": 7.0,
        "of_two": 9.0,
        "divided": 1.0,
    }
    for v in (raising.get(name, -5.0), 2.0):
        with ft.adopt("raising"):
            rows = ft.vmap(f)(np.array([v, v]))
        np.testing.assert_allclose(rows, _rows(f, [v, v]), rtol=1e-12)


def test_an_error_that_nobody_catches_is_the_function_s():
    def f(v):
        return np.linalg.inv(v)

    batch = np.stack([np.eye(2), np.ones((2, 2))])
    for options in ({}, {"branches": "split"}):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            ft.vmap(f, **options)(batch)


def test_a_shape_that_does_not_fit_is_an_error_of_all():
    def f(v):
        try:
            return v @ np.ones(5)
        except ValueError:
            return np.sum(v)

    np.testing.assert_array_equal(ft.vmap(f)(np.ones((3, 2))), [2.0, 2.0, 2.0])


def test_the_check_finds_an_error_that_is_taken_for_all(module, monkeypatch):
    faulty.errors_are_of_all_examples(monkeypatch)
    with pytest.raises(AssertionError):
        test_examples_that_raise_run_apart("inverse", module)
