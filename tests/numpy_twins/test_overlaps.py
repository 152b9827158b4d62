"""Writes to views whose windows overlap: an element of the array may be written to twice;
views and copies beside what the net of shared memory calls.
"""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from faults.planted import levels as faulty

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
    faulty.an_overlap_that_nobody_sees(monkeypatch)
    with pytest.raises(AssertionError):
        test_what_overlaps_is_numpys("add.at ...", "windows", 0)


# Views and copies beside what the net of shared memory calls: columns, parts, other dtypes


def test_columns_of_an_array_that_has_no_name_are_no_aliases():
    """They share no element, though each lies between the elements of the other."""

    def f(a):
        x, y = np.copy(a).T
        x[0] = 3.0 * a[0, 1]
        y[1] *= 2.0
        return x * y

    a = np.arange(6.0).reshape(3, 2) + 1.0
    np.testing.assert_array_equal(ft.vmap(f)(np.stack([a, a[::-1]])), [f(a), f(a[::-1])])
    np.testing.assert_array_equal(ft.jvp(f, (a,), (a,))[0], f(a))
    np.testing.assert_allclose(ft.jacrev(f)(a), ft.jacfwd(f)(a))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_parts_of_complex_numbers_do_not_spoil_each_other():
    """Infinities, NaN and the signs of zeros stay where they are, and derivatives pass."""

    def f(np, x):
        z = np.zeros(3, complex)
        z.real = x
        z.imag = np.stack([x[0] * 0 + np.inf, x[1], x[2] * 0 + np.nan])
        w = np.conj(z[:2])
        w.imag += x[:2]
        w.real *= -x[:2]
        return z, w

    x = np.array([0.5, -0.0, 2.0])
    for found in (
        [y[0] for y in ft.vmap(lambda x: f(fnp, x))(np.stack([x, x + 1.0]))],
        ft.jvp(lambda x: f(fnp, x), (x,), (x,))[0],
    ):
        for a, b in zip(found, f(np, x), strict=True):
            np.testing.assert_array_equal(a.view(float), b.view(float))
            np.testing.assert_array_equal(np.signbit(a.view(float)), np.signbit(b.view(float)))

    def g(x):
        z = fnp.zeros(2, complex)
        z.real, z.imag = np.sin(x), x * x
        return np.real(np.sum(z * z * (1.0 + 2.0j)))

    y = np.array([0.3, 0.7])
    step = 1e-6 * np.eye(2)
    slopes = [(g(y + e) - g(y - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(ft.grad(g)(y), slopes, rtol=1e-7)
    np.testing.assert_allclose(ft.jvp(g, (y,), (step[0] * 1e6,))[1], slopes[0], rtol=1e-7)


def test_a_view_of_another_dtype_is_a_copy_that_is_noted():
    """The real parts that `numpy.real_if_close` shows have half the items' size."""

    def f(x, n=3, write=None):
        z = fnp.zeros(n, complex)
        z[:2] = 3.0
        r = fnp.real_if_close(z)
        assert r.dtype == float and r.shape == (n,) and r[0] == 3.0
        if write is not None:
            (z if write else r)[0] = 5.0
        y = x * r[0]
        del r
        z[0] = 7.0
        return y * z[0].real

    for n in (1, 3, 10):
        assert ft.jvp(lambda x: f(x, n), (2.0,), (1.0,)) == (42.0, 21.0)
    for write in (False, True):
        with pytest.raises(ft.MutationError, match="real_if_close"):
            ft.grad(lambda x: f(x, write=write))(2.0)
