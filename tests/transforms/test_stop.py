"""stop_gradient, no_grad and enable_grad: what is constant, at which levels, in which context."""

import contextvars

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from support.basics import close, equal, in_thread, raises

X = np.array([0.5, 1.5, -0.4])


# ---- two ways to say it, and what they mean ----


def by_value(f):
    """``f`` of a constant."""
    return lambda x: f(ft.stop_gradient(x))


def by_block(f):
    def run(x):
        with ft.no_grad():
            return f(x)

    return run


def by_decorator(f):
    return ft.no_grad()(f)


WAYS = {"value": by_value, "block": by_block, "decorator": by_decorator}

STEPS = {
    "grad": lambda g: ft.grad(lambda x: np.sum(np.sin(g(x)))),
    "vjp": lambda g: lambda x: ft.vjp(g, x)[1](np.cos(g(x)))[0],
    "jvp": lambda g: lambda x: ft.jvp(g, (x,), (1.0 + x * x,))[1],
    "vmap": lambda g: lambda x: ft.vmap(g)(np.stack([x, 2.0 * x]))[1],
    "vmap of a part": lambda g: lambda x: ft.vmap(lambda s: g(s * x))(np.array([1.0, 3.0]))[0],
    "last axis": lambda g: lambda x: ft.vmap(g, -1, -1)(np.stack([x, x], -1))[..., 0],
}


def nested(steps, g):
    for step in steps:
        g = STEPS[step](g)
    return g(X)


def scaled(way):
    """A function whose factor is constant."""
    factor = WAYS[way](lambda x: np.exp(x) * np.max(np.abs(x)))
    return lambda x: np.sin(x) * factor(x)


@pytest.mark.parametrize("way", WAYS)
def test_the_factor_is_constant(way):
    g = scaled(way)
    factor = np.exp(X) * np.max(np.abs(X))
    close(ft.grad(lambda x: np.sum(g(x)))(X), np.cos(X) * factor)
    close(ft.jvp(g, (X,), (X,))[1], np.cos(X) * factor * X)
    close(ft.hessian(lambda x: np.sum(g(x)))(X), np.diag(-np.sin(X) * factor))
    rows = np.stack([X, 2 * X])
    each = np.exp(rows) * np.max(np.abs(rows), axis=1, keepdims=True)
    close(ft.grad(lambda x: np.sum(ft.vmap(g)(x)))(rows), np.cos(rows) * each)
    close(ft.vmap(ft.grad(lambda x: np.sum(g(x))))(rows), np.cos(rows) * each)


@pytest.mark.parametrize("way", ["block", "decorator"])
@given(steps=st.lists(st.sampled_from([*STEPS]), min_size=1, max_size=4))
def test_both_ways_agree_in_every_nesting(way, steps):
    close(nested(steps, scaled(way)), nested(steps, scaled("value")), 1e-9)


@given(
    steps=st.lists(st.sampled_from([*STEPS]), max_size=3), first=st.sampled_from(["grad", "jvp"])
)
def test_every_derivative_of_a_constant_is_zero(steps, first):
    for way in WAYS:
        g = nested([first, *steps], WAYS[way](np.sin))
        assert not np.any(g)


def test_a_missing_stop_is_seen():
    wrong = lambda x: np.sin(x) * (np.exp(x) * np.max(np.abs(x)))  # noqa: E731
    for steps in (["grad"], ["jvp"], ["vmap", "grad"], ["grad", "last axis"]):
        with pytest.raises(AssertionError):
            close(nested(steps, wrong), nested(steps, scaled("value")), 1e-9)


# ---- stop_gradient ----


def test_outside_of_transforms_it_is_the_value_itself():
    tree = {"a": X, "b": [1.0, None, "text"], "c": np.arange(3)}
    same = ft.stop_gradient(tree)
    assert same["a"] is X
    assert same["b"] == tree["b"]
    assert same["c"] is tree["c"]
    t = ft.tensor(X)
    assert ft.stop_gradient(t) is t


def test_the_memory_is_shared():
    with ft.grad() as G:
        assert ft.stop_gradient(G(X)) is X
    with ft.vmap() as V:
        v = V(X)
        assert ft.stop_gradient(v) is v
        with ft.jvp() as J:
            x = J(v, v)
            with ft.vmap() as U:
                u = U(np.multiply.outer(np.ones(2), x))
                stopped = ft.stop_gradient(u)
                assert type(stopped) is type(u)
                assert ft.depth_of(stopped.elem()) == 1
            assert ft.stop_gradient(x) is v


def test_pytrees():
    def f(tree):
        a, b = ft.stop_gradient((tree["a"], tree["b"]))
        return np.sum(a * tree["a"]) + b * tree["b"] ** 2

    found = ft.grad(f)({"a": X, "b": 3.0})
    equal(found["a"], X)
    assert found["b"] == 18.0


def test_levels_that_have_ended():
    kept = []
    ft.grad(lambda x: kept.append(x) or np.sum(x), escape="passthrough")(X)
    assert ft.stop_gradient(kept[0]) is X
    ft.grad(lambda x: kept.append(x) or np.sum(x))(X)
    raises(ft.EscapedTensorError, lambda: ft.stop_gradient(kept[1]))


def test_in_another_thread():
    def f(x):
        return np.sum(x * in_thread(lambda: ft.stop_gradient(x)))

    equal(ft.grad(f)(X), X)


# ---- no_grad and enable_grad ----


def test_a_transform_inside_differentiates():
    def f(x):
        with ft.no_grad():
            slope = ft.grad(lambda y: np.sum(y**3))(x)
            tangent = ft.jvp(np.sin, (x,), (x,))[1]
            assert isinstance(slope, np.ndarray)
        return np.sum(slope * x) + np.sum(tangent * x)

    close(ft.grad(f)(X), 3 * X**2 + np.cos(X) * X)


def test_enable_grad_switches_back():
    def f(x):
        with ft.no_grad():
            a = x * x
            with ft.enable_grad():
                b = x * 3.0
                with ft.no_grad():
                    c = x * 5.0
            d = x * 7.0
        return np.sum(a + b + c + d)

    equal(ft.grad(f)(X), np.full(3, 3.0))
    equal(ft.jacfwd(f)(X), np.full(3, 3.0))
    equal(ft.hessian(f)(X), np.zeros((3, 3)))
    equal(ft.vmap(ft.grad(f))(X[:, None])[:, 0], np.full(3, 3.0))
    with ft.enable_grad():
        assert ft.grad(f)(X)[0] == 3.0


def test_other_contexts_go_on():
    """The block is this context's; one that was copied into a thread takes it along."""

    def f(x):
        outside = []
        with ft.no_grad():
            context = contextvars.copy_context()
            inside = in_thread(lambda: context.run(lambda: x * 2.0))
            outside.append(in_thread(lambda: x * 3.0))
        assert isinstance(inside, np.ndarray)
        return np.sum(outside[0])

    equal(ft.grad(f)(X), np.full(3, 3.0))


def test_without_a_level_around_it_changes_nothing():
    with ft.no_grad():
        equal(ft.grad(lambda x: np.sum(x * x))(X), 2 * X)
        equal(ft.vmap(lambda x: x * 2)(X), 2 * X)


def test_with_imperative_levels():
    with ft.grad() as G:
        x = G(X)
        with ft.no_grad():
            a = x * x
        y = np.sum(a * x)
        equal(G.gradient(y, x), X * X)


def test_a_class_that_was_switched_off_is_not_used_again():
    """Writing to a class for each call would wear out the caches of its types."""
    seen = []

    def f(x):
        seen.append(type(x))
        with ft.no_grad():
            np.sin(x)
        return np.sum(x)

    for _ in range(3):
        ft.grad(f)(X)
    assert len({*map(id, seen)}) == 3


# ---- levels that record ----


def with_jvp_rule(rule):
    """``x**2`` with a jvp rule, which gets the tangent before its value is known."""

    @ft.custom_jvp
    def square(x):
        return x**2

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, rule(*primals, *tangents)))
    return square


def test_linearize_of_a_function_that_stops_a_gradient():
    f = lambda x: x * ft.stop_gradient(np.sin(x))  # noqa: E731
    x, t = np.array([1.0, 2.0]), np.array([1.0, -3.0])

    assert np.array_equal(ft.linearize(f, x)[1](t), t * np.sin(x))


def test_a_recorded_tangent_is_stopped_when_it_is_known():
    f = with_jvp_rule(lambda x, t: 2 * x * ft.stop_gradient(t))
    x, t = np.array([1.0, 2.0]), np.array([1.0, -3.0])
    slope = ft.linearize(f, x)[1]

    assert np.array_equal(slope(t), 2 * x * t)
    assert np.array_equal(ft.vmap(slope)(np.eye(2)), np.diag(2 * x))
    for g in (
        lambda v: ft.linearize(f, x)[1](v),
        lambda v: ft.linearize(lambda y: f(v * y), x)[1](t),
        lambda v: ft.linearize(f, v)[1](v),
    ):
        assert np.array_equal(ft.jacrev(g)(x), ft.jacfwd(g)(x))
    assert not ft.grad(lambda v: np.sum(slope(v)))(t).any()
    by_jvp = ft.grad(lambda v: np.sum(ft.jvp(lambda y: f(v * y), (x,), (t,))[1]))(x)
    assert np.array_equal(
        ft.grad(lambda v: np.sum(ft.linearize(lambda y: f(v * y), x)[1](t)))(x), by_jvp
    )


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, t: ft.cond(t[0] > 0, lambda v: 2 * x * v, np.zeros_like, t),
        lambda x, t: ft.while_loop(lambda v: np.sum(v) < 1, lambda v: 2 * v, t),
        lambda x, t: ft.random.default_rng(0).gamma(np.abs(t) + 1),
    ],
    ids=["cond", "while_loop", "gamma"],
)
def test_who_asks_for_the_value_of_a_recorded_tangent_is_refused(rule):
    f, x = with_jvp_rule(rule), np.array([1.0, 2.0])
    ft.jvp(f, (x,), (x,))

    with pytest.raises(
        ft.ConversionError, match="value of a tangent of linearize, which is not known"
    ):
        ft.linearize(f, x)


@pytest.mark.parametrize("block", [ft.no_grad, ft.enable_grad], ids=["no_grad", "enable_grad"])
def test_a_decorator_without_parentheses_is_refused(block):
    with pytest.raises(TypeError, match=rf"write @functier\.{block.__name__}\(\) above"):
        block(np.sum)
    assert block()(np.sum)(X) == np.sum(X)
