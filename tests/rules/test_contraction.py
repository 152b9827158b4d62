"""The cost of a contraction under vmap: the products that reach NumPy, and their shapes.

`test_blas` has the table for products of vectors, matrices and stacks of these; here is what
does not fit it. The values come from the sample table; an outer `Tensor` subclass, whose lower
hook sees every NumPy call that the batching rule makes, counts them.
"""

import numpy as np
import pytest

import functier as ft
from support.basics import raises

N, M, C, J = 5, 2, 3, 4  # the batch, rows, the summed axis, columns
calls: list = []


class Counted(ft.Tensor):
    """A tensor that writes down what NumPy is asked to do with it."""

    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        shapes = [np.shape(a) for a in args if hasattr(a, "shape")]
        calls.append((func.__name__, *shapes))
        return super().__tensor_dispatch__(func, types, args, kwargs)


def counted(func, in_dims, *shapes):
    """The calls that `func` under vmap makes; its value is checked on the way."""
    arrays = [
        np.random.default_rng(i).normal(size=s if d is None else (N, *s))
        for i, (s, d) in enumerate(zip(shapes, in_dims))
    ]
    rows = [func(*[a if d is None else a[i] for a, d in zip(arrays, in_dims)]) for i in range(N)]
    calls.clear()
    result = ft.vmap(func, in_dims)(*map(Counted, arrays))
    made = list(calls)
    np.testing.assert_allclose(result.elem(), np.stack(rows))
    return made


def products(made):
    return [c for c in made if c[0] in ("dot", "matmul", "multiply", "einsum")]


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize(
    ("func", "x", "y"),
    [
        (np.outer, (C,), (J,)),
        (np.multiply.outer, (C,), (J,)),
        (np.matmul, (C, 1), (1, J)),
        (lambda a, b: np.einsum("i,j->ij", a, b), (C,), (J,)),
        (lambda a, b: np.einsum("ij,j->ij", a, b), (C, J), (J,)),
        (np.kron, (C,), (J,)),
    ],
)
def test_products_without_a_sum_are_multiplied(func, x, y, dims):
    assert [c[0] for c in products(counted(func, dims, x, y))] == ["multiply"]


@pytest.mark.parametrize(
    ("subscripts", "dims", "x", "y", "product"),
    [
        ("ij,jk->ik", (0, None), (M, C), (C, J), ("dot", (N * M, C), (C, J))),
        ("ij,kj->ik", (0, None), (M, C), (J, C), ("dot", (N * M, C), (C, J))),
        ("ij,ik->jk", (0, 0), (M, C), (M, J), ("matmul", (N, C, M), (N, M, J))),
        ("ijk,jkl->il", (0, None), (M, C, J), (C, J, 6), ("dot", (N * M, C * J), (C * J, 6))),
        ("ij,ij->", (0, 0), (M, C), (M, C), ("matmul", (N, 1, M * C), (N, M * C, 1))),
    ],
)
def test_einsum_is_one_product(subscripts, dims, x, y, product):
    made = counted(lambda a, b: np.einsum(subscripts, a, b), dims, x, y)
    assert products(made) == [product]


def test_nested_maps_make_one_product():
    xs, ws = Counted(np.ones((N, C))), Counted(np.ones((6, C, J)))
    calls.clear()
    every = ft.vmap(lambda x: ft.vmap(lambda w: x @ w)(ws))(xs)
    assert every.shape == (N, 6, J)
    assert products(calls) == [("matmul", (N, C), (6, C, J))]


def test_the_weight_gradient_of_a_sample_is_one_multiplication():
    w, xs = Counted(np.ones((C, J))), Counted(np.ones((N, C)))
    calls.clear()
    g = ft.vmap(ft.grad(lambda w, x: np.sum(np.tanh(x @ w))), (None, 0))(w, xs)
    assert g.shape == (N, C, J)
    assert [c for c in calls if c[0] in ("dot", "matmul")] == [("dot", (N, C), (C, J))]
    assert ("multiply", (N, C, 1), (N, 1, J)) in calls


def test_the_shared_weight_gradient_of_a_batch_is_one_product():
    w, xs = Counted(np.ones((C, J))), Counted(np.ones((N, M, C)))
    calls.clear()
    ft.grad(lambda w: np.sum(ft.vmap(lambda x: x @ w)(xs)))(w)
    assert products(calls) == [("dot", (N * M, C), (C, J)), ("dot", (C, N * M), (N * M, J))]


def test_broadcast_gradients_are_summed_in_the_product():
    x, w = Counted(np.ones((6, M, C))), Counted(np.ones((C, J)))
    calls.clear()
    ft.vjp(lambda w: np.matmul(x, w), w)[1](Counted(np.ones((6, M, J))))
    assert products(calls)[1:] == [("dot", (C, 6 * M), (6 * M, J))]
    assert not any(c[0] == "sum" and len(c[1]) == 3 for c in calls)


THREE = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("subscripts", "x", "y", "expected"),
    [
        ("i,j->j", THREE, np.array([4.0, 5.0, 6.0]), np.full(3, 15.0)),
        ("kk,i->i", np.ones((3, 3)), THREE, 6 * np.eye(3)),
        ("ii,jk->jk", np.arange(4.0).reshape(2, 2), np.ones((2, 2)), 4 * np.eye(2)),
        ("ij,j->i", np.ones((2, 2)), np.array([2.0]), np.full((2, 2), 2.0)),
    ],
)
def test_the_gradient_of_an_axis_that_one_operand_alone_has(subscripts, x, y, expected):
    """The result has the shape of the operand, so that nothing else would spread it."""
    f = lambda x: np.einsum(subscripts, x, y)  # noqa: E731
    total = lambda x: np.sum(f(x))  # noqa: E731
    np.testing.assert_array_equal(ft.grad(total)(x), expected)
    np.testing.assert_array_equal(ft.jacrev(f)(x), ft.jacfwd(f)(x))
    np.testing.assert_array_equal(ft.vmap(ft.grad(total))(np.stack([x] * 3)), [expected] * 3)
    np.testing.assert_array_equal(ft.jacfwd(total)(x), expected)


@pytest.mark.parametrize("lone", [np.array([True] * 3), np.full(3, 200, np.uint8)])
def test_an_axis_is_summed_in_the_dtype_of_the_result(lone):
    """Not in that of its operand, in which sums wrap around."""
    w = np.array([[1.0, 1.0], [2.0, 3.0]])
    for subscripts, arrays in (("l,i->", [lone]), ("l,l,i->", [lone, lone])):
        f = lambda w: np.einsum(subscripts, *arrays, w)  # noqa: E731
        total = np.sum(np.prod([a.astype(float) for a in arrays], axis=0))
        np.testing.assert_array_equal(f(w[0]), 2 * total)  # NumPy's own
        np.testing.assert_array_equal(ft.vmap(f)(w), total * w.sum(1))
        value, pullback = ft.vjp(f, w[0])
        np.testing.assert_array_equal(value, 2 * total)
        np.testing.assert_array_equal(pullback(1.0)[0], [total, total])


def test_a_stack_of_products_is_summed_in_the_dtype_of_the_result():
    x = np.full((10, 10, 10), 7, np.uint8)
    f = lambda x: np.einsum("iaj,ibj->ab", x, x)  # noqa: E731
    assert f(x).dtype == np.uint8
    found = ft.vmap(f)(np.stack([x, x]))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found[1], f(x))


def test_einsum_casts_as_numpy_does():
    def f(x, casting="safe"):
        return np.einsum("ij->i", x, dtype=np.float32, casting=casting)

    x = np.ones((2, 3))
    for call in (f, ft.vmap(f, axis_size=1, in_dims=None), lambda x: ft.vjp(f, x)):
        raises(TypeError, lambda: call(x), "cast")
    found = ft.vmap(lambda x: f(x, "same_kind"))(np.stack([x, x]))
    assert found.dtype == np.float32 == f(x, "same_kind").dtype


def test_sums_that_would_copy_more_are_of_a_stack():
    """The cotangent of a vector that all matrices share is one product each, added up."""
    x, ys, g = Counted(np.ones(20)), Counted(np.ones((N, 20, 30))), Counted(np.ones((N, 30)))
    _, pullback = ft.vjp(lambda x: ft.vmap(lambda y: x @ y)(ys), x)
    calls.clear()
    np.testing.assert_allclose(pullback(g)[0].elem(), np.full(20, N * 30))
    assert products(calls) == [("matmul", (N, 20, 30), (N, 30, 1))]
    assert [c for c in calls if c[0] == "sum"] == [("sum", (N, 1, 20))]


@pytest.mark.parametrize("dtype", [float, np.float32, complex, int, "m8[s]"])
def test_large_outer_products_are_those_of_numpy(dtype):
    x, y = np.arange(100).astype(dtype), np.arange(N * 90).reshape(N, 90)
    y = y if dtype == "m8[s]" else y.astype(dtype)
    made = ft.vmap(np.outer, (None, 0))(x, y)
    expected = x[:, None] * y[:, None]
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(np.matmul, (2, 3), (2, 3)),
        lambda f: f(np.matmul, (2, 1), (3, 2)),
        lambda f: f(np.matmul, (), (3,)),
        lambda f: f(np.matmul, (3, 2, 2), (2, 2, 2)),
        lambda f: f(np.dot, (2, 3), (2, 3)),
        lambda f: f(np.dot, (1,), (3,)),
        lambda f: f(np.inner, (2, 3), (2,)),
        lambda f: f(np.vecdot, (3,), (1,)),
        lambda f: f(np.vdot, (3,), (2,)),
        lambda f: f(np.linalg.outer, (3, 2), (2,)),
        lambda f: f(np.linalg.cross, (2,), (2,)),
        lambda f: f(lambda a, b: np.tensordot(a, b, 1), (2, 3), (2, 3)),
        lambda f: f(lambda a, b: np.einsum("ij,jk", a, b), (2, 3), (2, 3)),
        lambda f: f(lambda a, b: np.einsum("ij,j->k", a, b), (2, 3), (3,)),
        lambda f: f(np.linalg.solve, (2, 3), (2,)),
        lambda f: f(np.linalg.solve, (3,), (3,)),
    ],
)
def test_what_numpy_refuses_is_refused_under_vmap(call):
    """A batch of the size of an axis must not make the operands fit."""

    def check(func, x, y):
        with pytest.raises(ValueError):
            func(np.ones(x), np.ones(y))
        for n in (1, 2, 3):
            with pytest.raises(ValueError):
                ft.vmap(func)(np.ones((n, *x)), np.ones((n, *y)))

    call(check)


def test_a_shared_matrix_is_factorized_once():
    a = Counted(np.eye(3) * 2)
    calls.clear()
    x = ft.vmap(lambda b: np.linalg.solve(a, b))(Counted(np.ones((N, 3))))
    np.testing.assert_allclose(x.elem(), np.full((N, 3), 0.5))
    assert [c for c in calls if c[0] == "solve"] == [("solve", (3, 3), (3, N))]


@pytest.mark.parametrize("func", [np.linalg.inv, np.linalg.det, np.linalg.eigvalsh, np.linalg.svd])
def test_a_batch_axis_is_no_axis_of_the_matrix(func):
    raises(np.linalg.LinAlgError, lambda: ft.vmap(func)(np.eye(3)))


@pytest.mark.parametrize("norm", [np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm])
def test_the_gradient_of_a_norm_at_zero_is_zero(norm):
    np.testing.assert_array_equal(ft.grad(norm)(np.zeros((2, 2))), np.zeros((2, 2)))
    x = np.zeros((2, 2, 2))
    x[1] = np.eye(2)
    expected = np.stack([np.zeros((2, 2)), np.eye(2) / np.sqrt(2)])
    np.testing.assert_allclose(ft.vmap(ft.grad(norm))(x), expected)
    p_norm = ft.grad(lambda x: np.linalg.norm(x, 3))
    np.testing.assert_array_equal(p_norm(np.zeros(3)), np.zeros(3))


def test_determinants_of_singular_matrices():
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0])
    np.testing.assert_allclose(ft.grad(np.linalg.det)(a), np.zeros((3, 3)), atol=1e-12)
    a[2, 2] = 1.0
    a[0] = 0
    cofactors = np.zeros((3, 3))
    cofactors[0] = np.cross(a[1], a[2])
    np.testing.assert_allclose(ft.grad(np.linalg.det)(a), cofactors)
    raises(np.linalg.LinAlgError, lambda: ft.grad(np.linalg.det)(np.zeros((4, 4))))


def test_factors_in_the_form_of_lapack_have_no_derivative():
    with pytest.raises(ft.NoRuleError, match="mode='raw'"):
        ft.grad(lambda x: np.linalg.qr(x, mode="raw")[0].sum())(np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("first", ["slogdet", "solve"])
def test_a_determinant_and_a_linear_system_share_an_inverse(first):
    """The backward pass then factorizes their matrix once."""
    a, b = np.eye(3) + np.arange(9.0).reshape(3, 3) / 9, np.arange(3.0)

    def f(a, b):
        if first == "slogdet":
            return np.linalg.slogdet(a)[1] + b @ np.linalg.solve(a, b)
        return b @ np.linalg.solve(a, b) + np.linalg.slogdet(a)[1]

    inv = np.linalg.inv(a)
    expected = inv.T - np.outer(inv.T @ b, inv @ b), (inv + inv.T) @ b
    calls.clear()
    gradients = ft.grad(f, (0, 1))(Counted(a), Counted(b))
    names = [c[0] for c in calls]
    assert (names.count("slogdet"), names.count("solve"), names.count("inv")) == (1, 1, 1)
    stacked = ft.vmap(ft.grad(f, (0, 1)))(np.stack([a, a]), np.stack([b, b]))
    for gradient, many, wanted in zip(gradients, stacked, expected):
        np.testing.assert_allclose(gradient.elem(), wanted)
        np.testing.assert_allclose(many, np.stack([wanted, wanted]))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda a, b: ft.hessian(lambda a: f(a, b))(a),
        lambda f: lambda a, b: ft.jacrev(ft.grad(f))(a, b),
        lambda f: lambda a, b: ft.grad(lambda b: np.sum(ft.grad(f)(a, b) ** 2))(b),
        lambda f: lambda a, b: ft.vmap(ft.hessian(f))(np.stack([a, a @ a]), np.stack([b, b])),
        lambda f: lambda a, b: ft.grad(lambda a: np.abs(f(a, b)))(a + 0.5j * a.T),
    ],
)
def test_sharing_an_inverse_changes_no_derivative(transform):
    a, b = np.eye(3) + np.arange(9.0).reshape(3, 3) ** 2 / 50, np.arange(3.0)

    def loss(a, same):
        x = np.linalg.solve(same, b) + np.sum(np.linalg.solve(same, np.stack([b, b**2], 1)), 1)
        return np.linalg.slogdet(a)[1] + x @ x

    shared = transform(lambda a, b: loss(a, a) + b @ b)(a, b)
    apart = transform(lambda a, b: loss(a, 1.0 * a) + b @ b)(a, b)
    np.testing.assert_allclose(shared, apart, rtol=1e-9, atol=1e-9)


def test_a_linear_system_alone_needs_no_inverse():
    calls.clear()
    a, b = Counted(np.eye(3) * 2), Counted(np.ones(3))
    ft.grad(lambda a: np.sum(np.linalg.solve(a, b) + np.linalg.solve(a, 2 * b)))(a)
    assert [c[0] for c in calls].count("solve") == 4
    assert "inv" not in [c[0] for c in calls]
