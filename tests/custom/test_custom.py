"""Rules that a user gives a function: which one is used, its arguments, and where it works."""

import copy
import pickle
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import functier as ft
from support.basics import close, equal, in_thread, raises
from support.ruled import KINDS, B, W, X, formula, total, with_all, with_vjp


def straight_through():
    f = ft.custom_vjp(lambda x: np.round(x))
    f.defvjp(lambda x: (f(x), None), lambda _, g: (3.0 * g,))
    return f


def test_the_rule_replaces_the_derivative_everywhere():
    f = straight_through()
    xs = np.array([0.2, 1.7])
    three = np.full(2, 3.0)
    equal(ft.grad(lambda x: np.sum(f(x)))(xs), three)
    equal(ft.vmap(ft.grad(f))(xs), three)
    equal(ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(xs), three)
    equal(ft.jvp(f, (xs,), (xs,))[1], 3 * xs)
    equal(ft.jacfwd(f)(xs), np.diag(three))
    equal(ft.jacrev(ft.vmap(f))(xs), np.diag(three))
    equal(ft.hessian(lambda x: np.sum(f(x) * x))(xs), np.diag(2 * three))
    equal(f(xs), np.round(xs))


def test_decorators_in_every_form():
    @ft.custom_vjp
    def f(x):
        """Doubles."""
        return x * 2.0

    @ft.custom_jvp(nondiff_argnums=(0,))
    def g(call, x):
        return call(x)

    @g.defjvp
    def rule(call, primals, tangents):
        return g(call, *primals), 5.0 * tangents[0]

    @ft.custom_vmap
    def h(x):
        return x * 2.0

    @h.def_vmap
    def batch_rule(size, in_batched, x):
        return x * 7.0, in_batched[0]

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * 3.0,))
    assert (f.__name__, f.__doc__, f.__wrapped__(1.0)) == ("f", "Doubles.", 2.0)
    assert repr(f) == "<custom_vjp(f)>"
    assert ft.grad(f)(1.0) == 3.0
    assert ft.grad(lambda x: g(np.sin, x))(1.0) == 5.0
    assert callable(rule)  # the decorator gives the rule back
    assert callable(batch_rule)
    equal(ft.vmap(h)(X), 7 * X)
    assert h(1.0) == 2.0


def test_results_alone_and_inputs_returned():
    f = ft.custom_vjp(lambda x, y: (y, x, x))
    f.defvjp(lambda x, y: ((y, x, x), ()), lambda _, g: (g[1] + 2 * g[2], 5 * g[0]))
    gx, gy = ft.grad(lambda x, y: np.sum(f(x, y)[0] * 2 + f(x, y)[2]), (0, 1))(X, W)
    equal(gx, np.full(3, 2.0))
    equal(gy, np.full(3, 10.0))


def test_second_derivatives_are_of_the_rules():
    """Outer levels differentiate the rules as they are written; or use them again."""
    once = ft.custom_vjp(lambda x: x**3)
    once.defvjp(lambda x: (x**3, x), lambda x, g: (g * 10 * x,))
    assert ft.grad(once)(2.0) == 20.0
    assert ft.grad(ft.grad(once))(2.0) == 10.0
    again = ft.custom_vjp(lambda x: x**3)
    again.defvjp(lambda x: (x**3, again(x)), lambda y, g: (g * y,))
    assert ft.grad(again)(2.0) == 8.0
    assert ft.grad(ft.grad(again))(2.0) == 8.0
    assert ft.grad(ft.grad(ft.grad(again)))(2.0) == 8.0


def test_batch_sizes_zero_and_one():
    for name in KINDS.keys() - {"vmap again"}:  # its rule cannot stack nothing
        f = KINDS[name]()
        for size in (0, 1):
            xs = np.ones((size, 3))
            p = {"w": W, "b": B}
            g = lambda x, f=f: total(f(p, x))  # noqa: E731
            close(ft.vmap(ft.grad(g))(xs), ft.vmap(ft.grad(lambda x: total(formula(p, x))))(xs))
            summed = lambda x, g=g: np.sum(ft.vmap(g)(x))  # noqa: E731
            assert ft.grad(summed)(xs).shape == xs.shape
            vv = ft.vmap(ft.vmap(ft.grad(g)))(xs[None])
            assert vv.shape == (1, size, 3)


# ---- arguments ----


def test_keywords_and_defaults_come_by_position():
    seen = []

    @ft.custom_vjp
    def f(x, y=2.0, *, scale=None):
        return x * y

    def forward(*args):
        seen.append(args)
        return f(*args[:2]), args

    f.defvjp(forward, lambda r, g: (g * r[1], g * r[0]))
    with pytest.raises(TypeError, match=r"\['scale'\] can only be passed by keyword"):
        ft.grad(lambda x: f(x, scale=1.0))(3.0)

    @ft.custom_vjp
    def f(x, y=2.0):
        return x * y

    f.defvjp(forward, lambda r, g: (g * r[1], g * r[0]))
    assert ft.grad(lambda x: f(x))(3.0) == 2.0
    assert ft.grad(lambda y: f(y=y, x=3.0))(5.0) == 3.0
    assert [len(args) for args in seen] == [2, 2]
    raises(TypeError, f, "missing a required argument")


def test_arguments_that_are_not_differentiated():
    @partial(ft.custom_vjp, nondiff_argnums=(0, -1))
    def apply(call, x, options):
        return call(x) * options["scale"]

    def forward(call, x, options):
        return apply(call, x, options), np.cos(x)

    def backward(call, options, c, g):
        assert call is np.sin
        return (g * c * options["scale"],)

    apply.defvjp(forward, backward)
    options = {"scale": 2.0, "name": "a"}
    f = lambda x: apply(np.sin, x, options)  # noqa: E731
    close(ft.grad(f)(0.3), 2 * np.cos(0.3))
    close(ft.grad(lambda x: np.sum(ft.vmap(f)(x)))(X), 2 * np.cos(X))
    close(ft.vmap(ft.grad(f))(X), 2 * np.cos(X))
    close(ft.jvp(f, (X,), (X,))[1], 2 * np.cos(X) * X)

    def scaled(x, s):  # a batched array in such a place
        return ft.grad(lambda x: apply(np.sin, x, {"scale": s}))(x)

    close(ft.vmap(scaled)(X, W), W * np.cos(X))
    g = lambda x, s: np.sum(ft.vmap(lambda x, s: apply(np.sin, x, {"scale": s}))(x, s))  # noqa: E731
    close(ft.grad(g)(X, W), W * np.cos(X))


def test_classes_that_take_arrays_only():
    """No rule makes one of anything else, whether its argument is differentiated or not."""

    @ft.register_dataclass
    @dataclass
    class Strict:
        x: Any

        def __post_init__(self):
            if not isinstance(self.x, (np.ndarray, np.generic, ft.Tensor)):
                raise TypeError(f"no array: {self.x!r}")

    for nondiff in (0, 1):
        a, b = (Strict(X), Strict(W)) if nondiff else (Strict(W), Strict(X))
        f = ft.custom_vjp(lambda a, b: a.x * b.x, nondiff_argnums=nondiff)
        f.defvjp(
            lambda a, b: (f(a, b), (a, b)), lambda option, r, g, n=nondiff: (Strict(g * r[n].x),)
        )
        slope = ft.grad(lambda a, b, f=f: np.sum(f(a, b)), 1 - nondiff)
        equal(slope(a, b).x, W)
        h = ft.custom_jvp(lambda a, b: a.x * b.x, nondiff_argnums=nondiff)
        h.defjvp(lambda option, p, t, h=h: (option.x * p[0].x, option.x * t[0].x))
        slope = ft.grad(lambda a, b, h=h: np.sum(h(a, b)), 1 - nondiff)
        equal(slope(a, b).x, W)


def test_nondiff_argnames_and_what_is_wrong_with_them():
    f = ft.custom_jvp(lambda x, mode: x * len(mode), nondiff_argnames=("mode",))
    f.defjvp(lambda mode, primals, tangents: (f(primals[0], mode), 9 * tangents[0]))
    assert f.nondiff == (1,)
    assert ft.grad(lambda x: f(x, mode="ab"))(1.0) == 9.0
    g = ft.custom_vjp(lambda x, mode: x, nondiff_argnames="mode")
    assert g.nondiff == (1,)
    for options in ({"nondiff_argnums": 2}, {"nondiff_argnums": -3}, {"nondiff_argnames": "z"}):
        raises(ValueError, lambda: ft.custom_vjp(lambda x, y: x, **options), "positional argument")
    for wrong in (True, 1.0):
        with pytest.raises(TypeError, match="write an int"):
            ft.custom_vjp(lambda x, y: x, nondiff_argnums=wrong)
    assert ft.custom_vjp(lambda *xs: xs, nondiff_argnums=3).nondiff == (3,)


def test_integers_flags_and_none():
    @ft.custom_vjp
    def f(x, i, flag, nothing):
        return np.sum(np.where(np.arange(3) == (i if flag else 0), x, 0.0)), i + 1, None

    f.defvjp(
        lambda x, i, flag, nothing: (f(x, i, flag, nothing), (i, x.shape)),
        lambda r, g: (pulled(g, *r), None, None, None),
    )

    def pulled(g, i, shape):
        assert g[2] is None
        assert g[1] == 0
        return np.where(np.arange(shape[0]) == i, g[0], 0.0)

    y, i, nothing = f(X, 1, True, None)
    assert (y, i, nothing) == (X[1], 2, None)
    equal(ft.grad(lambda x: f(x, 1, True, None)[0])(X), np.eye(3)[1])
    xs = np.stack([X, 2 * X])
    rows = lambda xs: ft.vmap(lambda x: f(x, 1, True, None)[0])(xs)  # noqa: E731
    equal(ft.grad(lambda xs: np.sum(rows(xs)))(xs), np.stack([np.eye(3)[1]] * 2))
    index = np.array([2, 0])
    batched = ft.vmap(ft.grad(lambda x, i: f(x, i, True, None)[0]), (None, 0))
    equal(batched(X, index), np.eye(3)[index])


def test_none_is_zero_for_a_part_of_an_argument():
    f = ft.custom_vjp(lambda p, q: np.sum(p["a"]) + np.sum(p["b"][0]) + np.sum(q))
    f.defvjp(lambda p, q: (f(p, q), None), lambda _, g: ({"a": g + np.zeros(3), "b": None}, None))
    gp, gq = ft.grad(f, (0, 1))({"a": X, "b": [X, X]}, X)
    equal(gp["a"], np.ones(3))
    equal(gp["b"][1], np.zeros(3))
    equal(gq, np.zeros(3))
    equal(ft.jvp(f, ({"a": X, "b": [X, X]}, X), ({"a": X, "b": [X, X]}, X))[1], np.sum(X))


def test_dtypes_follow_the_values():
    f = ft.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda _, g: (2 * g.astype(float),))
    x = X.astype(np.float32)
    assert ft.grad(lambda x: np.sum(f(x)))(x).dtype == np.float32
    assert ft.jvp(f, (x,), (x,))[1].dtype == np.float32
    g = ft.custom_jvp(lambda x: x * 2)
    g.defjvp(lambda p, t: (p[0] * 2, 2.0 * t[0].astype(float)))
    assert ft.jvp(g, (x,), (x,))[1].dtype == np.float32
    assert ft.grad(lambda x: np.sum(g(x)))(x).dtype == np.float32


def test_a_method():
    class Model:
        scale = 4.0

        @partial(ft.custom_vjp, nondiff_argnums=0)
        def call(self, x):
            return self.scale * x

        call.defvjp(lambda self, x: (self.call(x), None), lambda self, _, g: (g * self.scale,))

    equal(ft.grad(lambda x: np.sum(Model().call(x)))(X), np.full(3, 4.0))
    equal(ft.vmap(ft.grad(Model().call))(X), np.full(3, 4.0))
    assert isinstance(Model.call, type(ft.custom_vjp(np.sin)))


# ---- complex numbers ----

COMPLEX = {
    "holomorphic": (lambda z: z**3 * np.exp(z), lambda z: (3 * z**2 + z**3) * np.exp(z), None),
    "modulus": (lambda z: z * np.conj(z), None, lambda z, g: 2 * z * np.real(g)),
    "real part": (lambda z: np.real(z) ** 2, None, lambda z, g: 2 * np.real(z) * g),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_cotangents_are_in_pytorchs_convention(name):
    func, slope, pull = COMPLEX[name]
    f = ft.custom_vjp(func)
    pull = pull or (lambda z, g: g * np.conj(slope(z)))
    f.defvjp(lambda z: (func(z), z), lambda z, g: (pull(z, g),))
    z = np.array([0.3 + 0.4j, -1.0 + 2.0j])
    g = np.array([1.0 - 2.0j, 0.5 + 0.1j])
    g = g if np.iscomplexobj(func(z)) else g.real
    close(ft.vjp(f, z)[1](g)[0], ft.vjp(func, z)[1](g)[0])
    close(ft.jvp(f, (z,), (1j * z,))[1], ft.jvp(func, (z,), (1j * z,))[1])
    loss = lambda call: lambda z: np.sum(np.abs(call(z)) ** 2)  # noqa: E731
    close(ft.grad(loss(f))(z), ft.grad(loss(func))(z))
    close(ft.vmap(ft.grad(loss(f)))(z), ft.grad(loss(func))(z))
    close(ft.grad(loss(ft.vmap(f)))(z), ft.grad(loss(func))(z))


def test_a_real_argument_takes_the_real_part():
    f = ft.custom_vjp(lambda x, z: x * z)
    f.defvjp(
        lambda x, z: (x * z, (x, z)), lambda r, g: (np.real(g * np.conj(r[1])), g * np.conj(r[0]))
    )
    z = 1.0 + 2.0j
    loss = lambda call: lambda x: np.abs(call(x, z) - 1.0) ** 2  # noqa: E731
    close(ft.grad(loss(f))(0.7), ft.grad(loss(lambda x, z: x * z))(0.7))
    g = ft.custom_jvp(lambda x: x * z)
    g.defjvp(lambda p, t: (g(*p), t[0] * z))
    close(ft.grad(lambda x: np.abs(g(x) - 1.0) ** 2)(0.7), ft.grad(loss(f))(0.7))


def test_a_complex_cotangent_of_a_real_argument():
    """Its imaginary part would be lost: here all of it, and the gradient would be 0."""
    f = ft.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (x * 2.0, None), lambda _, g: (g * 1j,))
    for run in (
        lambda: ft.grad(f)(1.0),
        lambda: ft.vmap(ft.grad(f))(np.ones(3)),
        lambda: ft.jvp(ft.grad(f), (1.0,), (1.0,)),
        lambda: ft.jacrev(f)(np.float32(1.0)),
    ):
        raises(TypeError, run, "<lambda>", "the cotangent of args[0] that bwd", "numpy.real")
    h = ft.custom_jvp(lambda x: x * 2.0)
    h.defjvp(lambda p, t: (p[0] * 2.0, t[0] * 1j))
    for run in (lambda: ft.jvp(h, (1.0,), (1.0,)), lambda: ft.grad(h)(1.0)):
        raises(TypeError, run, "the tangent of the result that the jvp rule", "numpy.real")


# ---- with the rest of the library ----


def test_in_checkpoint_scan_and_chunks():
    f = straight_through()
    xs = np.array([0.2, 1.7, -3.0])
    equal(ft.grad(lambda x: np.sum(ft.checkpoint(f)(x) ** 2))(xs), 6 * np.round(xs))
    equal(ft.jacrev(f, chunk_size=2)(xs), 3 * np.eye(3))
    body = lambda c, x: (c + f(x), None)  # noqa: E731
    equal(ft.grad(lambda xs: ft.scan(body, 0.0, xs)[0])(xs), np.full(3, 3.0))


def test_collectives_inside_of_a_rule():
    def func(x):
        return x - ft.pmean(x, "batch")

    f = ft.custom_vjp(func)
    f.defvjp(lambda x: (func(x), None), lambda _, g: (g * 2.0 - ft.pmean(g, "batch"),))
    xs = np.array([1.0, 2.0, 6.0])
    rows = ft.vmap(f, axis_name="batch")
    equal(rows(xs), xs - 3.0)
    weights = np.array([1.0, 0.0, 2.0])
    equal(ft.grad(lambda xs: np.sum(weights * rows(xs)))(xs), 2 * weights - 1.0)


@pytest.mark.parametrize(("randomness", "count"), [("different", 6), ("same", 2)])
def test_draws_inside_of_a_rule(randomness, count):
    rng = ft.random.default_rng(0)
    f = ft.custom_vjp(lambda x: x + rng.normal(size=2))
    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * rng.normal(size=2),))
    rows = ft.vmap(f, randomness=randomness)
    xs = np.zeros((3, 2))
    value, pull = ft.vjp(rows, xs)
    for drawn in (rows(xs), value, pull(np.ones((3, 2)))[0]):
        assert len(np.unique(drawn)) == count
    raises(ft.RandomnessError, lambda: ft.vjp(ft.vmap(f), xs))


def test_imperative_levels():
    f = with_vjp()
    p = {"w": W, "b": B}
    with ft.grad() as G:
        x = G(X)
        with ft.vmap() as V:
            rows = V.unwrap(f(p, x * V(np.ones((2, 3))))[1])
        equal(G.gradient(np.sum(rows), x), 2 * W * np.cos(W * X))


def test_passthrough_and_dead_levels():
    f = with_vjp()
    p = {"w": W, "b": B}
    kept = []
    ft.grad(lambda x: kept.append(x) or np.sum(x), escape="passthrough")(X)
    equal(f(p, kept[0])[1], formula(p, X)[1])
    equal(ft.grad(lambda w: f({"w": w, "b": B}, kept[0])[1])(W), X * np.cos(W * X))
    ft.grad(lambda x: kept.append(x) or np.sum(x))(X)
    raises(ft.EscapedTensorError, lambda: f(p, kept[1]), "had ended")


def test_threads_share_a_function():
    f = with_all()
    g = lambda x: total(ft.vmap(f, (None, 0))({"w": W, "b": B}, x))  # noqa: E731
    xs = np.stack([X, 2 * X])
    expected = ft.grad(g)(xs)
    for _ in range(4):
        equal(in_thread(lambda: ft.grad(g)(xs)), expected)


@ft.custom_vjp
def cubed(x):
    return x**3


cubed.defvjp(lambda x: (x**3, x), lambda x, g: (7 * g * x,))


def slope(x, g):
    return (7 * g * x,)


def forward(x):
    return np.sin(x), x


def test_pickling_and_copying():
    assert pickle.loads(pickle.dumps(cubed)) is cubed
    assert copy.deepcopy(cubed) is cubed
    f = ft.custom_vjp(np.sin)
    f.defvjp(forward, slope)
    g = pickle.loads(pickle.dumps(f))
    assert g is not f
    assert ft.grad(g)(2.0) == 14.0
    assert g.__name__ == "sin"
    g = pickle.loads(pickle.dumps(ft.sequential_vmap(np.sin)))
    assert repr(g) == "<sequential_vmap(sin)>"
    equal(ft.vmap(g)(X), np.sin(X))


def test_builtins_without_a_signature():
    f = ft.custom_vjp(np.add)
    f.defvjp(lambda a, b: (np.add(a, b), None), lambda _, g: (g, 2 * g))
    equal(ft.grad(lambda x: np.sum(f(x, x)))(X), np.full(3, 3.0))
