"""value_and_jacobian, hessian_diagonal and laplacian: they agree with Jacobians and Hessians."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from support.basics import alike, close, equal, raises

X = np.array([[1.0, -2.0, 0.5], [0.3, 3.0, 1.5]])
TREE = {"a": np.array([0.5, 2.0]), "b": 3.0}


def coupled(x):
    return np.sum(np.sin(x) * x**2) + np.prod(x)


def of_tree(p):
    return np.sum(np.sin(p["a"])) * p["b"] ** 3 + p["a"][0] * p["a"][1]


@given(data=st.data())
def test_the_diagonal_is_that_of_the_hessian(data):
    chunk_size = data.draw(st.none() | st.integers(1, 8))
    full = ft.hessian(coupled)(X).reshape(6, 6)

    diagonal = ft.hessian_diagonal(coupled, chunk_size=chunk_size)(X)

    close(diagonal, np.diag(full).reshape(X.shape))
    close(ft.laplacian(coupled, chunk_size=chunk_size)(X), np.trace(full))


def test_arguments_that_are_trees():
    second = ft.hessian(of_tree)(TREE)
    found = ft.hessian_diagonal(of_tree)(TREE)
    close(found["a"], np.diag(second["a"]["a"]))
    close(found["b"], second["b"]["b"])
    close(ft.laplacian(of_tree)(TREE), np.sum(found["a"]) + found["b"])
    both = lambda x, y: np.sum(x * x * y**3)  # noqa: E731
    alike(ft.hessian_diagonal(both, (0, 1))(2.0, 3.0), (np.array(54.0), np.array(72.0)))
    close(ft.laplacian(both, argnames="y")(2.0, y=3.0), 72.0)
    close(ft.laplacian(both, argnums=(0, 1))(2.0, 3.0), 126.0)


def test_laplacian_of_several_results():
    cubes, total = ft.laplacian(lambda x: (x**3, {"sum": np.sum(x * x)}))(X[0])
    close(cubes, 6 * X[0])
    close(total["sum"], 6.0)


def test_they_nest():
    rows = np.stack([X, 2 * X])
    close(ft.vmap(ft.laplacian(coupled))(rows), [ft.laplacian(coupled)(x) for x in rows])
    close(ft.laplacian(ft.laplacian(lambda x: np.sum(x**4)))(X[0]), 72.0)
    close(ft.grad(ft.laplacian(lambda x: np.sum(x**4)))(X[0]), 24 * X[0])
    close(ft.compile(ft.hessian_diagonal(coupled))(X), ft.hessian_diagonal(coupled)(X))
    outer = ft.grad(lambda w: np.sum(ft.hessian_diagonal(lambda x: np.sum(w * x**3))(X[0])))
    close(outer(X[1]), 6 * X[0])


def test_forms_without_elements_or_without_dependence():
    assert ft.hessian_diagonal(np.sum)(np.zeros(0)).shape == (0,)
    close(ft.laplacian(np.sum)(np.zeros(0)), 0.0)
    close(ft.laplacian(lambda x: 3.0)(X), 0.0)
    close(ft.hessian_diagonal(lambda x: x**2)(3.0), 2.0)


def test_what_they_refuse():
    raises(ValueError, lambda: ft.hessian_diagonal(np.sin)(X), "shape (2, 3)", "use laplacian")
    raises(ValueError, lambda: ft.hessian_diagonal(lambda x: (x,))(X), "one real scalar")
    raises(TypeError, lambda: ft.hessian_diagonal(lambda x: np.sum(x * 1j))(X), "real scalar")
    raises(TypeError, lambda: ft.laplacian(coupled)(X.astype(int)), "args[0]", "int64")
    raises(TypeError, lambda: ft.laplacian(coupled)(X + 0j), "args[0]", "complex128")
    raises(ValueError, lambda: ft.laplacian(coupled, chunk_size=0), "chunk_size=0")
    raises(TypeError, lambda: ft.laplacian(lambda x: "a")(X), "laplacian", "the result is a str")


def test_draws():
    rng = ft.random.default_rng(0)
    drawn = lambda x: np.sum(x * x * rng.normal())  # noqa: E731
    raises(ft.RandomnessError, lambda: ft.hessian_diagonal(drawn)(X), "hessian_diagonal(<lambda>)")
    once = ft.hessian_diagonal(drawn, randomness="same")(X)
    equal(once, np.full(X.shape, once[0, 0]))
    assert len({*ft.hessian_diagonal(drawn, randomness="different")(X).flat}) == X.size


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_a_value_with_its_jacobian(mode, chunk_size):
    calls = []

    def f(x, y):
        calls.append(None)
        return {"y": np.sin(x) * y}

    both = ft.value_and_jacobian(f, (0, 1), mode=mode, chunk_size=chunk_size)
    value, jacobian = both(X[0], 2.0)
    value, (by_x, by_y) = value["y"], jacobian["y"]

    close(value, np.sin(X[0]) * 2)
    close(by_x, np.diag(np.cos(X[0]) * 2))
    close(by_y, np.sin(X[0]))
    assert mode == "forward" or len(calls) == 1


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_value_with_its_jacobian_and_the_rest(mode):
    both = ft.value_and_jacobian(lambda x: (x * x, "note"), has_aux=True, mode=mode)
    (value, note), jacobian = both(X[0])
    close(value, X[0] ** 2)
    close(jacobian, np.diag(2 * X[0]))
    assert note == "note"
    plain = ft.value_and_jacobian(np.sin, mode=mode)
    alike(ft.vmap(plain)(X), (np.sin(X), np.stack([np.diag(np.cos(x)) for x in X])))
    alike(pickle.loads(pickle.dumps(plain))(0.5), plain(0.5))
    one = ft.value_and_jacobian(lambda x: x, has_aux=True, mode=mode)
    raises(TypeError, lambda: one(1.0), "value_and_jacobian(<lambda>)", "(output, aux)")


def test_an_unknown_mode():
    raises(ValueError, lambda: ft.value_and_jacobian(np.sin, mode="rev"), "'reverse' or 'forward'")
