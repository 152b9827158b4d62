"""Rows of the sample table to order 3 or 4, against nested jvp; coefficients of functions."""

import numpy as np
import pytest
from coefficients import FUNCTIONS, POWERS, points, rows
from taylor_support import along, nested

import functier as ft
import samples
from support import checks
from support.basics import calls_of
from support.rows import run_each
from support.turns import takes_turn

EQUAL = {"lstsqresiduals-d[3,1],d[3,2]"}
"""Rows of a matrix of rank one, whose other singular values are equal: refused."""


FAMILIES = [
    pytest.param(name, marks=[pytest.mark.slow] * samples.is_of_scipy(name))
    for name in samples.families()
]


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_derivatives_of_nested_jvp(family, rows_of, request, full):
    """To order 4 with ``--full``; else to order 2, and a part to order 3 if slow tests run.

    Nested jvp takes long, most where derivatives are differences: each order has more of them.
    """
    slow = request.config.getoption("--slow") and family != "scipy_special_parameters"
    own = {name: row for name, row in rows_of(family).items() if checks.differentiable(row)}

    def order(row):
        if row.order == 1:
            return 1
        return 4 if full else 3 if slow and takes_turn(f"{row} of order 3", 4) else 2

    run_each(own, lambda row: check_row(row, order(row)))


def check_row(row, order):
    f, points = checks.function_of(row)
    columns = [checks.directions(points, 300 * k) for k in range(order)]
    series = tuple([list(own) for own in zip(*columns)])
    with np.errstate(all="ignore"):
        expected = nested(along(f, points, series), order)
        if str(row) in EQUAL:
            with pytest.raises(np.linalg.LinAlgError, match="have no Taylor series"):
                ft.jet(f, tuple(points), series)
            return
        value, terms = ft.jet(f, tuple(points), series)
    for k, wanted in enumerate(expected):
        for i, x in enumerate(wanted):
            y = value[i] if k == 0 else terms[i][k - 1]
            assert np.shape(x) == np.shape(y) and np.result_type(x) == np.result_type(y)
            close(y, x, checks.precision(row, 1e-8, 1e-2, 0.3))


def close(y, x, tolerance):
    """Compare by the largest element; where nested jvp has no finite number, anything will do."""
    there = np.isfinite(x)
    x, y = np.where(there, x, 0), np.where(there, y, 0)
    assert np.max(np.abs(y - x), initial=0) <= tolerance * max(np.max(np.abs(x), initial=0), 1e-3)


# ---- Coefficients of known functions to order 20, against 50 digits ----


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_coefficients_have_ten_digits(name):
    table = [(x, exact) for other, x, exact in rows() if other == name]
    found = ft.taylor(FUNCTIONS[name][0], points(name), max(POWERS))

    assert [x for x, _ in table] == list(points(name))
    np.testing.assert_allclose(found[list(POWERS)].T, [c for _, c in table], rtol=1e-10)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_calls_grow_by_the_square_of_the_order(name):
    f, x = FUNCTIONS[name][0], points(name)[0]
    few, many = [calls_of(lambda n=n: ft.taylor(f, x, n)) for n in (7, 14)]
    assert many < 6 * few


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
