"""Writes by ``x.flat`` to an array without axes: its one element, where the index has it."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp

INDICES = {
    "nothing, by a mask": np.array([False]),
    "the element, by a mask": np.array([True]),
    "no place": np.array([], int),
    "one place": np.array([0]),
    "one place twice": np.array([0, 0]),
    "all": slice(None),
    "an empty slice": slice(0, 0),
    "a number": 0,
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("several", [False, True])
def test_a_write_to_an_array_without_axes_is_numpys(index, several):
    def f(x, xp):
        out = xp.zeros_like(x, dtype=float)
        values = xp.stack([x, 3.0 * x]) if several and np.ndim(index) else x
        out.flat[index] = values
        return out * 2.0

    expected = f(np.float64(0.7), np)
    value, tangent = ft.jvp(lambda x: f(x, fnp), (0.7,), (1.0,))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(tangent, expected / 0.7)
    np.testing.assert_allclose(ft.grad(lambda x: np.sum(f(x, fnp)))(0.7), expected / 0.7)
    rows = ft.vmap(lambda x: f(x, fnp))(np.array([0.7, 1.4]))
    np.testing.assert_allclose(rows, [expected, 2 * expected])
