"""jacrev, jacfwd and hessian: values, pytrees, options and errors."""

import numpy as np
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


def test_aux(jacobian):
    out, aux = jacobian(lambda x: (x * x, {"seen": x + 1}), has_aux=True)(X)
    close(out, np.diag(2 * X))
    close(aux["seen"], X + 1)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element(jacobian, shape):
    x = np.full(shape, 2.0)
    out = jacobian(lambda x: x * x)(x)
    equal(out, np.full(shape + shape, 4.0)[()])
    equal(jacobian(lambda x: x * np.ones((2, 3)))(x), np.ones((2, 3, *shape)))
    equal(jacobian(lambda y: np.sum(y) * x)(X), np.full((*shape, 3), 2.0))
    equal(jacobian(lambda x: np.ones(shape))(x), np.zeros(shape + shape)[()])
    a, b = jacobian(lambda a, b: a * 3 + np.sum(b), (0, 1))(x, np.ones(0))
    equal(a, np.full(shape + shape, 3.0)[()])
    equal(b, np.ones((*shape, 0)))
    tree = jacobian(lambda x: [x * 3, np.ones((2, 0)) * np.sum(x)])(x)
    equal(tree[0], np.full(shape + shape, 3.0)[()])
    equal(tree[1], np.ones((2, 0, *shape)))


def test_results_without_arrays(jacobian):
    assert jacobian(lambda x: ())(X) == ()
    assert jacobian(lambda x: {"none": None})(X) == {"none": None}


def test_results_can_be_written_to(jacobian):
    a, b = jacobian(lambda a, b: a + b, (0, 1))(X, X)
    c, d = jacobian(lambda x: (x, x))(X)
    e = jacobian(lambda x: np.sum(x))(X)
    f = jacobian(lambda x: np.broadcast_to(x, (2, 3)))(X)
    for array in (a, b, c, d, e, f):
        array[...] = 7.0
        array[...] = array + 1.0
    for array in (a, b, c, d, e, f):
        equal(array, np.full(array.shape, 8.0))
    a[...] = c[...] = 0.0
    equal(b, np.full((3, 3), 8.0))
    equal(d, np.full((3, 3), 8.0))


def test_complex(jacobian):
    z = X + 1j
    close(jacobian(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z))
    if jacobian is ft.jacrev:
        assert jacobian(np.real)(z).dtype == complex
    else:
        assert jacobian(lambda x: x * 1j)(X).dtype == complex
        assert jacobian(lambda x: np.real(x * 1j))(X).dtype == float


def test_values_of_outer_levels_besides_the_argument(jacobian):
    ws = np.stack([W, 2 * W])
    expected = np.stack([np.cos(w @ X)[:, None] * w for w in ws])
    close(ft.vmap(lambda w: jacobian(lambda x: f(x, w))(X))(ws), expected)
    close(ft.vmap(lambda w: jacobian(f)(X, w))(ws), expected)
    close(ft.vmap(lambda w: jacobian(lambda x, w: f(x, w))(X, w=w))(ws), expected)
    by_w = ft.grad(lambda w: np.sum(jacobian(f)(X, w)))(W)
    slope, bend = np.cos(W @ X), -np.sin(W @ X)
    close(by_w, slope[:, None] * np.ones(3) + (bend * np.sum(W, axis=1))[:, None] * X)


def test_an_error_leaves_no_level_behind(jacobian):
    def fails(x):
        return x * np.ones((2, 2))

    for g in (fails, lambda x: {"a": "text"}, lambda x: 1 / 0):
        with pytest.raises((ValueError, TypeError, ZeroDivisionError)):
            jacobian(g)(X)
        with ft.vmap() as B:
            assert ft.depth_of(B(X)) == 1


def test_the_levels_are_those_of_one_call(jacobian):
    seen = []

    def noted(x):
        seen.append([c.__name__ for c in type(x).__mro__ if issubclass(c, ft.Tensor)])
        return x * x

    jacobian(noted)(X)
    jacobian(noted)(2.0)
    several = ["jacfwd(noted)", "jacfwd(noted)", "Tensor"]
    alone = ["jacfwd(noted)", "Tensor"]
    reverse = ["jacrev(noted)", "Tensor"]
    assert seen == ([several, alone] if jacobian is ft.jacfwd else [reverse, reverse])


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_level_classes_serve_again(name):
    seen = set()

    def noted(x):
        seen.add(id(type(x)))
        return np.sum(x * x) if name == "hessian" else x * x

    for _ in range(4):
        getattr(ft, name)(noted)(X)
    assert len(seen) == 1


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
    raises(ValueError, lambda: make(f, 2)(X, W), f"{name}(f)", "argnums=2", "2 positional")
    raises(TypeError, lambda: make(f, "x")(X, W), f"{name}(f)", "argnums='x'")
    raises(TypeError, lambda: make(f)({"a": [3]}, W), f"{name}(f)", "args[0]['a'][0]", "int64")
    raises(TypeError, lambda: make(3), f"{name}: func is a int")
