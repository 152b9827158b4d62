"""Extrema and choices in a program: cotangents and orders in memory as in eager mode."""

import warnings

import numpy as np
import pytest

import functier as ft
from faults.planted import programs as faulty
from support.bits import difference


def extrema():
    """Arrays in several orders, with and without ties and NaNs, and the cotangents of extrema."""
    draws = np.random.default_rng(0)
    for shape in ((), (5,), (7, 9), (2, 3, 4)):
        for dtype in (float, np.float32, complex):
            for most in (2, 1000):
                x = draws.integers(0, most, shape).astype(dtype)
                if most == 1000 and x.size:
                    x.reshape(-1)[0] = np.nan
                for order in (x, x.T, x[..., ::-1] if x.ndim else x):
                    for axis in (None, 0)[: 1 + (x.ndim > 0)]:
                        size = np.shape(np.max(order, axis=axis))
                        yield order, axis, np.asarray(draws.normal(size=size), dtype)[()]


def wrong_extrema():
    """Return the arrays for which a program shares a cotangent in another way than eager mode."""
    found = []
    for x, axis, w in extrema():
        for func in (np.max, np.nanmin):

            def f(x, w, func=func, axis=axis):
                return ft.vjp(lambda x: func(x, axis=axis), x)[1](w)

            with warnings.catch_warnings(action="ignore"):
                expected, actual = f(x, w), ft.trace(f)(x, w)(x, w)
            a, b = np.asarray(expected), np.asarray(actual)
            signs = np.array_equal(np.signbit(a.real), np.signbit(b.real))
            if difference(actual, expected) or a.strides != b.strides or not signs:
                found.append((x.shape, x.dtype, x.strides, axis))
    return found


def test_extrema_share_a_cotangent_alike():
    assert not wrong_extrema()


def test_the_cotangent_of_a_constant_s_extremum():
    x = np.random.default_rng(0).integers(0, 3, (4, 5)) * 1.0

    for axis in (None, 0, -1):
        f = lambda w, axis=axis: ft.vjp(lambda x: np.max(x, axis=axis), x)[1](w)  # noqa: E731
        w = np.max(x, axis=axis) + 0.1
        assert difference(ft.trace(f)(w)(w), f(w)) is None


def test_choices_keep_their_order():
    def f(x):
        return np.where(x > 0, x * 2, 0), np.where(x[..., :1] > 0, x, 0)

    x = np.random.default_rng(0).normal(size=(4, 5, 6))
    for y in (x, x.T, x.transpose(1, 2, 0), x[::2], x.astype(np.float32), x[0, :, 0]):
        for a, b in zip(ft.trace(f)(y)(y), f(y), strict=True):
            assert difference(a, b) is None
            assert a.strides == b.strides


# ---- planted faults ----


def test_an_array_in_another_order_is_found(monkeypatch):
    faulty.an_array_in_another_order(monkeypatch)

    with pytest.raises(AssertionError):
        test_choices_keep_their_order()
