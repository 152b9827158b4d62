"""Functions with rules of their own, in every nesting, against the same function without."""

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from support.basics import close
from support.ruled import KINDS, B, W, X, floats, formula, total, with_jvp, with_vjp, with_vmap


def by_grad(g):
    return ft.grad(lambda p, x: total(g(p, x)), (0, 1))


def by_grad_of_x(g):
    return ft.grad(lambda p, x: total(g(p, x)), 1)


def by_vjp(g):
    def run(p, x):
        out, pull = ft.vjp(lambda p: floats(g(p, x)), p)
        return pull([np.cos(y) for y in out])

    return run


def by_jvp(g):
    def run(p, x):
        t = {"w": 0.3 + 0 * p["w"], "b": 1.0 + 0 * p["b"]}
        return ft.jvp(lambda p, x: floats(g(p, x)), (p, x), (t, x * x))[1]

    return run


def by_jvp_of_b(g):
    def run(p, x):
        out = lambda b: floats(g({"w": p["w"], "b": b}, x))  # noqa: E731
        return ft.jvp(out, (p["b"],), (1.0 + 0 * p["b"],))

    return run


def by_jacrev(g):
    return ft.jacrev(lambda p, x: floats(g(p, x)), 1)


def by_jacfwd(g):
    return ft.jacfwd(lambda p, x: floats(g(p, x)), 0)


DERIVATIVES = {
    "grad": by_grad, "grad of x": by_grad_of_x, "vjp": by_vjp, "jvp": by_jvp,
    "jvp of b": by_jvp_of_b, "jacrev": by_jacrev, "jacfwd": by_jacfwd,
}  # fmt: skip
IN_DIMS = {
    "vmap": (0, 0), "vmap of x": (None, 0), "vmap of p": (0, None),
    "vmap of w": ({"w": -1, "b": None}, None), "vmap of b, x": ({"w": None, "b": 0}, 1),
}  # fmt: skip
STEPS = [*DERIVATIVES, *IN_DIMS]


def several(x, dim, size):
    if dim is None:
        return x
    return np.stack([x * (1 + 0.3 * i) for i in range(size)], axis=dim if x.ndim else 0)


def nested(steps, function):
    """The function after all steps, innermost first, and arguments for it."""
    g, p, x = function, {"w": W, "b": B}, X
    for i, step in enumerate(steps):
        if step in DERIVATIVES:
            g = DERIVATIVES[step](g)
        else:
            dims, size = IN_DIMS[step], (2, 3)[i % 2]
            of_p = dims[0] if isinstance(dims[0], dict) else {"w": dims[0], "b": dims[0]}
            of_x = dims[1] if x.ndim > 1 or not dims[1] else -1
            p = {k: several(v, of_p[k], size) for k, v in p.items()}
            x = several(x, of_x, size)
            g = ft.vmap(g, (of_p, of_x))
    return g(p, x)


def compare(steps, function):
    """The results of a nesting with rules and without are the same."""
    actual, structure = optree.tree_flatten(nested(steps, function))
    expected, other = optree.tree_flatten(nested(steps, formula))
    assert structure == other
    for a, e in zip(actual, expected):
        close(a, e, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", STEPS)
def test_each_transform(kind, step):
    compare([step], KINDS[kind]())


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=settings().max_examples // 2)
def test_nestings(kind, data):
    steps = data.draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=4))
    if sum(s in DERIVATIVES for s in steps) > 3:
        steps.remove(next(s for s in steps if s in DERIVATIVES))
    compare(steps, KINDS[kind]())


WRONG = {
    "vjp": (with_vjp(1.01), ["grad"], ["jvp"], ["vmap", "grad"], ["jacfwd", "vmap"]),
    "jvp": (with_jvp(1.01), ["grad"], ["jvp"], ["vmap", "grad"], ["jacfwd", "vmap"]),
    "vmap": (with_vmap(1.01), ["vmap"], ["grad", "vmap"], ["vmap", "jvp"], ["vjp", "vmap of x"]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_rule_is_seen(kind):
    function, *nestings = WRONG[kind]
    for steps in nestings:
        with pytest.raises(AssertionError):
            compare(steps, function)
