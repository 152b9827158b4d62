"""hvp beside the matrix that it multiplies by; elementwise_grad."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from support.basics import alike, close, equal, in_thread, raises

X = np.array([0.5, -1.5, 2.0])
T = np.array([1.0, 0.5, -2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])
V = np.array([[0.5, 1.0, 0.0], [-1.0, 2.0, 0.25]])


def loss(x, w=W):
    return np.sum(np.tanh(w @ x) ** 2) * x[0]


# ---- hvp ----


def dense(f, primals, tangents):
    """The product by the whole Hessian: block by block."""
    blocks = ft.hessian(f, tuple(range(len(primals))))(*primals)
    return tuple(
        sum(np.tensordot(block, t, np.ndim(t)) for block, t in zip(row, tangents)) for row in blocks
    )


def check_product(product, f, primals, tangents):
    value, actual = product(f, primals, tangents)
    assert type(actual) is tuple
    close(value, f(*primals))
    for a, e, x in zip(actual, dense(f, primals, tangents), primals, strict=True):
        close(a, e, 1e-10)
        assert np.shape(a) == np.shape(x)


def reverse_over_reverse(f, primals, cotangents):
    pullback = ft.vjp(ft.grad(f, tuple(range(len(primals)))), *primals)[1]
    return f(*primals), pullback(cotangents)


@pytest.mark.parametrize("product", [ft.hvp, reverse_over_reverse])
def test_values(product):
    check_product(product, loss, (X,), (T,))
    check_product(product, loss, (X, W), (T, V))
    check_product(product, lambda x: x**3, (2.0,), (3.0,))
    check_product(product, lambda x: np.sum(x), (X,), (T,))
    check_product(product, lambda x, y: np.sum(x * y), (X, T), (T, X))


def test_the_check_finds_a_wrong_product():
    for wrong in (lambda p: 1.001 * p, lambda p: p[:, None]):

        def product(f, primals, tangents, wrong=wrong):
            value, products = ft.hvp(f, primals, tangents)
            return value, tuple(map(wrong, products))

        with pytest.raises(AssertionError):
            check_product(product, loss, (X,), (T,))


@given(n=st.integers(0, 4), m=st.integers(1, 3), seed=st.integers(0, 999))
def test_both_are_the_hessian_times_the_vector(n, m, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(m, n, n)), rng.normal(size=(n, n))

    def f(x, y):
        return sum(np.sin(x @ q @ y) for q in a) + x @ b @ x

    for product in (ft.hvp, reverse_over_reverse):
        check_product(product, f, tuple(rng.normal(size=(2, n))), tuple(rng.normal(size=(2, n))))


def test_trees():
    p, t = {"w": W, "b": [X, None]}, {"w": V, "b": [T, None]}
    value, (by_p, by_s) = ft.hvp(lambda p, s: s**2 * loss(p["b"][0], p["w"]), (p, 2.0), (t, 1.0))
    _, (by_x, by_w) = ft.hvp(lambda x, w: 4 * loss(x, w), (X, W), (T, V))
    moved = sum(np.sum(a * b) for a, b in zip(ft.grad(loss, (0, 1))(X, W), (T, V)))
    slopes = ft.grad(loss, (0, 1))(X, W)
    close(value, 4 * loss(X))
    alike(by_p, {"w": by_w + 4 * slopes[1], "b": [by_x + 4 * slopes[0], None]})
    close(by_s, 4 * moved + 2 * loss(X), 1e-10)


def test_aux():
    calls = []

    def f(x):
        calls.append(1)
        return loss(x), {"twice": 2 * x, "note": "n"}

    value, (p,), aux = ft.hvp(f, (X,), (T,), has_aux=True)
    close(value, loss(X))
    close(p, dense(loss, (X,), (T,))[0])
    equal(aux["twice"], 2 * X)
    assert aux["note"] == "n" and calls == [1]


def test_lists_for_tuples():
    close(ft.hvp(loss, [X], [T])[1][0], dense(loss, (X,), (T,))[0])


def test_forms():
    for dtype in (np.float32, np.float64):
        value, (p,) = ft.hvp(lambda x: np.sum(x**3), (X.astype(dtype),), (T,))
        assert value.dtype == p.dtype == dtype
    _, (p, q) = ft.hvp(lambda x, y: np.sum(x * x), (X, W), (T, V))
    equal(q, np.zeros((2, 3)))
    p[...] = 0.0
    q[...] = 1.0
    _, (p,) = ft.hvp(lambda x: np.sum(x * x) / 2, (X,), (t := T.copy(),))
    p[...] = 0.0
    equal(t, T)


def test_inside_other_transforms():
    f = lambda x, t: ft.hvp(loss, (x,), (t,))[1][0]  # noqa: E731
    h = ft.hessian(loss)(X)
    close(ft.vmap(lambda t: f(X, t))(np.eye(3)), h)
    close(ft.vmap(f)(np.stack([X, X]), np.eye(3)[:2]), h[:2])
    close(ft.jacrev(f, 1)(X, T), h)
    close(ft.linearize(lambda t: f(X, t), T)[1](X), h @ X)
    close(ft.jacfwd(f)(X, T), ft.jacfwd(lambda x: ft.hessian(loss)(x) @ T)(X), 1e-10)
    close(
        ft.grad(lambda x: np.sum(f(x, T)))(X),
        ft.grad(lambda x: np.sum(ft.hessian(loss)(x) @ T))(X),
        1e-10,
    )
    third = ft.hvp(lambda x: np.sum(f(x, x)), (X,), (T,))[1][0]
    close(third, ft.hessian(lambda x: np.sum(ft.hessian(loss)(x) @ x))(X) @ T, 1e-9)
    equal(
        ft.grad(lambda x: np.sum(in_thread(lambda: f(x, T))))(X),
        ft.grad(lambda x: np.sum(f(x, T)))(X),
    )
    equal(ft.vmap(lambda s: ft.hvp(lambda x: s * x @ x, (X,), (T,))[1][0])(np.ones(2))[1], 2 * T)


def named(x):
    return np.sum(x * x)


def test_errors():
    product, label = ft.hvp, "hvp(named)"
    raises(TypeError, lambda: product(3, (X,), (T,)), "hvp: func is a int")
    raises(TypeError, lambda: product(named, X, (T,)), label, "primals is a ndarray", "hvp(f, (x,)")
    raises(TypeError, lambda: product(named, (X,), T), label, "tangents is a ndarray")
    raises(ValueError, lambda: product(named, (), ()), label, "no primals")
    raises(ValueError, lambda: product(named, (X,), (T, T)), label, "tangents have the structure")
    raises(ValueError, lambda: product(named, (X,), (W,)), label, "tangent of primals[0]", "(2, 3)")
    raises(
        TypeError,
        lambda: product(named, ({"a": 3},), ({"a": 3},)),
        label,
        "primals[0]['a'] | int64",
    )
    raises(ValueError, lambda: product(lambda x: x, (X,), (T,)), "hvp(<lambda>)", "shape (3,)")
    raises(TypeError, lambda: product(named, (X,), (T,), has_aux=True), label, "has_aux")
    raises(ValueError, lambda: product(named, (X,), (T,), escape="x"), "hvp(named): escape='x'")


# ---- elementwise_grad ----


def test_elementwise_grad():
    close(ft.elementwise_grad(np.tanh)(W), 1 - np.tanh(W) ** 2)
    close(ft.elementwise_grad(np.tanh)(0.5), 1 - np.tanh(np.float64(0.5)) ** 2)
    f = lambda x, y: x * np.sin(y)  # noqa: E731
    alike(ft.elementwise_grad(f, (0, 1))(X, T), (np.sin(T), X * np.cos(T)))
    close(ft.elementwise_grad(f, -1)(X, T), X * np.cos(T))
    close(ft.elementwise_grad(f)(X, 2.0), np.full(3, np.sin(2.0)))
    f = np.sin
    for expected in (np.cos(X), -np.sin(X), -np.cos(X)):
        f = ft.elementwise_grad(f)
        close(f(X), expected)
    close(f(W), -np.cos(W))


def test_elementwise_grad_with_options():
    out, aux = ft.elementwise_grad(lambda x: (x**3, {"y": x}), has_aux=True)(X)
    close(out, 3 * X**2)
    equal(aux["y"], X)
    z = X + 1j * T
    close(ft.elementwise_grad(lambda z: z**3, holomorphic=True)(z), 3 * z**2)
    close(ft.elementwise_grad(lambda x, *, k: x * k, argnames="k")(X, k=T), X)
    alike(ft.elementwise_grad(lambda p: p["a"] * p["b"])({"a": X, "b": T}), {"a": T, "b": X})
    assert ft.elementwise_grad(np.square)(np.float32(X)).dtype == np.float32
    close(ft.vmap(ft.elementwise_grad(np.sin))(W), np.cos(W))
    close(ft.jacfwd(ft.elementwise_grad(np.sin))(X), -np.diag(np.sin(X)))
    equal(ft.elementwise_grad(lambda x: np.ones(3))(X), np.zeros(3))
    equal(ft.elementwise_grad(np.square)(np.ones((0, 2))), np.zeros((0, 2)))


def test_errors_of_elementwise_grad():
    make = ft.elementwise_grad
    raises(
        ValueError, lambda: make(np.sum)(X), "elementwise_grad(sum)", "shape ()", "(3,)", "use grad"
    )
    raises(ValueError, lambda: make(lambda x: x + W)(X), "(2, 3)", "numpy.broadcast_to(x, (2, 3))")
    raises(ValueError, lambda: make(lambda x, y: x * y, (0, 1))(X, 2.0), "shape ()")
    raises(
        TypeError, lambda: make(lambda x: {"a": x})(X), "returned {'a': float64[3]}", "one array"
    )
    raises(TypeError, lambda: make(lambda x: x * 1j)(X), "elementwise_grad(<lambda>)", "complex128")
    raises(TypeError, lambda: make(np.sin, has_aux=True)(X), "has_aux=True")
    raises(
        TypeError, lambda: make(np.sin)(np.arange(3)), "elementwise_grad(sin)", "args[0]", "int64"
    )
