"""Writes to views whose windows overlap: an element of the array may be written to twice."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp

X = np.array([[1.0, 2.0], [3.0, 4.0]])
WRITES = {
    "add.at ...": lambda v, x: np.add.at(v, ..., x),
    "add.at ()": lambda v, x: np.add.at(v, (), x),
    "add.at a column": lambda v, x: np.add.at(v, (slice(None), 0), x[0]),
    "add.at backwards": lambda v, x: np.add.at(v, (slice(None), slice(None, None, -1)), x),
    "subtract.at": lambda v, x: np.subtract.at(v, slice(None), x),
    "multiply.at": lambda v, x: np.multiply.at(v, ..., x),
    "set": lambda v, x: v.__setitem__(..., x),
    "set backwards": lambda v, x: v[::-1].__setitem__(..., x),
    "add": lambda v, x: v.__iadd__(x),
    "subtract": lambda v, x: v.__isub__(x),
    "multiply": lambda v, x: v.__imul__(x + 1),
    "add to a row": lambda v, x: v[0].__iadd__(x[0]),
    "copyto": lambda v, x: np.copyto(v, x),
    "out": lambda v, x: np.add(v, x, out=v),
}
VIEWS = {
    "windows": lambda m, y: m.lib.stride_tricks.as_strided(y, (2, 2), (8, 8)),
    "one element": lambda m, y: m.lib.stride_tricks.as_strided(y, (2, 2), (0, 8)),
    "apart": lambda m, y: m.lib.stride_tricks.as_strided(y, (2, 2), (16, 8)),
}


def programs(write, view, start):
    def made(m):
        def f(x):
            y = m.ones(4) if start else m.zeros(4)
            WRITES[write](VIEWS[view](m, y), x)
            return y * 1

        return f

    return made(np), made(fnp)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("start", [0, 1])
def test_what_overlaps_is_numpys(write, view, start):
    plain, f = programs(write, view, start)
    wanted = plain(X)

    assert np.array_equal(f(X), wanted)
    assert np.array_equal(ft.vmap(f)(np.stack([X, X]))[1], wanted)
    assert np.array_equal(ft.vjp(f, X)[0], wanted)
    assert np.array_equal(ft.trace(f)(X)(X), wanted)
    step = 1e-6
    for i in np.ndindex(X.shape):
        e = np.zeros_like(X)
        e[i] = 1.0
        slope = (plain(X + step * e) - plain(X - step * e)) / (2 * step)
        assert np.allclose(ft.jvp(f, (X,), (e,))[1], slope, atol=1e-7)
        assert np.allclose(ft.jacrev(f)(X)[:, i[0], i[1]], slope, atol=1e-7)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_machine_code_does_the_same(write, view):
    pytest.importorskip("llvmlite")
    plain, f = programs(write, view, 1)
    compiled = ft.compile(f, backend="llvm", warm=True)
    for x in (X, X + 1):
        assert np.allclose(compiled(x), plain(x), rtol=1e-14)


def test_an_overlap_that_nobody_sees_is_found(monkeypatch):
    monkeypatch.setattr("functier._mutation.functions.may_meet", lambda *form: False)
    with pytest.raises(AssertionError):
        test_what_overlaps_is_numpys("add.at ...", "windows", 0)
