"""Answers that all examples of a batch share, and those that they do not."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from faults.planted import levels as faulty
from support.basics import raises
from support.rows import run_each

X = np.array([[1.0, 2.0, 0.5], [3.0, 4.0, 0.25]])


def newton(x):
    """A root by a loop of three steps, with a branch and early returns."""
    if x[0] < 0:
        return x * 0.0
    y = x
    for _ in range(int(np.sum(x > 0))):
        y = 0.5 * (y + x / y)
    return y if y[0] > 0.1 else -y


def masked(x):
    y = x * 2.0
    y[x > 0.1] = np.sin(x[x > 0.1])
    return y + len(x[x > 0.1])


PROGRAMS = {
    "if, for and return": newton,
    "while": lambda x: halved(x),
    "an index": lambda x: x[np.argmax(np.array([0.0, 1.0, 0.0]) + 0 * x)] * x,
    "a Python list": lambda x: [x, x * 2, x * 3][np.sum(x > 0).astype(int) - 1],
    "a mask": masked,
    "a mask of values": lambda x: x[x > 0] * np.arange(1.0, 4.0),
    "nonzero": lambda x: x[np.nonzero(x > 0.1)] * 2.0,
    "flatnonzero": lambda x: x[np.flatnonzero(x > 0.1)] * 2.0,
    "argwhere": lambda x: np.sum(np.argwhere(x > 0)) * x,
    "where": lambda x: x[np.where(x > 0)[0][::-1]],
    "all": lambda x: x if np.all(x > 0) else x * 0.0,
    "an assertion": lambda x: [x, None][bool(np.any(x < 0))] * 2.0,
    "range of a range": lambda x: sum(x * i for i in range(int(x[0] * 0 + 3))),
}


def halved(x):
    count = 0
    while count < np.sum(x > 0):
        x, count = x / 2.0, count + 1
    return x


def loop(f, xs):
    return np.stack([f(x.copy()) for x in xs])


def test_programs_run_as_in_a_loop():
    """Under vmap, vmaps of two axes, vmap of grad and grad of vmap."""

    def test(f):
        np.testing.assert_allclose(ft.vmap(f)(X), loop(f, X))
        deep = np.stack([X, X + 1.0])
        np.testing.assert_allclose(ft.vmap(ft.vmap(f))(deep), [loop(f, xs) for xs in deep])
        slopes = loop(ft.grad(lambda x: np.sum(f(x))), X)
        np.testing.assert_allclose(ft.vmap(ft.grad(lambda x: np.sum(f(x))))(X), slopes)
        np.testing.assert_allclose(ft.grad(lambda xs: np.sum(ft.vmap(f)(xs)))(X), slopes)
        np.testing.assert_allclose(ft.jacfwd(ft.vmap(f))(X)[0, :, 0], ft.jacfwd(f)(X[0]))

    run_each(PROGRAMS, test)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(
        st.sampled_from([0.0, -0.0, 1.0, 1.5, -1.5, 2.0, np.nan, np.inf, 1e300]),
        min_size=1, max_size=3,
    ),
    how=st.sampled_from([bool, int, float, complex]),
    same=st.booleans(),
)  # fmt: skip
def test_an_answer_is_that_of_each_example(values, how, same):
    """It is Python's of each, or it is refused; one that NumPy refuses raises as NumPy does."""
    xs = np.array([values[0]] * 3 if same else values)
    check(xs, how)


def check(xs, how):
    found = []

    def f(x):
        found.append(how(x))
        return x

    def each(x):
        try:
            return repr(how(x))
        except (ValueError, OverflowError) as error:
            return type(error)

    wanted = [each(x) for x in xs]
    try:
        ft.vmap(f)(xs)
    except (ft.DataDependentError, ft.ConversionError):
        assert len(set(wanted)) > 1 or (how in (float, complex) and len(set(xs.view(int))) > 1)
    except (ValueError, OverflowError) as error:
        assert type(error) in wanted
    else:
        assert [repr(found[0])] * len(xs) == wanted


def test_the_first_answer_for_all_is_found(monkeypatch):
    """The check fails where one example speaks for those that differ."""
    faulty.the_first_answer_for_all(monkeypatch)
    raises(AssertionError, lambda: check(np.array([1.0, 0.0]), bool))


def test_examples_that_differ_are_refused():
    rows = {
        "if": (lambda x: x if x[0] > 2 else -x, "numpy.where"),
        "int": (lambda x: x * int(x[0]), "from example to example"),
        "index": (lambda x: [x, x][np.argmax(x * (x[0] - 2))], "from example to example"),
        "a while loop": (lambda x: shrink(x), "functier.while_loop"),
        "nonzero": (lambda x: x[np.nonzero(x > 2)[0]], "depends on the data"),
    }

    def test(row):
        f, text = row
        with pytest.raises(ft.DataDependentError, match=text):
            ft.vmap(f)(X)

    run_each(rows, test)


def shrink(x):
    while x[0] > 1.5:
        x = x / 2.0
    return x


def test_an_empty_batch_has_no_answer():
    with pytest.raises(ft.DataDependentError, match="no example"):
        ft.vmap(lambda x: 1.0 if x[0] > 0 else 2.0)(np.zeros((0, 2)))
    with pytest.raises(ft.DataDependentError):
        ft.vmap(lambda x: x[np.nonzero(x > 0)[0]])(np.zeros((0, 2)))


def test_outer_examples_have_to_agree_as_well():
    """The answer belongs to all examples of all levels of the value."""
    f = lambda y: lambda x: x if y > 0 else -x  # noqa: E731
    both = lambda ys: ft.vmap(lambda y: ft.vmap(f(y))(X))(ys)  # noqa: E731
    np.testing.assert_array_equal(both(np.array([1.0, 2.0])), [X, X])
    raises(ft.DataDependentError, lambda: both(np.array([1.0, -1.0])))
    with pytest.raises(ft.DataDependentError):
        ft.vmap(lambda y: ft.vmap(lambda x: x if x[0] * y > 0 else -x)(X))(np.array([1.0, -1.0]))


def test_a_float_loses_no_derivative():
    """`float` answers only where no level has a derivative of the value."""
    f = lambda x: float(x[0] * 0 + 2.0) * x  # noqa: E731
    np.testing.assert_array_equal(ft.vmap(f)(X), 2.0 * X)
    for run in (
        lambda: ft.grad(lambda xs: np.sum(ft.vmap(f)(xs)))(X),
        lambda: ft.vmap(ft.grad(lambda x: np.sum(f(x))))(X),
        lambda: ft.jvp(ft.vmap(f), (X,), (X,)),
        lambda: ft.linearize(ft.vmap(f), X)[1](X),
    ):
        raises(ft.ConversionError, run)
    raises(ft.ConversionError, lambda: ft.vmap(lambda x: float(x[0]))(X))


def test_an_array_of_several_elements_has_no_truth():
    raises(ValueError, lambda: ft.vmap(lambda x: x if x > 0 else -x)(X), "ambiguous")
    raises(TypeError, lambda: ft.vmap(lambda x: operator.index(x[0]))(X * 0))


def test_the_text_of_a_whole_number_is_an_answer():
    """It may be part of a name, by which code looks something up."""
    table = {"k1": 10.0, "k2": 20.0}
    f = lambda x: x * table.get(f"k{x.astype(int)}", 0.0)  # noqa: E731
    np.testing.assert_array_equal(ft.vmap(f)(np.array([1.0, 1.5])), [10.0, 15.0])
    np.testing.assert_array_equal(ft.vmap(f, branches="split")(np.array([1.0, 2.0])), [10.0, 40.0])
    raises(ft.ConversionError, lambda: ft.vmap(f)(np.array([1.0, 2.0])), "format(x)")
    texts = []
    ft.vmap(lambda x: [x, texts.append(f"{x}")][0])(X)  # of other values a text to look at
    assert "examples in vmap(" in texts[0]
