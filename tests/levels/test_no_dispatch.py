"""no_dispatch and the `types` of a hook: the appendices of the essay."""

import numpy as np
import pytest

import functier as ft
from support import equal, in_thread, raises, recorder

XS = np.arange(20.0).reshape(10, 2)


# ---- the appendix on no_dispatch ----


def test_no_dispatch_of_a_users_class():
    """B30: its hooks are not called, those of another class are."""
    Quiet, Loud = recorder(), recorder()
    q, loud = Quiet([1.0, 2.0]), Loud([3.0, 4.0])
    with ft.no_dispatch(Quiet):
        equal(np.add(q, 1.0), np.array([2.0, 3.0]))
        equal(q + 1.0, np.array([2.0, 3.0]))
        equal(q.sum(), np.float64(3.0))
        out = loud + q
        assert type(out) is Loud
    assert Quiet.functions == [] and Quiet.operations == []
    assert len(Loud.functions) == 1
    assert type(np.add(q, 1.0)) is Quiet and Quiet.functions == [np.add]


def test_no_dispatch_of_a_class_leaves_its_subclasses_dispatching():
    """B30: that class alone"""
    Parent = recorder()

    class Child(Parent):
        pass

    with ft.no_dispatch(Parent):
        assert type(Child([1.0]) + 1.0) is Child
        equal(Parent([1.0]) + 1.0, np.array([2.0]))


def test_no_dispatch_of_a_level_class():
    """B30: its tensors act as their values inside the block, and as a batch after it."""
    with ft.vmap() as B:
        x = B(XS)
        with ft.no_dispatch(B):
            equal(x + 1, XS + 1)
            equal(np.sum(x), np.float64(XS.sum()))
            assert x.shape == (10, 2)
        y = np.sum(x)
        assert y.shape == ()
        equal(y.elem(), XS.sum(axis=1))


def test_no_dispatch_of_one_level_leaves_the_others():
    """B30: an operation goes on to the level outside."""
    with ft.vmap() as B0, ft.grad() as G:
        x = G(B0(XS))
        with ft.no_dispatch(G):
            y = x * 2
            assert type(y) is B0
            equal(y.elem(), 2 * XS)
        assert type(x * 2) is G


def test_no_dispatch_of_an_inner_level_whose_tensor_meets_an_outer_one():
    ys = 2 * XS
    with ft.vmap() as B0, ft.vmap() as B1:
        x, y = B0(XS), B1(ys)
        with ft.no_dispatch(B1):
            for use in (
                lambda x, y: x + y,
                lambda x, y: y + x,
                lambda x, y: x @ y.T,
                lambda x, y: divmod(x, y + 1)[0],
                lambda x, y: np.add(x, y),
                lambda x, y: np.concatenate([x, y[0]]),
            ):
                out = use(x, y)
                assert type(out) is B0
                equal(out.elem(), np.stack([use(row, ys) for row in XS]))


def test_no_dispatch_is_reentrant_and_restored_on_exceptions():
    """B30: an inner block that raises leaves the outer one in force."""
    S = recorder()
    s = S([1.0])
    with ft.vmap() as B:
        x = B(XS)
        with ft.no_dispatch(S), ft.no_dispatch(B):
            with pytest.raises(ZeroDivisionError), ft.no_dispatch(S), ft.no_dispatch(B):
                raise ZeroDivisionError
            equal(s + 1.0, np.array([2.0]))
            equal(x + 1, XS + 1)
        assert type(s + 1.0) is S and type(x + 1) is B
        assert (x + 1).shape == (2,)


def test_no_dispatch_does_not_reach_other_threads():
    """B30: a thread that starts inside the block dispatches."""
    S = recorder()
    with ft.vmap() as B:
        x, s = B(XS), S([1.0])
        with ft.no_dispatch(S), ft.no_dispatch(B):
            kinds = in_thread(lambda: (type(s + 1.0), type(x + 1), (x + 1).shape))
        assert kinds == (S, B, (2,))


def test_a_level_that_ends_inside_no_dispatch_is_dead():
    with ft.vmap() as B:
        x = B(XS)
        manager = ft.no_dispatch(B)
        manager.__enter__()
    manager.__exit__(None, None, None)
    raises(ft.EscapedTensorError, lambda: x + 1)


def test_no_dispatch_ends_the_recursion_of_a_hook():
    """B31: a hook calls functions on its own instances in the block."""

    class Sums(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            with ft.no_dispatch(cls):
                totals = [np.sum(a) for a in args]
                return func(*args, **(kwargs or {})), totals

    value, totals = np.add(Sums([1.0, 2.0]), Sums([3.0, 4.0]))
    equal(value, np.array([4.0, 6.0]))
    assert totals == [3.0, 7.0]


def test_no_dispatch_wants_a_class_with_the_hook():
    with (
        pytest.raises(TypeError, match="not a class with __tensor_function__"),
        ft.no_dispatch(int),
    ):
        pass


# ---- the appendix on type testing ----


@pytest.fixture
def careless():
    class Careless(ft.Tensor):
        @classmethod
        def __tensor_function__(cls, func, types, args=(), kwargs=None):
            values = [a.elem() if isinstance(a, ft.Tensor) else a for a in args]
            return cls(func(*values, **(kwargs or {})))  # never looks at `types`

    return Careless([1.0, 2.0])


def test_a_hook_that_ignores_types_cannot_corrupt_a_level(careless):
    """B33, B42: levels answer first, in any order of the operands"""
    with ft.vmap() as B:
        x = B(XS)
        for use in (
            lambda: x + careless,
            lambda: careless + x,
            lambda: np.add(careless, x),
            lambda: np.multiply(x, careless),
            lambda: careless * x,
        ):
            out = use()
            assert type(out) is B
            assert type(out.elem()) is type(careless)


def test_every_level_class_answers_before_a_users_subclass(careless):
    """B33, B42: also before a hook that ignores the types."""
    for enter in (ft.grad, ft.jvp):
        with enter() as G:
            x = G(np.ones(2), np.ones(2)) if enter is ft.jvp else G(np.ones(2))
            assert type(careless * x) is G
            assert type(x * careless) is G


def test_the_upper_hook_declines_foreign_classes():
    """B15, B33: that of Tensor answers for classes that it is a base of."""

    class A(ft.Tensor):
        pass

    class B(ft.Tensor):
        pass

    class C(A):
        pass

    hook = ft.Tensor.__tensor_function__.__func__
    a = A([1.0])
    assert hook(A, np.add, (A, B), (a, B([1.0]))) is NotImplemented
    assert hook(A, np.add, (A, C), (a, C([1.0]))) is NotImplemented
    assert type(hook(C, np.add, (A, C), (a, C([1.0])))) is C
    assert type(hook(A, np.add, (A, ft.Tensor), (a, ft.tensor([1.0])))) is A
    with pytest.raises(TypeError, match=r"'numpy.add' on types .*: \[A, B\]"):
        np.add(a, B([1.0]))
