"""linearize and linear_transpose, beside jvp and the adjoint identity."""

import gc
import warnings
import weakref
from types import SimpleNamespace

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
import samples
from faults.planted import transforms as faulty
from support.basics import alike, close, equal, in_thread, raises, recorder
from support.checks import directions, form_of, function_of, inner, precision, same
from support.turns import families

X = np.array([0.5, -1.5, 2.0])
T = np.array([1.0, 0.5, -2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])


def f(x, w=W):
    return {"a": np.tanh(w @ x) * np.sum(x), "b": [x[1:] ** 2, np.argmax(x)]}


# ---- linearize, for every operation of the table ----


def check_linearize(row):
    """The recorded derivative is that of jvp, in value and form, for one and for a batch."""
    g, points = function_of(row)
    tangents = directions(points, 3)
    value, expected = ft.jvp(g, tuple(points), tangents)
    own, jvp_fn = ft.linearize(g, *points)
    rtol = precision(row, 1e-10, 1e-5)
    for _ in range(2):
        actual = jvp_fn(*tangents)
        same(actual, expected, rtol)
        assert [form_of(t) for t in actual] == [form_of(t) for t in expected]
    same(own, value)
    batch = ft.vmap(jvp_fn)(*[np.stack([x, 2 * x]) for x in tangents])
    same([x[0] for x in batch], expected, rtol)
    again = ft.vjp(jvp_fn, *tangents)[1]
    cotangents = list(directions(expected, 5))
    left, right = inner(cotangents, expected), inner(again(cotangents), tangents)
    np.testing.assert_allclose(right, left, rtol=max(rtol, 1e-8), atol=max(rtol, 1e-8))


@pytest.mark.parametrize("family", families())
def test_every_operation(family, rows_of):
    with (
        warnings.catch_warnings(action="ignore", category=ft.FallbackWarning),
        np.errstate(all="ignore"),
    ):
        for name, row in rows_of(family).items():
            if row.order and row.differentiated():
                try:
                    check_linearize(row)
                except Exception as error:
                    error.add_note(name)
                    raise


def test_the_check_finds_a_wrong_step(monkeypatch):
    row = next(row for name, row in samples.of("elementwise").items() if ".sin-" in name)
    check_linearize(row)
    faulty.the_check_finds_a_wrong_step(monkeypatch)
    raises(AssertionError, lambda: check_linearize(row))


# ---- what jvp_fn may be used for ----


def test_one_call_of_the_function_and_many_of_its_derivative():
    calls = []

    def g(x, w):
        calls.append(1)
        return f(x, w)

    value, jvp_fn = ft.linearize(g, X, W)
    alike(value, f(X))
    for scale in (1.0, -3.0, 0.0):
        expected = ft.jvp(f, (X, W), (scale * T, W))[1]
        alike(jvp_fn(scale * T, W), expected)
    assert calls == [1]


def test_inside_every_transform():
    _, jvp_fn = ft.linearize(lambda x: np.tanh(W @ x), X)
    jacobian = ft.jacfwd(lambda x: np.tanh(W @ x))(X)
    close(ft.vmap(jvp_fn, out_dims=1)(np.eye(3)), jacobian)
    close(ft.vmap(ft.vmap(jvp_fn))(np.eye(3)[None])[0], jacobian.T)
    close(ft.vjp(jvp_fn, T)[1](np.ones(2))[0], np.ones(2) @ jacobian)
    close(ft.grad(lambda t: np.sum(jvp_fn(t) ** 2))(T), 2 * jacobian.T @ (jacobian @ T))
    close(ft.jvp(jvp_fn, (X,), (T,))[1], jacobian @ T)
    close(ft.jacrev(jvp_fn)(T), jacobian)
    close(ft.linearize(jvp_fn, X)[1](T), jacobian @ T)
    equal(ft.hessian(jvp_fn)(T), np.zeros((2, 3, 3)))
    close(in_thread(lambda: jvp_fn(T)), jacobian @ T)
    close(ft.linear_transpose(jvp_fn, X)(np.ones(2))[0], np.ones(2) @ jacobian)


NESTED = {
    "vmap": lambda g: ft.vmap(g)(np.stack([X, 2 * X])),
    "grad": lambda g: ft.grad(lambda x: np.sum(g(x) ** 2))(X),
    "jvp": lambda g: ft.jvp(g, (X,), (T,)),
    "vjp": lambda g: ft.vjp(g, X)[1](np.ones(2)),
    "jacrev": lambda g: ft.jacrev(g)(X),
    "jacfwd": lambda g: ft.jacfwd(g)(X),
    "hessian": lambda g: ft.hessian(g)(X),
    "linearize": lambda g: ft.linearize(g, X)[1](T),
    "vmap of grad": lambda g: ft.vmap(ft.grad(lambda x: np.sum(g(x))))(np.stack([X, T])),
    "grad of vmap": lambda g: ft.grad(lambda x: np.sum(ft.vmap(g)(np.stack([x, x * x]))))(X),
}
INNER = {
    "plain": lambda x: np.tanh(W @ x) * x[0],
    "vmap": lambda x: np.sum(ft.vmap(lambda w: np.sin(w * x))(W), axis=1),
    "grad": lambda x: W @ ft.grad(lambda y: np.sum(np.sin(y) * x))(x),
    "jvp": lambda x: ft.jvp(lambda y: np.tanh(W @ y), (x,), (x * x,))[1],
    "jacrev": lambda x: np.sum(ft.jacrev(lambda y: np.sin(W @ y))(x), axis=1),
    "linearize": lambda x: ft.linearize(lambda y: np.sin(W @ y), x)[1](x**3),
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", NESTED)
def test_nested(outer, inner):
    """The derivative of `inner` along the point itself, inside `outer`."""
    g = INNER[inner]
    expected = NESTED[outer](lambda x: ft.jvp(g, (x,), (np.cos(x),))[1])
    alike(NESTED[outer](lambda x: ft.linearize(g, x)[1](np.cos(x))), expected)


def test_a_tangent_of_an_outer_level_at_a_plain_point():
    _, jvp_fn = ft.linearize(lambda x: np.sin(x) * x, X)
    slope = np.cos(X) * X + np.sin(X)
    close(ft.grad(lambda t: np.sum(jvp_fn(t * t)))(T), slope * 2 * T)
    close(
        ft.vmap(lambda s: jvp_fn(s * T))(np.array([1.0, 2.0])), np.stack([slope * T, 2 * slope * T])
    )


def test_a_derivative_that_outlives_a_level_around_it():
    box = []
    ft.vmap(lambda x: box.append(ft.linearize(lambda y: y * x, X)[1]) or x)(np.ones(2))
    raises(ft.EscapedTensorError, lambda: box[0](T), "vmap(<lambda>)")


# ---- forms ----


def test_scalars():
    for x, t in ((3.0, 1.0), (np.float64(3.0), 1), (np.array(3.0), np.array(1.0)), (3.0, True)):
        y, jvp_fn = ft.linearize(lambda x: x * x, x)
        equal(y, np.float64(9.0))
        equal(jvp_fn(t), np.float64(6.0))
    single = np.array([1.0, 2.0], np.float32)
    equal(ft.linearize(lambda x: x * single, 3.0)[1](2.0), 2 * single)
    equal(ft.linearize(lambda x: np.stack([x, x])[None], 3.0)[1](2.0), np.full((1, 2), 2.0))
    equal(ft.linearize(lambda x: x + 1j, 3.0)[1](2.0), np.complex128(2.0))


def test_results_that_do_not_depend_on_the_primals():
    out = ft.linearize(lambda x: (np.ones(2), 3, np.argmax(x), np.sign(x), x), X)[1](T)
    equal(out[0], np.zeros(2))
    equal(out[1], np.int64(0))
    equal(out[2], np.int64(0))
    equal(out[3], np.zeros(3))
    equal(out[4], T)


# ---- what is recorded ----


def operations(g, *primals):
    """The operations that one call of the derivative makes on its tangent."""
    _, jvp_fn = ft.linearize(g, *primals)
    kind = recorder()
    jvp_fn(*[kind(np.ones(np.shape(x))) for x in primals])
    return [func for func, _ in kind.operations]


def test_only_what_a_result_needs_is_computed():
    def g(x):
        np.exp(np.sin(x) * x)  # dead
        y = np.sin(x)
        return y * 2.0

    assert operations(g, X) == [np.multiply, np.multiply]
    assert operations(lambda x: np.ones(3) + np.floor(x), X) == []
    assert operations(lambda x: x, X) == [np.copy]  # so that the result is no alias
    assert operations(lambda x: x * np.sum(np.floor(x)), X) == [np.multiply]


def test_values_of_the_recording_go():
    class Watched(np.ndarray):
        """An array that can be referred to weakly."""

        def __array_finalize__(self, other):
            made.append(weakref.ref(self))

    made: list = []

    def alive():
        return sum(ref() is not None for ref in made)

    def g(x):
        return np.exp(np.sin(x)) + 1.0

    gc.disable()
    try:
        x = X.view(Watched)
        value, jvp_fn = ft.linearize(g, x)
        del value
        assert alive() == 3  # beside x the sine's derivative, a cosine, and the result of exp
        del jvp_fn
        assert alive() == 1
    finally:
        gc.enable()


def test_intermediate_tangents_go_as_they_have_been_used():
    alive = []

    class Counted(np.ndarray):
        """An array that notes how many of its kind there are."""

        count = 0

        def __array_finalize__(self, other):
            Counted.count += 1
            alive.append(Counted.count)

        def __del__(self):
            Counted.count -= 1

    def g(x):
        for _ in range(50):
            x = np.sin(x)
        return x

    _, jvp_fn = ft.linearize(g, X)
    jvp_fn(T.view(Counted))
    assert len(alive) >= 50
    assert max(alive) <= 6


def test_a_long_chain_needs_no_recursion():
    def g(x):
        for _ in range(20_000):
            x = x * 1.0
        return x

    _, jvp_fn = ft.linearize(g, 2.0)
    equal(jvp_fn(3.0), np.float64(3.0))
    del jvp_fn


def test_infinite_factors_make_no_warning_before_there_is_a_tangent():
    _, jvp_fn = ft.linearize(lambda x: np.sum(x[:, None] * np.array([np.inf, 1.0]), 0), np.ones(2))
    equal(jvp_fn(np.ones(2)), np.array([np.inf, 2.0]))
    _, jvp_fn = ft.linearize(lambda x: np.dot(np.array([[np.inf, 1.0]]), x), np.ones(2))
    equal(jvp_fn(np.ones(2)), np.array([np.inf]))


# ---- errors of linearize ----


def model(x):
    return np.sin(x)


def test_errors_of_linearize():
    raises(ValueError, lambda: ft.linearize(model), "linearize(model)", "linearize(func, x, ...)")
    raises(TypeError, lambda: ft.linearize(3, X), "linearize: func is a int")
    raises(
        TypeError, lambda: ft.linearize(model, {"a": [3]}), "linearize(model)", "primals[0]['a'][0]"
    )
    raises(ValueError, lambda: ft.linearize(model, X, escape="x"), "linearize(model): escape='x'")
    raises(TypeError, lambda: ft.linearize(lambda x: "text", X), "linearize(<lambda>)", "str")
    raises(TypeError, lambda: ft.linearize(model, X, has_aux=True), "linearize(model)", "has_aux")
    _, jvp_fn = ft.linearize(model, X)
    raises(ValueError, lambda: jvp_fn(X, X), "linearize(model)", "tangents", "structure")
    raises(
        ValueError, lambda: jvp_fn(X[:2]), "linearize(model) | tangent of primals[0] | (2,) | (3,)"
    )
    raises(ValueError, lambda: jvp_fn(X * 1j), "tangent of primals[0]", "complex128")


def test_a_rule_that_asks_for_a_tangents_value():
    @ft.custom_jvp
    def clipped(x):
        return x * 2.0

    @clipped.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return x * 2.0, t if np.all(t > 0) else 2.0 * t

    raises(ft.ConversionError, lambda: ft.linearize(clipped, X), "trace(", "not known yet")


# ---- linear_transpose ----

LINEAR = {
    "matmul": lambda x, y: W @ x,
    "sum": lambda x, y: np.sum(x) * 2.0 + y,
    "tree": lambda x, y: {"a": np.cumsum(x)[::-1], "b": [np.outer(x, T), y[0]]},
    "reads": lambda x, y: x[[0, 0, 2]] + np.roll(x, 1) - y,
    "joins": lambda x, y: np.concatenate([x, y[1:], np.zeros(2)]),
    "fft": lambda x, y: np.fft.rfft(x) + np.sum(y),
    "complex": lambda x, y: x * (2 + 1j) + y * 1j,
    "constant": lambda x, y: (np.zeros(2), 0 * x),
    "where": lambda x, y: np.where(T > 0, x, y),
}


@pytest.mark.parametrize("name", LINEAR)
@given(
    dtypes=st.tuples(*[st.sampled_from([np.float32, np.float64, np.complex128])] * 2),
    seed=st.integers(0, 99),
)
def test_the_adjoint_identity(name, dtypes, seed):
    """``c @ f(x)`` is ``transpose(c) @ x``, without conjugation; of real inputs its real part."""
    g = LINEAR[name]
    if name == "fft":
        dtypes = np.float64, dtypes[1]
    rng = np.random.default_rng(seed)

    def drawn(form):
        x = rng.normal(size=np.shape(form)) + 1j * rng.normal(size=np.shape(form))
        kind = np.result_type(form)
        return np.asarray(x if kind.kind == "c" else x.real).astype(kind)

    xs = [drawn(np.zeros(3, d)) for d in dtypes]
    values = optree.tree_map(np.asarray, g(*xs))
    c = optree.tree_map(drawn, values)
    transpose = ft.linear_transpose(g, *[np.zeros(3, d) for d in dtypes])
    pulled = transpose(c)
    assert [form_of(p) for p in pulled] == [form_of(x) for x in xs]
    left = sum(np.sum(a * b).real for a, b in zip(*map(optree.tree_leaves, (c, values))))
    right = sum(np.sum(a * b).real for a, b in zip(pulled, xs))
    np.testing.assert_allclose(right, left, rtol=1e-4, atol=1e-4)
    alike(transpose(c), pulled)


def test_forms_are_all_that_counts():
    form = SimpleNamespace(shape=(3,), dtype=np.dtype(float))
    for x in (X, np.full(3, np.nan), form):
        close(ft.linear_transpose(lambda x: W @ x, x)(np.ones(2))[0], W.sum(0))
    equal(ft.linear_transpose(lambda x: 3.0 * x, 7.0)(2.0)[0], np.float64(6.0))
    (tree,) = ft.linear_transpose(lambda p: p["a"] + p["b"], {"a": form, "b": form})(T)
    alike(tree, {"a": T, "b": T})


def test_transposes_inside_transforms():
    transpose = ft.linear_transpose(lambda x: W @ x, X)
    close(ft.vmap(transpose)(np.eye(2))[0], W)
    close(ft.jacrev(lambda c: transpose(c)[0])(np.ones(2)), W.T)
    close(ft.linear_transpose(lambda c: transpose(c)[0], np.zeros(2))(X)[0], W @ X)
    mapped = ft.vmap(lambda s: ft.linear_transpose(lambda x: s * (W @ x), X)(np.ones(2))[0])
    close(mapped(np.array([1.0, 2.0])), np.stack([W.sum(0), 2 * W.sum(0)]))
    by_w = ft.grad(lambda w: np.sum(ft.linear_transpose(lambda x: w @ x, X)(np.ones(2))[0] ** 2))(W)
    close(by_w, np.tile(2 * W.sum(0), (2, 1)))
    mapped = ft.vmap(lambda x: ft.linear_transpose(lambda x: W @ x, x)(np.ones(2))[0])
    close(mapped(np.stack([X, X])), np.stack([W.sum(0)] * 2))


NOT_LINEAR = {
    "square": lambda x: x * x,
    "absolute": np.abs,
    "sine": np.sin,
    "largest": np.max,
    "relu": lambda x: np.maximum(x, 0),
    "norm": np.linalg.norm,
    "branch": lambda x: np.where(x > 0, x, 2 * x),
    "sorted": np.sort,
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_functions_that_are_not_linear(name):
    call = lambda: ft.linear_transpose(NOT_LINEAR[name], X)  # noqa: E731
    raises(ValueError, call, "linear_transpose(", "derivative at 0", "not linear")


def test_errors_of_linear_transpose():
    raises(
        ValueError, lambda: ft.linear_transpose(lambda x: {"a": x, "b": x + 1}, X),
        "linear_transpose(<lambda>)", "the result['b'] is not 0",
    )  # fmt: skip
    raises(ValueError, lambda: ft.linear_transpose(model), "linear_transpose(func, x, ...)")
    raises(TypeError, lambda: ft.linear_transpose(model, np.arange(3)), "primals[0]", "int64")
    raises(TypeError, lambda: ft.linear_transpose(model, "x"), "primals[0]", "str")
    raises(TypeError, lambda: ft.linear_transpose(3, X), "linear_transpose: func is a int")
    transpose = ft.linear_transpose(lambda x: [W @ x], X)
    raises(ValueError, lambda: transpose(np.ones(2)), "cotangents", "structure")
    raises(ValueError, lambda: transpose([np.ones(3)]), "cotangent of output[0]", "(3,)", "(2,)")
