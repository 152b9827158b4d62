"""jacrev, jacfwd and hessian: values, pytrees, options and errors; in chunks, with randomness."""

import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from functier import random
from support.basics import alike, close, equal, held, raises

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


def test_hessian():
    h = ft.hessian(lambda x, w: np.sum(f(x, w)))(X, W)
    close(h, np.einsum("i,ij,ik->jk", -np.sin(W @ X), W, W))
    both = ft.hessian(lambda a, b: np.sum(a * b * b), (0, 1))(X, 2 * X)
    close(both[0][0], np.zeros((3, 3)))
    close(both[0][1], np.diag(4 * X))
    close(both[1][1], np.diag(2 * X))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_errors(name):
    make = getattr(ft, name)
    raises(ValueError, lambda: make(f, 2)(X, W), f"{name}(f)", "argnums=2", "2 positional")
    raises(TypeError, lambda: make(f, "x")(X, W), f"{name}(f)", "argnums='x'")
    raises(TypeError, lambda: make(f)({"a": [3]}, W), f"{name}(f)", "args[0]['a'][0]", "int64")
    raises(TypeError, lambda: make(3), f"{name}: func is a int")


# ---- jacobians in chunks and with randomness, and of drawn pytrees by a dense reference ----


def named(x, y=2.0, *, z=1.0):
    return x * y * z


# ---- chunks ----


def wide(p, s):
    """Two inputs, two outputs: 7 rows, 7 columns."""
    return {"a": np.tanh(W @ p["x"]) * s, "b": [np.sum(p["x"] ** 2) * p["y"] * s]}


ARGS = {"x": X, "y": np.array([[1.0, -1.0], [0.5, 3.0], [2.0, 0.0]])}, 1.5


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 8, 100, np.int64(4)])
@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_chunks_give_the_same(name, chunk_size):
    jacobian = getattr(ft, name)
    expected = jacobian(wide, (0, 1))(*ARGS)
    alike(jacobian(wide, (0, 1), chunk_size=chunk_size)(*ARGS), expected)
    xs = np.stack([X, 2 * X])
    f = lambda x: wide({"x": x, "y": ARGS[0]["y"]}, 2.0)  # noqa: E731
    each = [jacobian(f)(x) for x in xs]
    batch = ft.vmap(jacobian(f, chunk_size=chunk_size))(xs)
    alike(batch, optree.tree_map(lambda *parts: np.stack(parts), *each))
    slope = ft.grad(lambda x: np.sum(jacobian(f, chunk_size=chunk_size)(x)["a"] ** 2))(X)
    close(slope, ft.grad(lambda x: np.sum(jacobian(f)(x)["a"] ** 2))(X))
    half = jacobian(lambda x: x[:2] * x[0], chunk_size=chunk_size)(np.float32(X))
    assert half.dtype == np.float32


@pytest.mark.parametrize("chunk_size", [1, 2, 4, 10])
def test_a_hessian_in_chunks(chunk_size):
    f = lambda p, s: np.sum(np.sin(wide(p, s)["a"])) * np.sum(p["y"] ** 2)  # noqa: E731
    expected = ft.hessian(f, (0, 1))(*ARGS)
    alike(ft.hessian(f, (0, 1), chunk_size=chunk_size)(*ARGS), expected)
    vector = ft.hessian(wide, (0, 1), chunk_size=chunk_size)(*ARGS)
    alike(vector, ft.hessian(wide, (0, 1))(*ARGS))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_chunks_with_the_other_options(name):
    jacobian = getattr(ft, name)
    z = X + 1j
    close(jacobian(np.square, holomorphic=True, chunk_size=2)(z), np.diag(2 * z))
    out, aux = jacobian(lambda x: (x * x, "aux"), has_aux=True, chunk_size=2)(X)
    close(out, np.diag(2 * X))
    assert aux == "aux"
    close(jacobian(lambda x, w: w @ x, argnames="w", chunk_size=4)(X, w=W)[1, 1], X)
    equal(jacobian(lambda x: np.ones(2), chunk_size=1)(X), np.zeros((2, 3)))
    equal(jacobian(lambda x: x * x, chunk_size=1)(np.ones(0)), np.zeros((0, 0)))
    assert jacobian(lambda x: (), chunk_size=1)(X) == ()
    out = jacobian(lambda x: (x * x, np.ones(3)), chunk_size=2)(X)
    equal(out[1], np.zeros((3, 3)))
    out[1][...] = 1.0
    close(out[0], np.diag(2 * X))


@pytest.mark.parametrize("chunk_size", [1, 2, None])
@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_how_often_a_function_is_called_and_at_which_levels(name, chunk_size):
    seen = []

    def f(x):
        seen.append([c.__name__ for c in type(x).__mro__ if issubclass(c, ft.Tensor)])
        return x * x

    getattr(ft, name)(f, chunk_size=chunk_size)(X)
    if name == "jacrev":
        assert seen == [["jacrev(f)", "Tensor"]]
    elif chunk_size == 1:
        assert seen == 3 * [["jacfwd(f)", "Tensor"]]
    else:
        assert seen == (2 if chunk_size else 1) * [["jacfwd(f)", "jacfwd(f)", "Tensor"]]


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_chunks_bound_the_memory(name):
    """The memory in use besides the result is of the order of a chunk."""
    x = np.linspace(0.1, 1.0, 400)

    def f(x):
        for _ in range(4):
            x = np.sin(x) * x
        return x

    def peak(chunk_size):
        jacobian = getattr(ft, name)(f, chunk_size=chunk_size)
        jacobian(x)
        result, _, most = held(lambda: jacobian(x))
        return most - result.nbytes

    whole = peak(None)
    assert whole > 400 * 400 * 8
    assert peak(20) < whole / 5
    assert peak(1) < whole / 20


def test_the_tape_goes_with_the_last_chunk():
    class Watched(np.ndarray):
        """An array that can be referred to weakly."""

    refs = []

    def f(x):
        y = np.sin(x)
        refs.append(weakref.ref(y.elem()))
        return y * y

    gc.disable()
    try:
        for chunk_size in (1, 2):
            ft.jacrev(f, chunk_size=chunk_size)(X.view(Watched))
            assert refs.pop()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_errors_of_chunks(name):
    make = getattr(ft, name)
    for bad in (0, -3, np.int64(0)):
        raises(
            ValueError, lambda bad=bad: make(named, chunk_size=bad), f"{name}(named)", f"{bad!r}"
        )
    for bad in (1.5, "2", True, (1,)):
        raises(TypeError, lambda bad=bad: make(named, chunk_size=bad), f"{name}(named)", f"{bad!r}")
    with pytest.raises(ZeroDivisionError):
        make(
            lambda x: np.sum(x * x) / 0 if isinstance(x, ft.Tensor) and 1 / 0 else x, chunk_size=2
        )(X)
    with ft.vmap() as B:
        assert ft.depth_of(B(X)) == 1


def test_results_that_change_from_chunk_to_chunk():
    calls = []

    def f(x):
        calls.append(1)
        return x if len(calls) == 1 else x[:2]

    with pytest.raises(ValueError, match=r"jacfwd\(f\).*chunk"):
        ft.jacfwd(f, chunk_size=2)(X)


# ---- randomness ----


def test_randomness():
    for name, f in (("jacfwd", lambda x, r: x * r), ("hessian", lambda x, r: np.sum(x**2 * r))):
        transform = getattr(ft, name)

        def call(randomness, transform=transform, f=f, **options):
            rng = random.default_rng(0)
            g = lambda x: f(x, rng.normal(size=3))  # noqa: E731
            return transform(g, randomness=randomness, **options)(X)

        factor = 1 if name == "jacfwd" else 2
        same = np.diag(call("same")) / factor
        equal(same, random.default_rng(0).normal(size=3))
        different = np.diag(call("different")) / factor
        assert len({*same, *different}) >= 5
        close(
            np.diag(call("same", chunk_size=2)) / factor,
            np.diag(call("same", chunk_size=1)) / factor,
        )
        raises(ft.RandomnessError, lambda: call("error"))
        equal(call("error", chunk_size=1), call("same"))  # there is no batch
        raises(ValueError, lambda transform=transform: transform(named, randomness="x"), f"{name}(")


def test_aux_that_was_drawn_for_each_column():
    rng = random.default_rng(0)

    def f(x):
        draw = rng.normal()
        return x * draw, {"draw": draw}

    jacobian, aux = ft.jacfwd(f, has_aux=True, randomness="different")(X)
    equal(aux["draw"], jacobian[0, 0])
    assert len(set(np.diag(jacobian))) == 3


def test_a_level_with_randomness_is_not_used_again_without():
    rng = random.default_rng(0)
    ft.jacfwd(lambda x: x * rng.normal(), randomness="same")(X)
    raises(ft.RandomnessError, lambda: ft.jacfwd(lambda x: x * rng.normal())(X))


# ---- drawn trees ----


class Pair(NamedTuple):
    first: Any
    second: Any


SHAPES = st.sampled_from([(), (1,), (2,), (3,), (2, 2), (0,), (1, 3)])


def trees(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner),
            st.lists(inner, max_size=2),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            st.builds(Pair, inner, st.none()),
        ),
        max_leaves=4,
    )


class Form(NamedTuple):
    """Stands for an array in a drawn tree."""

    shape: tuple


def is_form(x):
    return isinstance(x, Form)


FORMS = trees(st.builds(Form, SHAPES))


def map_forms(f, tree):
    return optree.tree_map(f, tree, is_leaf=is_form)


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
@given(
    given=FORMS, result=FORMS, chunk_size=st.sampled_from([None, 1, 2, 3]), seed=st.integers(0, 99)
)
def test_jacobians_of_drawn_trees(name, given, result, chunk_size, seed):
    """``tanh`` of linear maps, one of each leaf to each, whose Jacobian is written down."""
    rng = np.random.default_rng(seed)
    inputs = map_forms(lambda form: rng.normal(size=form.shape), given)
    leaves = optree.tree_leaves(inputs)
    forms = optree.tree_leaves(result, is_leaf=is_form)
    structure = optree.tree_structure(result, is_leaf=is_form)
    table = [[rng.normal(size=(*form.shape, *np.shape(x))) for x in leaves] for form in forms]

    def f(tree):
        xs = optree.tree_leaves(tree)
        out = [
            np.tanh(
                sum((np.tensordot(m, x, np.ndim(x)) for m, x in zip(row, xs)), np.zeros(form.shape))
            )
            for row, form in zip(table, forms)
        ]
        return structure.unflatten(out)

    actual = getattr(ft, name)(f, chunk_size=chunk_size)(inputs)
    values = optree.tree_leaves(f(inputs))
    inner = optree.tree_structure(inputs)
    expected = structure.unflatten([
        inner.unflatten([
            (1 - y**2).reshape(np.shape(y) + (1,) * np.ndim(x)) * m for x, m in zip(leaves, row)
        ])
        for y, row in zip(values, table)
    ])  # fmt: skip

    alike(actual, expected)


@given(given=FORMS, chunk_size=st.sampled_from([None, 1, 2]), seed=st.integers(0, 99))
def test_hessians_of_drawn_trees(given, chunk_size, seed):
    """A quadratic form over all leaves, whose Hessian is its matrix."""
    rng = np.random.default_rng(seed)
    inputs = map_forms(lambda form: rng.normal(size=form.shape), given)
    leaves, structure = optree.tree_flatten(inputs)[:2]
    table = [[rng.normal(size=np.shape(a) + np.shape(b)) for b in leaves] for a in leaves]

    def f(tree):
        xs = optree.tree_leaves(tree)
        total = 0.0 * sum((np.sum(x) for x in xs), 0.0)
        for a, row in zip(xs, table):
            for b, m in zip(xs, row):
                total = total + np.sum(a * np.tensordot(m, b, np.ndim(b)))
        return total

    if not leaves:
        return
    actual = ft.hessian(f, chunk_size=chunk_size)(inputs)

    def transposed(i, j):
        m, k = table[j][i], np.ndim(leaves[j])
        return np.transpose(m, (*range(k, m.ndim), *range(k)))

    expected = structure.unflatten([
        structure.unflatten([table[i][j] + transposed(i, j) for j in range(len(leaves))])
        for i in range(len(leaves))
    ])  # fmt: skip
    alike(actual, expected)


def test_the_comparison_of_trees_finds_what_differs():
    alike({"a": (X, None)}, {"a": (X, None)})
    for other in ({"a": [X, None]}, {"a": (X, X)}, {"a": (X + 1e-6, None)}, {"a": (X[:2], None)}):
        raises(AssertionError, lambda: alike({"a": (X, None)}, other))
