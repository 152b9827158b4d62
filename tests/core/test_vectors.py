"""ravel_pytree: the leaves of a pytree in one vector, and back."""

import numpy as np
import pytest
import scipy.optimize

import functier as ft
from support.basics import alike, close, equal, raises

X = np.arange(6.0).reshape(2, 3)
TREE = {"b": (X, None), "a": [2.5, np.float64(7.0)], "empty": np.zeros((0, 2))}


def test_there_and_back():
    vector, unravel = ft.ravel_pytree(TREE)
    equal(vector, np.array([2.5, 7.0, *range(6)]))
    back = unravel(vector)
    assert list(back) == ["b", "a", "empty"] and back["b"][1] is None
    alike(back, {"b": (X, None), "a": [np.array(2.5), np.array(7.0)], "empty": np.zeros((0, 2))})
    again, _ = ft.ravel_pytree(back)
    equal(again, vector)


def test_dtypes():
    tree = [np.ones(2, np.float32), np.ones(1)]
    vector, unravel = ft.ravel_pytree(tree)
    assert vector.dtype == np.float64
    assert [x.dtype for x in unravel(vector)] == [np.float32, np.float64]
    vector, unravel = ft.ravel_pytree(tree[:1])
    assert vector.dtype == np.float32
    assert unravel(np.ones(2))[0].dtype == np.float32  # as SciPy passes it
    assert unravel(np.ones(2, int))[0].dtype == np.float32
    numbers, unravel = ft.ravel_pytree([True, False])
    assert numbers.dtype == bool and unravel(numbers)[0].dtype == bool
    equal(ft.ravel_pytree({})[0], np.zeros(0))
    assert ft.ravel_pytree({})[1](np.zeros(0)) == {}


def test_nothing_is_shared():
    x = X.copy()
    vector, unravel = ft.ravel_pytree(x)
    vector[:] = 0.0
    equal(x, X)
    back = unravel(vector)
    vector[:] = 1.0
    equal(back, np.zeros((2, 3)))


def f(tree):
    return np.sum(np.sin(tree["b"][0])) * tree["a"][0] + tree["a"][1] ** 3


def test_derivatives_and_batches():
    vector, unravel = ft.ravel_pytree(TREE)
    slopes = ft.grad(f)(TREE)
    close(ft.grad(lambda v: f(unravel(v)))(vector), ft.ravel_pytree(slopes)[0])
    ft.testing.check_grads(lambda v: f(unravel(v)), (vector,), order=2)
    ft.testing.check_grads(lambda t: np.sum(ft.ravel_pytree(t)[0] ** 3), (TREE,), order=2)
    rows = np.stack([vector, 2 * vector])
    many = ft.vmap(unravel)(rows)
    assert many["b"][0].shape == (2, 2, 3)
    equal(ft.vmap(lambda tree: ft.ravel_pytree(tree)[0])(many), rows)
    equal(many["b"][0][1], 2 * X)
    jacobian = ft.jacrev(lambda t: ft.ravel_pytree(t)[0])(X)
    equal(jacobian.reshape(6, 6), np.eye(6))


def test_a_fit_with_scipy():
    goal = {"w": X, "c": np.array(3.0)}

    def loss(tree):
        return np.sum((tree["w"] - goal["w"]) ** 2) + (tree["c"] - goal["c"]) ** 2

    start, unravel = ft.ravel_pytree({"w": np.zeros((2, 3)), "c": 0.0})
    on_vectors = ft.value_and_grad(lambda v: loss(unravel(v)))
    result = scipy.optimize.minimize(on_vectors, start, jac=True)
    alike({k: np.round(v, 6) for k, v in unravel(result.x).items()}, goal)


@pytest.mark.parametrize(
    ("call", "kind", "parts"),
    [
        (lambda: ft.ravel_pytree({"n": np.arange(2), "x": 1.0}), TypeError,
         "ravel_pytree: tree['n'] has dtype int64; pass tree['n'].astype('float64')"),
        (lambda: ft.ravel_pytree([1.0, 1j]), TypeError, "tree[0] has dtype float64"),
        (lambda: ft.ravel_pytree([np.arange(2), "text"]), TypeError, "tree[1] is a str"),
        (lambda: ft.ravel_pytree(np.array(["text"])), TypeError, "tree has dtype <U4"),
        (lambda: ft.ravel_pytree(X)[1](X), ValueError,
         "unravel: the vector has shape (2, 3); pass an array of shape (6,)"),
        (lambda: ft.ravel_pytree(X)[1](np.zeros(5)), ValueError,
         "elements of an array of shape (2, 3)"),
        (lambda: ft.ravel_pytree(X)[1]([0.0] * 6), TypeError, "the vector is a list"),
        (lambda: ft.ravel_pytree([1, 2])[1](np.zeros(2)), TypeError,
         "the vector has dtype float64; tree[0] had int64; ravel_pytree with tree[0] as float64"),
        (lambda: ft.ravel_pytree(X)[1](np.zeros(6, complex)), TypeError, "dtype complex128"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(call, kind, parts):
    raises(kind, call, *parts.split("; "))
