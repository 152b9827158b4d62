"""Coefficients of known functions to the order 20, against 50 digits."""

import numpy as np
from coefficients import FUNCTIONS, POWERS, points, rows

import functier as ft
from rows import each


@each("name", sorted(FUNCTIONS))
def test_coefficients_have_ten_digits(name):
    table = [(x, exact) for other, x, exact in rows() if other == name]
    found = ft.taylor(FUNCTIONS[name][0], points(name), max(POWERS))

    assert [x for x, _ in table] == list(points(name))
    np.testing.assert_allclose(found[list(POWERS)].T, [c for _, c in table], rtol=1e-10)


def test_the_table_is_seen():
    """A coefficient that is off by one part in a thousand millions fails."""
    exact = next(c for name, x, c in rows() if name == "sin")
    found = ft.taylor(np.sin, points("sin")[0], max(POWERS))[list(POWERS)]

    assert not np.allclose(found * (1 + 1e-9), exact, rtol=1e-10, atol=0)


def test_roots_and_powers_by_complex_numbers():
    z = np.array([1 + 2j, -0.5 + 0.3j])
    c = ft.taylor(lambda z: np.sqrt(z) ** 3 * np.exp(z), z, 12)
    t = 0.05 - 0.02j

    np.testing.assert_allclose(
        np.polynomial.polynomial.polyval(t, c), np.sqrt(z + t) ** 3 * np.exp(z + t), rtol=1e-12
    )
