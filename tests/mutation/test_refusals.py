"""Writes that NumPy refuses, and those that the library refuses with what to write."""

import warnings

import numpy as np
import pytest

import functier as ft
from support.basics import equal, has_all, message, raises

X = np.array([0.7, -0.4, 1.2])
XS = np.stack([X, X * 2.0])
T = np.array([1.0, 0.5, -2.0])


# ---- what NumPy refuses ----


READ_ONLY = {
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 1)))[0],
    "diagonal": lambda x: np.diagonal(np.outer(x, x)),
    "diagonal, a method": lambda x: np.outer(x, x).diagonal(),
    "a view of one": lambda x: np.broadcast_to(x, (2, 3))[0],
}


@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
@pytest.mark.filterwarnings("ignore:Numpy has detected:DeprecationWarning")
def test_what_is_read_only_in_numpy(make):
    """One element in several places, and a diagonal: the write raises, and a copy takes it."""

    def program(x):
        y = make(x)
        with pytest.raises((ValueError, ft.MutationError), match=r"read-only|copy"):
            y[0] = 1.0
        with pytest.raises((ValueError, ft.MutationError), match=r"read-only|copy"):
            y += 1.0
        y = y.copy()
        y[0] = 1.0
        return y

    def wanted(x):
        y = make(x).copy()
        y[0] = 1.0
        return y

    equal(ft.vmap(program)(XS), np.stack([wanted(x) for x in XS]))
    equal(ft.vjp(program, X)[0], wanted(X))
    equal(ft.jvp(program, (X,), (T,))[0], wanted(X))


# ---- what is refused ----


@pytest.mark.parametrize("use", [
    lambda s: assign_first(s), len, np.sort, np.cumsum, lambda s: s[0], lambda s: s @ s,
    lambda s: np.sum(s, keepdims=True), lambda s: np.clip(s, a_min=s, a_max=None),
], ids=[
    "an item", "length", "sort", "cumsum", "first", "product", "keepdims", "option",
])  # fmt: skip
def test_what_has_no_meaning_for_a_selection(use):
    """Another number of elements for each example."""
    with pytest.raises(ft.DataDependentError, match="differs from example to example"):
        ft.vmap(lambda x: (use(x[x > 0]), x)[1])(np.stack([X, -X]))


def assign_first(s):
    s[0] = 1.0


def test_setting_the_shape():
    """As NumPy does, its warning included: the same elements, seen through every name."""

    def f(x):
        y = x * 1.0
        other = y
        before = y[1:]
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            y.shape = (3, 1)
        assert other.shape == (3, 1) and before.shape == (2,)
        y[1, 0] = 7.0
        return y * 1.0, before * 1.0

    wanted = f(X.copy())
    for found in (
        [y[0] for y in ft.vmap(f)(XS)], ft.vjp(f, X)[0], ft.jvp(f, (X,), (T,))[0]
    ):  # fmt: skip
        for a, b in zip(found, wanted):
            equal(a, b)

    def wrong(x):
        y = x * 1.0
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            y.shape = (2, 2)

    raises(ValueError, lambda: wrong(X.copy()), "cannot reshape array of size 3 into shape")
    for run in (lambda: ft.vmap(wrong)(XS), lambda: ft.vjp(wrong, X)):
        raises(ValueError, run, "cannot reshape array of size 3 into shape")


def test_the_warning_of_setting_the_shape():
    """NumPy deprecates it from 2.5 on: where it warns, so does a tensor."""

    def f(x):
        y = x * 1.0
        y.shape = (3, 1)
        return y

    def warned(run):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run()
        return [w.category for w in caught]

    assert bool(warned(lambda: ft.vmap(f)(XS))) == bool(warned(lambda: f(X)))


def test_a_constant_on_an_inner_tape_may_be_written_to():
    def outer(x):
        a = x * 1.0

        def inner(y):
            z = np.sum(a * y)
            a[0] = 5.0
            return z

        return np.sum(ft.grad(inner)(X)) + np.sum(a)

    equal(ft.grad(outer)(X), np.array([1.0, *[2.0] * (X.size - 1)]))
    equal(ft.vmap(outer)(XS), 2.0 * np.sum(XS, 1) - XS[:, 0] + 5.0)


@pytest.mark.parametrize("within", [ft.grad, ft.vmap])
def test_an_array_inside_a_tensor_of_an_inner_level_cannot_be_written_to(within):
    def outer(x):
        a = x * 1.0

        def inner(y):
            a[0] = 5.0
            return np.sum(y * y)

        return np.sum(ft.grad(inner)(a))

    with pytest.raises(ft.MutationError) as error:
        within(outer)(X if within is ft.grad else XS)
    has_all(message(error), "has kept it as a constant", "make a copy inside")
