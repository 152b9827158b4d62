"""The order in memory of what methods give: it decides whether a later reshape is a view;
the flags.
"""

import numpy as np
import pytest

import functier as ft
from support.arranged import ORDERS, TRANSFORMS, X


def test_writes_through_a_reshaped_copy():
    """`x.T.copy()` lies in rows, unlike `np.copy(x.T)`, so the reshape is a view of it."""

    def f(x):
        a = x.T.copy()
        v = a[:2].reshape(6)
        v *= 2
        return np.sum(a * a.sum(0))

    x = X[0, :, :3]
    for run in TRANSFORMS.values():
        np.testing.assert_allclose(np.ravel(run(f, x)), f(x))
    np.testing.assert_array_equal(ft.trace(f)(x)(x), f(x))


@pytest.mark.parametrize("order", "CFAK")
def test_a_copy_in_a_program_has_the_order_of_numpy(order):
    for arrange in ORDERS.values():
        f = lambda x, arrange=arrange: arrange(x * 1).copy(order)  # noqa: E731
        assert ft.trace(f)(X)(X).strides == f(X).strides


# ---- ``x.flags``: how one example lies in memory, as NumPy has it ----


X_FLAGS = np.arange(12.0).reshape(3, 4)


def test_a_guard_against_writes_is_let_be_and_others_are_refused():
    def f(x):
        y = x * 2.0
        y.flags.writeable = False
        y.flags["WRITEABLE"] = False
        return np.sum(y)

    assert ft.grad(f)(X_FLAGS).tolist() == (X_FLAGS * 0 + 2).tolist()
    for write in ("owndata", "num"):
        with pytest.raises(AttributeError, match=r"x\.flags.*x\.copy\(\)"):
            ft.grad(lambda x, write=write: getattr(x.flags, write))(X_FLAGS)

    def g(x):
        x.flags.writeable = True

    with pytest.raises(ft.UnsupportedError, match=r"x\.copy\(\)"):
        ft.grad(g)(X_FLAGS)
