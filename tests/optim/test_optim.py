"""functier.optim: the steps are those of the formulas, under every transform, or are refused."""

from functools import partial

import numpy as np
import pytest

import functier as ft
from functier import nn, optim
from support.basics import alike, close, equal, raises

W = np.array([1.0, -2.0, 0.5])
SCALE = np.array([1.0, 2.0, 3.0])
RNG = np.random.default_rng(3)
ADAM = {"learning_rate": 0.1, "b1": 0.5, "b2": 0.7, "eps": 0.1}


def loss(w):
    return np.sum(SCALE * w**2)


def fit(step, w, state, steps=3, **numbers):
    """The parameters after some steps down the gradient of `loss`."""
    for _ in range(steps):
        w, state = step(w, ft.grad(loss)(w), state, **numbers)
    return w


def adam_fit(w, steps=3, **numbers):
    return fit(optim.adam, w, optim.adam_init(w), steps, **numbers)


def momentum_fit(w, steps=3, **numbers):
    return fit(optim.momentum, w, optim.momentum_init(w), steps, **numbers)


# ---- values ----


@pytest.mark.parametrize(
    ("run", "numbers", "expected"),
    [
        (adam_fit, {"learning_rate": 0.1},
         [0.70158627294603, -1.70062339166364, 0.204871250440865]),
        (adam_fit, ADAM, [0.718309222028993, -1.70533876228918, 0.219542023181037]),
        (momentum_fit, {"learning_rate": 0.05}, [0.486, -0.124, -0.139]),
        (momentum_fit, {"learning_rate": 0.05, "nesterov": True},
         [0.327321, 0.216704, -0.1740865]),
        (momentum_fit, {"learning_rate": 0.05, "momentum": 0.0}, [0.729, -1.024, 0.1715]),
    ],
)  # fmt: skip
def test_three_steps_are_those_of_pytorch(run, numbers, expected):
    """PyTorch's values for the same loss, from where it is installed."""
    close(run(W, **numbers), np.array(expected), 2e-14)


def by_hand(w, rate, b1, b2, eps, steps):
    """Adam, written as in the paper."""
    m = v = np.zeros_like(w)
    for t in range(1, steps + 1):
        g = 2 * SCALE * w
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        w = w - rate * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    return w


FAULTS = [
    {"b1": 0.501}, {"b2": 0.701}, {"eps": 0.101}, {"learning_rate": 0.1001}, {"b1": 0.7, "b2": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("fault", [{}, *FAULTS], ids=str)
def test_adam_is_the_formula_by_hand(fault):
    found = adam_fit(W, 7, **{**ADAM, **fault})
    wanted = by_hand(W, *ADAM.values(), 7)

    assert np.allclose(found, wanted, rtol=1e-13) is not bool(fault)


def test_the_state_is_that_of_the_formula():
    g = np.array([2.0, -4.0, 0.0])
    params, state = optim.adam(W, g, optim.adam_init(W), b1=0.75, b2=0.5)
    assert state.step == 1
    close(state.mean, 0.25 * g)
    close(state.square, 0.5 * g * g)
    close(params, W - 1e-3 * np.sign(g), 1e-9)
    params, velocity = optim.momentum(W, g, W, 0.5, momentum=0.25)
    close(velocity, 0.25 * W + g)
    close(params, W - 0.5 * velocity)


def test_nothing_is_changed_in_place():
    w, g = W.copy(), W * 2
    state = optim.adam_init(w)
    kept = state.mean, state.square
    optim.adam(w, g, state)
    velocity = optim.momentum_init(w)
    optim.momentum(w, g, velocity, 0.1)
    for given, expected in ((w, W), (g, 2 * W), (velocity, 0 * W), *((x, 0 * W) for x in kept)):
        equal(given, expected)


def test_complex_parameters_go_down():
    """The gradient of a real function of z is the direction in which it grows; see `grad`."""
    z = np.array([1.0 + 2.0j, -1.0j])
    goal = np.array([0.5 - 0.5j, 2.0])
    value = lambda z: np.sum(np.abs(z - goal) ** 2)  # noqa: E731
    state, velocity, other = optim.adam_init(z), optim.momentum_init(z), z
    assert state.square.dtype == float
    for _ in range(400):
        z, state = optim.adam(z, ft.grad(value)(z), state, learning_rate=0.05)
        other, velocity = optim.momentum(other, ft.grad(value)(other), velocity, 0.05)
    assert np.max(np.abs(z - goal)) < 1e-3 > np.max(np.abs(other - goal))
    assert state.square.dtype == float


# ---- pytrees and dtypes ----


def test_trees_are_stepped_leaf_by_leaf():
    params = {"b": np.float64(2.0), "a": [W, (0.5,)]}
    grads = {"a": [W**2, (3,)], "b": 1.0}
    state = optim.adam_init(params)
    for _ in range(2):
        params, state = optim.adam(params, grads, state, **ADAM)
    assert list(params) == ["b", "a"]
    w, own = W, optim.adam_init(W)
    for _ in range(2):
        w, own = optim.adam(w, W**2, own, **ADAM)
    close(params["a"][0], w)
    assert isinstance(params["a"][1], tuple)
    alike(optim.momentum({}, {}, {}, 0.1), ({}, {}))


def test_modules_are_parameters():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    xs = RNG.normal(size=(20, 2))
    error = lambda model: np.mean((model(xs)[:, 0] - np.sin(xs[:, 0])) ** 2)  # noqa: E731
    state, first = optim.adam_init(model), error(model)
    for _ in range(60):
        model, state = optim.adam(model, ft.grad(error)(model), state, learning_rate=0.05)
    assert isinstance(model, nn.Sequential)
    assert error(model) < first / 3


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.longdouble])
@pytest.mark.parametrize("rate", [0.1, np.float64(0.1), np.array(0.1)], ids=repr)
def test_dtypes_are_kept(dtype, rate):
    params = [W.astype(dtype), dtype(2.0)]
    grads = [W, 1.0]
    real = np.finfo(dtype).dtype
    state = optim.adam_init(params)
    for _ in range(2):
        params, state = optim.adam(params, grads, state, rate, np.float64(0.9), eps=1e-3)
    assert {x.dtype for x in (*params, *state.mean)} == {np.dtype(dtype)}
    assert {x.dtype for x in state.square} == {real}
    params, velocity = optim.momentum(
        params, grads, optim.momentum_init(params), rate, np.float64(0.9), nesterov=True
    )
    assert {x.dtype for x in (*params, *velocity)} == {np.dtype(dtype)}


def test_the_dtype_is_kept_under_a_derivative_by_the_learning_rate():
    w = W.astype(np.float32)

    def after(rate):
        state = optim.adam_init(w)
        stepped, state = optim.adam(w, w, state, rate)
        moved, velocity = optim.momentum(w, w, optim.momentum_init(w), rate)
        assert {x.dtype for x in (stepped, state.mean, state.square, moved, velocity)} == {w.dtype}
        return np.sum(stepped) + np.sum(moved)

    assert ft.grad(after)(0.1).dtype == float


# ---- transforms ----


def steps(kind, nesterov=False):
    """A function of everything a fit depends on: parameters, and two numbers."""

    def run(w, rate, number):
        if kind == "adam":
            return adam_fit(w, learning_rate=rate, b1=number, b2=0.7 + 0.1 * number, eps=0.1)
        return momentum_fit(w, learning_rate=rate, momentum=number, nesterov=nesterov)

    return run


RUNS = [steps("adam"), steps("momentum"), steps("momentum", True)]
IDS = ["adam", "momentum", "nesterov"]


@pytest.mark.parametrize("run", RUNS, ids=IDS)
def test_an_ensemble_is_a_loop(run):
    ws, rates, numbers = RNG.normal(size=(4, 3)), RNG.uniform(0, 0.2, 4), RNG.uniform(0, 0.9, 4)
    close(
        ft.vmap(run)(ws, rates, numbers), np.stack([run(*one) for one in zip(ws, rates, numbers)])
    )
    close(ft.vmap(run, (0, None, None))(ws, 0.1, 0.5), np.stack([run(w, 0.1, 0.5) for w in ws]))


def test_states_of_an_ensemble_are_made_and_passed_by_vmap():
    params = {"w": RNG.normal(size=(4, 3)), "b": RNG.normal(size=4)}
    state = ft.vmap(optim.adam_init)(params)
    own = [{k: v[i] for k, v in params.items()} for i in range(4)]
    states = [optim.adam_init(p) for p in own]
    for _ in range(2):
        params, state = ft.vmap(optim.adam)(params, params, state)
        pairs = [optim.adam(p, p, s) for p, s in zip(own, states)]
        own, states = [p for p, _ in pairs], [s for _, s in pairs]
    equal(state.step, np.full(4, 2))
    for name in params:
        close(params[name], np.stack([p[name] for p in own]))
        close(state.square[name], np.stack([s.square[name] for s in states]))


@pytest.mark.parametrize("run", RUNS, ids=IDS)
def test_derivatives_through_steps_are_those_of_differences(run):
    """By the first parameters and by the numbers; forward, reverse and second order."""
    args = W, 0.1, 0.6
    value = lambda *args: np.sum(run(*args) ** 2)  # noqa: E731
    ft.testing.check_grads(value, args, order=2)


def test_a_loop_and_a_scan_are_a_python_loop():
    def body(i, carry):
        w, state = carry
        return optim.adam(w, ft.grad(loss)(w), state, **ADAM)

    start = W, optim.adam_init(W)
    wanted = adam_fit(W, 5, **ADAM)
    found, state = ft.fori_loop(0, 5, body, start)
    close(found, wanted)
    assert state.step == 5
    (found, state), path = ft.scan(lambda c, i: (body(i, c), c[0]), start, np.arange(5))
    close(found, wanted)
    equal(path[0], W)
    many = ft.vmap(lambda n: ft.fori_loop(0, n, body, start)[0])(np.array([5, 0, 2]))
    close(many, np.stack([wanted, W, adam_fit(W, 2, **ADAM)]))
    by_rate = ft.grad(lambda r: loss(ft.fori_loop(
        0, 3, lambda i, c: optim.adam(c[0], ft.grad(loss)(c[0]), c[1], r), start)[0]
    ))  # fmt: skip
    close(by_rate(0.1), ft.grad(lambda r: loss(adam_fit(W, learning_rate=r)))(0.1))


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_gradient_of_zero_has_a_derivative(weight):
    """The root of the mean square has none at zero, but the step has: ``1 / eps``."""

    def after(x):
        params = np.stack([x, x + 1.0])
        state = optim.adam_init(params)
        for _ in range(3):
            slopes = np.stack([params[0] * 2.0, weight * params[1]])
            params, state = optim.adam(params, slopes, state, 1e-2, eps=0.1)
        return np.sum(params)

    step = 1e-6
    difference = (after(step) - after(-step)) / (2 * step)
    slope, (_, tangent) = ft.grad(after)(0.0), ft.jvp(after, (0.0,), (1.0,))
    assert 0.5 < difference < 1.9
    np.testing.assert_allclose([slope, tangent], difference, rtol=1e-4)


# ---- refusals ----

ADAMS = partial(optim.adam, state=optim.adam_init({"w": W}))
PARAMS = {"w": W}


@pytest.mark.parametrize(
    ("call", "kind", "parts"),
    [
        (lambda: optim.adam_init({"n": np.arange(3)}), TypeError,
         "adam_init: params['n'] has dtype int64; write params['n'].astype(float)"),
        (lambda: optim.momentum_init([1]), TypeError,
         "momentum_init: params[0] has dtype int64; write float(params[0])"),
        (lambda: optim.adam_init({"a": "text"}), TypeError, "params['a'] is a str, not an array"),
        (lambda: optim.adam_init(np.array([True])), TypeError, "params has dtype bool"),
        (lambda: optim.adam_init(np.ma.array([1.0])), TypeError,
         "params is a numpy.ma.MaskedArray"),
        (lambda: ADAMS({"w": np.arange(3)}, PARAMS), TypeError, "adam: params['w'] has dtype"),
        (lambda: ADAMS(PARAMS, {"v": W}), ValueError,
         "adam: grads has the structure {'v': float64[3]}; params has {'w': float64[3]}"),
        (lambda: ADAMS(PARAMS, W), ValueError, "grads has the structure"),
        (lambda: ADAMS({"v": W}, {"v": W}), ValueError,
         "adam: state.mean has the structure; pass adam_init(params)"),
        (lambda: ADAMS(PARAMS, {"w": W[:, None]}), ValueError,
         "grads['w'] has shape (3, 1), and params['w'] has shape (3,)"),
        (lambda: ADAMS(PARAMS, {"w": 1.0}), ValueError, "grads['w'] has shape ()"),
        (lambda: ADAMS(PARAMS, {"w": "text"}), ValueError, "grads['w'] is a str"),
        (lambda: ADAMS(PARAMS, {"w": W + 0j}), TypeError, "grads['w'] has dtype complex128"),
        (lambda: ADAMS({"w": np.stack([W, W])}, {"w": np.stack([W, W])}), ValueError,
         "state.mean['w'] has shape (3,); in_dims of params"),
        (lambda: optim.adam(W, W, {}), TypeError, "state is a dict; pass adam_init(params)"),
        (lambda: optim.adam(1.0, 1.0, (0.0, 0.0, 0.0)), TypeError,
         "state.step has dtype float64; pass one integer"),
        (lambda: optim.adam(W, W, optim.momentum_init(W)), TypeError, "state is a ndarray"),
        (lambda: optim.momentum(W, W, optim.adam_init(W), 0.1), ValueError,
         "momentum: state has the structure AdamState; pass momentum_init(params)"),
        (lambda: ADAMS(PARAMS, PARAMS, learning_rate=lambda i: 0.1), TypeError,
         "adam: learning_rate is a function; its value at this step"),
        (lambda: ADAMS(PARAMS, PARAMS, learning_rate=W), TypeError,
         "learning_rate has dtype float64 and shape (3,); call the step in vmap"),
        (lambda: ADAMS(PARAMS, PARAMS, learning_rate="fast"), TypeError, "learning_rate is a str"),
        (lambda: ADAMS(PARAMS, PARAMS, b1=0.9j), TypeError, "b1 has dtype complex128"),
        (lambda: ADAMS(PARAMS, PARAMS, b1=1.0), ValueError, "b1=1.0; from 0 to less than 1"),
        (lambda: ADAMS(PARAMS, PARAMS, b2=-0.1), ValueError, "b2=-0.1"),
        (lambda: optim.momentum(W, W, W, None), TypeError, "learning_rate is a NoneType"),
        (lambda: optim.adam(W.astype("f2"), W, optim.adam_init(W.astype("f2"))), ValueError,
         "eps=1e-08 is 0 in the dtype of params, float16; such as 6e-05"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(call, kind, parts):
    raises(kind, call, *parts.split("; "))


def test_the_state_of_an_ensemble_is_refused_outside_of_vmap():
    """Its steps are counted by an array, which would broadcast with the wrong axis."""
    state = ft.vmap(optim.adam_init)(np.ones((3, 3)))
    with pytest.raises(TypeError, match=r"state\.step has dtype int64 and shape \(3,\)"):
        optim.adam(np.ones((3, 3)), np.ones((3, 3)), state)
