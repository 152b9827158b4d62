"""jacrev, jacfwd and hessian: values, pytrees, options and errors."""

import numpy as np
import optree
import pytest

import functier as ft
from support import close, equal, raises

X = np.array([0.5, -1.5, 2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])


def f(x, w):
    return np.sin(w @ x)


@pytest.fixture(params=["jacrev", "jacfwd"])
def jacobian(request):
    return getattr(ft, request.param)


def test_values(jacobian):
    slope = np.cos(W @ X)
    close(jacobian(f)(X, W), slope[:, None] * W)
    close(jacobian(f, -2)(X, W), slope[:, None] * W)
    by_both = jacobian(f, (0, 1))(X, W)
    close(by_both[0], slope[:, None] * W)
    close(by_both[1], np.einsum("i,ij,k->ijk", slope, np.eye(2), X))
    close(jacobian(lambda x, *, k: k * x)(X, k=2.0), 2.0 * np.eye(3))
    close(jacobian(lambda x: x**3)(2.0), np.float64(12.0))
    equal(jacobian(lambda x: np.ones(2))(X), np.zeros((2, 3)))
    equal(jacobian(lambda x: x * x)(np.ones(0)), np.zeros((0, 0)))
    assert jacobian(lambda x: x * 2)(np.float32([1, 2])).dtype == np.float32


def test_trees(jacobian):
    out = jacobian(lambda p: {"y": p["a"] * p["b"][0], "z": np.sum(p["a"])})({"a": X, "b": [X]})
    assert optree.tree_structure(out) == optree.tree_structure(
        {"y": {"a": 0, "b": [0]}, "z": {"a": 0, "b": [0]}}
    )
    close(out["y"]["b"][0], np.diag(X))
    close(out["z"]["a"], np.ones(3))
    close(out["z"]["b"][0], np.zeros(3))


def test_aux(jacobian):
    out, aux = jacobian(lambda x: (x * x, {"seen": x + 1}), has_aux=True)(X)
    close(out, np.diag(2 * X))
    close(aux["seen"], X + 1)


def test_inside_other_transforms(jacobian):
    xs = np.stack([X, 2 * X])
    close(ft.vmap(jacobian(lambda x: x**2))(xs), np.stack([np.diag(2 * x) for x in xs]))
    close(ft.grad(lambda x: np.sum(jacobian(lambda y: y**3)(x)))(X), 6 * X)


def test_hessian():
    h = ft.hessian(lambda x, w: np.sum(f(x, w)))(X, W)
    close(h, np.einsum("i,ij,ik->jk", -np.sin(W @ X), W, W))
    both = ft.hessian(lambda a, b: np.sum(a * b * b), (0, 1))(X, 2 * X)
    close(both[0][0], np.zeros((3, 3)))
    close(both[0][1], np.diag(4 * X))
    close(both[1][1], np.diag(2 * X))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_escape(name):
    box = []

    def noted(x):
        box.append(x)
        return np.sum(x * x)

    getattr(ft, name)(noted)(X)
    with pytest.raises(ft.EscapedTensorError):
        box[-1] + 1
    getattr(ft, name)(noted, escape="passthrough")(X)
    assert not isinstance(box[-1] + 1, ft.Tensor)


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_errors(name):
    make = getattr(ft, name)
    outer = "jacfwd" if name == "hessian" else name
    raises(ValueError, lambda: make(f, 2)(X, W), f"{outer}(f)", "argnums=2", "2 positional")
    raises(TypeError, lambda: make(f, "x")(X, W), f"{outer}(f)", "argnums='x'")
    raises(TypeError, lambda: make(f)({"a": [3]}, W), f"{outer}(f)", "args[0]['a'][0]", "int64")
    raises(TypeError, lambda: make(3), f"{name}: func is a int")
