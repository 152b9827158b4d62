"""Functions that are exported in tests, with arguments, and what `compile` makes of them."""

import numpy as np
import optree

import functier as ft

rng = np.random.default_rng(0)
W, X, Y = rng.normal(size=5), rng.normal(size=(37, 5)), rng.random(37)


def loss(w, x, y):
    z = x @ w
    return np.mean(np.log(1 + np.exp(z)) - y * z)


def newton(w, x, y):
    return w - np.linalg.solve(ft.hessian(loss)(w, x, y), ft.grad(loss)(w, x, y))


def residuals(w, x):
    return np.tanh(x @ w) / (1 + np.sum(w * w))


def filtered(signal, a):
    """A recursive filter: each value is that of the step before, and a part of the new one."""

    def step(state, x):
        state = state + a * (x - state)
        return state, state

    return ft.scan(step, np.zeros(3), signal)


def rollout(angle, gains):
    """A pendulum for 1,000 steps under a controller."""

    def step(i, state):
        turn = -gains[0] * state[0] - gains[1] * state[1]
        return np.stack([state[0] + 0.01 * state[1],
                         state[1] + 0.01 * (np.sin(state[0]) + turn)])  # fmt: skip

    return np.sum(ft.fori_loop(0, 1000, step, np.stack([angle, 0.0 * angle])) ** 2)


def mixed(values, weights, chosen, n):
    """Several dtypes, several results, and pytrees."""
    total = np.where(chosen, values["a"] * weights, 0)
    return {"total": np.cumsum(total), "single": values["b"] * np.float32(0.1), "n": n // 3,
            "any": chosen & (weights > 0.5), "input": weights, "same": [n, n]}  # fmt: skip


TABLE = np.array([[np.inf, -1.5, np.nan], [0.1, -0.0, 2.0]])


ONES = np.asfortranarray(np.ones((5, 7)) * rng.normal(size=7))
PLAIN = np.ones((7, 5)).T


def captured(x):
    """Arrays from outside, in another order."""
    return (x @ ONES) @ (PLAIN.T @ x.T), np.sin(ONES[::-1, ::2])


def held(x):
    return np.minimum(x, TABLE), 2 * TABLE[::-1]


NUMBERS = {"a": rng.normal(size=9), "b": rng.normal(size=(2, 3)).astype(np.float32)}
CHOSEN = rng.random(9) > 0.5
CASES = {
    "gradient": (ft.grad(loss), W, X, Y),
    "value": (ft.value_and_grad(loss), W, X, Y),
    "jacobian": (ft.jacrev(residuals), W, X),
    "hessian": (ft.hessian(loss), W, X, Y),
    "newton": (newton, W, X, Y),
    "filtered": (filtered, rng.normal(size=(20, 3)), 0.3),
    "rolled": (ft.grad(rollout, argnums=(0, 1)), np.float64(0.4), np.array([9.0, 2.0])),
    "mixed": (mixed, NUMBERS, rng.random(9), CHOSEN, np.arange(-4, 5)),
    "captured": (captured, rng.normal(size=(4, 5))),
    "held": (held, rng.normal(size=(2, 3))),
    "batch": (ft.vmap(ft.grad(loss), (None, 0, 0)), W, X[:, None], Y[:, None]),
}


def given(args):
    return [np.asarray(x) for x in optree.tree_leaves(tuple(args))]


def expected(func, args):
    """The bytes of each result of the compiled function."""
    results = ft.compile(func, backend="llvm", warm=True)(*args)
    return [np.ascontiguousarray(x).tobytes() for x in optree.tree_leaves(results)]
