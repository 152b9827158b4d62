"""Writes that NumPy refuses, and those that the library refuses with what to write."""

import re
import warnings

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from support.basics import at, equal, has_all, message, plus, raises

X = np.array([0.7, -0.4, 1.2])
XS = np.stack([X, X * 2.0])
T = np.array([1.0, 0.5, -2.0])


# ---- what NumPy refuses ----


REFUSED = {
    "shape": at(slice(None), np.ones(4)),
    "shape of a slice": at(slice(1, None), np.ones(3)),
    "a matrix": at(..., np.ones((2, 3))),
    "shape of an array index": at([0, 1], np.ones(3)),
    "shape of a mask": at(X > 0, np.ones(3)),
    "shape of a sum": plus(np.ones((2, 3))),
    "other shape of a sum": plus(np.ones(4)),
    "out of range": at(3, 1.0),
    "out of range of an array": at([0, 5], 1.0),
    "too many indices": at((0, 0), 1.0),
    "a mask of another shape": at(np.array([True, False]), 1.0),
    "a float index": at(1.0, 1.0),
    "out": lambda y: np.add(y, np.ones((2, 3)), out=y),
    "out of a sum": lambda y: np.sum(np.stack([y, y]), axis=1, out=y),
    "put": lambda y: np.put(y, [7], 1.0),
    "a product": lambda y: y.__imatmul__(np.ones((3, 2))),
}


OTHER_WORDS = {
    "shape of an array index", "shape of a mask", "other shape of a sum", "out of a sum",
    "a product",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_those_of_numpy(name):
    """The type, and mostly the text; the array is unchanged, and the level goes on."""
    write = REFUSED[name]
    with pytest.raises(Exception) as wanted:
        write(X.copy())
    words = "" if name in OTHER_WORDS else re.sub(r"\s", "", message(wanted))

    def program(x):
        y = x * 1.0
        try:
            write(y)
        except type(wanted.value) as error:
            assert words in re.sub(r"\s", "", str(error)), (words, str(error))
        else:
            raise AssertionError("no error")
        y[0] = 2.0
        return y

    made = lambda x: program(fnp.array([1.0, 2.0, 3.0])) + x  # noqa: E731
    for f in (program, made):
        equal(ft.vmap(f)(XS), np.stack([f(x) for x in XS]))
        equal(ft.vjp(f, X)[0], f(X))
        equal(ft.jvp(f, (X,), (T,))[0], f(X))


@pytest.mark.parametrize("f", [
    lambda x: at(0, 1j)(x * 1.0),
    lambda x: plus(x * 1j)(x * 1.0),
    lambda x: np.add(x, 1j, out=x * 1.0),
    lambda x: plus(x)(fnp.zeros(3, int)),
    lambda x: np.sin(x, out=fnp.zeros(3, int)),
], ids="of Python, plus, out, int, int out".split(", "))  # fmt: skip
def test_a_value_that_the_dtype_cannot_hold(f):
    """A complex number of Python in a real array, and what only ``casting='unsafe'`` allows."""
    for run in (
        lambda: ft.vmap(f)(XS), lambda: ft.jvp(f, (X,), (T,)), lambda: ft.vjp(f, X),
        lambda: ft.vmap(ft.vmap(f))(XS[None]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"cannot be written|Cannot cast ufunc"):
            run()


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


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 1.0, lambda x: fnp.zeros(3)],
      ids=["argument", "result", "array"])  # fmt: skip
def test_shuffle_refuses(make):
    """`numpy.random.shuffle` swaps what it reads; `permutation` gives a new array."""
    for shuffle in (np.random.shuffle, np.random.default_rng(0).shuffle):

        def f(x, shuffle=shuffle):
            y = make(x)
            shuffle(y)
            return y

        for run in (lambda f=f: ft.vmap(f)(XS), lambda f=f: ft.vjp(f, X)):
            with (
                warnings.catch_warnings(action="ignore"),
                pytest.raises((ft.MutationError, TypeError)),
            ):
                run()


@pytest.mark.parametrize("make", [lambda x: np.stack([x, x * x]), lambda x: fnp.array([x, x * x])],
      ids=["result", "array"])  # fmt: skip
def test_a_mask_and_a_view_of_the_same_array(make):
    """NumPy reads what it has written already; with a copy it has a meaning."""
    mask = np.array([[True, False, True], [False, True, False]])

    def f(x):
        y = make(x)
        y[mask] = y[0]
        return y

    def advised(x):
        y = make(x)
        y[mask] = y[0].copy()
        return y

    wanted = [advised(x) for x in XS]
    runs = {
        "vmap": lambda f: ft.vmap(f)(XS)[0],
        "vjp": lambda f: ft.vjp(f, X)[0],
        "jvp": lambda f: ft.jvp(f, (X,), (T,))[0],
        "vmap vjp": lambda f: ft.vmap(lambda x: ft.vjp(f, x)[0])(XS)[0],
    }
    for run in runs.values():
        with pytest.raises(ft.MutationError) as error:
            run(f)
        has_all(message(error), "x[mask] = v", "a view of x", "write x[mask] = v.copy()")
        equal(run(advised), wanted[0])


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


def test_a_tensor_in_a_plain_array_from_outside():
    """By every way to write: the array is unchanged, and what the message says works."""
    out = np.zeros(3)

    def program(write, make):
        def f(x):
            a = make(out)
            write(a, x)
            return a * 1.0

        return f

    for write in (
        lambda a, x: np.add(x, 1.0, out=a),
        lambda a, x: np.copyto(a, x),
        lambda a, x: np.put_along_axis(a, np.array([0]), x[:1], 0),
        lambda a, x: a.__iadd__(x),
        lambda a, x: np.add.at(a, [0, 0], x[:2]),
        lambda a, x: np.cumsum(x, out=a),
    ):
        for run in (ft.vmap, lambda f: lambda xs: ft.vjp(f, xs[0])):
            with pytest.raises(ft.MutationError) as error:
                run(program(write, lambda a: a))(XS)
            has_all(message(error), "plain array", "inside the function", "functier.numpy.zeros")
            equal(out, np.zeros(3))
        wanted = np.stack([program(write, np.copy)(x) for x in XS])
        equal(ft.vmap(program(write, fnp.array))(XS), wanted)
        equal(ft.vjp(program(write, fnp.array), X)[0], wanted[0])


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
