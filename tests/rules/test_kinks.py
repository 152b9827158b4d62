"""Every row of the tables of `design/0009-kinks-and-nans.md`, in both modes and by series."""

import re
from pathlib import Path

import numpy as np
import pytest

import functier as ft
from support import silent

NOTE = Path(__file__).resolve().parents[2] / "design" / "0009-kinks-and-nans.md"
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|", NOTE.read_text(), re.M)

NOT_BY_SERIES = {"np.arccos(np.clip(x, -1.0, 1.0))", "np.array([0.0, 2.0]) * np.cbrt(x)"}
"""Rows of which `jet` has no number: it does not record where a series moves."""


def test_the_tables_are_read():
    assert len(ROWS) == NOTE.read_text().count("\n| `") > 40


@pytest.mark.parametrize(("expression", "at", "derivative"), ROWS, ids=lambda text: text[:40])
def test_row(expression, at, derivative):
    x, expected = eval(at, {"np": np}), eval(derivative, {"np": np})

    def f(x):
        return np.sum(eval(expression, {"np": np, "x": x}))

    with silent():
        backward = ft.grad(f)(x)
        forward, recorded, series = [np.zeros_like(np.asarray(x)) for _ in range(3)]
        push = ft.linearize(f, x)[1]
        for i in np.ndindex(np.shape(x)):
            direction = np.zeros_like(np.asarray(x))
            direction[i] = 1.0
            forward[i] = ft.jvp(f, (x,), (direction[()],))[1]
            recorded[i] = push(direction[()])
            terms = [direction[()], np.zeros_like(direction)[()]]
            series[i] = ft.jet(f, (x,), (terms,))[1][0]
    np.testing.assert_allclose(backward, expected, rtol=1e-14)
    np.testing.assert_allclose(forward, expected, rtol=1e-14)
    np.testing.assert_allclose(recorded, expected, rtol=1e-14)
    if expression in NOT_BY_SERIES:
        assert np.any(np.isnan(series))
    else:
        np.testing.assert_allclose(series, expected, rtol=1e-14)
