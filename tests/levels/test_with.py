"""Levels as context managers: the imperative style of the essay."""

from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

import functier as ft
from functier._levels import level as _level
from support import equal, raises

XS = np.arange(20.0).reshape(10, 2)
YS = 100 * np.arange(30.0).reshape(15, 2)
SUMS = XS[:, None] + YS[None]


def test_the_snippet_of_the_essay():
    """B23: two blocks in one statement, whose sum is unwrapped twice."""

    def program(xs, ys):
        with ft.vmap() as BatchTensor0, ft.vmap() as BatchTensor1:
            x = BatchTensor0(xs)
            y = BatchTensor1(ys)
            z = x + y
            assert type(z) is BatchTensor1 and z.shape == (2,)
            return z.elem().elem()

    equal(program(XS, YS), SUMS)


def test_returning_the_tensor_itself_gives_a_dead_tensor():
    """B23, B35: without elem it raises after the block, and says where that is."""

    def program(xs, ys):
        with ft.vmap() as BatchTensor0, ft.vmap() as BatchTensor1:
            return BatchTensor0(xs) + BatchTensor1(ys)

    out = program(XS, YS)
    with pytest.raises(ft.EscapedTensorError, match=r"test_with.py:\d+$"):
        out + 1
    equal(out.elem().elem(), SUMS)


def test_in_dim_and_out_dim():
    """B23: the axis that is mapped on the way in and on the way out."""
    with ft.vmap() as B0:
        x = B0(XS.T, in_dim=1)
        assert x.shape == (2,)
        equal(x.elem(), XS)
        equal(B0.unwrap(x * 2, out_dim=-1), 2 * XS.T)
        equal(B0.unwrap(x * 2), 2 * XS)


def test_unwrap_gives_every_example_to_a_value_that_does_not_vary():
    with ft.vmap() as B:
        B(XS)
        equal(B.unwrap(np.array([1.0, 2.0])), np.tile([1.0, 2.0], (10, 1)))
        equal(B.unwrap(np.array([1.0, 2.0]), out_dim=None), np.array([1.0, 2.0]))


def test_unwrap_of_the_outer_value_in_the_inner_level():
    with ft.vmap() as B0, ft.vmap() as B1:
        x, y = B0(XS), B1(YS)
        rows = B1.unwrap(x)
        assert type(rows) is B0 and rows.shape == (15, 2)
        equal(B0.unwrap(rows), np.repeat(XS[:, None], 15, axis=1))
        equal(B0.unwrap(B1.unwrap(x * y)), XS[:, None] * YS[None])


def test_the_helper_of_contextlib_nests_like_the_with_statement():
    @contextmanager
    def batch(xs):
        with ft.vmap() as B:
            yield B(xs)

    with batch(XS) as x, batch(YS) as y:
        assert type(y).__bases__ == (type(x),)
        equal((x + y).elem().elem(), SUMS)
    raises(ft.EscapedTensorError, lambda: x + 1)


def test_exit_stacks_nest():
    with ExitStack() as stack:
        B0 = stack.enter_context(ft.vmap())
        B1 = stack.enter_context(ft.vmap())
        assert B1.__bases__ == (B0,)
        equal((B0(XS) + B1(YS)).elem().elem(), SUMS)
    assert _level.AMBIENT.get() is ft.Tensor


def test_one_context_manager_can_be_entered_again():
    batch = ft.vmap()
    with batch as A, batch as B:
        assert B.__bases__ == (A,)
        equal((A(XS) + B(YS)).elem().elem(), SUMS)
    with batch as C:
        assert C.__bases__ == (ft.Tensor,)
