"""Every row of the tables of `design/0009-kinks-and-nans.md`, in both modes."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import functier as ft

NOTE = Path(__file__).resolve().parents[2] / "design" / "0009-kinks-and-nans.md"
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|", NOTE.read_text(), re.M)


def test_the_tables_are_read():
    assert len(ROWS) == NOTE.read_text().count("\n| `") > 40


@pytest.mark.parametrize(("expression", "at", "derivative"), ROWS, ids=lambda text: text[:40])
def test_row(expression, at, derivative):
    x, expected = eval(at, {"np": np}), eval(derivative, {"np": np})

    def f(x):
        return np.sum(eval(expression, {"np": np, "x": x}))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        backward = ft.grad(f)(x)
        forward, recorded = np.zeros_like(np.asarray(x)), np.zeros_like(np.asarray(x))
        push = ft.linearize(f, x)[1]
        for i in np.ndindex(np.shape(x)):
            direction = np.zeros_like(np.asarray(x))
            direction[i] = 1.0
            forward[i] = ft.jvp(f, (x,), (direction[()],))[1]
            recorded[i] = push(direction[()])
    np.testing.assert_allclose(backward, expected, rtol=1e-14)
    np.testing.assert_allclose(forward, expected, rtol=1e-14)
    np.testing.assert_allclose(recorded, expected, rtol=1e-14)
