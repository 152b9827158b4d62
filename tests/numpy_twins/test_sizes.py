"""Places in a given number: those of NumPy, cut or filled, alike for all examples."""

import inspect

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from support.basics import raises

XS = np.array([[[1.0, 0, 2], [0, 0, np.nan]], [[0, 0, 0], [0, 0, 0]], [[1, 1, -1], [2, 3, 4]]])
FUNCTIONS = {
    "nonzero": lambda f, x, **options: np.stack(f(x, **options)),
    "flatnonzero": lambda f, x, **options: f(x, **options)[None],
    "argwhere": lambda f, x, **options: f(x, **options).T,
}
"""The places as rows, one for each axis."""


def expected(name, x, size, fill):
    rows = FUNCTIONS[name](getattr(np, name), x)[:, :size]
    fills = fill if isinstance(fill, tuple) else (fill,) * len(rows)
    padded = [[*row, *[f] * (size - len(row))] for row, f in zip(rows, fills)]
    return np.array(padded, np.intp).reshape(len(rows), size)


def wrong(size, fill):
    """Yield the functions whose places are wrong, plainly or in a batch."""
    for name, rows in FUNCTIONS.items():
        own = getattr(fnp, name)
        call = lambda x: rows(own, x, size=size, fill_value=fill)  # noqa: E731
        right = np.stack([expected(name, x, size, fill or 0) for x in XS])
        batches = ft.vmap(call)(XS), ft.vmap(ft.vmap(call))(XS[None])[0]
        for found in (np.stack([call(x) for x in XS]), *batches):
            if found.dtype != np.intp or not np.array_equal(found, right):
                yield name


@pytest.mark.parametrize("size", [0, 1, 3, 6, 8])
@pytest.mark.parametrize("fill", [None, -1, 6])
def test_places_are_numpys_cut_or_filled(size, fill):
    assert not [*wrong(size, fill)]


def test_a_wrong_place_is_found(monkeypatch):
    kept = np.count_nonzero
    monkeypatch.setattr(np, "count_nonzero", lambda x: kept(x) + 1)
    assert {*wrong(6, -1)} == {*FUNCTIONS}


def test_each_axis_has_its_fill():
    found = ft.vmap(lambda x: np.stack(fnp.nonzero(x, size=7, fill_value=(2, 3))))(XS)
    np.testing.assert_array_equal(found, [expected("nonzero", x, 7, (2, 3)) for x in XS])
    raises(ValueError, lambda: fnp.nonzero(XS[0], size=2, fill_value=(1, 2, 3)))


def test_values_at_the_places_have_gradients_and_programs():
    def largest(x):
        (at,) = fnp.nonzero(x > 1, size=2, fill_value=0)
        return np.sum(x[at] ** 2)

    x = np.array([[0.5, 2.0, 3.0], [0.5, 0.5, 0.5]])
    right = [[0, 4, 6], [2, 0, 0]]
    np.testing.assert_array_equal(ft.vmap(ft.grad(largest))(x), right)
    program = ft.trace(ft.vmap(ft.grad(largest)))(x[::-1])
    np.testing.assert_array_equal(program(x), right)


def test_without_a_size_they_are_numpys():
    assert [a.tolist() for a in fnp.nonzero(XS[0])] == [a.tolist() for a in np.nonzero(XS[0])]
    assert fnp.nonzero(np.zeros((0, 3)), size=2)[1].tolist() == [0, 0]
    assert ft.vmap(lambda x: fnp.flatnonzero([x, 1.0], size=1))(np.array([0.0, 2.0])).tolist() == [
        [1],
        [0],
    ]
    assert [*inspect.signature(fnp.nonzero).parameters] == ["a", "size", "fill_value"]
    raises(TypeError, lambda: fnp.argwhere(XS, fill_value=1), "write size=n, too")
    raises(ValueError, lambda: fnp.nonzero(1.0, size=2), "0d")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_refusal_says_what_works(name):
    refused = lambda x: np.sum(x[getattr(np, name)(x)[0]])  # noqa: E731
    x = np.array([[0.0, 2.0], [3.0, 1.0]])
    raises(ft.DataDependentError, lambda: ft.vmap(refused)(x), f"functier.numpy.{name}(x, size=n)")
    raises(ft.DataDependentError, lambda: ft.vmap(refused)(x), "once for each pattern of zeros")
    if name != "flatnonzero":
        np.testing.assert_array_equal(
            ft.vmap(refused, branches="split")(x), [refused(r) for r in x]
        )
