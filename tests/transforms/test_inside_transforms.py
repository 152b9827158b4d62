"""Tests of transforms that look inside."""

import sys

import numpy as np
import pytest

import functier as ft
from functier._core.root import DISABLED
from functier._transforms.points import Point, Settings
from support.basics import close, equal, no_level_is_left, raises

pytestmark = pytest.mark.inside("Products at one point have no public name.")


# ---- points ----


X, Y = np.array([1.0, -2.0, 0.5]), np.array([[2.0], [3.0]])


def f(x, y):
    return np.outer(np.sin(x), y[:, 0]), np.sum(x) * y


def at(func, *args, mode="auto", holomorphic=False):
    settings = Settings.checked(
        "products", func, tuple(range(len(args))), None, lambda label: func, mode, False,
        holomorphic, False, None, "dead",
    )  # fmt: skip
    return Point(settings, args, {}, sys._getframe())


def dense(rows, n):
    """The Jacobian as a matrix: the leaves of the result, and for each those of the arguments."""
    return np.concatenate([
        np.concatenate([x.reshape(-1, size) for x, size in zip(row, n)], axis=1) for row in rows
    ])  # fmt: skip


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_products_are_those_of_the_jacobian(mode):
    point, whole = at(f, X, Y, mode=mode), dense(ft.jacrev(f, (0, 1))(X, Y), (3, 2))

    assert (point.m, point.n) == whole.shape == (8, 5)
    close(point.forward(np.eye(5)), whole.T)
    close(point.reverse(np.eye(8)), whole)


def test_what_a_result_does_not_depend_on_has_zeros():
    close(at(lambda x, y: 2 * y, X, Y).reverse(np.eye(2)), np.eye(2, 5, 3) * 2)


def test_forward_mode_takes_no_complex_argument():
    raises(TypeError, lambda: at(np.sin, X + 1j), "products(sin)", "args[0]", "complex128")
    close(at(np.sin, X + 1j, mode="rev").n, 3)
    close(at(np.sin, X + 1j, holomorphic=True).reverse(np.eye(3)), np.diag(np.cos(X + 1j)))


# ---- stop ----


X_OF_STOP = np.array([0.5, 1.5, -0.4])


def test_the_context_is_restored_after_an_error():
    def f(x):
        try:
            with ft.no_grad(), ft.enable_grad(), ft.no_grad():
                raise RuntimeError
        except RuntimeError:
            pass
        return np.sum(x * x)

    equal(ft.grad(f)(X_OF_STOP), 2 * X_OF_STOP)
    assert DISABLED.get() == frozenset()
    no_level_is_left()
