"""The functions that users of torch.func, JAX and autograd look for, as they would write them."""

import dataclasses
import threading
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import optree
import pytest
import scipy.sparse as sp

import functier as ft
from functier import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from functier.testing import check_grads, check_vmap, gradcheck, gradgradcheck
from support import close, equal, has_all, raises

RNG = np.random.default_rng(0)
W, XS, YS = RNG.normal(size=3), RNG.normal(size=(5, 3)), RNG.normal(size=5)
X = XS[0]
A = RNG.normal(size=(3, 3))


def loss(w, x, y):
    return (np.tanh(x @ w) - y) ** 2


def cube(x):
    return np.sum(x**3)


# ---- vmap ----


def test_vmap_has_the_arguments_of_torch_by_position():
    def f(a, b):
        return a[:, None] * b

    out = vmap(f, (0, None), 1, "error", chunk_size=2)(XS, W)
    equal(out, np.stack([f(x, W) for x in XS], axis=1))


def test_in_dims_are_trees_prefixes_none_and_negative():
    params = {"w": XS.T, "b": 2.0}
    expected = np.stack([loss(w, X, 2.0) for w in XS])
    for w_dim in (1, -1):
        out = vmap(lambda p, x: loss(p["w"], x, p["b"]), ({"w": w_dim, "b": None}, None))(params, X)
        close(out, expected)
    both = (W[None] * np.ones((5, 1)), YS)
    close(
        vmap(lambda t, x: loss(t[0], x, t[1]), (0, None))(both, X),
        vmap(loss, (None, None, 0))(W, X, YS),
    )


def test_out_dims_are_trees_none_and_negative():
    out = vmap(lambda x: {"row": 2 * x, "same": W}, out_dims={"row": -1, "same": None})(XS)
    equal(out["row"], 2 * XS.T)
    equal(out["same"], W)


def test_out_dims_none_for_what_is_batched_is_a_value_error():
    raises(
        ValueError, lambda: vmap(np.sin, out_dims=None)(XS), "vmap(sin)", "out_dims", "the result"
    )


def test_keywords_are_not_mapped():
    """As in torch; JAX maps them over axis 0. To map one, pass it by position."""
    seen = []

    def f(x, *, w):
        seen.append(w.shape)
        return x @ w

    square = RNG.normal(size=(5, 5))
    close(vmap(f)(square, w=square), square @ square)
    close(vmap(lambda x, w: f(x, w=w))(square, square), np.sum(square**2, axis=1))
    assert seen == [(5, 5), (5,)]


def test_nothing_is_mapped_but_the_size_is_known():
    raises(ValueError, lambda: vmap(lambda: W)(), "axis_size")
    equal(vmap(lambda: W, axis_size=4)(), np.tile(W, (4, 1)))
    rng = ft.random.default_rng(0)
    draws = vmap(lambda: rng.normal(size=2), randomness="different", axis_size=4)()
    assert draws.shape == (4, 2) and len(np.unique(draws)) == 8


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_chunk_size_bounds_the_batch(chunk_size):
    def f(w, x, y):
        sizes.append(len(ft.unwrap(x, levels=None)))
        return grad(loss)(w, x, y)

    sizes = []
    close(
        vmap(f, (None, 0, 0), chunk_size=chunk_size)(W, XS, YS),
        vmap(grad(loss), (None, 0, 0))(W, XS, YS),
    )
    assert sizes == [min(chunk_size, 5 - start) for start in range(0, 5, chunk_size)]
    with ThreadPoolExecutor(2) as threads:
        out = vmap(grad(loss), (None, 0, 0), chunk_size=chunk_size, executor=threads)(W, XS, YS)
    close(out, vmap(grad(loss), (None, 0, 0))(W, XS, YS))


def test_randomness_has_three_modes():
    def dropout(x):
        return x * (rng.uniform(size=x.shape) < 0.5)

    ones = np.ones((6, 40))
    rng = ft.random.default_rng(0)
    raises(ft.RandomnessError, lambda: vmap(dropout)(ones), "vmap(dropout)", "randomness")
    same = vmap(dropout, randomness="same")(ones)
    different = vmap(dropout, randomness="different")(ones)
    assert len(np.unique(same, axis=0)) == 1 and 0 < same.sum() < 240
    assert len(np.unique(different, axis=0)) == 6
    plain = np.random.default_rng(0)  # NumPy's, which knows nothing of examples
    drawn = lambda x, rng: x * rng.uniform()  # noqa: E731
    raises(ft.RandomnessError, lambda: vmap(drawn, (0, None))(ones, plain), "args[1]", "different")


def test_collectives_over_a_named_axis():
    def normalised(x):
        return (x - ft.pmean(x, "batch")) / np.sqrt(ft.psum(x**2, "batch"))

    close(vmap(normalised, axis_name="batch")(XS), (XS - XS.mean(0)) / np.sqrt(np.sum(XS**2, 0)))
    rank = vmap(lambda x: ft.axis_index("i") + 0 * ft.pmax(x, "i"), axis_name="i")(YS)
    equal(rank, np.arange(5.0))
    everybody = vmap(lambda x: ft.all_gather(x, "i"), axis_name="i")(YS)
    equal(everybody, np.tile(YS, (5, 1)))
    close(
        vmap(grad(lambda x: np.sum(x * ft.psum(1.0, "i"))), axis_name="i")(XS), np.full((5, 3), 5.0)
    )


# ---- gradients ----


def test_grad_and_both_orders_of_value_and_grad():
    close(grad(cube)(X), 3 * X**2)
    value, slope = value_and_grad(cube)(X)  # as in JAX and autograd
    close((value, *slope), (cube(X), *3 * X**2))
    slope, value = ft.grad_and_value(cube)(X)  # as in torch
    close((value, *slope), (cube(X), *3 * X**2))


def test_argnums_are_tuples_negative_and_unique():
    by_w, by_y = grad(loss, (0, -1))(W, X, 0.5)
    close(by_w, grad(loss)(W, X, 0.5))
    close(by_y, -2 * (np.tanh(X @ W) - 0.5))
    for argnums in ((0, 0), (0, -3)):
        raises(ValueError, lambda n=argnums: grad(loss, n)(W, X, 0.5), "argnums", "once")


def test_argnames_are_the_names_of_keywords():
    close(grad(lambda x, *, scale: scale * cube(x), argnames="scale")(X, scale=2.0), cube(X))
    by_y, by_w = grad(loss, argnames=("y", "w"))(W, x=X, y=0.5)
    close(by_w, grad(loss)(W, X, 0.5))
    close(by_y, grad(loss, 2)(W, X, 0.5))


def test_has_aux_everywhere():
    def scalar(x):
        return cube(x), {"norm": np.sum(x), "note": "any"}

    def vector(x):
        return x**3, {"norm": np.sum(x), "note": "any"}

    results = {
        "grad": grad(scalar, has_aux=True)(X),
        "value_and_grad": value_and_grad(scalar, has_aux=True)(X)[0],
        "grad_and_value": ft.grad_and_value(scalar, has_aux=True)(X)[1],
        "hessian": hessian(scalar, has_aux=True)(X),
        "sparse_hessian": ft.sparse_hessian(scalar, has_aux=True)(X),
        "jacrev": jacrev(vector, has_aux=True)(X),
        "jacfwd": jacfwd(vector, has_aux=True)(X),
        "sparse_jacobian": ft.sparse_jacobian(vector, has_aux=True)(X),
        "vjp": vjp(vector, X, has_aux=True),
        "jvp": jvp(vector, (X,), (X,), has_aux=True),
        "hvp": ft.hvp(scalar, (X,), (X,), has_aux=True),
        "linearize": ft.linearize(vector, X, has_aux=True),
        "elementwise_grad": ft.elementwise_grad(vector, has_aux=True)(X),
    }
    for name, (*_, aux) in results.items():
        assert aux["note"] == "any", name
        equal(aux["norm"], np.sum(X))


def test_a_pullback_is_called_often_on_batches_and_later():
    with vmap() as B:
        y, pullback = vjp(np.sin, X)
        B(XS)
    close(y, np.sin(X))
    for _ in range(2):
        close(pullback(W)[0], W * np.cos(X))
    close(vmap(pullback)(np.eye(3))[0], np.diag(np.cos(X)))


def test_strict_jvp_refuses_a_result_that_does_not_depend():
    _, t = jvp(lambda x: np.sign(W), (X,), (X,))
    equal(t, np.zeros(3))
    raises(ValueError, lambda: jvp(lambda x: W, (X,), (X,), strict=True), "does not depend")


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_have_the_union_of_the_options(jacobian):
    def f(p, k):
        return {"y": p["a"] * p["b"]}, k

    p = {"a": X, "b": 2.0}
    table, aux = jacobian(f, argnames="p", has_aux=True, chunk_size=2)(p, k="kept")
    close(table["y"]["a"], 2 * np.eye(3))
    close(table["y"]["b"], X)
    assert aux == "kept"
    close(jacobian(lambda z: z**3, holomorphic=True)(X + 1j), np.diag(3 * (X + 1j) ** 2))
    close(jacobian(lambda x, n: x**n, (0, 1), allow_int=True)(X, 2)[0], np.diag(2 * X))


def test_hessians_and_their_products():
    close(hessian(loss)(W, X, 0.5) @ X, ft.hvp(lambda w: loss(w, X, 0.5), (W,), (X,))[1][0])
    close(hessian(loss)(W, X, 0.5) @ X, vjp(lambda w: grad(loss)(w, X, 0.5), W)[1](X)[0])
    close(hessian(loss, chunk_size=1)(W, X, 0.5), jacfwd(grad(loss))(W, X, 0.5))
    (ww, wx), (xw, xx) = hessian(loss, (0, 1))(W, X, 0.5)
    close(wx, xw.T)
    close(ww, ww.T)
    close(xx, xx.T)


def test_elementwise_grad_and_gauss_newton_products():
    close(ft.elementwise_grad(np.tanh)(XS), 1 - np.tanh(XS) ** 2)
    square = lambda y: 0.5 * np.sum(y**2)  # noqa: E731
    j = jacfwd(lambda w: np.tanh(XS @ w))(W)
    _, (product,) = ft.ggnvp(lambda w: np.tanh(XS @ w), square, (W,), (X,))
    close(product, j.T @ (j @ X))


def test_linearize_and_linear_transpose():
    y, derivative = ft.linearize(lambda w: np.tanh(XS @ w), W)
    close(y, np.tanh(XS @ W))
    close(derivative(X), jvp(lambda w: np.tanh(XS @ w), (W,), (X,))[1])
    (back,) = ft.linear_transpose(lambda w: XS @ w, W)(YS)
    close(back, XS.T @ YS)
    raises(ValueError, lambda: ft.linear_transpose(np.sin, W)(W), "linear_transpose(sin)")


def test_nesting_to_depth_ten():
    def forward(f):
        return lambda x: jvp(f, (x,), (1.0,))[1]

    f = np.exp
    for transform in [grad, forward, forward, grad, grad] * 2:
        f = transform(f)
    close(f(0.5), np.exp(0.5), 1e-10)
    g = lambda x: np.sum(np.sin(x))  # noqa: E731
    for _ in range(8):
        g = vmap(g)
    x = RNG.normal(size=(1, 2, 1, 2, 1, 2, 1, 2, 3))
    close(g(x), np.sum(np.sin(x), axis=-1))


def test_levels_by_with():
    with vmap() as B, grad() as G:
        w = G(B(XS))
        rows = B.unwrap(G.gradient(cube(w), w))
    close(rows, 3 * XS**2)


@ft.register_dataclass
@dataclasses.dataclass
class Linear:
    weight: np.ndarray
    bias: np.ndarray
    scale: float = dataclasses.field(default=2.0, metadata={"static": True})

    def __call__(self, x):
        return self.scale * (self.weight @ x + self.bias)


def test_ensembles_by_functional_call_and_stack_module_state():
    models = [Linear(A + k, X * k) for k in range(4)]
    params, buffers = ft.stack_module_state(models)
    call = lambda p, b, x: ft.functional_call(models[0], (p, b), (x,))  # noqa: E731
    close(vmap(call, (0, 0, None))(params, buffers, W), np.stack([m(W) for m in models]))
    slopes = vmap(grad(lambda p, b, x: np.sum(call(p, b, x) ** 2)), (0, 0, None))(
        params, buffers, W
    )
    close(slopes["bias"], np.stack([4 * m(W) for m in models]))


def test_unwrap_shows_the_values_under_all_levels():
    seen = []

    def f(x):
        seen.append(ft.unwrap(x, levels=None))
        seen.append(ft.unwrap(x))
        return cube(x)

    vmap(grad(f))(XS)
    equal(seen[0], XS)
    assert isinstance(seen[1], ft.Tensor)


# ---- containers ----

Point = namedtuple("Point", "x y")


def test_trees_of_every_kind_come_back_as_they_are():
    tree = Point({"b": X, "a": [W, None]}, Linear(A, X))
    slope = grad(lambda t: cube(t.x["b"]) + np.sum(t.x["a"][0]) + np.sum(t.y(W)))(tree)
    assert type(slope) is Point and type(slope.y) is Linear and slope.y.scale == 2.0
    assert list(slope.x) == ["b", "a"] and slope.x["a"][1] is None
    close(slope.y.weight, 2 * np.tile(W, (3, 1)))


def test_errors_name_the_path_of_the_leaf():
    tree = Point({"b": X, "a": [np.arange(3), None]}, Linear(A, X))
    raises(TypeError, lambda: grad(lambda t: 0.0)(tree), "args[0].x['a'][0]", "int64")
    mixed = {"b": [X, np.ones(4)]}
    raises(ValueError, lambda: vmap(lambda t: t)(mixed), "args[0]['b'][1]", "size 4")


# ---- numbers ----


def test_the_gradient_of_a_real_function_of_complex_numbers_descends():
    """PyTorch's convention: 2+2j; JAX and autograd return its conjugate."""
    z = 1 + 1j
    equal(grad(lambda z: np.abs(z) ** 2)(z), 2 + 2j)
    equal(np.conjugate(grad(lambda z: np.abs(z) ** 2)(z)), 2 - 2j)  # JAX's
    assert abs(z - 0.1 * grad(lambda z: np.abs(z) ** 2)(z)) < abs(z)


def test_holomorphic_is_a_flag():
    close(grad(lambda z: z**3, holomorphic=True)(1 + 1j), 6j + 0.0)
    raises(TypeError, lambda: grad(lambda z: z**3)(1 + 1j), "holomorphic")
    raises(TypeError, lambda: grad(lambda z: z**3, holomorphic=True)(1.0), "complex")


def test_integer_inputs_are_refused_with_a_hint_or_allowed():
    def scaled(x, n):
        return np.sum(x) * n

    for transform in (grad, jacrev, jacfwd, hessian):
        raises(TypeError, lambda t=transform: t(scaled)(np.arange(3), 2), "int64", "astype(float)")
    by_x, by_n = grad(scaled, (0, 1), allow_int=True)(X, 2)
    close(by_x, np.full(3, 2.0))
    equal(by_n, 0.0)


def test_kinks():
    close(grad(np.abs)(0.0), 0.0)
    close(grad(np.max)(np.ones(4)), np.full(4, 0.25))
    close(grad(np.linalg.norm)(np.zeros(3)), np.zeros(3))


def test_control_flow_of_python_under_derivatives():
    def collatz(x):
        while x < 100:
            x = 3 * x if int(x) % 2 else x * x
        return x

    for x in (1.5, 2.5, 7.25):
        step = 1e-6
        numeric = (collatz(x + step) - collatz(x - step)) / (2 * step)
        close(grad(collatz)(x), numeric, 1e-4)


# ---- rules of one's own ----


def test_checkpoint_computes_again_instead_of_keeping():
    calls = []

    def block(x):
        calls.append(1)
        return np.sin(np.exp(np.sin(x)))

    twice = lambda x: np.sum(ft.checkpoint(block)(ft.checkpoint(block)(x)))  # noqa: E731
    plain = lambda x: np.sum(block(block(x)))  # noqa: E731
    close(grad(twice)(X), grad(plain)(X))
    calls.clear()
    grad(twice)(X)
    assert len(calls) == 4
    close(hessian(twice)(X), hessian(plain)(X))


def test_custom_rules_take_trees():
    """A rule of reverse, of forward mode and for batches, over a dict and a tuple."""

    @ft.custom_vjp
    def clipped(p, x):
        return {"y": p["w"] * x, "n": np.sum(x)}

    def backward(saved, g):
        p, x = saved
        return {"w": np.clip(g["y"] * x, -1, 1)}, g["y"] * p["w"] + g["n"]

    clipped.defvjp(lambda p, x: (clipped(p, x), (p, x)), backward)
    by_p, by_x = grad(lambda p, x: 9 * np.sum(clipped(p, x)["y"]), (0, 1))({"w": W}, X)
    close(by_p["w"], np.clip(9 * X, -1, 1))
    close(by_x, 9 * W)

    @ft.custom_jvp
    def root(t):
        return (np.sqrt(t[0]), t[1])

    @root.defjvp
    def rule(primals, tangents):
        ((a, b),), ((s, t),) = primals, tangents
        return root((a, b)), (s * 100, t)

    close(jvp(root, ((4.0, 1.0),), ((1.0, 2.0),))[1], (100.0, 2.0))
    close(grad(lambda a: root((a, a))[0])(4.0), 100.0)

    @ft.custom_vmap
    def called(p):
        return {"y": p["a"] + p["b"]}

    @called.def_vmap
    def batched(axis_size, in_batched, p):
        seen.append((axis_size, in_batched))
        return {"y": p["a"] + p["b"]}, {"y": True}

    seen = []
    equal(vmap(called, ({"a": 0, "b": None},))({"a": XS, "b": X})["y"], XS + X)
    assert seen == [(5, ({"a": True, "b": False},))]


def test_sequential_vmap_for_what_cannot_be_batched():
    @ft.sequential_vmap
    def digits(x):
        return np.float64(len(str(float(x))))

    equal(vmap(digits)(np.array([1.5, 10.25, 3.0])), np.array([3.0, 5.0, 3.0]))


def test_implicit_differentiation():
    def newton(f, x):
        for _ in range(12):
            x = x - np.linalg.solve(jacfwd(f)(x), f(x))
        return x

    def equilibrium(a):
        return ft.custom_root(
            lambda x: x - np.tanh(a * x + X), np.zeros(3), newton,
            lambda g, y: np.linalg.solve(jacfwd(g)(y), y),
        )  # fmt: skip

    x, slope = equilibrium(0.5), jacfwd(equilibrium)(0.5)
    close(x, np.tanh(0.5 * x + X))
    d = 1 - x**2  # of tanh there
    close(slope, d * x / (1 - 0.5 * d), 1e-9)
    close(jacrev(equilibrium)(0.5), slope, 1e-9)

    matrix = A @ A.T + np.eye(3)
    solved = lambda b: ft.custom_linear_solve(  # noqa: E731
        lambda x: matrix @ x, b, lambda _, b: np.linalg.solve(matrix, b), symmetric=True
    )
    close(jacrev(solved)(X), np.linalg.inv(matrix), 1e-9)


def test_stop_gradient_and_no_grad():
    close(grad(lambda x: np.sum(x * ft.stop_gradient(x)))(X), X)

    def scaled(x):
        with ft.no_grad():
            scale = np.max(np.abs(x))
        return np.sum(x / scale)

    close(grad(scaled)(X), np.full(3, 1 / np.max(np.abs(X))))


def test_sparse_jacobians_by_colouring():
    def reaction(u):
        v = np.pad(u, 1)
        return v[2:] - 2 * u + v[:-2] + u * (1 - u)

    u = RNG.uniform(size=50)
    for pattern in (None, sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(50, 50))):
        matrix = ft.sparse_jacobian(reaction, pattern=pattern)(u)
        assert type(matrix) is sp.csr_array and matrix.nnz == 148
        close(matrix.toarray(), jacfwd(reaction)(u))


# ---- control flow and what depends on data ----


def test_an_if_on_a_batched_value_says_what_to_write():
    def relu(x):
        return x if x > 0 else 0.0 * x

    raises(ft.DataDependentError, lambda: vmap(relu)(YS), "vmap(relu)", "numpy.where")
    close(vmap(lambda x: ft.cond(x > 0, lambda x: x, lambda x: 0.0 * x, x))(YS), np.maximum(YS, 0))


def test_control_flow_as_functions_with_a_batched_predicate():
    def steps(x):
        return ft.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] + 1), (x, 0))[1]

    equal(vmap(steps)(np.array([1.0, 30.0, 200.0])), np.array([7, 2, 0]))
    branches = [np.sin, np.cos, lambda x: x * x]
    index = np.array([2, 0, 1])
    expected = np.array([branches[i](x) for i, x in zip(index, YS)])
    close(vmap(lambda i, x: ft.switch(i, branches, x))(index, YS[:3]), expected)
    close(grad(lambda x: ft.fori_loop(0, 3, lambda i, c: c * x, 1.0))(2.0), 12.0)
    carry, ys = ft.scan(lambda c, x: (c + x, c * x), 0.0, YS)
    close(carry, np.sum(YS))
    close(ys, np.append(0, np.cumsum(YS)[:-1]) * YS)
    close(ft.map(cube, XS), vmap(cube)(XS))
    close(ft.associative_scan(np.multiply, YS), np.cumprod(YS))


def test_masks_may_differ_in_size_under_grad_but_not_in_a_batch():
    close(grad(lambda x: np.sum(x[x > 0] ** 2))(YS), 2 * np.maximum(YS, 0))
    raises(ft.DataDependentError, lambda: vmap(lambda x: x[x > 0])(XS), "numpy.where")
    ties = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 0.5]])
    for f in (np.nonzero, np.unique, np.flatnonzero):
        raises(ft.DataDependentError, lambda f=f: vmap(f)(ties), f.__name__)
    close(vmap(np.unique)(ties[1:]), [[0.5, 1.0, 2.0]])


# ---- tensors ----


def test_tensors_are_no_ndarrays_but_of_one_public_class():
    def f(x):
        seen.append((isinstance(x, ft.Tensor), isinstance(x, np.ndarray), x.shape))
        return cube(x)

    seen = []
    vmap(grad(f))(XS)
    assert seen == [(True, False, (3,))]


def test_plain_numpy_is_the_namespace_and_a_lost_derivative_an_error():
    close(
        grad(lambda x: np.sum(np.sin(x) * np.stack([x[0], x[1], 1.0 * x[2]])))(X),
        np.sin(X) + X * np.cos(X),
    )
    for convert, instead in (
        (lambda x: np.array([x[0], x[1]]), "functier.numpy.array([x, y])"),
        (lambda x: float(x[0]), "x * 1.0"),
        (lambda x: np.asarray(x), "write functier.numpy.asarray(x)"),
    ):
        raises(ft.ConversionError, lambda c=convert: grad(lambda x: np.sum(c(x)))(X), instead)


def test_perturbations_are_not_confused():
    """d/dx of x times d/dy (x + y) is 1, not 2."""
    equal(grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0), 1.0)
    by_jvp = lambda f, x: jvp(f, (x,), (1.0,))[1]  # noqa: E731
    equal(by_jvp(lambda x: x * by_jvp(lambda y: x + y, 1.0), 1.0), 1.0)
    equal(by_jvp(lambda x: x * grad(lambda y: x + y)(1.0), 1.0), 1.0)


def test_an_escaped_tensor_is_an_error_in_a_second_vmap_of_the_same_size():
    """torch returns a result of the wrong level here, JAX raises."""
    kept = []
    for escape in ("dead", "passthrough"):
        kept.clear()
        vmap(lambda x: kept.append(x) or x, escape=escape)(np.ones((10, 2)))
        again = lambda: vmap(lambda y: y + kept[0])(np.zeros((10, 2)))  # noqa: E731
        if escape == "dead":
            raises(ft.EscapedTensorError, again, "vmap(<lambda>)")
        else:
            equal(again(), np.ones((10, 10, 2)))


def test_the_repr_shows_levels_sizes_and_values():
    texts = []
    vmap(grad(lambda x: texts.append(repr(x)) or cube(x)))(XS[:2])
    has_all(texts[0], "grad", "vmap", "2")


def test_threads_have_levels_of_their_own():
    def work(k):
        for _ in range(20):
            results[k].append(np.array_equal(vmap(grad(cube))(XS * k), 3 * (XS * k) ** 2))

    results = {k: [] for k in range(1, 5)}
    threads = [threading.Thread(target=work, args=(k,)) for k in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(r) == 20 and all(r) for r in results.values())
    with ThreadPoolExecutor(4) as pool:
        close(np.stack(list(pool.map(grad(cube), XS))), 3 * XS**2)


# ---- finding faults ----


def test_leaks_are_reported_with_what_holds_them():
    cache = {}

    def f(x):
        cache["activations"] = [x * 2]
        return cube(x)

    with pytest.raises(ft.LeakError) as error, ft.debug.check_leaks():
        grad(f)(X)
    has_all(str(error.value), "grad(f)", "cache", "['activations'][0]")
    with ft.debug.check_leaks():
        grad(cube)(X)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nans_are_found_where_they_are_made():
    def f(x):
        return np.sum(np.log(x) * 0.0)  # the line

    with pytest.raises(ft.NonFiniteError) as error, ft.debug.debug_nans():
        grad(f)(np.array([1.0, 0.0]))
    has_all(str(error.value), "numpy.log", "test_peer_rows.py", "np.log(x) * 0.0")


def test_an_error_of_the_backward_pass_shows_the_forward_line():
    @ft.custom_vjp
    def broken(x):
        return x * 2

    def rule(_, g):
        raise RuntimeError("no such kernel")

    broken.defvjp(lambda x: (x * 2, None), rule)
    with pytest.raises(RuntimeError) as error, ft.debug.detect_anomaly():
        grad(lambda x: np.sum(broken(x)))(X)
    has_all("\n".join([str(error.value), *error.value.__notes__]), "no such kernel", "broken(x)")


def test_checkers_pass_what_is_right_and_show_both_jacobians_of_what_is_wrong():
    @ft.custom_vjp
    def wrong(x):
        return x**2

    wrong.defvjp(lambda x: (x**2, x), lambda x, g: (2.002 * x * g,))
    assert gradcheck(np.sinh, (X,)) and gradgradcheck(np.sinh, (X,))
    check_grads(np.sinh, (X,), 3, ("fwd", "rev"))
    assert check_vmap(loss, (W, XS, YS), (None, 0, 0))
    with pytest.raises(ft.GradcheckError) as error:
        gradcheck(wrong, (X,), check_forward_ad=False)
    has_all(str(error.value), "numerical", "analytical")
    assert not gradcheck(wrong, (X,), check_forward_ad=False, raise_exception=False)


def test_a_tree_of_gradients_is_one_for_an_optimizer_of_another_library():
    params = {"w": W, "b": np.float64(0.0)}
    step = grad(lambda p: np.mean((XS @ p["w"] + p["b"] - YS) ** 2))
    for _ in range(300):
        params = optree.tree_map(lambda p, g: p - 0.1 * g, params, step(params))
    ones = np.concatenate([XS, np.ones((5, 1))], axis=1)
    best = np.linalg.lstsq(ones, YS)[0]
    assert (
        np.mean((ones @ [*params["w"], params["b"]] - YS) ** 2)
        < np.mean((ones @ best - YS) ** 2) + 0.05
    )
