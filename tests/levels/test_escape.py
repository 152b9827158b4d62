"""The option escape= on every transform, as a call, a decorator and a context manager."""

import numpy as np
import optree
import pytest

import functier as ft
from support.basics import equal, raises

X = np.array([0.5, -1.0, 2.0])

GRADIENTS = {"grad": ft.grad, "value_and_grad": ft.value_and_grad, "gav": ft.grad_and_value}
CALLS = {
    "vmap": lambda f, e: ft.vmap(f, escape=e)(X),
    "vmap, decorator": lambda f, e: ft.vmap(escape=e)(f)(X),
    **{n: lambda f, e, g=g: g(f, escape=e)(X) for n, g in GRADIENTS.items()},
    **{f"{n}, decorator": lambda f, e, g=g: g(escape=e)(f)(X) for n, g in GRADIENTS.items()},
    "vjp": lambda f, e: ft.vjp(f, X, escape=e),
    "jvp": lambda f, e: ft.jvp(f, (X,), (X,), escape=e),
    "jacrev": lambda f, e: ft.jacrev(f, escape=e)(X),
    "jacfwd": lambda f, e: ft.jacfwd(f, escape=e)(X),
    "hessian": lambda f, e: ft.hessian(f, escape=e)(X),
    "linearize": lambda f, e: ft.linearize(f, X, escape=e),
}
BLOCKS = {
    "vmap": (ft.vmap, lambda B: B(X)),
    **{n: (g, lambda G: G(X)) for n, g in GRADIENTS.items()},
    "jvp": (ft.jvp, lambda J: J(X, X)),
}


def let_escape(call, *escape):
    """The last tensor that a function saw, when the call is over."""
    box = []

    def f(x):
        box.append(x)
        return np.sum(x * x)

    call(f, *escape)
    return box[-1]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_and_a_decorator(name):
    raises(ft.EscapedTensorError, lambda: let_escape(CALLS[name], "dead") + 1)
    y = let_escape(CALLS[name], "passthrough")
    assert not isinstance(y + 1, ft.Tensor)
    equal(ft.vmap(lambda x: x * 2)(np.stack([y + 0, y + 1])), np.stack([y * 2, y * 2 + 2]))


@pytest.mark.parametrize("name", BLOCKS)
def test_a_context_manager(name):
    enter, make = BLOCKS[name]
    for options in ({}, {"escape": "dead"}):
        with enter(**options) as cls:
            x = make(cls)
        raises(ft.EscapedTensorError, lambda: x + 1)
    with enter(escape="passthrough") as cls:
        x = make(cls)
    equal(x + 1, X + 1)


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_decorator_keeps_the_other_options(name):
    @GRADIENTS[name](argnums=(1,), has_aux=True)
    def f(a, b):
        return np.sum(a * b), {"sum": a + b}

    value, sums = np.sum(2 * X * X), {"sum": 3 * X}
    expected = {
        "grad": ((X,), sums),
        "value_and_grad": ((value, sums), (X,)),
        "gav": ((X,), (value, sums)),
    }
    optree.tree_map(equal, f(X, 2 * X), expected[name])
