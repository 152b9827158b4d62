"""Data that are not finite, after a call with data that are: compiled is as eager mode."""

import itertools

import numpy as np
import pytest

import functier as ft
from functier._programs import trusted
from functier._programs.backends import has_llvm
from support.basics import calls_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.inside("What a program trusts has no public name."),
]

BACKENDS = ["numpy", "llvm"] if has_llvm() else ["numpy"]
LOSSES = {
    "a factor selected": lambda x, y: (x * np.mean(y))[1],
    "a product, one row": lambda x, y: (x * y)[0],
    "a square, one element": lambda x, y: (y * y * x)[0],
    "zeros of a matrix": lambda x, y: np.sum(np.dot(np.diag([1.0, 0.0, 0.0]), y * x)),
    "where finite": lambda x, y: np.sum(np.where(np.isfinite(y), x * y, 0.0)),
    "numbers for NaN": lambda x, y: np.sum(np.nan_to_num(y * x) * x),
    "missing data": lambda x, y: np.sum(np.where(np.isnan(y), 0.0, (y - x * x) ** 2)),
    "roots": lambda x, y: np.sum(np.where(y > 1.5, np.sqrt(np.maximum(y, 0.0)) * x, x)),
    "quotients": lambda x, y: np.sum(np.where(np.isinf(y), 0.0, x / y)),
    "logarithms": lambda x, y: np.sum(np.where(y > 0, np.log(y) * x, 0.0)),
    "exponentials": lambda x, y: np.sum(np.where(y < 100, np.exp(y) * x, 0.0)),
    "a mask as a factor": lambda x, y: np.sum((y == y) * np.sin(x) * y),
}
NAN, INF = np.nan, np.inf
DATA = [
    [1.0, 2.0, 3.0], [1.0, NAN, 3.0], [NAN, 2.0, 3.0], [1.0, 2.0, INF], [-INF, 0.0, 1.0],
    [0.0, 0.0, 0.0], [-0.0, 1e200, 1e-300], [NAN, INF, -INF], [1000.0, 2.0, NAN], [4.0, 5.0, 6.0],
]  # fmt: skip
X = np.array([1.0, 2.0, 3.0])


def both(f):
    return lambda x, y: ft.grad(f, argnums=(0, 1))(x, y)


def pushed(f):
    return lambda x, y: ft.jvp(f, (x, y), (np.ones(3), np.arange(3.0)))


def of_rows(f):
    return lambda x, y: ft.vmap(ft.grad(f, argnums=1))(np.stack([x, x]), np.stack([y, x]))


def curved(f):
    return lambda x, y: ft.hessian(f)(x, y)


def masked(f):
    return lambda x, y: np.where(np.isnan(g := ft.grad(f, argnums=1)(x, y)), 7.0, g)


def limited(f):
    return lambda x, y: np.fmin(np.tanh(ft.grad(f)(x, y)), 0.25)


def step(f):
    def run(x, y):
        value, g = ft.value_and_grad(f)(x, y)
        return x - 0.1 * g / (np.sqrt(g * g) + 1.0), value

    return run


def inner(f):
    return lambda x, y: ft.grad(lambda x: np.sum(np.nan_to_num(ft.grad(f, argnums=1)(x, y)) * x))(x)


def looped(f):
    def run(x, y):
        for _ in range(6):
            x = x - 0.01 * np.nan_to_num(ft.grad(f)(x, y))
        return x

    return run


WAYS = [both, pushed, of_rows, curved, masked, limited, step, inner, looped]


def leaves(x):
    return [np.asarray(y) for y in (x if isinstance(x, tuple) else (x,))]


def differences(ways, losses, orders, backends):
    """Yield calls in which a compiled function does not give what the function itself does."""
    for way, name, backend in itertools.product(ways, losses, backends):
        f = way(LOSSES[name])
        for order in orders:
            compiled = ft.compile(f, backend=backend)
            for i in order:
                y = np.array(DATA[i])
                got, want = leaves(compiled(X, y)), leaves(f(X, y))
                tol = 0 if backend == "numpy" else 1e-11
                for a, b in zip(got, want):
                    if not np.allclose(a, b, tol, 0, equal_nan=True):
                        yield way.__name__, name, backend, order, i, a, b
                        break


@pytest.mark.parametrize("way", WAYS)
def test_compiled_is_as_eager(way):
    orders = [(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 0, 3, 1, 9)]
    assert not list(differences([way], LOSSES, orders, BACKENDS[:1]))


@pytest.mark.skipif(len(BACKENDS) < 2, reason="needs llvmlite")
@pytest.mark.parametrize("way", [both, pushed, masked, step])
def test_machine_code_is_as_eager(way):
    assert not list(differences([way], LOSSES, [(0, 0, 1, 3, 7, 1, 9)], ["llvm"]))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_compiled_is_as_eager_in_other_orders(way, full):
    draws = np.random.default_rng(0)
    orders = [draws.permutation(len(DATA)).tolist() * 2 for _ in range(6 if full else 2)]
    assert not list(differences([way], LOSSES, orders, BACKENDS))


def test_a_value_that_does_not_show_is_found(monkeypatch):
    monkeypatch.setattr(trusted, "shows_in", lambda node, x: True)
    assert list(differences([masked], LOSSES, [(0, 0, 1, 3)], ["numpy"]))


def test_results_that_nobody_looks_at_are_found(monkeypatch):
    from functier._programs import trace

    monkeypatch.setattr(trace, "settle_trust", lambda *given: [])
    assert list(differences([both], LOSSES, [(0, 0, 1, 3)], ["numpy"]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_other_data_are_not_traced_again_and_cost_little(backend):
    f = ft.compile(ft.grad(LOSSES["missing data"]), backend=backend)
    x, clean = np.ones(1000), np.arange(1000.0)
    spoilt = [np.where(np.arange(1000) % k == 0, np.nan, clean) for k in (7, 11, 13)]
    for y in (clean, clean, clean, *spoilt, *spoilt):
        f(x, y)
    assert len(f.programs) == 2

    assert calls_of(lambda: f(x, spoilt[0])) < 4 * calls_of(lambda: f(x, clean))
    assert len(f.programs) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_that_does_not_serve_leaves_no_draw_behind(backend):
    def drawing(rng):
        def f(x, y):
            x = x + 0.1 * rng.normal(size=3)
            return x - 0.1 * ft.grad(lambda x: np.sum(np.sin(x) * y))(x)

        return f

    rngs = [ft.random.default_rng(3) for _ in range(2)]
    compiled, eager = ft.compile(drawing(rngs[0]), backend=backend), drawing(rngs[1])
    for y in DATA:
        np.testing.assert_allclose(compiled(X, np.array(y)), eager(X, np.array(y)), rtol=1e-13)
        assert repr(rngs[0].bit_generator.state) == repr(rngs[1].bit_generator.state)
