"""grad, value_and_grad, grad_and_value, vjp: values, trees, forms."""

from typing import NamedTuple

import numpy as np
import optree
import pytest

import functier as ft
from support.basics import close, equal, raises

X = np.array([0.5, -1.0, 2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


class Params(NamedTuple):
    w: np.ndarray
    b: np.ndarray


def loss(x):
    return np.sum(np.sin(x) * x)


def slope(x):
    return np.cos(x) * x + np.sin(x)


# ---- the three gradients ----


@pytest.mark.parametrize("argnums,args,expected", [
    (0, (X, W), W.sum(0)), ((0,), (X, W), (W.sum(0),)), ((1, 0), (X, W), (W * 0 + X, W.sum(0))),
    (0, ((X, 2.0), W), (W.sum(0), 0.0)), (0, ([X], W), [W.sum(0)]),
])  # fmt: skip
def test_has_aux_with_every_form_of_gradient(argnums, args, expected):
    def f(x, w):
        x = x[0] if isinstance(x, (tuple, list)) else x
        return np.sum(w * x), {"twice": 2 * x}

    value, aux = f(*args)
    everything = {
        ft.grad: (expected, aux),
        ft.value_and_grad: ((value, aux), expected),
        ft.grad_and_value: (expected, (value, aux)),
    }
    for transform, results in everything.items():
        out = transform(f, argnums, has_aux=True)(*args)
        assert optree.tree_structure(out) == optree.tree_structure(results)
        optree.tree_map(np.testing.assert_allclose, out, results)


def test_grad():
    close(ft.grad(loss)(X), slope(X))


def test_value_and_grad():
    value, gradient = ft.value_and_grad(loss)(X)
    equal(value, loss(X))
    close(gradient, slope(X))


def f3(x, y, z):
    return np.sum(x * y * y) + 3.0 * z


@pytest.mark.parametrize("argnums,expected", [
    (0, 4.0), (1, 12.0), (2, 3.0), (-1, 3.0), (-3, 4.0), (np.int64(1), 12.0),
])  # fmt: skip
def test_argnums(argnums, expected):
    equal(ft.grad(f3, argnums)(3.0, 2.0, 1.0), np.float64(expected))


@pytest.mark.parametrize("argnums,expected", [
    ((0,), (4.0,)), ((0, 1), (4.0, 12.0)), ((2, 0), (3.0, 4.0)), ((-1, 1), (3.0, 12.0)),
])  # fmt: skip
def test_argnums_as_a_tuple(argnums, expected):
    out = ft.grad(f3, argnums)(3.0, 2.0, 1.0)
    assert type(out) is tuple and len(out) == len(expected)
    for g, e in zip(out, expected, strict=True):
        equal(g, np.float64(e))


def test_other_arguments_may_be_anything():
    def f(x, mode, *, scale, names=()):
        assert names == ["a"] and mode is None
        return np.sum(x) * scale

    equal(ft.grad(f)(X, None, scale=2, names=["a"]), np.full(3, 2.0))


# ---- trees ----


def test_trees():
    def f(params, x):
        hidden = np.tanh(params["layers"][0].w @ x + params["layers"][0].b)
        return np.sum(hidden * params["out"])

    params = {"layers": [Params(W, np.ones(2))], "out": np.array([2.0, 3.0])}
    out = ft.grad(f)(params, X)
    h = np.tanh(W @ X + 1.0)
    d = params["out"] * (1 - h * h)
    assert type(out["layers"][0]) is Params
    close(out["out"], h)
    close(out["layers"][0].b, d)
    close(out["layers"][0].w, np.outer(d, X))


def test_an_empty_tree_and_none():
    out = ft.grad(lambda p: np.sum(p["a"] ** 2))({"a": X, "none": None, "empty": []})
    equal(out["a"], 2 * X)
    assert out["none"] is None and out["empty"] == []


# ---- calling styles ----


def test_decorators():
    @ft.grad
    def f(x):
        """The cube."""
        return x**3

    @ft.value_and_grad(argnums=1)
    def g(x, y):
        return x * y * y

    assert (f.__name__, f.__doc__) == ("f", "The cube.")
    equal(f(2.0), np.float64(12.0))
    value, gradient = g(3.0, 2.0)
    equal(value, np.float64(12.0))
    equal(gradient, np.float64(12.0))


def test_the_imperative_style():
    with ft.grad() as G:
        x = G(X)
        y = np.sum(x**3)
        equal(G.gradient(y, x), 3 * X**2)
    raises(ft.EscapedTensorError, lambda: x + 1)


def test_the_imperative_style_with_a_tree_and_several_outputs():
    with ft.grad() as G:
        params = {"a": G(X), "b": [G(2.0)]}
        y = np.sum(params["a"] ** 2) * params["b"][0]
        z = y * y
        gy, gz = G.gradient(y, params), G.gradient(z, params["a"])
    equal(gy["a"], 4 * X)
    equal(gy["b"][0], np.float64(np.sum(X**2)))
    close(gz, 8.0 * X * np.sum(X**2) * 2.0)


def test_the_imperative_gradient_of_something_unrelated_is_zero():
    with ft.grad() as G:
        x, z = G(X), G(1.0)
        equal(G.gradient(np.sum(z), x), np.zeros(3))
        equal(G.gradient(3.0, x), np.zeros(3))


# ---- vjp ----


def test_vjp():
    y, pullback = ft.vjp(lambda x: x**2, X)
    equal(y, X**2)
    (g,) = pullback(np.array([1.0, 2.0, 3.0]))
    equal(g, 2 * X * [1.0, 2.0, 3.0])


def test_vjp_with_aux():
    y, pullback, aux = ft.vjp(lambda x: (x * 2, {"square": x * x}), X, has_aux=True)
    equal(y, 2 * X)
    equal(aux["square"], X * X)
    equal(pullback(np.ones(3))[0], np.full(3, 2.0))


def test_vjp_inside_other_transforms():
    def f(x):
        return ft.vjp(lambda y: y**3, x)[1](1.0)[0]

    close(ft.grad(f)(2.0), np.float64(12.0))
    close(ft.vmap(f)(X), 3 * X**2)
    close(ft.vmap(ft.grad(f))(X), 6 * X)


# ---- forms: shapes and dtypes ----


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_the_gradient_has_the_dtype_of_the_input(dtype):
    x = np.array([0.5, 2.0], dtype)
    programs = [
        lambda x: np.sum(x * x), lambda x: np.mean(np.exp(x)), lambda x: np.sum(2.0 * x / 3),
        lambda x: np.sum(np.where(x > 1, x, 2 * x) ** 2),
        lambda x: np.sum(np.sqrt(x) @ np.ones(2, dtype)),
    ]  # fmt: skip
    for f in programs:
        value, gradient = ft.value_and_grad(f)(x)
        assert gradient.dtype == dtype and value.dtype == f(x).dtype


def test_outputs_that_do_not_depend_on_the_input():
    for f in (lambda x: 3.0, lambda x: np.float32(3.0), lambda x: np.sum(np.ones(2))):
        equal(ft.grad(f)(np.float32([1.0, 2.0])), np.zeros(2, np.float32))
    equal(ft.grad(lambda x: 1.0)(np.complex64([1.0])), np.zeros(1, np.complex64))
    equal(ft.grad(lambda x, y: x * x)(3.0, X), np.float64(6.0))
    equal(ft.grad(lambda x, y: x * x, 1)(3.0, X), np.zeros(3))
    value, pullback = ft.vjp(lambda x: np.ones(2), X)
    equal(value, np.ones(2))
    equal(pullback(np.ones(2))[0], np.zeros(3))


def test_derivatives_stop_at_integers_and_comparisons():
    equal(ft.grad(lambda x: np.sum(x * (x > 0)))(X), np.array([1.0, 0.0, 1.0]))
    equal(ft.grad(lambda x: np.sum(x * np.floor(x)))(X), np.floor(X))
    equal(ft.grad(lambda x: np.sum(x * x.astype(int)))(X), X.astype(int).astype(float))
    equal(ft.grad(lambda x: x[np.argmax(x)])(X), np.array([0.0, 0.0, 1.0]))


# ---- complex numbers: PyTorch's convention ----


def test_gradients_of_real_parts():
    z = np.array([1 + 2j, -0.5j])
    equal(ft.grad(lambda z: np.sum(np.real(z)))(z), np.array([1.0 + 0j, 1.0]))
    equal(ft.grad(lambda z: np.sum(np.imag(z)))(z), np.array([1j, 1j]))
    close(ft.grad(lambda z: np.sum(np.real(z**2)))(z), np.conjugate(2 * z))


def test_gradient_descent_in_complex_numbers_descends():
    f = lambda z: np.abs(z - (2 - 1j)) ** 2  # noqa: E731
    z = 0.0 + 0.0j
    for _ in range(60):
        z = z - 0.2 * ft.grad(f)(z)
    np.testing.assert_allclose(z, 2 - 1j, atol=1e-12)


# ---- control flow ----


def test_python_control_flow():
    def f(x, n):
        total = 0.0
        for i in range(n):
            total = total + x**i if x > 0 else total - x
        while total > 10:
            total = total / 2
        return total

    close(ft.grad(f)(2.0, 3), np.float64(1 + 4.0))
    close(ft.grad(f)(-2.0, 3), np.float64(-3.0))
    close(ft.grad(f)(2.0, 4), np.float64((1 + 4.0 + 12.0) / 2))


def test_no_recursion_limit():
    def f(x):
        for _ in range(20000):
            x = x + 1.0
        return x

    equal(ft.grad(f)(0.0), np.float64(1.0))


def test_shared_subexpressions_are_visited_once():
    def f(x):
        for _ in range(60):
            x = x + x
        return x

    equal(ft.grad(f)(1.0), np.float64(2.0**60))
