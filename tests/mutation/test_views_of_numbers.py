"""A number has no memory: each reshape of it is a new array, also after a method."""

import numpy as np
import pytest

import functier as ft

X = np.arange(9.0).reshape(3, 3) + 0.5
METHODS = {
    "itself": lambda a: a,
    "as its own type": lambda a: a.astype(float),
    "without a copy": lambda a: a.astype(float, copy=False),
    "in rows": lambda a: a.astype(float, order="C"),
    "in columns": lambda a: a.astype(float, "F"),
    "in columns, without a copy": lambda a: a.astype(float, order="F", copy=False),
    "of another type": lambda a: a.astype(np.float32),
    "copied": lambda a: a.copy("F"),
    "conjugated": lambda a: a.conj(),
    "rounded": lambda a: a.round(1),
}
WAYS = {
    "trace": lambda f: ft.trace(f)(X)(X),
    "compile": lambda f: ft.compile(f)(X),
    "jvp": lambda f: ft.jvp(f, (X,), (X,))[0],
    "vjp": lambda f: ft.vjp(f, X)[0],
    "vmap": lambda f: [y[0] for y in ft.vmap(f)(X[None])],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", METHODS)
def test_a_write_to_a_reshaped_number_leaves_the_number(name, way):
    def f(x):
        number = METHODS[name]((x * 1.0)[1, 1])
        first = number.reshape(-1)
        first *= 3.0
        second = number.reshape(-1)
        second += 1.0
        return number, first, second

    for found, expected in zip(WAYS[way](f), f(X), strict=True):
        np.testing.assert_array_equal(found, expected)
