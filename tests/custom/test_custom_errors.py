"""Custom rules: what is wrong with a rule is said; what a tape holds."""

import gc
import tracemalloc
import weakref
from functools import partial

import numpy as np
import pytest

import functier as ft
from support.basics import equal, has_all, raises

X = np.array([0.5, 1.5, -0.4])
TREE = {"W": np.ones((2, 3)), "b": [np.ones(2)]}


def model(p, x):
    return p["W"] @ x + p["b"][0]


def custom(backward, forward=lambda p, x: (model(p, x), None)):
    f = ft.custom_vjp(model)
    f.defvjp(forward, backward)
    return f


def gradient(f):
    return ft.grad(lambda p: np.sum(f(p, X)))(TREE)


def both_ways(f, kind, *parts):
    """The same error at a level of grad, and below a batch."""
    raises(kind, lambda: gradient(f), *parts)
    rows = np.stack([X, X])

    def batched(p):
        return np.sum(ft.vmap(f, (None, 0))(p, rows))

    raises(kind, lambda: ft.grad(batched)(TREE), *parts)


# ---- reverse mode ----


def test_fwd_has_to_return_a_pair():
    for wrong in (model(TREE, X), (1.0, 2.0, 3.0)):
        f = custom(lambda r, g: (None, None), lambda p, x, wrong=wrong: wrong)
        both_ways(f, TypeError, "model: fwd returned", "a tuple (out, residuals)")


ERRORS = [
    (lambda g: g, TypeError, "bwd returned an array of shape (2,) | each of the 2 | (x_bar,)"),
    (lambda g: (None,), TypeError, "bwd returned 1 of them | each of the 2"),
    (lambda g: ({"W": None}, None), TypeError, "args[0] | {'W':  | {'W': float64[2, 3]"),
    (lambda g: (g, None), TypeError, "args[0] | an array of shape (2,)"),
    (lambda g: (None, [X]), TypeError, "args[1] | [float64[3]] | shape (3,)"),
    (
        lambda g: ({"W": g, "b": [g]}, None),
        ValueError,
        "the cotangent of args[0]['W'] | shape (2,), but | shape (2, 3) | None for zero",
    ),
    (
        lambda g: ({"W": None, "b": [g[0]]}, None),
        ValueError,
        "args[0]['b'][0] | shape () | shape (2,)",
    ),
    (lambda g: (None, "zero"), ValueError, "args[1] | type str | shape (3,)"),
]


@pytest.mark.parametrize(("returned", "kind", "parts"), ERRORS)
def test_bwd_has_to_return_the_cotangents(returned, kind, parts):
    both_ways(custom(lambda r, g: returned(g)), kind, "model: ", "bwd returned", parts)


def test_the_cotangents_of_all_arguments_are_checked():
    """Also of one by which nothing is differentiated in this call."""
    f = custom(lambda r, g: (None, np.ones(4)))
    raises(ValueError, lambda: gradient(f), "args[1]", "shape (4,)")


def test_a_rule_is_needed_before_the_first_call():
    for make, method in (
        (ft.custom_vjp, "defvjp(fwd, bwd)"),
        (ft.custom_jvp, "defjvp(rule)"),
        (ft.custom_vmap, "def_vmap(rule)"),
    ):
        f = make(model)
        raises(ft.NoRuleError, lambda f=f: f(TREE, X), "(model)", f"write model.{method} first")


def test_rules_are_functions():
    f = ft.custom_vjp(model)
    raises(TypeError, lambda: ft.custom_vjp(3), "custom_vjp: func is a int")
    raises(TypeError, lambda: f.defvjp(model, None), "custom_vjp(model).defvjp", "NoneType")
    raises(TypeError, lambda: f.defjvp(1), "defjvp")
    raises(TypeError, lambda: f.defjvps(None, 1), "defjvps")
    raises(TypeError, lambda: f.def_vmap("no"), "def_vmap")
    g = ft.custom_jvp(model, nondiff_argnums=0)
    raises(TypeError, lambda: g.defjvps(None, None), "a function with nondiff_argnums cannot")


# ---- forward mode ----


def with_jvp(rule):
    f = ft.custom_jvp(model)
    f.defjvp(rule)
    return f


@pytest.mark.parametrize(
    ("rule", "kind", "parts"),
    [
        (lambda p, t: model(*p), TypeError, ["the jvp rule returned", "(out, tangent_out)"]),
        (
            lambda p, t: (model(*p), (1.0, 2.0)),
            TypeError,
            ["the tangent that the jvp rule returned is (float, float)", "an array of shape (2,)"],
        ),
        (
            lambda p, t: (model(*p), 0.0),
            ValueError,
            ["the tangent of the result", "shape ()", "shape (2,)"],
        ),
        (
            lambda p, t: ({"a": [model(*p)]}, {"a": [1.0]}),
            ValueError,
            ["the tangent of the result['a'][0]", "shape ()", "shape (2,)"],
        ),
    ],
)
def test_the_jvp_rule_has_to_return_two_of_a_kind(rule, kind, parts):
    f = with_jvp(rule)
    raises(kind, lambda: ft.jvp(lambda p: f(p, X), (TREE,), (TREE,)), "model: ", *parts)
    raises(kind, lambda: gradient(lambda p, x: ft.vmap(f, (None, 0))(p, x[None])), *parts)


def test_a_result_depends_on_the_primals_only():
    f = ft.custom_jvp(np.sin)
    f.defjvp(lambda p, t: (np.sin(p[0] + t[0]), t[0]))
    raises_plain(ft.LevelError, lambda: ft.grad(f)(1.0), "jvp rule of sin", "primals only")


def raises_plain(kind, call, *parts):
    with pytest.raises(kind) as error:
        call()
    has_all(str(error.value), *parts)


def test_partial_rules_are_as_many_as_arguments():
    f = ft.custom_jvp(model)
    f.defjvps(lambda t, out, p, x: out)
    raises(TypeError, lambda: gradient(f), "model: defjvps was given 1 rules", "2 arguments")
    f.defjvps(lambda t, out, p, x: out[0], None)
    raises(ValueError, lambda: gradient(f), "the tangent of the result", "shape ()")


@pytest.mark.parametrize(
    "backward",
    [
        lambda r, g: (float(g),),
        lambda r, g: (np.array([g, g])[0],),
        lambda r, g: (np.asarray(g),),
        lambda r, g: (write(np.zeros(3), g)[0],),
    ],
)
def test_forward_mode_of_a_bwd_that_numpy_does_not_see(backward):
    f = ft.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (x * 2.0, None), backward)
    parts = "f", "no jvp rule", "defjvp", "backward rule"
    f.__name__ = "f"
    raises(ft.NoRuleError, lambda: ft.jvp(f, (1.0,), (1.0,)), *parts)
    assert ft.grad(f)(1.0) is not None  # while reverse mode is as it was


def write(a, value):
    a[0] = value
    return a


# ---- batches ----


def test_what_a_batching_rule_returns():
    f = ft.custom_vmap(model)
    rows = np.ones((4, 3))
    call = lambda: ft.vmap(f, (None, 0))(TREE, rows)  # noqa: E731
    cases = [
        (lambda *a: 1.0, TypeError, ["the vmap rule returned", "(out, out_batched)"]),
        (lambda *a: (np.ones((4, 2)), 1), TypeError, ["out_batched", "write True or False"]),
        (lambda *a: (np.ones(2), True), ValueError, ["array of shape (2,)", "of size 4"]),
        (lambda *a: ([np.ones(4)], {"a": True}), ValueError, ["out_batched=", "one bool"]),
        (lambda *a: ({"a": np.float64(1)}, True), ValueError, ["the result['a']", "shape ()"]),
    ]
    for rule, kind, parts in cases:
        f.def_vmap(rule)
        raises(kind, call, "model: ", *parts)
    f.def_vmap(lambda *a: (np.ones(2), False))
    equal(call(), np.ones((4, 2)))
    equal(ft.vmap(f, (None, 0), out_dims=None)(TREE, rows), np.ones(2))


def test_examples_of_differing_shapes():
    f = ft.sequential_vmap(lambda x: np.ones(2) if x > 1 else np.ones(3))
    f.__name__ = "f"
    raises(
        ValueError,
        lambda: ft.vmap(f)(X),
        "f: example 1 returned an array of shape (2,) | example 0",
    )


# ---- what a function closes over ----


def closing(where, value):
    """A rule that uses a tensor which is no argument, at one of the places where it may."""
    extra = {name: (value() if name == where else 0.0) for name in ("out", "saved", "bwd", "jvp")}
    if where == "jvp":
        f = ft.custom_jvp(lambda x: x * 2)
        f.defjvp(lambda p, t: (p[0] * 2, t[0] * 2 * (1 + extra["jvp"])))
    elif where == "jvp out":
        f = ft.custom_jvp(lambda x: x * 2)
        f.defjvp(lambda p, t: (p[0] * value(), t[0] * 2))
    else:
        f = ft.custom_vjp(lambda x: x * 2)
        late = value if where == "bwd" else (lambda: 0.0)
        f.defvjp(
            lambda x: (x * 2 + extra["out"], extra["saved"]), lambda r, g: (g * 2 + g * late(),)
        )
    f.__name__ = "f"
    return f


@pytest.mark.parametrize("where", ["out", "saved", "bwd", "jvp", "jvp out"])
@pytest.mark.parametrize("mode", ["grad", "jvp", "batch"])
def test_a_tensor_that_is_no_argument(where, mode):
    """Its derivative would be lost, or mixed with others: that is an error."""

    def function(x):
        return closing(where, lambda: x)(x)

    calls = {
        "grad": lambda: ft.grad(function)(1.0),
        "jvp": lambda: ft.jvp(function, (1.0,), (1.0,)),
        "batch": lambda: ft.grad(lambda x: np.sum(ft.vmap(function)(x)))(X),
    }
    with pytest.raises(ft.LevelError) as error:
        calls[mode]()
    text = str(error.value)
    if isinstance(error.value, ft.EscapedTensorError):
        assert (where, mode) == ("bwd", "batch")  # its level had ended before the rule ran
    elif "met a tensor of" in text:
        has_all(text, "(f) met a tensor of", "(function)", "pass the value in as an argument")
    else:
        has_all(
            text,
            "f returned a tensor of | closes over the tensor | pass the value to f as an argument",
        )


def test_a_tensor_of_an_inner_level():
    f = ft.custom_vjp(lambda x: x * inner[0])
    f.defvjp(lambda x: (x * inner[0], None), lambda r, g: (g,))
    inner = []

    def outer(x):
        def use(y):
            inner[:] = [y]
            return f(x)

        return ft.grad(use)(2.0)

    raises(ft.LevelError, lambda: ft.grad(outer)(1.0), "closes over the tensor")


def test_what_may_be_closed_over():
    """Values of the levels around the arguments', and of a batch that is not differentiated."""

    def of_weight(w):
        f = ft.custom_vjp(lambda x: w * x**2)
        f.defvjp(lambda x: (w * x**2, x), lambda x, g: (g * 10 * w * x,))
        return ft.grad(f)(3.0)

    assert of_weight(2.0) == 60.0
    assert ft.grad(of_weight)(2.0) == 30.0
    equal(ft.vmap(of_weight)(X), 30 * X)

    def product(x, y):
        f = ft.custom_vjp(lambda x: x * y)
        f.defvjp(lambda x: (x * y, None), lambda r, g: (g * y,))
        return f(x)

    equal(ft.vmap(product)(X, 2 * X), 2 * X * X)
    equal(ft.vmap(ft.grad(product))(X, 2 * X), 2 * X)


def test_unrelated_levels():
    f = custom(lambda r, g: (None, None))
    kept = []
    with ft.vmap() as V:
        v = V(np.ones((2, 3)))
        with ft.grad() as G:
            kept.append(G(X))
        raises_plain(ft.EscapedTensorError, lambda: f(TREE, kept[0]), "had ended")
        del v


def test_tensors_in_places_that_are_not_differentiated():
    f = ft.custom_vjp(lambda s, x: s * x, nondiff_argnums=0)
    f.defvjp(lambda s, x: (s * x, None), lambda s, r, g: (g * s,))
    f.__name__ = "f"
    said = "passed to f", "nondiff_argnums", "stop_gradient"
    raises(ft.LevelError, lambda: ft.grad(lambda s: f(s, 2.0))(1.0), *said)
    raises(ft.LevelError, lambda: ft.jvp(lambda s: f(s, 2.0), (1.0,), (1.0,)), *said)
    rows = lambda s: np.sum(ft.vmap(partial(f, s))(X))  # noqa: E731
    raises(ft.LevelError, lambda: ft.grad(lambda s: rows(s) + f(s, 1.0))(1.0), *said)
    assert ft.grad(lambda s: f(ft.stop_gradient(s), s))(3.0) == 3.0


# ---- memory ----


class Big(np.ndarray):
    """An array that can be seen to go."""


def big():
    return np.ones(1000).view(Big)


def test_a_tape_holds_the_residuals_and_nothing_else():
    seen = []

    @ft.custom_vjp
    def f(x):
        return np.sum(x)

    def forward(x):
        residual = big()
        seen.append(weakref.ref(residual))
        return np.sum(x), residual

    f.defvjp(forward, lambda r, g: (g * np.asarray(r),))
    x = big()
    argument = weakref.ref(x)
    tracemalloc.start()
    try:
        _, pull = ft.vjp(lambda x: f(x * 1.0), x)
        del x
        assert seen[0]() is None and argument() is None  # the tape has a copy
        equal(np.asarray(pull(2.0)[0]), np.full(1000, 2.0))
        equal(np.asarray(pull(1.0)[0]), np.ones(1000))  # a second time
        gc.collect()  # what a first call has left
        sizes = [tracemalloc.get_traced_memory()[0]]
        del pull
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert 8000 < sizes[0] - sizes[1] < 16000


def test_residuals_go_with_the_backward_pass():
    """They stay until it ends, as it may look a second time at what is not finite."""
    alive = []

    @ft.custom_vjp
    def f(x):
        return x * 2.0

    def forward(x):
        residual = np.ones(40_000)  # so many are not copied
        alive.append(weakref.ref(residual))
        return x * 2.0, residual

    def backward(r, g):
        return (g * 2.0,)

    f.defvjp(forward, backward)

    def chain(x):
        for _ in range(5):
            x = f(x)
        return np.sum(x)

    assert np.all(ft.grad(chain)(np.ones(20_000)) == 32.0)
    assert len(alive) == 5 and all(ref() is None for ref in alive)


def test_results_that_numpy_would_convert_are_refused():
    f = ft.custom_vjp(np.sin)
    f.defvjp(lambda x: (memoryview(np.sin(X)), x), lambda x, g: (g * np.cos(x),))
    raises(TypeError, lambda: ft.grad(f)(X), "a result of sin is a memoryview", "numpy.asarray(y)")


def test_a_function_of_c_is_refused_with_what_works():
    ctypes = pytest.importorskip("ctypes")
    util = pytest.importorskip("ctypes.util")
    root = ctypes.CDLL(util.find_library("m")).cbrt
    root.restype, root.argtypes = ctypes.c_double, [ctypes.c_double]
    f = ft.custom_vjp(lambda x: root(float(x)))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (g / (3 * f(x) ** 2),))
    x = np.array([1.0, 8.0])

    said = "functier.sequential_vmap(f)(x), or f.def_vmap(rule)"
    raises(ft.ConversionError, lambda: ft.vmap(f)(x), said)
    equal(ft.vmap(ft.sequential_vmap(f))(x), np.array([1.0, 2.0]))
    f.def_vmap(lambda n, batched, x: (np.array([f(v) for v in x]), True))
    equal(ft.vmap(f)(x), np.array([1.0, 2.0]))
