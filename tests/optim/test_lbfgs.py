"""lbfgs: it finds minima, as many at once as are asked for, and has derivatives."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from functier import optim
from support.basics import close, raises

A = np.random.default_rng(0).normal(size=(30, 8))
W = np.arange(8.0)
STARTS = {"x": np.array([-1.2, 0.5, 2.0]), "y": np.array([1.0, 3.0, -1.0])}


def rosenbrock(p):
    return (1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2


def squares(w):
    return np.sum((A @ (w - W)) ** 2)


def fitted(loss, params, steps, **options):
    state = optim.lbfgs_init(loss, params, **options)
    for _ in range(steps):
        params, state = optim.lbfgs(loss, params, state)
    return params, state


def test_the_valley_of_rosenbrock_one_by_one_and_at_once():
    run = lambda p: fitted(rosenbrock, p, 60)[0]  # noqa: E731
    batch = ft.vmap(run)(STARTS)
    for i in range(3):
        alone = run({"x": STARTS["x"][i], "y": STARTS["y"][i]})
        close(alone["x"], 1.0)
        close(alone["y"], 1.0)
        close(batch["x"][i], alone["x"])
    looped = ft.fori_loop(
        0, 60, lambda i, c: optim.lbfgs(rosenbrock, *c),
        ({"x": -1.2, "y": 1.0}, optim.lbfgs_init(rosenbrock, {"x": -1.2, "y": 1.0})),
    )[0]  # fmt: skip
    close(looped["x"], 1.0)


@given(memory=st.integers(1, 12))
def test_least_squares_for_any_memory(memory):
    w, state = fitted(squares, np.zeros(8), 60, memory=memory)
    np.testing.assert_allclose(w, W, atol=1e-6)
    assert state.step == 60 and state.moves.shape == (memory, 8)


def test_the_first_directions_are_those_of_a_quasi_newton_method():
    """With exact curvature of a quadratic the steps are few: SciPy's need no fewer."""
    theirs = scipy.optimize.minimize(
        squares, np.zeros(8), jac=lambda w: 2 * A.T @ (A @ (w - W)), method="L-BFGS-B",
        options={"ftol": 0, "gtol": 1e-6},
    )  # fmt: skip
    ours, state = np.zeros(8), optim.lbfgs_init(squares, np.zeros(8))
    while np.abs(state.gradient).max() > 1e-6:
        ours, state = optim.lbfgs(squares, ours, state)
    assert state.step <= 2 * theirs.nit


def test_the_loss_never_grows_and_a_minimum_stays():
    params = {"x": 1.5, "y": -2.0}
    state = optim.lbfgs_init(rosenbrock, params)
    values = []
    for _ in range(80):
        values.append(float(state.value))
        params, state = optim.lbfgs(rosenbrock, params, state)
    assert values == sorted(values, reverse=True)
    rest = optim.lbfgs_init(squares, W)
    close(optim.lbfgs(squares, W, rest)[0], W)
    steep = lambda w: np.where(w > 0, w, np.nan)  # noqa: E731
    assert 0 < optim.lbfgs(steep, 0.1, optim.lbfgs_init(steep, 0.1))[0] < 0.1


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16"])
def test_dtypes_stay(dtype):
    target = np.array([1.0, -2.0], dtype) * (1j if dtype[0] == "c" else 1)
    w, state = fitted(lambda w: np.sum(np.abs(w - target) ** 2), np.zeros(2, dtype), 5)
    np.testing.assert_allclose(w, target, rtol=1e-5)
    assert {x.dtype for x in (w, state.moves, state.changes, state.gradient)} == {np.dtype(dtype)}


def test_derivative_of_a_fit():
    def found(c):
        return np.sum(fitted(lambda w: np.sum(c * (w - 3) ** 4 + w * w), np.ones(2), 5)[0])

    expected = (found(1.3 + 1e-5) - found(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(ft.grad(found)(1.3), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:compile:RuntimeWarning")
def test_a_compiled_step():
    """Its line search asks for another number of trials in many calls."""
    step = ft.compile(lambda p, s: optim.lbfgs(rosenbrock, p, s))
    params = {"x": -1.2, "y": 1.0}
    state = optim.lbfgs_init(rosenbrock, params)
    for _ in range(60):
        params, state = step(params, state)
    close(params["x"], 1.0)


def test_errors():
    state = optim.lbfgs_init(squares, W)
    raises(TypeError, lambda: optim.lbfgs(squares, W, 3), "state is a int", "lbfgs_init(loss")
    raises(TypeError, lambda: optim.lbfgs_init(squares, np.arange(8)), "params", "int64")
    raises(TypeError, lambda: optim.lbfgs(squares, W, state, lr=1.0), "write learning_rate=")
    raises(ValueError, lambda: optim.lbfgs_init(squares, W, memory=0), "memory=0", "at least 1")
    raises(ValueError, lambda: optim.lbfgs(rosenbrock, STARTS, state), "state.gradient")
