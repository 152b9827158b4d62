"""Pullbacks keep copies, and results are nobody else's memory."""

import numpy as np
import optree
import pytest

import functier as ft
from faults.planted import levels as faulty
from support.basics import held, message


def one(*shape):
    return np.ones(shape)


# ---- pullbacks and linear functions ----


def test_a_gradient_step_in_place():
    w = np.array([1.0, 2.0, 3.0])
    _, pullback = ft.vjp(lambda v: v * v, w)
    first = pullback(one(3))[0]
    w -= 0.5 * first

    np.testing.assert_array_equal(pullback(one(3))[0], [2.0, 4.0, 6.0])


def test_a_result_that_is_overwritten():
    value, pullback = ft.vjp(np.exp, one(3))
    value *= 0

    np.testing.assert_array_equal(pullback(one(3))[0], np.exp(one(3)))


def test_linearize_at_a_point_that_is_overwritten():
    x = one(3)
    _, function = ft.linearize(lambda v: v * v, x)
    x[:] = 9

    np.testing.assert_array_equal(function(one(3)), 2 * one(3))


def test_what_a_function_closes_over():
    data, index, mask = np.arange(3.0), np.array([2, 0]), np.array([True, False])

    def f(x):
        return np.where(mask, x[index] * data[:2], 3.0 * x[index])

    _, pullback = ft.vjp(f, one(3))
    _, function = ft.linearize(f, one(3))
    data[:], index[:], mask[:] = 7.0, 1, False

    np.testing.assert_array_equal(pullback(one(2))[0], [3.0, 0.0, 0.0])
    np.testing.assert_array_equal(function(one(3)), [0.0, 3.0])


def test_views_of_one_array_share_a_copy():
    w = np.ones((200, 200))

    def f(x):
        for _ in range(20):
            x = np.tanh(w.T @ x)
        return x

    (_, pullback), in_use, _ = held(lambda: ft.vjp(f, one(200)))
    assert in_use < 2 * w.nbytes
    pullback(one(200))


def test_a_broadcast_array_is_not_spread():
    row = np.ones(1000)
    spread = lambda x: x * np.broadcast_to(row, (500, 1000))  # noqa: E731
    (_, pullback), in_use, _ = held(lambda: ft.vjp(spread, one(1, 1)))
    row[:] = 0.0
    assert in_use < 5 * 500 * 1000 * 8 / 4
    assert pullback(one(500, 1000))[0][0, 0] == 500 * 1000


def test_a_transposed_function():
    a = np.array([1.0, 2.0])
    transpose = ft.linear_transpose(lambda x: a * x, np.zeros(2))
    a[:] = 0.0

    np.testing.assert_array_equal(transpose(one(2))[0], [1.0, 2.0])


def test_under_a_level_that_goes_on():
    """The array inside of an outer level's tensor is overwritten while that level lives."""
    with ft.grad() as G:
        data = one(2)
        x = G(data)
        _, pullback = ft.vjp(lambda v: v * x, one(2))
        data[:] = 5.0
        result = pullback(one(2))[0]
        np.testing.assert_array_equal(ft.unwrap(result), one(2))


def test_the_inverse_that_rules_share():
    a, b = np.array([[2.0, 0.0], [0.0, 4.0]]), one(2)
    _, first = ft.vjp(lambda a: np.linalg.solve(a, b), a)
    expected = np.array(first(one(2))[0])
    _, again = ft.vjp(lambda a: np.linalg.solve(a, b) * np.linalg.slogdet(a)[1], a)
    before = np.array(again(one(2))[0])
    a *= 3.0

    np.testing.assert_array_equal(first(one(2))[0], expected)
    np.testing.assert_array_equal(again(one(2))[0], before)


# ---- functions with rules of their own ----


def check_saved(f):
    x = one(3)
    _, pullback = ft.vjp(f, x)
    x[:] = 9.0

    np.testing.assert_array_equal(pullback(one(3))[0], 2 * one(3))


def test_what_a_rule_has_saved():
    f = ft.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (2 * g * x,))
    check_saved(f)


def test_a_rule_that_returns_what_it_has_saved():
    f = ft.custom_vjp(lambda x: np.sum(x) ** 2)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (x,))
    x = one(3)
    gradient = ft.grad(f)(x)
    gradient[:] = 9.0
    np.testing.assert_array_equal(x, one(3))

    _, pullback = ft.vjp(f, x)
    pullback(1.0)[0][:] = 9.0
    np.testing.assert_array_equal(pullback(1.0)[0], one(3))


def test_a_rule_of_forward_mode_in_reverse():
    f = ft.custom_jvp(lambda x: x * x)
    f.defjvp(lambda xs, ts: (f(*xs), 2 * xs[0] * ts[0]))
    check_saved(f)


def test_a_root():
    a = np.array([4.0, 9.0])

    def newton(f, x):
        for _ in range(20):
            x = x - f(x) / (2 * x)
        return x

    def root(scale):
        return ft.custom_root(
            lambda x: a * x * x - scale, np.array([1.0, 1.0]), newton,
            lambda g, y: y / g(np.ones(2)),
        )  # fmt: skip

    _, pullback = ft.vjp(root, one(2))
    expected = np.array(pullback(one(2))[0])
    a[:] = 1.0

    np.testing.assert_array_equal(pullback(one(2))[0], expected)


# ---- checkpoints ----


def test_arguments_of_a_checkpoint():
    x, scale = one(3), np.array([1.0, 2.0, 3.0])
    part = ft.checkpoint(lambda v, s: np.sin(v) * s)
    _, pullback = ft.vjp(lambda v: part(v, scale), x)
    expected = np.array(pullback(one(3))[0])
    x[:], scale[:] = 9.0, 9.0

    np.testing.assert_array_equal(pullback(one(3))[0], expected)


def test_what_a_checkpoint_closes_over_is_compared():
    scale = np.array([1.0, 2.0, 3.0])
    part = ft.checkpoint(lambda v: np.sin(v) * scale)
    _, pullback = ft.vjp(part, one(3))
    pullback(one(3))
    scale[0] = 9.0

    with pytest.raises(RuntimeError) as error:
        pullback(one(3))
    assert "checkpoint(<lambda>)" in message(error)
    assert "closes over" in message(error) and "as an argument" in message(error)


# ---- what comes out ----


def forms(x):
    return x, x, x[::-1], x[:1], x + 1.0, np.broadcast_to(x, (2, *x.shape)), {"a": [x.T, x]}


WRITABLE = {
    "vmap": ft.vmap(forms),
    "vmap, the value of vjp": lambda x: ft.vjp(ft.vmap(forms), x)[0],
    "vmap in chunks": lambda x: ft.vmap(forms, chunk_size=2)(x),
    "vmap of what does not vary": lambda x: [
        ft.vmap(lambda y: ft.vmap(np.sin)(x[:2]), out_dims=dim)(x) for dim in (0, 1)
    ],
    "grad": lambda x: ft.grad(lambda x, y: np.sum(x + y), (0, 1))(x, x),
    "jvp": lambda x: ft.jvp(forms, (x,), (x,))[1],
    "linearize": lambda x: ft.linearize(forms, x)[1](x),
    "jacrev": lambda x: [
        ft.jacrev(np.add, (0, 1))(x, x),
        ft.jacrev(forms)(x),
        ft.jacrev(np.sum)(x),
    ],
    "jacfwd": lambda x: [
        ft.jacfwd(np.add, (0, 1))(x, x),
        ft.jacfwd(forms)(x),
        ft.jacfwd(np.sum)(x),
    ],
}


@pytest.mark.parametrize("call", WRITABLE)
def test_results_can_be_written_to(call):
    """Each element alone: it shares no memory with an argument, another result or element."""
    x = np.arange(6.0).reshape(3, 2)
    results = optree.tree_leaves(WRITABLE[call](x))
    numbers = [np.arange(y.size).reshape(y.shape) + 10.0 * i for i, y in enumerate(results)]
    for y, wanted in zip(results, numbers):
        y[...] = wanted
    for y, wanted in zip(results, numbers):
        np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(3, 2))


def test_meshgrid_and_resize_copy_as_those_of_numpy():
    x = np.arange(3.0)
    for f in (lambda x: np.meshgrid(x, x)[0], lambda x: np.resize(x, 3)):
        value, _ = ft.vjp(f, x)
        assert not np.shares_memory(value, x)


# ---- what is not copied ----


def test_the_gradients_copy_nothing(monkeypatch):
    made = []
    faulty.the_gradients_copy_nothing(monkeypatch, made)
    x = np.arange(1.0, 4.0)

    def f(x):
        return np.sum(np.exp(x) * np.sin(x))

    ft.grad(f)(x)
    ft.value_and_grad(f)(x)
    ft.jacrev(lambda x: np.exp(x) * x)(x)
    ft.jacfwd(lambda x: np.exp(x) * x)(x)
    ft.hessian(f)(x)
    ft.hvp(f, (x,), (x,))
    assert not made
    ft.vjp(f, x)
    assert made
