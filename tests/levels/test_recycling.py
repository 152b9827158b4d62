"""A level's class is used again only where nobody could tell it from a fresh one."""

import threading

import numpy as np
import pytest

import functier as ft
from nets.test_escape import holders
from support.basics import in_threads, raises

XS = np.arange(3.0)


def run(transform, f):
    if transform in (ft.jvp, ft.hvp):
        return transform(f, (XS,), (XS,))
    if transform is ft.linearize:
        return ft.linearize(f, XS)[1](XS)
    if transform is ft.vjp:
        return ft.vjp(f, XS)
    return transform(f)(XS)


TRANSFORMS = [ft.vmap, ft.grad, ft.value_and_grad, ft.jvp, ft.vjp]


def identities(transform, keep, calls=4):
    """The ids of the level classes of several calls; `keep` holds what a call lets escape."""
    seen = []

    def f(x):
        seen.append(id(type(x)))
        keep(x)
        return np.sum(x * 2.0)

    for _ in range(calls):
        run(transform, f)
    return seen


@pytest.mark.parametrize(
    "transform", [*TRANSFORMS, ft.jacrev, ft.jacfwd, ft.hessian, ft.hvp, ft.linearize]
)
def test_one_class_serves_calls_that_leave_nothing_behind(transform):
    assert len(set(identities(transform, lambda x: None))) == 1


@pytest.mark.parametrize("what", [*holders(), "an inner level's tensor"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_what_escapes_keeps_its_class(transform, what, number):
    kept = []
    inner = {"an inner level's tensor": lambda x: ft.vmap(kept.append, out_dims=None)(XS)}
    hold = (holders() | inner)[what]

    def keep(x):
        for _ in range(number):
            kept.append(hold(x))

    identities(transform, lambda x: None)  # there is a spare class to begin with
    seen = identities(transform, keep)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_escapes_at_every_depth_beside_spare_classes(depth, number):
    """The classes below one count among its references; instances must not pass for them."""
    kept, keeping = [], []

    def nested(x, level=0):
        if keeping and level == depth:
            kept.extend(x + float(i) for i in range(number))
        if level == 3:
            return np.sum(x)
        inner = ft.grad if level % 2 else ft.vmap
        return np.sum(inner(lambda y: nested(y, level + 1))(np.ones((2, 2)))) + np.sum(x)

    for _ in range(3):
        ft.vmap(nested)(np.ones((2, 2)))
    keeping.append(True)
    for _ in range(3):
        ft.vmap(nested)(np.ones((2, 2)))
    calls = [kept[i : i + number] for i in range(0, len(kept), number)]
    classes = {type(x) for x in kept}
    assert len(classes) == len(calls) >= 3
    for x in kept:
        raises(ft.EscapedTensorError, lambda: x + 1.0)


def test_beside_a_suspended_generator():
    """Its level is the ambient one, and encloses nobody outside of it."""

    def holding():
        with ft.vmap() as B:
            yield B(XS)

    suspended = holding()
    next(suspended)
    seen = identities(ft.grad, lambda x: None)
    suspended.close()
    assert len(set(seen + identities(ft.grad, lambda x: None))) == 1


def test_a_class_whose_call_raised_is_not_used_again():
    seen, errors = [], []

    def f(x):
        seen.append(id(type(x)))
        raise RuntimeError

    for _ in range(3):
        try:
            ft.grad(f)(1.0)
        except RuntimeError as error:
            errors.append(error)  # its traceback holds the frame, the frame holds x
    assert len(set(seen)) == 3


def test_concurrent_calls_have_their_own_classes():
    barrier, seen = threading.Barrier(2), []

    def f(x):
        barrier.wait()
        seen.append(id(type(x)))
        barrier.wait()
        return x * x

    ft.grad(lambda x: x * x)(1.0)
    for _ in range(20):
        in_threads(ft.grad(f), [1.0, 1.0])
        first, second = seen[-2:]
        assert first != second


def test_a_used_class_has_the_name_of_its_transform():
    def first(x):
        return x * x

    names = []

    def second(x):
        names.append((type(x).__name__, type(x).__qualname__, repr(x)))
        return x * x

    ft.grad(first)(1.0)
    ft.grad(second)(1.0)
    ft.value_and_grad(second)(1.0)
    assert [n[:2] for n in names] == [
        ("grad(second)", "grad(second)"),
        ("value_and_grad(second)", "value_and_grad(second)"),
    ]
    assert "grad(second)" in names[0][2]
    with pytest.raises(ft.LevelError, match=r"grad\(third\).*made at .*test_recycling.py"):

        def third(x):
            return float(x)

        ft.grad(third)(1.0)


def test_a_level_under_a_muted_one_counts_its_batch_axes_anew():
    """The enclosing level is not a batch level inside `no_dispatch`, and is one after it."""

    def inner(x):
        return np.sum(ft.vmap(lambda y: y * x)(np.arange(2.0)))

    def f(x, mute):
        if mute:
            with ft.no_dispatch(type(x)):
                ft.vmap(lambda y: y * 2.0)(np.arange(2.0))
        return inner(x)

    for mute in (False, True, False, True):
        out = ft.vmap(lambda x: f(x, mute))(XS)  # called at once
        np.testing.assert_array_equal(out, XS)


def test_deep_levels_are_used_again():
    seen = []

    def nest(depth):
        def f(x):
            seen.append(id(type(x)))
            return ft.vmap(nest(depth - 1))(x) if depth else x

        return f

    for _ in range(3):
        ft.vmap(nest(29))(np.ones((1,) * 30))
    assert len(seen) == 90 and seen[:30] == seen[30:60] == seen[60:]
