"""The options of the derivative transforms and the products with derivatives, beside
torch.func, JAX and autograd, where these are installed (the extra ``bench``).
"""

import numpy as np
import optree
import pytest

import functier as ft

# PyTorch's forward mode and linearize warn of what PyTorch itself does.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]

X = np.array([0.5, -1.5, 2.0])
T = np.array([1.0, 0.5, -2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])
C = np.array([2.0, -1.0])


def close(actual, expected):
    """Equal trees of arrays of two libraries."""
    actual, expected = optree.tree_leaves(actual), optree.tree_leaves(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected):
        b = np.asarray(b.detach() if hasattr(b, "detach") else b)
        assert (np.shape(a), np.result_type(a)) == (b.shape, b.dtype)
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-12)


def f(xp):
    """A function of a tree, in a library."""
    return lambda p, s: {"a": xp.tanh(p["w"] @ p["x"]) * s, "b": (p["x"] ** 2).sum() * p["x"]}


def loss(xp):
    return lambda x, w: (xp.tanh(w @ x) ** 2).sum() * x[0]


# ---- torch.func ----


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is in the extra bench")


def of_torch(torch, tree):
    return optree.tree_map(torch.tensor, tree)


@pytest.mark.parametrize("chunk_size", [None, 1, 2, 5, 100])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0), -1])
@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_of_trees_in_chunks(torch, name, argnums, chunk_size):
    args = {"x": X, "w": W}, np.array(1.5)
    options = {"chunk_size": chunk_size} if name == "jacrev" else {}
    own = 1 if argnums == -1 else argnums  # for -1 PyTorch's jacfwd gives zeros
    theirs = getattr(torch.func, name)(f(torch), own, **options)(*of_torch(torch, args))
    actual = getattr(ft, name)(f(np), argnums, chunk_size=chunk_size)(*args)
    assert sorted(actual) == sorted(theirs) == ["a", "b"]
    close(actual, theirs)


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "grad", "grad_and_value"])
def test_aux(torch, name):
    def g(xp):
        return lambda x: ((xp.sin(x) ** 2).sum(), {"x": 2 * x})

    actual = getattr(ft, name)(g(np), has_aux=True)(X)
    close(actual, getattr(torch.func, name)(g(torch), has_aux=True)(torch.tensor(X)))


def test_hessian_of_several(torch):
    theirs = torch.func.hessian(loss(torch), argnums=(0, 1))(torch.tensor(X), torch.tensor(W))
    for chunk_size in (None, 1, 4):
        close(ft.hessian(loss(np), (0, 1), chunk_size=chunk_size)(X, W), theirs)


def test_strict(torch):
    with pytest.raises(RuntimeError):
        torch.func.jvp(lambda x: torch.ones(2), (torch.tensor(X),), (torch.tensor(T),), strict=True)
    with pytest.raises(ValueError, match="does not depend"):
        ft.jvp(lambda x: np.ones(2), (X,), (T,), strict=True)
    close(
        ft.jvp(np.sin, (X,), (T,), strict=True),
        torch.func.jvp(torch.sin, (torch.tensor(X),), (torch.tensor(T),), strict=True),
    )


def test_linearize(torch):
    value, jvp_fn = ft.linearize(loss(np), X, W)
    theirs, fn = torch.func.linearize(loss(torch), torch.tensor(X), torch.tensor(W))
    close(value, theirs)
    close(jvp_fn(T, 2 * W), fn(torch.tensor(T), 2 * torch.tensor(W)))


def test_products(torch):
    points, vectors = (X, W), (T, 2 * W)
    own = of_torch(torch, points), of_torch(torch, vectors)
    for theirs in (torch.autograd.functional.hvp, torch.autograd.functional.vhp):
        close(ft.hvp(loss(np), points, vectors), theirs(loss(torch), *own))


# ---- JAX ----


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="JAX is in the extra bench")
    jax.config.update("jax_enable_x64", True)
    return jax


def test_jax_linearize(jax):
    g = lambda xp: lambda p, s: (f(xp)(p, s), p["x"] * 2)  # noqa: E731
    args = {"x": X, "w": W}, 1.5
    value, jvp_fn, aux = ft.linearize(g(np), *args, has_aux=True)
    theirs, fn, other = jax.linearize(g(jax.numpy), *args, has_aux=True)
    close((value, aux), (theirs, other))
    close(jvp_fn({"x": T, "w": W}, 2.0), fn({"x": T, "w": W}, 2.0))


LINEAR = {
    "matmul": (lambda xp, x: W @ x, C),
    "cumsum": (lambda xp, x: {"a": xp.cumsum(x), "b": x[::-1]}, {"a": T, "b": X}),
    "complex": (lambda xp, x: x * (2 + 1j), T * (1 + 2j)),
    "real": (lambda xp, x: xp.real(x * (2 + 1j)), T),
    "imag": (lambda xp, x: xp.imag(x), T),
    "fft": (lambda xp, x: xp.fft.fft(x), T * (1 - 2j)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_jax_linear_transpose(jax, name):
    g, cotangent = LINEAR[name]
    x = X + 0j if name in ("real", "imag", "fft") else X
    x = x + 0j if name == "complex" else x
    actual = ft.linear_transpose(lambda x: g(np, x), x)(cotangent)
    close(actual, jax.linear_transpose(lambda x: g(jax.numpy, x), x)(cotangent))


def test_jax_hessian_with_aux(jax):
    g = lambda xp: lambda x: ((xp.sin(x) ** 2).sum(), {"x": 2 * x})  # noqa: E731
    close(ft.hessian(g(np), has_aux=True)(X), jax.hessian(g(jax.numpy), has_aux=True)(X))


def test_jax_integers(jax):
    """JAX has a special dtype for the zeros."""
    g = lambda x, n: (x**2 * n).sum()  # noqa: E731
    by_x, by_n = ft.grad(g, (0, 1), allow_int=True)(X, np.array([1, 2, 3]))
    theirs = jax.grad(g, (0, 1), allow_int=True)(X, np.array([1, 2, 3]))
    close(by_x, theirs[0])
    assert by_n.shape == theirs[1].shape and not by_n.any()


# ---- autograd ----


@pytest.fixture
def autograd():
    return pytest.importorskip("autograd", reason="autograd is in the extra bench")


def test_elementwise_grad(autograd):
    anp = autograd.numpy
    for name in ("sin", "tanh", "exp"):
        expected = autograd.elementwise_grad(autograd.elementwise_grad(getattr(anp, name)))(W)
        close(ft.elementwise_grad(ft.elementwise_grad(getattr(np, name)))(W), expected)


def test_gauss_newton(autograd):
    anp = autograd.numpy
    g = lambda xp: lambda x: xp.tanh(W @ x)  # noqa: E731
    h = lambda xp: lambda y: xp.sum(y**4) + y[0] * y[1]  # noqa: E731
    _, (product,) = ft.ggnvp(g(np), h(np), (X,), (T,))
    close(product, autograd.make_ggnvp(g(anp), h(anp))(X)(T))


def test_hessian_vector_products(autograd):
    _, (product,) = ft.hvp(lambda x: loss(np)(x, W), (X,), (T,))
    own = autograd.differential_operators.make_hvp(lambda x: loss(autograd.numpy)(x, W))(X)[0]
    close(product, own(T))


def test_arguments_by_name(autograd):
    g = lambda x, w: np.sum(np.sin(w @ x))  # noqa: E731
    own = autograd.differential_operators.grad_named(
        lambda x, w: autograd.numpy.sum(autograd.numpy.sin(w @ x)), "w"
    )
    close(ft.grad(g, argnames="w")(X, W), own(X, W))
