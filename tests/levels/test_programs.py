"""Random programs under random nestings of the transforms.

The same nesting runs with one transform replaced by what it means: a loop in place of vmap,
finite differences in place of a derivative. As these are plain NumPy, the transforms that are
left differentiate and batch them too.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from programs import EXACT, NAMES, TRANSFORMS, apply, programs, starts


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
