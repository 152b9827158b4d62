"""The order in memory of what methods give: it decides whether a later reshape is a view;
the flags.
"""

import numpy as np
import pytest

import functier as ft
import functier.numpy as fnp
from functier._levels.lying import example
from functier._mutation.array import settle

X = np.arange(1.0, 25.0).reshape(2, 3, 4)
ORDERS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T,
    "axes": lambda x: x.transpose(1, 2, 0),
    "backwards": lambda x: x[:, ::-1],
    "steps": lambda x: x[:, ::2],
}
CALLS = {
    "copy": lambda x: x.copy(),
    **{f"copy {order}": lambda x, order=order: x.copy(order) for order in "CFAK"},
    **{f"np.copy {order}": lambda x, order=order: np.copy(x, order) for order in "CFAK"},
    "np.copy": lambda x: np.copy(x),
    "flatten": lambda x: x.flatten(),
    "flatten F": lambda x: x.flatten("F"),
    "ravel": lambda x: x.ravel(),
    "ravel F": lambda x: x.ravel("F"),
    "astype": lambda x: x.astype(np.float32),
    "astype same": lambda x: x.astype(float),
    "conj": lambda x: x.conj(),
    "clip": lambda x: x.clip(2, 9),
    "cumsum": lambda x: x.cumsum(0),
    "repeat": lambda x: x.repeat(2, 0),
    "take": lambda x: x.take([1, 0], 0),
    "take 1": lambda x: x.take([1, 0], 1),
    "take of all": lambda x: np.take(x, [[1, 0], [2, 3]]),
    "sum": lambda x: x.sum(0),
    "max": lambda x: x.max(0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "transpose by an array": lambda x: x.transpose(np.array([1, 2, 0])),
}
TRANSFORMS = {
    "grad": lambda f, x: ft.vjp(f, x)[0],
    "jvp": lambda f, x: ft.jvp(f, (x,), (x,))[0],
    "vmap": lambda f, x: ft.vmap(f)(np.stack([x, x])),
    "vmap of the last": lambda f, x: ft.vmap(f, in_dims=-1)(np.stack([x, x], -1)),
    "vmap of grad": lambda f, x: ft.vmap(lambda x: ft.vjp(f, x)[0])(np.stack([x, x])),
}


def ranks(x):
    """The axes of an array by their steps, without those of one element."""
    steps = [(abs(s), s < 0, i) for i, (s, n) in enumerate(zip(x.strides, x.shape)) if n > 1]
    return [(i, negative) for _, negative, i in sorted(steps)]


def other_orders(calls):
    """Return the calls whose result lies in another order inside a transform than in NumPy."""
    found = []
    for order, arrange in ORDERS.items():
        for name, call in calls.items():
            for transform, run in TRANSFORMS.items():
                wanted = ranks(call(arrange(X)))

                def f(x, call=call, arrange=arrange, seen=None):
                    y = call(arrange(x))
                    seen.append(ranks(example(settle(y))))
                    return y

                seen = []
                run(lambda x, f=f, seen=seen: f(x, seen=seen), X)
                if seen != [wanted]:
                    found.append((name, order, transform, seen, wanted))
    return found


def test_methods_give_the_order_of_numpy():
    assert not other_orders(CALLS)


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


def test_a_copy_that_keeps_the_order_is_found(monkeypatch):
    monkeypatch.setattr(ft.Tensor, "copy", lambda x, order="K": np.copy(x, order))

    assert other_orders({"copy": CALLS["copy"]})


@pytest.mark.parametrize("order", "CFAK")
def test_a_copy_in_a_program_has_the_order_of_numpy(order):
    for arrange in ORDERS.values():
        f = lambda x, arrange=arrange: arrange(x * 1).copy(order)  # noqa: E731
        assert ft.trace(f)(X)(X).strides == f(X).strides


# ---- ``x.flags``: how one example lies in memory, as NumPy has it ----


X_FLAGS = np.arange(12.0).reshape(3, 4)

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
    wanted, found = flags_of(FORMS[name](np, X_FLAGS.copy())), []

    def f(x):
        found.append(flags_of(FORMS[name](fnp, x)))
        return np.sum(x)

    ft.grad(f)(X_FLAGS)
    ft.jvp(f, (X_FLAGS,), (X_FLAGS,))
    ft.vmap(f)(np.stack([X_FLAGS, X_FLAGS]))
    ft.vmap(ft.grad(f))(np.stack([X_FLAGS, X_FLAGS]))
    assert found == [wanted] * 4


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
