"""Tests of rules that look inside."""

import numpy as np
import pytest

import functier as ft
from functier._rules.linalg.contract import _order_by_memory, _prepare, contract, plan
from functier._rules.linalg.linear_systems import INVERSES

pytestmark = pytest.mark.inside("Plans of contractions have no public name.")


# ---- contraction ----


N, M, C, J = 5, 2, 3, 4  # the batch, rows, the summed axis, columns


def strided(rng, shape):
    """An array of this shape, now and then with its axes in another order, or with gaps."""
    order = rng.permutation(len(shape)) if rng.random() < 0.5 else np.arange(len(shape))
    steps = rng.choice([-1, 1, 2], p=[0.1, 0.8, 0.1], size=len(shape))
    whole = rng.normal(size=[shape[i] * abs(steps[i]) for i in order])
    return whole.transpose(np.argsort(order))[tuple(slice(None, None, k) for k in steps)]


@pytest.mark.parametrize("seed", range(120))
def test_random_contractions_equal_einsum(seed):
    """Any labels in any order, axes of size 0, 1 and more, broadcast in one operand."""
    rng = np.random.default_rng(seed)
    every = list(range(6))
    sizes = {i: int(rng.choice([1, 2, 3])) for i in every}
    if seed % 10 == 0:
        sizes[0] = 0

    def some():
        return tuple(int(i) for i in rng.permutation(every)[: rng.integers(0, 6)])

    left, right = some(), some()
    both = [i for i in every if i in left or i in right]
    out = tuple(int(i) for i in rng.permutation(both)[: rng.integers(0, len(both) + 1)])
    x, y = (strided(rng, [sizes[i] if rng.random() < 0.85 else 1 for i in own])
            for own in (left, right))  # fmt: skip
    expected = np.einsum(x, list(left), y, list(right), list(out))
    actual = contract(x, y, (left, right, out))
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_a_plan_of_views_copies_nothing():
    x, w = np.ones((N, M, C)), np.ones((C, J))
    made = plan(((0, 1, 2), (2, 3), (0, 1, 3)), x.shape, w.shape)
    assert made.right is None
    assert np.shares_memory(x.reshape(made.left[2]), x)


@pytest.mark.parametrize(
    ("x", "product"),
    [
        (np.ones((N, M, C)), np.dot),
        (np.moveaxis(np.ones((M, N, C)), 1, 0), np.dot),  # in_dims=1
        (np.moveaxis(np.ones((M, C, N)), 2, 0), np.matmul),
        (np.ones((N, C, M)).mT, np.matmul),
        (np.ones((N, 2 * M, C))[:, :M], np.matmul),
        (np.ones((N, M, 2 * C))[..., :C], np.dot),
    ],
)
def test_what_is_not_contiguous_is_not_copied(x, product):
    """Axes merge in the order of memory, and not across a gap."""
    moved, labels, gaps = _order_by_memory(x, x.strides, (0, 1, 2))
    made = plan((labels, (2, 3), (0, 1, 3)), moved.shape, (C, J), (gaps, ()))
    operand = made.right if made.swap else made.left
    assert made.product is product
    assert operand is None or np.shares_memory(_prepare(moved, operand, x), x)


def test_an_inverse_is_of_the_matrix_as_it_is():
    """An inverse that a live tape has computed is not used for a matrix that has changed since."""
    a, b = np.eye(2), np.ones(2)
    f = lambda a: np.linalg.slogdet(a)[1] + b @ np.linalg.solve(a, b)  # noqa: E731
    _, pullback = ft.vjp(f, a)
    np.testing.assert_allclose(pullback(1.0)[0], -np.ones((2, 2)) + np.eye(2))
    a *= 2
    np.testing.assert_allclose(ft.grad(f)(a), np.full((2, 2), -0.25) + np.eye(2) / 2)
    b_only = ft.grad(lambda b: b @ np.linalg.solve(a, b))
    np.testing.assert_allclose(b_only(b), np.ones(2))
    assert not INVERSES
