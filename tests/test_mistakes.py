"""What people write first, the message it gets, and that following the message is right."""

import functools
import re

import numpy as np
import pytest

import functier as ft
from mistakes import ROWS


def named(f):
    """`f` under the name that messages have to give."""

    @functools.wraps(f)
    def program(x):
        return f(x)

    program.__name__ = program.__qualname__ = "program"
    return program


def total(f):
    @functools.wraps(f)
    def program(x):
        return np.sum(f(x))

    return program


def slope(f, x, t):
    """The derivative in the direction `t` by differences, in plain NumPy."""
    h = 1e-6
    return (np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2 * h)


def gradient(f, x):
    if not x.ndim:
        return np.sum(slope(f, x, 1.0))
    found = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        t = np.zeros(x.shape)
        t[i] = 1.0
        found[i] = np.sum(slope(f, x, t))
    return found


def run(mode, f, xs):
    f = named(f)
    if mode == "vmap":
        return ft.vmap(f)(xs)
    if mode == "grad":
        return ft.grad(total(f))(xs[0])
    if mode == "jvp":
        return ft.jvp(f, (xs[0],), (np.ones_like(xs[0]),))
    return ft.vmap(ft.grad(total(f)))(xs)


def expected(mode, f, xs):
    """What NumPy makes of the wrong program, example by example and by differences."""
    if mode == "vmap":
        return np.stack([np.asarray(f(x)) for x in xs])
    if mode == "grad":
        return gradient(f, xs[0])
    if mode == "jvp":
        return np.asarray(f(xs[0])), slope(f, xs[0], np.ones_like(xs[0]))
    return np.stack([gradient(f, x) for x in xs])


CASES = [(row, mode) for row in ROWS for mode in row.modes]


@pytest.mark.parametrize("row,mode", CASES, ids=[f"{r.remedy}-{m}" for r, m in CASES])
def test_a_mistake_and_its_remedy(row, mode):
    with pytest.raises(row.error) as error:
        run(mode, row.wrong, row.xs)
    text = str(error.value)
    assert re.search(row.pattern, text), text
    assert re.match(r"(vmap|grad|jvp)\(program\) ", text), text
    assert "elem()" not in text

    result = run(mode, row.right, row.xs)

    wanted = expected(mode, row.wrong, row.xs)
    for r, w in zip(*[v if isinstance(v, tuple) else (v,) for v in (result, wanted)], strict=True):
        np.testing.assert_allclose(np.asarray(r), w, rtol=1e-5, atol=1e-7)
