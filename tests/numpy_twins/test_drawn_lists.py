"""Drawn nests of lists, tuples, numbers and tensors: functier.numpy makes NumPy's array of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
import functier.numpy as fnp
from faults.planted import twins as faulty

X = np.array([0.3, -0.7, 1.1])
C = np.array([2.0, 0.5])
NUMBERS = (0, 1, -2.5, 3.25, True, np.float32(1.5), np.int64(4))

CALLS = {
    "array": lambda np, nest: np.array(nest),
    "array of complex": lambda np, nest: np.array(nest, dtype=complex),
    "asarray of float32": lambda np, nest: np.asarray(nest, np.float32),
    "array with axes": lambda np, nest: np.array(nest, ndmin=3),
    "mean": lambda np, nest: np.mean(nest),
    "sum of rows": lambda np, nest: np.sum(nest, axis=-1),
    "dot": lambda np, nest: np.dot(nest, np.ones(np.shape(nest)[-1])),
    "concatenate": lambda np, nest: np.concatenate([np.ravel(nest), [1.0]]),
    "vstack": lambda np, nest: np.vstack(nest),
    "where": lambda np, nest: np.where(np.asarray(nest) > 0.5, nest, -1.0),
    "max": lambda np, nest: np.max(nest, axis=0),
    "shape": lambda np, nest: (*np.shape(nest), np.ndim(nest), np.size(nest)),
}

leaf = st.one_of(st.sampled_from(NUMBERS), st.tuples(st.sampled_from("xc"), st.integers(0, 1)))


@st.composite
def nests(draw):
    """A nest of one shape: its leaves are numbers, or the name and the index of an element."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))

    def nest(rest):
        if not rest:
            return draw(leaf)
        parts = [nest(rest[1:]) for _ in range(rest[0])]
        return ("tuple", parts) if draw(st.booleans()) else ("list", parts)

    return nest(shape)


def fill(nest, x, c):
    """The nest with elements for their names."""
    if isinstance(nest, tuple) and nest[0] in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[nest[0]]([fill(part, x, c) for part in nest[1]])
    return {"x": x, "c": c}[nest[0]][nest[1]] if isinstance(nest, tuple) else nest


def same(found, expected):
    if isinstance(expected, tuple):
        assert found == expected
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def check(call, nest):
    """Under vmap, jvp, and vmap inside jvp: the value and the dtype, and the derivative."""
    expected = CALLS[call](np, fill(nest, X, C))
    varies = not isinstance(expected, tuple)

    def f(x, c):
        return CALLS[call](fnp, fill(nest, x, c))

    if varies:
        same(ft.vmap(f)(np.stack([X, X]), np.stack([C, C]))[1], expected)
        same(ft.jvp(f, (X, C), (X, C))[0], expected)
        both = ft.jvp(lambda c: ft.vmap(lambda x: f(x, c))(X[None]), (C,), (C,))
        same(both[0][0], expected)
        if expected.dtype == float and call != "max":
            step = 1e-6
            wanted = [CALLS[call](np, fill(nest, X + s, C + s)) for s in (step, -step)]
            slope = ft.jvp(f, (X, C), (np.ones(3), np.ones(2)))[1]
            np.testing.assert_allclose(slope, (wanted[0] - wanted[1]) / (2 * step), atol=1e-8)
    else:
        ft.vmap(lambda x: [same(f(x, C), expected), x][1])(X[None])


@settings(max_examples=150, deadline=None)
@given(call=st.sampled_from(sorted(CALLS)), nest=nests())
def test_a_nest_of_lists_is_numpys_array(call, nest):
    check(call, nest)


def test_a_wrong_nest_is_found(monkeypatch):
    """The check fails where rows are put together in another order."""

    faulty.wrong_nest(monkeypatch)
    with pytest.raises(AssertionError):
        check("array", ("list", [("x", 0), ("c", 1), ("x", 1)]))
