"""The options that the derivative transforms share: argnames, has_aux, allow_int and strict;
and what `vjp` returns.
"""

import functools
import gc
import inspect
import operator
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from support.basics import alike, close, equal, in_thread, raises

X = np.array([0.5, -1.5, 2.0])
W = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 3.0]])

GRADIENTS = {
    "grad": lambda out: out,
    "value_and_grad": operator.itemgetter(1),
    "grad_and_value": operator.itemgetter(0),
}
JACOBIANS = "jacrev", "jacfwd", "hessian"
ALL = (*GRADIENTS, *JACOBIANS, "elementwise_grad")


def gradient_of(name):
    """The transform of that name, giving derivatives only."""
    transform, pick = getattr(ft, name), GRADIENTS.get(name, lambda out: out)
    return lambda f, *args, **options: lambda *a, **k: pick(transform(f, *args, **options)(*a, **k))


# ---- signatures ----

TORCH = {
    "grad": "func argnums has_aux",
    "value_and_grad": "func argnums has_aux",
    "grad_and_value": "func argnums has_aux",
    "elementwise_grad": "func argnums has_aux",
    "jacrev": "func argnums has_aux",
    "jacfwd": "func argnums has_aux",
    "hessian": "func argnums has_aux",
    "value_and_jacobian": "func argnums has_aux",
    "hessian_diagonal": "func argnums",
    "laplacian": "func argnums",
    "sparse_jacobian": "func argnums has_aux",
    "sparse_hessian": "func argnums has_aux",
    "jacobian_pattern": "func argnums has_aux",
    "vjp": "func *primals",
    "linearize": "func *primals",
    "linear_transpose": "func *primals",
    "jvp": "func primals tangents",
    "hvp": "func primals tangents",
}
"""The parameters that may be passed by position, in the order of torch.func."""


@pytest.mark.parametrize("name", TORCH)
def test_the_order_of_parameters(name):
    kinds: dict = {}
    for parameter in inspect.signature(getattr(ft, name)).parameters.values():
        star = "*" * (parameter.kind is parameter.VAR_POSITIONAL)
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        kinds.setdefault(by_name, []).append(star + parameter.name)
    assert " ".join(kinds[False]) == TORCH[name]
    if name != "linear_transpose":
        assert kinds[True][-1] == "escape"


@pytest.mark.parametrize("name", ALL)
def test_errors_of_argnums(name):
    make, label = getattr(ft, name), f"{name}(named)"
    for argnums in ((0, 0), (1, -1), ()):
        raises(ValueError, lambda a=argnums: make(named, a)(1.0, 2.0), label, "each once")
    for argnums in (2, -3, (0, 2)):
        raises(ValueError, lambda a=argnums: make(named, a)(1.0, 2.0), label, "2 positional")
    for argnums in ([0], "x", True, 1.0, None):
        raises(TypeError, lambda a=argnums: make(named, a)(1.0, 2.0), label, f"{argnums!r}")


# ---- argnames ----


def elementwise(a, /, b, *, c):
    """Every kind of parameter; elementwise, so that it is for every transform."""
    return np.sin(a) * b + c * a * c


def scalar(a, /, b, *, c):
    return np.sum(elementwise(a, b, c=c))


def fit_for(name):
    return scalar if name in ("hessian", *GRADIENTS) else elementwise


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_argnames_are_argnums(name, data):
    """By name, in any order, each passed in any way it can be."""
    transform, f = gradient_of(name), fit_for(name)
    values = {"a": X, "b": X + 1, "c": X * 2}
    names = data.draw(st.permutations(list(values)))[: data.draw(st.integers(1, 3))]
    single = len(names) == 1 and data.draw(st.booleans())
    by_keyword = data.draw(st.booleans())

    args = (X,) if by_keyword else (X, values["b"])
    kwargs = {"b": values["b"], "c": values["c"]} if by_keyword else {"c": values["c"]}
    actual = transform(f, argnames=names[0] if single else tuple(names))(*args, **kwargs)
    nums = tuple("abc".index(n) for n in names)
    expected = transform(lambda a, b, c: f(a, b, c=c), nums[0] if single else nums)(
        *values.values()
    )

    alike(actual, expected)


@pytest.mark.parametrize("name", ALL)
def test_argnames_of_a_function_without_a_signature_or_with_any_keyword(name):
    def f(x, **options):
        return options["scale"] * x if name != "hessian" else options["scale"] ** 2 * x

    transform = gradient_of(name)
    close(
        transform(f, argnames="scale")(3.0, scale=2.0), np.float64(6.0 if name == "hessian" else 3)
    )

    class Opaque:
        """No signature can be found."""

        __signature__ = "none"

        def __call__(self, x, y):
            return f(x, scale=y)

    close(
        transform(Opaque(), argnames="y")(3.0, y=2.0),
        transform(f, argnames="scale")(3.0, scale=2.0),
    )
    raises(ValueError, lambda: transform(Opaque(), argnames="y")(3.0, 2.0), "'y' was not passed")


def test_argnames_under_other_transforms():
    f = lambda x, *, w: np.sum(np.sin(w @ x))  # noqa: E731
    slope = ft.grad(f, argnames="w")
    expected = np.stack([ft.grad(lambda w, x=x: f(x, w=w))(W) for x in (X, 2 * X)])
    close(ft.vmap(lambda x: slope(x, w=W))(np.stack([X, 2 * X])), expected)
    close(ft.vmap(lambda w: slope(X, w=w))(np.stack([W, W + 1]))[0], slope(X, w=W))
    twice = ft.grad(lambda x: np.sum(slope(x, w=W)))(X)
    close(twice, ft.grad(lambda x: np.sum(ft.grad(lambda w: f(x, w=w))(W)))(X))
    nested = ft.grad(ft.grad(lambda a, *, k: a**2 * k**3, argnames="k"), argnames="k")
    close(nested(2.0, k=3.0), np.float64(4 * 6 * 3.0))

    def outer(w):
        return np.sum(in_thread(lambda: ft.grad(f, argnames="w")(X, w=w)))

    close(ft.grad(outer)(W), ft.grad(lambda w: np.sum(ft.grad(lambda v: f(X, w=v))(w)))(W))


def test_argnames_on_decorators():
    @ft.grad(argnames=("k",), has_aux=True)
    def f(x, *, k):
        return k["a"] * x, "note"

    (gradient,), note = f(2.0, k={"a": 3.0})
    close(gradient["a"], np.float64(2.0))
    assert note == "note" and f.__name__ == "f"

    @ft.value_and_grad(allow_int=True)
    def g(x):
        return x["a"] * x["n"]

    value, gradient = g({"a": 2.0, "n": 3})
    equal(value, np.float64(6.0))
    alike(gradient, {"a": np.float64(3.0), "n": np.float64(0.0)})


def named(x, y=2.0, *, z=1.0):
    return x * y * z


@pytest.mark.parametrize("name", ALL)
def test_errors_of_argnames(name):
    make = getattr(ft, name)
    label = f"{name}(named)"
    raises(ValueError, lambda: make(named, 1, argnames="x"), label, "argnums=1", "argnames='x'")
    raises(ValueError, lambda: make(named, (0,), argnames="x"), label, "argnums=(0,)")
    raises(ValueError, lambda: make(named, argnames="w"), label, "'w'", "'x', 'y', 'z'")
    raises(ValueError, lambda: make(named, argnames=("x", "x")), label, "each once")
    raises(ValueError, lambda: make(named, argnames=()), label, "at least one")
    raises(TypeError, lambda: make(named, argnames=1), label, "argnames=1", "a tuple of str")
    raises(TypeError, lambda: make(named, argnames=("x", 1)), label, "a tuple of str")
    raises(
        ValueError, lambda: make(named, argnames="y")(1.0, z=3.0),
        label, "'y' was not passed", "passed 'x', 'z'", "y=...",
    )  # fmt: skip
    raises(
        TypeError,
        lambda: make(named, argnames="z")(1.0, z={"k": [3]}),
        label,
        "kwargs['z']['k'][0]",
    )
    raises(TypeError, lambda: make(named, argnames="x")([3], z=3.0), label, "args[0][0]")


# ---- has_aux ----

CALLS = {
    "grad": lambda f, x: ft.grad(f, has_aux=True)(x)[1],
    "value_and_grad": lambda f, x: ft.value_and_grad(f, has_aux=True)(x)[0][1],
    "grad_and_value": lambda f, x: ft.grad_and_value(f, has_aux=True)(x)[1][1],
    "vjp": lambda f, x: ft.vjp(f, x, has_aux=True)[2],
    "jvp": lambda f, x: ft.jvp(f, (x,), (x,), has_aux=True)[2],
    "jacrev": lambda f, x: ft.jacrev(f, has_aux=True)(x)[1],
    "jacrev in chunks": lambda f, x: ft.jacrev(f, has_aux=True, chunk_size=2)(x)[1],
    "jacfwd": lambda f, x: ft.jacfwd(f, has_aux=True)(x)[1],
    "jacfwd in chunks": lambda f, x: ft.jacfwd(f, has_aux=True, chunk_size=2)(x)[1],
    "hessian": lambda f, x: ft.hessian(f, has_aux=True)(x)[1],
    "linearize": lambda f, x: ft.linearize(f, x, has_aux=True)[2],
    "hvp": lambda f, x: ft.hvp(f, (x,), (x,), has_aux=True)[2],
    "elementwise_grad": lambda f, x: ft.elementwise_grad(
        lambda x: (x * x, f(x)[1]), has_aux=True
    )(x)[1],
}  # fmt: skip
"""The aux of each transform."""


class Note:
    """No pytree."""


@pytest.mark.parametrize("outer", [None, "vmap", *CALLS])
@pytest.mark.parametrize("name", CALLS)
def test_aux_holds_values_and_anything_else_as_it_is(name, outer):
    note, calls = Note(), []

    def f(x):
        calls.append(1)
        return np.sum(x * x), {"twice": 2 * x, "deep": [(x, None)], "note": note, "text": "t"}

    def seen(x):
        return CALLS[name](f, x)

    if outer is None:
        aux = seen(X)
    elif outer == "vmap":
        arrays = lambda x: {k: seen(x)[k] for k in ("twice", "deep")}  # noqa: E731
        aux = ft.vmap(arrays)(np.stack([X, X + 1]))
        equal(aux["twice"], 2 * np.stack([X, X + 1]))
        return
    else:
        aux = CALLS[outer](lambda x: (np.sum(x * x), seen(x)), X)
    equal(aux["twice"], 2 * X)
    equal(aux["deep"][0][0], X)
    assert aux["note"] is note and aux["text"] == "t" and aux["deep"][0][1] is None
    if outer is None and name != "jacfwd in chunks":
        assert len(calls) == 1


def test_aux_keeps_the_tensors_of_levels_that_go_on():
    inner = []

    def f(x):
        _, aux = ft.grad(lambda y: (np.sum(x * y), (x, y)), has_aux=True)(X)
        inner.extend(map(ft.depth_of, aux))
        return np.sum(aux[0] * aux[0] + aux[1])

    close(ft.grad(f)(X), 2 * X)
    assert inner == [1, 0]


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_pair(name):
    def f(x):
        return np.sum(x * x)

    call = CALLS[name]
    if name == "elementwise_grad":
        call = lambda f, x: ft.elementwise_grad(f, has_aux=True)(x)  # noqa: E731
    raises(TypeError, lambda: call(f, X), "has_aux=True needs a function that returns (output, aux")


# ---- allow_int ----


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("n", [3, np.int8(3), np.array([1, 2, 0]), np.array([True, False, True])])
def test_gradients_beside_integers(name, n):
    f = lambda x, n: np.sum(x**2 * n)  # noqa: E731
    transform = gradient_of(name)
    gradient, zero = transform(f, (0, 1), allow_int=True)(X, n)
    close(gradient, 2 * X * n)
    equal(zero, np.zeros(np.shape(n))[()])
    equal(transform(f, 1, allow_int=True)(X, n), np.zeros(np.shape(n))[()])
    equal(transform(f, argnames="n", allow_int=True)(X, n=n), np.zeros(np.shape(n))[()])
    close(transform(f, allow_int=True)(X, n), 2 * X * n)
    tree = transform(lambda p: f(p["x"], p["n"][0]), allow_int=True)({"x": X, "n": [n, True]})
    alike(tree, {"x": 2 * X * n, "n": [np.zeros(np.shape(n))[()], np.float64(0)]})


def test_an_integer_that_is_differentiated_by_is_an_index():
    f = lambda x, i: np.sum(W[i] * x)  # noqa: E731
    gradient, zero = ft.grad(f, (0, 1), allow_int=True)(X, np.array([0, 0, 1]))
    close(gradient, W[[0, 0, 1]].sum(0))
    equal(zero, np.zeros(3))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_beside_integers(name):
    jacobian = getattr(ft, name)
    f = lambda x, n: {"a": x * n, "b": np.sum(x)}  # noqa: E731
    for chunk_size in (None, 2):
        out = jacobian(f, (0, 1), allow_int=True, chunk_size=chunk_size)(X, np.array([1, 2]).sum())
        alike(out, {"a": (3 * np.eye(3), np.zeros(3)), "b": (np.ones(3), np.float64(0.0))})
    alike(jacobian(f, 1, allow_int=True)(X, 3), {"a": np.zeros(3), "b": np.float64(0.0)})
    alike(
        jacobian(lambda n: W * n[0], allow_int=True)((2, np.ones((2, 1), bool))),
        (np.zeros((2, 3)), np.zeros((2, 3, 2, 1))),
    )
    one = jacobian(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3)
    alike(one, (np.float64(3.0), np.float64(0.0)))
    xs = np.stack([X, X + 1])
    mapped = ft.vmap(lambda x, n: jacobian(lambda x, n: x * n, (0, 1), allow_int=True)(x, n))
    by_x, by_n = mapped(xs, np.array([2, 3]))
    close(by_x, np.stack([2 * np.eye(3), 3 * np.eye(3)]))
    equal(by_n, np.zeros((2, 3)))


def test_hessian_and_elementwise_grad_beside_integers():
    h = ft.hessian(lambda x, n: np.sum(x**3) * n, (0, 1), allow_int=True)(X, 2)
    alike(h, ((np.diag(12 * X), np.zeros(3)), (np.zeros(3), np.float64(0.0))))
    f = ft.elementwise_grad(lambda x, n: x * n, (0, 1), allow_int=True)
    alike(f(X, np.array([1, 2, 3])), (np.array([1.0, 2.0, 3.0]), np.zeros(3)))


def scaled(p):
    return p["x"] ** 2 * p["n"][0]


TREE = {"x": X, "n": [np.array([1, 2, 3]), True]}
ALONG = {"x": np.ones(3), "n": [np.zeros(3, int), False]}


def test_jvp_and_vjp_take_integers_of_a_tree_for_constants():
    for args, zeros in (
        ((TREE,), (ALONG,)),
        ((TREE,), ({"x": np.ones(3), "n": [np.zeros(3), 0]},)),
    ):
        out, tangent = ft.jvp(scaled, args, zeros, allow_int=True)
        equal(out, scaled(TREE))
        close(tangent, 2 * X * TREE["n"][0])
    out, pullback = ft.vjp(scaled, TREE, allow_int=True)
    equal(out, scaled(TREE))
    found = {"x": 2 * X * TREE["n"][0], "n": [np.zeros(3), np.float64(0.0)]}
    alike(pullback(np.ones(3))[0], found)
    alike(ft.vjp(lambda n: n * 2, 3, allow_int=True)[1](1)[0], np.float64(0.0))
    alike(ft.jvp(lambda n: n * 2.0, (3,), (0,), allow_int=True), (6.0, np.float64(0.0)))
    mapped = ft.vmap(lambda x, n: ft.jvp(np.multiply, (x, n), (1.0, 0), allow_int=True)[1])
    close(mapped(X, np.arange(3)), np.arange(3.0))
    mapped = ft.vmap(lambda x, n: ft.vjp(np.multiply, x, n, allow_int=True)[1](1.0))
    alike(mapped(X, np.arange(3)), (np.arange(3.0), np.zeros(3)))
    second = ft.grad(lambda x: ft.jvp(np.multiply, (x * x, 3), (x, 0), allow_int=True)[1])
    close(second(2.0), 3.0)


def test_an_integer_has_no_direction():
    call = lambda **options: ft.jvp(np.multiply, (2.0, 3), (1.0, 1), **options)  # noqa: E731
    raises(ValueError, lambda: call(allow_int=True), "primals[1] is not zero", "x.astype(float)")
    raises(TypeError, call, "primals[1]", "int64", "jvp(..., allow_int=True)")
    raises(TypeError, lambda: ft.vjp(np.multiply, 2.0, 3), "int64", "vjp(..., allow_int=True)")
    raises(TypeError, lambda: ft.vjp(np.sin, 2.0, allow_int=1), "allow_int", "True or False")
    write = "hvp(lambda x: f(x, y), (x,), (t,)), where y is constant"
    raises(TypeError, lambda: ft.hvp(np.multiply, (2.0, 3), (1.0, 0)), "int64", write)


@pytest.mark.parametrize("name", ALL)
def test_what_allow_int_does_not_allow(name):
    make, f = getattr(ft, name), fit_for(name)
    plain = functools.partial(f, b=X, c=X)
    for bad, parts in ((np.array([3], object), ("object",)), ("text", ("str", "not an array"))):
        raises(TypeError, lambda bad=bad: make(plain, allow_int=True)(bad), "args[0]", *parts)
    raises(TypeError, lambda: make(plain)(3), "args[0]", "int64")
    raises(TypeError, lambda: make(plain, holomorphic=True, allow_int=True)(3), "args[0]", "int64")


def test_complex_numbers_beside_integers_are_refused_as_ever():
    args = {"n": 3, "z": X + 1j}
    f = lambda p: np.real(p["z"] * p["n"])  # noqa: E731
    raises(TypeError, lambda: ft.jacfwd(f, allow_int=True)(args), "args[0]['z']", "complex128")


# ---- strict ----


def test_strict():
    f = lambda x, w: {"a": x * 2, "b": [w, np.floor(x)]}  # noqa: E731
    _, tangents = ft.jvp(lambda x: f(x, x), (X,), (X,))
    equal(tangents["b"][1], np.zeros(3))
    raises(
        ValueError, lambda: ft.jvp(lambda x: f(x, x), (X,), (X,), strict=True),
        "jvp(<lambda>)", "the result['b'][1]", "does not depend",
    )  # fmt: skip
    raises(ValueError, lambda: ft.jvp(lambda x: W, (X,), (X,), strict=True), "the result does not")
    _, tangents = ft.jvp(lambda x: (x, x * 0), (X,), (X,), strict=True)
    equal(tangents[1], 0 * X)
    assert ft.jvp(lambda x: (), (X,), (X,), strict=True) == ((), ())


def test_strict_asks_for_this_level():
    def f(x):
        _, tangent = ft.jvp(lambda y: y * x, (X,), (X,), strict=True)
        return np.sum(tangent)

    close(ft.grad(f)(X), X)

    def g(x):
        return np.sum(ft.jvp(lambda y: x, (X,), (X,), strict=True)[1])

    raises(ValueError, lambda: ft.grad(g)(X), "does not depend")


# ---- vjp: the function that it returns ----


def pullback_of(f=lambda x, w: np.sin(w @ x)):
    return ft.vjp(f, X, W)[1]


def test_a_pullback_in_other_threads():
    pullback = pullback_of()
    expected = pullback(np.array([1.0, 2.0]))
    found = [in_thread(lambda: pullback(np.array([1.0, 2.0]))) for _ in range(3)]
    for results in found:
        for a, e in zip(results, expected, strict=True):
            equal(a, e)


def test_a_pullback_on_batches_and_inside_transforms():
    pullback = pullback_of()
    by_x, by_w = ft.vmap(pullback)(np.eye(2))
    slope = np.cos(W @ X)
    close(by_x, slope[:, None] * W)
    close(by_w[0], np.outer([slope[0], 0.0], X))
    close(ft.grad(lambda c: np.sum(pullback(c)[0]))(np.ones(2)), slope * W.sum(1))
    close(ft.jvp(lambda c: pullback(c)[0], (np.ones(2),), (np.eye(2)[0],))[1], slope[0] * W[0])
    nested = ft.vmap(lambda c: ft.vmap(lambda d: pullback(c + d)[0])(np.eye(2)))(np.eye(2))
    close(nested[0, 1], slope @ W)


def test_a_pullback_keeps_what_it_needs_and_no_more():
    n = 50_000

    def f(x):
        y = x
        for _ in range(10):
            y = y + 1.0  # needs nothing of y
        return np.sin(y)

    x = np.ones(n)
    ft.vjp(f, x)  # what a first call loads stays
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        value, pullback = ft.vjp(f, x)
        kept = tracemalloc.get_traced_memory()[0] - before
        assert kept < 3.5 * x.nbytes  # the result and what the sine needs
        del value, pullback
        assert tracemalloc.get_traced_memory()[0] - before < x.nbytes / 10
    finally:
        tracemalloc.stop()
