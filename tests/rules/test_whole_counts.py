"""Counts and shifts that are tensors of floats: NumPy cuts their digits off, so they have no
derivative.
"""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from support import close, raises

X = np.array([0.5, -1.0, 2.0, 3.0])
CALLS = {
    "roll": lambda x, n: np.roll(x, n),
    "roll back": lambda x, n: np.roll(x, -n),
    "roll an axis": lambda x, n: np.roll(np.stack([x, x * x]), n, axis=1),
    "roll two axes": lambda x, n: np.roll(np.stack([x, x * x]), np.stack([n, -n]), axis=(0, 1)),
    "repeat": lambda x, n: np.repeat(x, n),
    "a method": lambda x, n: x.repeat(n),
    "repeat an axis": lambda x, n: np.repeat(np.stack([x, x * x]), n, axis=0),
    "repeat plain values": lambda x, n: fnp.repeat([1.0, 2.0], n) * x[0],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n", [2.7, 1.0])
def test_a_count_of_floats(name, n):
    call = CALLS[name]
    if "roll" in name and np.lib.NumpyVersion(np.__version__) < "2.2.0":
        pytest.skip("its roll takes no floats")

    def f(x, n):
        return np.sum(np.sin(np.ravel(call(x, n))) * np.arange(1.0, 1 + np.size(call(x, n))))

    wanted = ft.grad(lambda x: f(x, np.float64(n)))(X)
    on_x, on_n = ft.grad(f, argnums=(0, 1))(X, n)
    close(on_x, wanted)
    assert on_n == 0.0
    value, slope = ft.jvp(f, (X, n), (X, 1.0))
    close(value, f(X, np.float64(n)))
    close(slope, wanted @ X)
    rows = ft.vmap(lambda x: ft.grad(f, argnums=(0, 1))(x, n))(np.stack([X, X]))
    close(rows[0], np.stack([wanted, wanted]))
    same = ft.vmap(call, in_dims=(0, None))(np.stack([X, X]), n)
    close(same, np.stack([call(X, np.float64(n))] * 2))


def test_shifts_that_differ_from_example_to_example():
    def f(x, n):
        return np.sum(np.roll(x, n) * np.arange(4.0))

    shifts = np.array([1.2, -2.9])
    found = ft.vmap(ft.grad(f, argnums=(0, 1)))(np.stack([X, X]), shifts)
    close(found[0], np.stack([np.roll(np.arange(4.0), -1), np.roll(np.arange(4.0), 2)]))
    close(found[1], np.zeros(2))


def test_an_array_of_counts_is_refused_as_by_numpy():
    counts = np.array([1.0, 2.0, 1.0, 0.0])
    raises(TypeError, lambda: np.repeat(X, counts), "Cannot cast")
    with pytest.raises((TypeError, ft.NoRuleError)):
        ft.grad(lambda n: np.sum(fnp.repeat(X, n)))(counts)
