"""Selections by masks that differ from example to example: one call for the whole batch;
``out=`` with ``where=``; the one element of ``x.flat``.
"""

import warnings

import numpy as np
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.basics import raises
from support.rows import run_each

X = np.array([[1.0, -2.0, 3.0, 4.0], [-1.0, 2.0, -3.0, 0.5], [1.0, 1.5, 1.0, 1.0]])


def normalized(x):
    y, m = x * 1.0, x > 0
    y[m] = np.sin(x[m]) / np.max(x[m])
    return y


def in_parts(x):
    y = np.zeros_like(x)
    y[x > 0] = np.log(x[x > 0])
    y[x <= 0] = -1.0
    y[x > 2] *= x[x > 2]
    return y


def variance(x):
    s = x[x > 0]
    return np.sum((s - np.mean(s)) ** 2) / s.size - np.var(s)


PROGRAMS = {
    "sum": lambda x: np.sum(x[x > 0]), "mean": lambda x: x[x > 0].mean(),
    "prod": lambda x: np.prod(x[x > 0]), "var": lambda x: np.var(x[x > 0]),
    "std with ddof": lambda x: x[x > -5].std(ddof=1), "max": lambda x: x[x > 0].max(),
    "min": lambda x: np.min(x[x > 0]), "min of ints": lambda x: x * np.min(x[x > 0].astype(int)),
    "any": lambda x: x * np.any(x[x > 0] > 2), "all": lambda x: x * np.all(x[x > 0] > 0.7),
    "count": lambda x: x * np.count_nonzero(x[x > 0] > 1), "size": lambda x: x / x[x > 0].size,
    "np.size": lambda x: x * np.size(x[x > 0]), "add.reduce": lambda x: np.add.reduce(x[x > 0]),
    "maximum.reduce": lambda x: np.maximum.reduce(x[x > 0]),
    "where": lambda x: np.sum(np.where(x[x > 0] > 1.5, x[x > 0], -1.0)),
    "clip": lambda x: np.sum(np.clip(x[x > 0], 0.7, 2.0)),
    "norm": lambda x: x / np.sqrt(np.sum(x[x > 0] ** 2)),
    "equal": lambda x: np.sum((x[x > 0] == 1.0) * x[x > 0]),
    "not": lambda x: np.sum(~(x[x > 0] < 2) * 1.0) * x,
    "a mask of a selection": lambda x: np.sum(x[x > 0][x[x > 0] > 1.0] * 2.0),
    "astype": lambda x: np.sum(x[x > 0].astype(int)) * x,
    "round": lambda x: np.sum(x[x > 0].round()) * x,
    "rows": lambda x: np.sum(np.outer(x, x)[x > 0], axis=0),
    "mean of rows": lambda x: np.outer(x, x)[x > 0].mean(0),
    "max of rows": lambda x: np.max(np.outer(x, x)[x > 0], axis=0),
    "of a matrix": lambda x: np.outer(x, x)[np.outer(x, x) > 0].sum(),
    "parts of rows": lambda x: np.outer(x, x)[x > 0][:, 1:].sum(),
    "no warning": lambda x: np.sum(np.sqrt(x[x > 0]) + np.log(x[x > 0])),
    "a variance": variance, "a write": normalized, "writes": in_parts,
    "two masks of equal values": lambda x: np.sum(x[x > 0] * x[~(x <= 0)]),
}  # fmt: skip


def total(f):
    return lambda x: np.sum(f(x))


def check(f):
    """One call without a warning: the values, and the derivatives inside and outside."""
    with warnings.catch_warnings(action="error"):
        np.testing.assert_allclose(ft.vmap(f)(X), [f(x) for x in X], rtol=1e-12)
        slopes = [ft.grad(total(f))(x) for x in X]
        np.testing.assert_allclose(ft.vmap(ft.grad(total(f)))(X), slopes, atol=1e-12)
        np.testing.assert_allclose(ft.grad(total(ft.vmap(f)))(X), slopes, atol=1e-12)
        np.testing.assert_allclose(
            ft.jvp(total(ft.vmap(f)), (X,), (X,))[1], np.sum(X * slopes), atol=1e-12
        )
        deep = np.stack([X, X[::-1]])
        np.testing.assert_allclose(ft.vmap(ft.vmap(f))(deep), [[f(x) for x in xs] for xs in deep])


def test_programs_give_the_results_of_a_loop():
    run_each(PROGRAMS, check)


def test_an_example_that_selects_nothing():
    """It gets what NumPy gives for an empty array, and warns or raises only where NumPy does."""
    xs = np.array([[1.0, 2.0], [-1.0, -2.0]])
    with warnings.catch_warnings(action="error"):
        for f in (np.sum, np.prod, np.any, np.all, np.count_nonzero, lambda s: np.sum(np.log(s))):
            found = ft.vmap(lambda x, f=f: f(x[x > 0]) * 1.0)(xs)
            np.testing.assert_array_equal(found, [f(x[x > 0]) for x in xs])
    with pytest.warns(RuntimeWarning):
        found = ft.vmap(lambda x: np.mean(x[x > 0]))(xs)
    np.testing.assert_array_equal(found, [1.5, np.nan])
    for extreme in (np.min, np.max):
        raises(ValueError, lambda: ft.vmap(lambda x, f=extreme: f(x[x > 0]))(xs), "zero-size array")


def test_other_masks_are_refused_or_split():
    f = lambda x: np.sum(x[x > 0][: len(x[x > 1])])  # noqa: E731
    raises(ft.DataDependentError, lambda: ft.vmap(f)(X), "boolean mask")
    np.testing.assert_allclose(ft.vmap(f, branches="split")(X), [f(x) for x in X])
    with pytest.raises((ft.DataDependentError, ValueError)):
        ft.vmap(lambda x: np.sum(x[x > 0] * x[x > 1]))(X)


@pytest.mark.parametrize("fault", ["where", "beyond", "nested"])
def test_a_planted_fault_is_found(monkeypatch, fault):
    faulty.wrong_selection(fault, monkeypatch)
    name = {"where": "sum", "beyond": "min", "nested": "a mask of a selection"}[fault]
    with pytest.raises(AssertionError):
        check(PROGRAMS[name])


# ``out=`` with ``where=``: what is masked is not computed, so it has no warning and no NaN


X_OUT = np.array([0.5, -0.8, 0.0, 2.0, -0.3])
UNARY = (np.sqrt, np.log, np.log2, np.log10, np.log1p, np.reciprocal)


def _masked(func, make, mask):
    def f(x):
        return func(x, out=make(x), where=mask(func, x))

    return f


def _inside(func, x):
    return x > 0.0


def _fixed(func, x):
    return X_OUT > 0.0


@pytest.mark.parametrize("mask", [_inside, _fixed])
@pytest.mark.parametrize("make", [np.zeros_like, np.ones_like, lambda x: 3.0 * x])
@pytest.mark.parametrize("func", UNARY, ids=lambda f: f.__name__)
def test_what_is_masked_out_has_no_share(func, make, mask):
    f = _masked(func, make, mask)
    chosen = mask(func, X_OUT)
    inner = np.where(chosen, X_OUT, 2.0)
    step = 1e-6
    slopes = (func(inner + step) - func(inner - step)) / (2 * step)
    expected = np.where(chosen, slopes, (make(X_OUT + 1.0) - make(X_OUT)))
    with warnings.catch_warnings(action="error"):
        value, tangent = ft.jvp(f, (X_OUT,), (np.ones(5),))
        gradient = ft.grad(lambda x: np.sum(f(x)))(X_OUT)
        second = ft.grad(lambda x: np.sum(ft.grad(lambda y: np.sum(f(y)))(x)))(X_OUT)
        batch = np.stack([X_OUT, X_OUT])
        rows = ft.vmap(f)(batch)
        both = ft.vmap(ft.grad(lambda x: np.sum(f(x))))(batch)
    np.testing.assert_array_equal(value, f(X_OUT.copy()))
    np.testing.assert_allclose(tangent, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)
    assert np.isfinite(second).all()
    np.testing.assert_array_equal(rows, [value, value])
    np.testing.assert_array_equal(both, [gradient, gradient])


def test_a_quotient_by_zero_is_masked_out():
    def ratio(x, y):
        return np.sum(np.divide(x, y, out=np.zeros_like(x), where=y != 0))

    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 4.0])
    with warnings.catch_warnings(action="error"):
        by_x, by_y = ft.grad(ratio, argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(by_x, [0.5, 0.0, 0.25])
    np.testing.assert_array_equal(by_y, [-0.25, 0.0, -3 / 16])


# ---- Writes by ``x.flat`` to an array without axes: its one element, where the index has it ----
