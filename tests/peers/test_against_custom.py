"""Custom rules and stop_gradient beside JAX's and PyTorch's (the extra ``bench``)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from optree import tree_leaves

import functier as ft

XS = np.array([[0.3, -0.8, 1.2], [0.5, 1.5, -0.4]])
YS = np.array([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]])


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax", reason="JAX is in the extra bench")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def close(actual, expected):
    actual, expected = tree_leaves(actual, namespace="functier"), tree_leaves(expected)
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        a, e = np.asarray(a), np.asarray(e)
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(a, e, rtol=1e-10, atol=1e-12)


# ---- JAX: one text for both, with the library `f`, its arrays `xp` ----


def by_vjp(f, xp):
    @f.custom_vjp
    def func(x, y):
        return xp.sin(x) * y, xp.sum(x)

    func.defvjp(
        lambda x, y: (func(x, y), (x, y)),
        lambda r, g: (g[0] * xp.cos(r[0]) * r[1] * 1.5 + g[1], g[0] * r[0]),
    )
    return func


def by_jvp(f, xp):
    @f.custom_jvp
    def func(x, y):
        return xp.sin(x) * y, xp.sum(x)

    @func.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        moved = xp.cos(x) * y * dx * 1.5 + xp.sin(x) * dy
        return func(x, y), (moved, xp.sum(dx) * 2.0)

    return func


def by_partials(f, xp):
    @f.custom_jvp
    def func(x, y):
        return xp.sin(x) * y

    func.defjvps(lambda t, ans, x, y: t * xp.cos(x) * y * 1.5, lambda t, ans, x, y: t * ans / y)
    return lambda x, y: (func(x, y), xp.sum(x))


def with_tree(f, xp):
    @partial(f.custom_vjp, nondiff_argnums=(0,))
    def func(call, tree):
        return {"out": call(tree["a"]) * tree["b"][0]}

    func.defvjp(
        lambda call, tree: (func(call, tree), tree),
        lambda call, tree, g: (
            {"a": g["out"] * 3.0 * tree["b"][0], "b": (g["out"] * call(tree["a"]),)},
        ),
    )
    return lambda x, y: (func(xp.tanh, {"a": x, "b": (y,)})["out"], xp.sum(y))


def by_vmap(f, xp):
    custom = f.custom_batching.custom_vmap if hasattr(f, "custom_batching") else f.custom_vmap

    @custom
    def func(x, y):
        return xp.sin(x) * y

    @func.def_vmap
    def rule(size, in_batched, x, y):
        x = x if in_batched[0] else xp.broadcast_to(x, (size, *x.shape))
        y = y if in_batched[1] else xp.broadcast_to(y, (size, *y.shape))
        return xp.cos(x) * y, True

    return lambda x, y: (func(x, y), xp.sum(x))


RULES = {
    "vjp": by_vjp, "jvp": by_jvp, "partials": by_partials, "tree": with_tree, "vmap": by_vmap,
}  # fmt: skip


def scalar(xp, g):
    return lambda x, y: sum(xp.sum(v * v) for v in g(x, y))


TRANSFORMS = {
    "value": lambda f, xp, g: g(XS[0], YS[0]),
    "grad": lambda f, xp, g: f.grad(scalar(xp, g), (0, 1))(XS[0], YS[0]),
    "jacrev": lambda f, xp, g: f.jacrev(g, (0, 1))(XS[0], YS[0]),
    "second": lambda f, xp, g: f.jacrev(f.jacrev(g, (0, 1)), (0, 1))(XS[0], YS[0]),
    "third": lambda f, xp, g: f.jacrev(f.jacrev(f.jacrev(g)), 1)(XS[0], YS[0]),
    "vmap": lambda f, xp, g: f.vmap(g)(XS, YS),
    "vmap of one": lambda f, xp, g: f.vmap(g, (None, 0))(XS[0], YS),
    "vmap of grad": lambda f, xp, g: f.vmap(f.grad(scalar(xp, g), (0, 1)), (0, None))(XS, YS[0]),
    "grad of vmap": lambda f, xp, g: f.grad(scalar(xp, f.vmap(g, (0, None))), (0, 1))(XS, YS[0]),
    "two vmaps": lambda f, xp, g: f.vmap(f.vmap(g, (None, 0)), (0, None))(XS, YS),
    "grad of two": lambda f, xp, g: f.grad(
        scalar(xp, f.vmap(f.vmap(g, (None, 0)), (0, None))), (0, 1)
    )(XS, YS),
    "second of vmap": lambda f, xp, g: f.jacrev(f.grad(scalar(xp, f.vmap(g, (0, None)))))(
        XS, YS[0]
    ),
    "jvp": lambda f, xp, g: f.jvp(g, (XS[0], YS[0]), (YS[1], XS[1])),
    "jvp of vmap": lambda f, xp, g: f.jvp(f.vmap(g), (XS, YS), (YS, XS)),
    "hessian": lambda f, xp, g: f.hessian(scalar(xp, g), (0, 1))(XS[0], YS[0]),
    "forward twice": lambda f, xp, g: f.jacfwd(f.jacfwd(g))(XS[0], YS[0]),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", RULES)
def test_rules_as_jaxs(jax, name, transform):
    call, rule = TRANSFORMS[transform], RULES[name]
    ours = call(ft, np, rule(ft, np))
    try:
        theirs = call(jax, jax.numpy, rule(jax, jax.numpy))
    except (TypeError, ValueError) as error:
        assert (name, transform) in REFUSED
        pytest.skip(f"JAX does not do this: {type(error).__name__}")
    if (name, transform) == ("vjp", "grad of two"):
        # For a result that is the same for a batch of n, JAX 0.10.2 takes the cotangent n times.
        second = lambda x, y: np.sum(x) + 0 * np.sum(y)  # noqa: E731
        extra = ft.grad(
            scalar(np, lambda x, y: [ft.vmap(ft.vmap(second, (None, 0)), (0, None))(x, y)])
        )
        ours = (ours[0] + extra(XS, YS), ours[1])
    close(ours, theirs)


FORWARD = {"jvp", "jvp of vmap", "hessian", "forward twice"}
REVERSE = {"grad", "jacrev", "second", "third", "vmap of grad", "hessian", "forward twice"}
REFUSED = {(name, t) for name in ("vjp", "tree") for t in FORWARD} | {("vmap", t) for t in REVERSE}
"""Forward mode by a vjp, and reverse mode by a batching rule that is not in use."""


def test_complex_cotangents_are_conjugates_of_jaxs(jax):
    def rule(f, xp, conj):
        @f.custom_vjp
        def cube(z):
            return z**3

        cube.defvjp(lambda z: (z**3, z), lambda z, g: (g * conj(3 * z**2),))
        return lambda z: xp.sum(xp.abs(cube(z)) ** 2)

    z = XS[0] + 1j * YS[0]
    theirs = jax.grad(rule(jax, jax.numpy, lambda z: z))(z)
    close(ft.grad(rule(ft, np, np.conj))(z), np.conj(theirs))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_stop_gradient_as_jaxs(jax, transform):
    def stopping(stop, xp):
        return lambda x, y: (xp.sin(x) * stop(xp.exp(y) * x), xp.sum(stop(y) * y))

    theirs = stopping(jax.lax.stop_gradient, jax.numpy)
    ours = TRANSFORMS[transform](ft, np, stopping(ft.stop_gradient, np))
    close(ours, TRANSFORMS[transform](jax, jax.numpy, theirs))


def test_dataclasses_as_jaxs(jax):
    @dataclass
    class Point:
        x: Any
        y: Any
        name: str = "p"

    ft.register_dataclass(Point, ["x", "y"], ["name"])
    jax.tree_util.register_dataclass(Point, ["x", "y"], ["name"])
    f = lambda p: (p.x**2 * p.y).sum()  # noqa: E731
    ours, theirs = ft.grad(f)(Point(XS, YS)), jax.grad(f)(Point(XS, YS))
    close((ours.x, ours.y), (theirs.x, theirs.y))
    assert ours.name == theirs.name == "p"


# ---- PyTorch ----


def test_unwrap_and_detach_as_torchs(torch):
    seen = []

    def theirs(x):
        seen.append(torch.func.debug_unwrap(x * 2))
        return (x * x.detach()).sum()

    def mine(x):
        seen.append(ft.unwrap(x * 2, levels=None))
        return np.sum(x * ft.stop_gradient(x))

    a = torch.func.vmap(torch.func.grad(theirs))(torch.tensor(XS))
    b = ft.vmap(ft.grad(mine))(XS)
    close(b, a.numpy())
    close(seen[1], seen[0].numpy())


def test_no_grad_as_torchs(torch):
    def blocks(library, xp, x):
        with library.no_grad():
            a = x * x
            with library.enable_grad():
                b = xp.sin(x)
        return (a * x + b).sum()

    x = torch.tensor(XS[0])
    theirs = lambda x: blocks(torch, torch, x)  # noqa: E731
    ours = lambda x: blocks(ft, np, x)  # noqa: E731
    close(ft.grad(ours)(XS[0]), torch.func.grad(theirs)(x).numpy())
    close(ft.jacrev(ft.grad(ours))(XS[0]), torch.func.jacrev(torch.func.grad(theirs))(x).numpy())
    close(
        ft.vmap(ft.grad(ours))(XS),
        torch.func.vmap(torch.func.grad(theirs))(torch.tensor(XS)).numpy(),
    )
