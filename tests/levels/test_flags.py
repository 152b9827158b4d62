"""``x.flags``: how one example lies in memory, as NumPy has it."""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp

X = np.arange(12.0).reshape(3, 4)

FORMS = {
    "itself": lambda np, x: x,
    "transposed": lambda np, x: x.T,
    "a column": lambda np, x: x[:, 1],
    "a row": lambda np, x: x[1],
    "steps": lambda np, x: x[::2, ::2],
    "reversed": lambda np, x: x[::-1],
    "computed": lambda np, x: x.T * 2.0,
    "a copy": lambda np, x: x.T.copy(),
    "three axes": lambda np, x: np.swapaxes(np.reshape(x, (2, 3, 2)), 0, 2),
    "one row": lambda np, x: x[:1],
    "a number": lambda np, x: x[1, 2],
    "made": lambda np, x: np.zeros((2, 3), order="F") + x[0, 0] * 0,
    "written": lambda np, x: written(np, x),
    "broadcast": lambda np, x: np.broadcast_to(x[0], (3, 4)),
}
NAMES = ("c_contiguous", "f_contiguous", "contiguous", "forc", "fnc", "aligned", "writeable")
KEYS = ("C_CONTIGUOUS", "F_CONTIGUOUS", "C", "F", "WRITEABLE", "W", "ALIGNED")


def written(np, x):
    y = np.zeros((3, 4))
    y[1:] = x[1:]
    return y.T[1:]


def flags_of(x):
    return [getattr(x.flags, n) for n in NAMES] + [x.flags[k] for k in KEYS]


@pytest.mark.parametrize("name", FORMS)
def test_flags_are_those_of_numpy(name):
    wanted, found = flags_of(FORMS[name](np, X.copy())), []

    def f(x):
        found.append(flags_of(FORMS[name](fnp, x)))
        return np.sum(x)

    ft.grad(f)(X)
    ft.jvp(f, (X,), (X,))
    ft.vmap(f)(np.stack([X, X]))
    ft.vmap(ft.grad(f))(np.stack([X, X]))
    assert found == [wanted] * 4


def test_a_guard_against_writes_is_let_be_and_others_are_refused():
    def f(x):
        y = x * 2.0
        y.flags.writeable = False
        y.flags["WRITEABLE"] = False
        return np.sum(y)

    assert ft.grad(f)(X).tolist() == (X * 0 + 2).tolist()
    for write in ("owndata", "num"):
        with pytest.raises(AttributeError, match=r"x\.flags.*x\.copy\(\)"):
            ft.grad(lambda x, write=write: getattr(x.flags, write))(X)

    def g(x):
        x.flags.writeable = True

    with pytest.raises(ft.UnsupportedError, match=r"x\.copy\(\)"):
        ft.grad(g)(X)
