"""Recorded tangents that have leak_tangent, blocks around what is recorded, and who looks on."""

import copy
import operator
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from test_recording import T, X, with_rule

import functier as ft
from faults.planted import transforms as faulty
from support.basics import alike, close, equal, raises

# ---- once the level has ended ----


def leak_tangent(escape):
    """A tangent that a rule was given, and what `linearize` returned."""
    box = []
    f = with_rule(lambda x, t: box.append(t) or 2.0 * t)
    _, jvp_fn = ft.linearize(f, X, escape=escape)
    equal(jvp_fn(T), 2.0 * T)
    return box[0]


USES: dict[str, Callable] = {
    "+": lambda t: t + 1.0,
    "sin": np.sin,
    "sum": np.sum,
    "method": lambda t: t.sum(),
    "index": lambda t: t[0],
    "shape": lambda t: t.shape,
    "bool": lambda t: bool(t[0]),
    "asarray": np.asarray,
    "elem": lambda t: t.elem(),
    "unwrap": ft.unwrap,
    "unwrap all": lambda t: ft.unwrap(t, levels=None),
    "unwrap of the class": lambda t: type(t).unwrap(t),
    "vmap": lambda t: ft.vmap(np.sin)(t),
    "grad": lambda t: ft.grad(np.sum)(t),
    "jvp": lambda t: ft.jvp(np.sin, (X,), (t,)),
    "linearize": lambda t: ft.linearize(np.sin, t),
    "jvp_fn": lambda t: ft.linearize(np.sin, X)[1](t),
    "stop_gradient": ft.stop_gradient,
    "requires_grad": ft.requires_grad,
    "copy": copy.copy,
    "pickle": pickle.dumps,
    "tensor": lambda t: ft.tensor(t) * 2.0,
    "cond": lambda t: ft.cond(t[0] > 0, np.sin, np.cos, t),
    "draw": lambda t: ft.random.default_rng(0).normal(t),
    "set": lambda t: operator.setitem(t, 0, 1.0),
}


@pytest.mark.parametrize("escape", ["dead", "passthrough"])
@pytest.mark.parametrize("name", USES)
def test_a_tangent_that_has_leaked(name, escape):
    t = leak_tangent(escape)
    with pytest.raises((ft.EscapedTensorError, ft.ConversionError)) as error:
        USES[name](t)
    assert "linearize" in str(error.value)
    assert "0." not in repr(t) and "not known yet" in repr(t)


def test_what_is_said_of_a_tangent_that_has_leaked():
    for escape in ("dead", "passthrough"):
        t = leak_tangent(escape)
        raises(
            ft.EscapedTensorError, lambda t=t: t + 1.0,
            "trace(f)", "tangent of linearize", "return it from the rule", "call jvp(...)",
        )  # fmt: skip
        with pytest.raises(ft.EscapedTensorError) as error:
            t + 1.0
        assert "passthrough" not in str(error.value)


def test_a_primal_that_has_leaked_passes_through():
    box = []
    ft.linearize(lambda x: box.append(x * 2.0) or x, X, escape="passthrough")
    equal(box[0] + 1, 2 * X + 1)
    equal(ft.unwrap(box[0]), 2 * X)


def test_the_check_finds_zeros_that_pass_through(monkeypatch):
    faulty.the_check_finds_zeros_that_pass_through(monkeypatch)
    with pytest.raises(pytest.fail.Exception):
        test_a_tangent_that_has_leaked("unwrap all", "passthrough")


# ---- blocks around a step ----


def without_derivative(x, t):
    with ft.no_grad():
        return np.cos(x) * t


def partly(x, t):
    with ft.no_grad():
        a = x * t
        with ft.enable_grad():
            b = np.sin(x) * t
        c = np.sum(a * b)
    return a + b * t[0] + c * x


def decorate(x, t):
    return ft.no_grad()(lambda: x * t)() + t


def a_branch_inside(x, t):
    with ft.no_grad():
        return ft.scan(lambda c, a: (c + a, c * a), t[0], x * t)[1]


def a_transform_inside(x, t):
    with ft.no_grad():
        return ft.grad(lambda v: np.sum(np.sin(v) * t))(x) + ft.jvp(np.sin, (x,), (t,))[1]


def only_a_read(x, t):
    with ft.no_grad():
        return np.where(x > 0, t, -t)[::-1]


BLOCKS = {
    f.__name__: f
    for f in (
        without_derivative, partly, decorate, a_branch_inside, a_transform_inside, only_a_read,
    )
}  # fmt: skip

AROUND: dict[str, Callable] = {
    "grad by the point": lambda pushed: ft.grad(lambda v: np.sum(pushed(v, T) * X))(X),
    "grad by the tangent": lambda pushed: ft.grad(lambda t: np.sum(pushed(X, t) * X))(T),
    "grad by both": lambda pushed: ft.grad(lambda v: np.sum(pushed(v, v * v) * X))(X),
    "jvp": lambda pushed: ft.jvp(lambda v: pushed(v, v), (X,), (T,))[1],
    "vmap of grad": lambda pushed: ft.vmap(ft.grad(lambda v: np.sum(pushed(v, v))))(
        np.stack([X, T])
    ),
    "grad of vmap": lambda pushed: ft.grad(
        lambda v: np.sum(ft.vmap(lambda s: pushed(v, s * v))(np.arange(2.0)))
    )(X),
    "linearize": lambda pushed: ft.linearize(lambda v: pushed(v, v), X)[1](T),
    "nothing": lambda pushed: pushed(X, T),
}


def check_block(rule, around):
    f = with_rule(rule)
    by_jvp = lambda x, t: ft.jvp(f, (x,), (t,))[1]  # noqa: E731
    by_linearize = lambda x, t: ft.linearize(f, x)[1](t)  # noqa: E731
    alike(AROUND[around](by_linearize), AROUND[around](by_jvp))


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("rule", BLOCKS)
def test_a_block_in_a_rule_is_that_of_jvp(rule, around):
    check_block(BLOCKS[rule], around)


def test_a_block_around_linearize():
    def f(v):
        with ft.no_grad():
            y, jvp_fn = ft.linearize(lambda x: x * v * np.sin(v), X)
            inside = jvp_fn(T)
        return np.sum(inside), np.sum(jvp_fn(v)), np.sum(y)

    slopes = [ft.grad(lambda v, i=i: f(v)[i])(X) for i in range(3)]
    equal(slopes[0], np.zeros(3))
    close(slopes[1], X * np.sin(X))  # by the tangent alone: the map was made in the block
    equal(slopes[2], np.zeros(3))


def test_the_check_finds_a_block_that_is_forgotten(monkeypatch):
    check_block(without_derivative, "grad by the tangent")
    faulty.the_check_finds_a_block_that_is_forgotten(monkeypatch)
    with pytest.raises(AssertionError):
        check_block(without_derivative, "grad by the tangent")


def test_hooks_that_are_switched_off_in_a_rule():
    class Doubling(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            with ft.no_dispatch(cls):
                return 2 * func(*args, **(kwargs or {}))

    u = Doubling(X)

    def rule(x, t):
        with ft.no_dispatch(Doubling):
            return t * u

    f = with_rule(rule)
    expected = ft.jvp(f, (X,), (T,))[1]
    equal(expected, T * X)
    equal(ft.linearize(f, X)[1](T), expected)


# ---- what looks on ----


def test_debug_nans_is_not_shown_zeros():
    f = lambda x: np.sum(x[:, None] * np.array([np.inf, 1.0]), 0)  # noqa: E731
    with ft.debug.debug_nans(infs=False):
        _, jvp_fn = ft.linearize(f, np.ones(2))
    equal(jvp_fn(np.ones(2)), np.array([np.inf, 2.0]))


def test_a_checkpoint_in_a_function_that_is_recorded():
    f = lambda w, x: ft.checkpoint(lambda x: np.sin(x * w) * np.sum(x))(x)  # noqa: E731
    by_jvp = ft.grad(lambda w: np.sum(ft.jvp(lambda x: f(w, x), (X,), (T,))[1] * X))(T)
    close(ft.grad(lambda w: np.sum(ft.linearize(lambda x: f(w, x), X)[1](T) * X))(T), by_jvp)


def test_a_tangent_that_depends_on_no_other():
    """A rule that is not linear is followed, as jvp follows it."""
    f = with_rule(lambda x, t: np.cos(x))
    _, jvp_fn = ft.linearize(lambda x: (f(x), x), X)
    for t in (T, 0 * T):
        first, second = jvp_fn(t)
        equal(first, ft.jvp(f, (X,), (t,))[1])
        equal(second, t)
        first[:] = 0.0
    slope = ft.grad(lambda v: np.sum(ft.linearize(f, v)[1](T)))(X)
    close(slope, ft.grad(lambda v: np.sum(ft.jvp(f, (v,), (T,))[1]))(X))
