"""Transforms in each other, to depth 4, in every order; closures; perturbation confusion;
random programs.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from support.basics import close, equal
from support.programs import EXACT, NAMES, TRANSFORMS, apply, programs, starts

# A function of one number with derivatives that are known: f^(n) for f = sin(a x).
RATE = 1.3
POINTS = np.array([0.2, -0.7, 1.1])


def f(x):
    return np.sin(RATE * x)


def derivative(n, x):
    """The n-th derivative of `f`."""
    return RATE**n * np.sin(RATE * x + n * np.pi / 2)


def by_grad(g):
    return ft.grad(g)


def by_value_and_grad(g):
    return lambda x: ft.value_and_grad(g)(x)[1]


def by_vjp(g):
    return lambda x: ft.vjp(g, x)[1](1.0)[0]


def by_jvp(g):
    return lambda x: ft.jvp(g, (x,), (1.0,))[1]


def by_imperative_grad(g):
    def run(x):
        with ft.grad() as G:
            y = G(x)
            return G.gradient(g(y), y)

    return run


def by_imperative_jvp(g):
    def run(x):
        with ft.jvp() as J:
            return J.unwrap(g(J(x, 1.0)))[1]

    return run


DERIVATIVES = {
    "grad": by_grad, "jvp": by_jvp, "vjp": by_vjp, "value_and_grad": by_value_and_grad,
    "with_grad": by_imperative_grad, "with_jvp": by_imperative_jvp,
}  # fmt: skip


@pytest.mark.parametrize("names", list(itertools.product(DERIVATIVES, repeat=2)), ids="-".join)
def test_derivatives_of_derivatives(names):
    """B32, B09: of order two by every pair of transforms."""
    g = f
    for name in names:
        g = DERIVATIVES[name](g)
    for x in POINTS:
        close(g(float(x)), np.float64(derivative(2, x)))


def stacks():
    """Every order of up to four of grad, jvp and vmap (vmap at most twice)."""
    for n in (2, 3, 4):
        for names in itertools.product(["grad", "jvp", "vmap"], repeat=n):
            if 1 <= names.count("vmap") <= 2:
                yield names


@pytest.mark.parametrize("names", list(stacks()), ids="-".join)
def test_every_order_of_vmap_and_derivatives(names):
    """B09: a derivative outside a vmap is taken of the sum over the batch"""
    g, batch, order = f, 0, 0
    for name in names:
        if name == "vmap":
            g = ft.vmap(g)
            batch += 1
        elif batch == 0:
            g = DERIVATIVES[name](g)
            order += 1
        else:
            g = elementwise_derivative(name, g)
            order += 1
    x = POINTS if batch == 1 else np.stack([POINTS, 2 * POINTS])
    close(g(x), derivative(order, x), 1e-11)


def elementwise_derivative(name, g):
    """The derivative of a batched function whose examples are independent."""
    if name == "grad":
        return ft.grad(lambda x: np.sum(g(x)))

    def forward(x):
        return ft.jvp(g, (x,), (np.ones(np.shape(x)),))[1]

    return forward


# ---- perturbation confusion ----


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_the_classic(outer, inner):
    """B32: d/dx (x * d/dy (x + y)) = 1, where confusion gives 2"""
    d, e = DERIVATIVES[outer], DERIVATIVES[inner]
    equal(d(lambda x: x * e(lambda y: x + y)(1.0))(1.0), np.float64(1.0))


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_the_classic_with_a_product(outer, inner):
    """d/dx (x * d/dy (x y)) = 2 x"""
    d, e = DERIVATIVES[outer], DERIVATIVES[inner]
    equal(d(lambda x: x * e(lambda y: x * y)(2.0))(3.0), np.float64(6.0))


@pytest.mark.parametrize("d", DERIVATIVES.values(), ids=DERIVATIVES)
def test_the_classic_under_vmap(d):
    inner = lambda x: x * d(lambda y: x * y + x)(1.0)  # noqa: E731
    equal(ft.vmap(d(inner))(POINTS), 2 * POINTS)
    equal(ft.vmap(inner)(POINTS), POINTS * POINTS)


def test_vmap_confusion():
    """The inner batch axis is not the outer one, also where both have one size."""
    x = np.array([1.0, 2.0, 3.0])
    out = ft.vmap(lambda a: ft.vmap(lambda b: a)(x))(x)
    equal(out, np.repeat(x[:, None], 3, axis=1))
    out = ft.vmap(lambda a: ft.vmap(lambda b: b)(x))(x)
    equal(out, np.repeat(x[None], 3, axis=0))
    out = ft.vmap(lambda a: np.sum(ft.vmap(lambda b: a * b)(x)))(x)
    equal(out, x * 6.0)


def test_the_curried_derivative():
    """Siskind and Pearlmutter's: D (x -> (D (y -> x y)) 2) is 1 for all x."""
    equal(ft.grad(lambda x: ft.grad(lambda y: x * y)(2.0))(7.0), np.float64(1.0))
    equal(ft.jvp(lambda x: ft.grad(lambda y: x * y)(2.0), (7.0,), (1.0,))[1], np.float64(1.0))


def test_a_function_that_returns_a_function():
    """The derivative of a higher-order function: each level keeps its own tangent."""
    shift = lambda offset: lambda g: lambda x: g(x + offset)  # noqa: E731
    d = lambda h: ft.jvp(h, (0.0,), (1.0,))[1]  # noqa: E731
    moved = lambda offset: shift(offset)(lambda x: ft.grad(np.exp)(x))(1.0)  # noqa: E731
    close(d(moved), np.float64(np.exp(1.0)))
    twice = lambda o: shift(o)(lambda x: d(lambda p: shift(p)(np.exp)(x)))(1.0)  # noqa: E731
    close(d(twice), np.float64(np.exp(1.0)))


def test_many_levels():
    """Depth 8 of one transform and of alternating ones."""
    g = lambda x: x**9  # noqa: E731
    for _ in range(8):
        g = ft.grad(g)
    close(g(1.0), np.float64(362880.0), 1e-10)
    x = np.ones((1,) * 8)
    h = np.negative
    for _ in range(8):
        h = ft.vmap(h)
    equal(h(x), -x)
    k = lambda x: np.exp(0.5 * x)  # noqa: E731
    for name in ("grad", "jvp") * 3:
        k = DERIVATIVES[name](k)
    close(k(0.0), np.float64(0.5**6))


# ---- Random programs under random nestings of the transforms ----

# The same nesting runs with one transform replaced by what it means: a loop in place of vmap,
# finite differences in place of a derivative. As these are plain NumPy, the transforms that are
# left differentiate and batch them too.


def compare(nesting, program, start):
    actual = apply(nesting, program, [start])
    for meant in range(len(nesting)):
        expected = apply(nesting, program, [start], meant)

        assert np.shape(actual) == np.shape(expected)
        size = np.max(np.abs(expected), initial=1)
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * size)


@pytest.mark.parametrize(
    "nesting",
    [
        "vmap grad", "grad vmap", "grad grad", "jvp grad", "grad jvp", "jvp jvp", "vjp vjp",
        "vmap vmap", "jvp vmap", "vmap jvp", "vmap vjp", "vjp vmap",
        "vmap jvp grad", "vmap grad vmap", "grad vmap grad", "vmap vmap grad",
    ],
)  # fmt: skip
@given(program=programs, start=starts)
@settings(max_examples=settings().max_examples // 2)
def test_nesting(nesting, program, start):
    compare(nesting.split(), program, start)


@given(
    nesting=st.lists(st.sampled_from(TRANSFORMS), min_size=1, max_size=4),
    program=programs,
    start=starts,
)
@settings(max_examples=2 * settings().max_examples)
def test_random_nesting(nesting, program, start):
    compare(nesting, program, start)


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_under_every_pair(name):
    """Not at random: no operation of the pool is left out."""
    for nesting in ("vmap grad", "grad vmap", "jvp grad", "vmap jvp"):
        compare(nesting.split(), [("sin", 0, 0), (name, 0, 1)], np.array([0.5, 0.2, -0.9]))


# ---- the comparison is checked: each transform made wrong in turn ----


def scale(tree):
    if isinstance(tree, tuple):
        return tree[0], scale(tree[1])
    if callable(tree):
        return lambda *args: tuple(scale(x) for x in tree(*args))
    return tree * 1.001


WRONG = {
    "vmap": lambda f: lambda xs: ft.vmap(f)(xs)[::-1],
    "grad": lambda f: lambda x: scale(ft.grad(f)(x)),
    "jvp": lambda f, primals, tangents: scale(ft.jvp(f, primals, tangents)),
    "vjp": lambda f, x: scale(ft.vjp(f, x)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_wrong_transform_is_found(transform, monkeypatch):
    monkeypatch.setitem(EXACT, transform, WRONG[transform])
    for nesting in ([transform, "grad"], ["vmap", transform], ["jvp", transform]):
        with pytest.raises(AssertionError):
            compare(nesting, [("exp", 0, 0), ("multiply", 0, 1)], np.array([0.3, -0.8]))
