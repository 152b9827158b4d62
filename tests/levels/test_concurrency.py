"""Levels in generators, threads and tasks: each has its own."""

import asyncio
import contextvars
import threading
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

import functier as ft
from support.basics import HANG, equal, in_thread, in_threads, raises

XS = np.arange(20.0).reshape(10, 2)
YS = 100 * np.arange(30.0).reshape(15, 2)
SUMS = XS[:, None] + YS[None]


def generator_in_level(xs):
    """A generator that holds a level open: sends its tensor out, then one more result."""
    with ft.vmap() as B:
        x = B(xs)
        other = yield x
        while True:
            other = yield (x + other if other is not None else B.unwrap(x * 2))


def test_interleaved_generators_do_not_mix():
    """B22: tensors of two levels that are live side by side are refused together."""
    one, two = generator_in_level(XS), generator_in_level(XS)
    a, b = next(one), next(two)
    assert type(a).__bases__ == type(b).__bases__ == (ft.Tensor,)
    for use in (lambda: a + b, lambda: b + a, lambda: np.multiply(a, b)):
        raises(ft.LevelError, use, "vmap", "not in one chain", "test_concurrency.py:")
    one.close()
    two.close()


def test_generators_that_end_out_of_order_leave_each_other_alone():
    """B22, B25: the tensors of the first are dead, those of the second live."""
    one, two = generator_in_level(XS), generator_in_level(XS)
    a, b = next(one), next(two)
    one.close()  # opened first, ended first
    raises(ft.EscapedTensorError, lambda: a + 1)
    equal((b + 1).elem(), XS + 1)
    with ft.vmap() as C:
        assert not issubclass(C, type(a)) and not issubclass(C, type(b))
    two.close()
    with ft.vmap() as C:
        assert C.__bases__ == (ft.Tensor,)


def test_a_level_inside_a_generator_nests_in_the_generators_level():
    def nested():
        with ft.vmap() as A:
            yield A
            with ft.vmap() as B:
                yield B

    gen = nested()
    A = next(gen)
    with ft.vmap() as other:
        B = next(gen)
        assert issubclass(B, A) and not issubclass(B, other)
    gen.close()


def test_a_generator_that_a_transform_resumes_nests_in_its_own_level():
    def nested():
        with ft.vmap() as A:
            yield A
            with ft.grad() as G:
                yield G

    gen = nested()
    A = next(gen)

    def f(x):
        G = next(gen)
        assert issubclass(G, A) and not issubclass(G, type(x))
        return x

    equal(ft.vmap(f)(XS), XS)
    gen.close()


def test_a_suspended_generators_level_does_not_enclose_its_caller():
    gen = generator_in_level(XS)
    a = next(gen)
    equal(ft.vmap(lambda x: x + 1)(XS), XS + 1)
    with ft.vmap() as B:
        assert B.__bases__ == (ft.Tensor,)
        raises(ft.LevelError, lambda: B(XS) + a)
    gen.close()


def test_a_generator_that_enters_a_level_by_a_helper_of_contextlib():
    @contextmanager
    def helper():
        with ft.vmap() as B:
            yield B

    def suspended():
        with helper() as B:
            yield B(XS)

    gen = suspended()
    next(gen)
    with ft.vmap() as C:
        assert C.__bases__ == (ft.Tensor,)
    gen.close()


def test_a_suspended_asynchronous_generator():
    async def levels():
        with ft.vmap() as B:
            for i in range(3):
                yield B.unwrap(B(XS) * i)

    async def main():
        out = []
        async for value in levels():
            with ft.vmap() as C:
                assert C.__bases__ == (ft.Tensor,)
                out.append(C.unwrap(C(value) + 1))
        return out

    for i, out in enumerate(asyncio.run(main())):
        equal(out, XS * i + 1)


def test_two_threads_have_levels_of_their_own():
    """B22: a tensor of another thread's level is refused."""
    barrier = threading.Barrier(2, timeout=HANG)
    tensors: dict = {}
    outcome: dict = {}

    def work(names):
        name, other = names
        with ft.vmap() as B:
            tensors[name] = B(XS)
            barrier.wait()
            try:
                tensors[name] + tensors[other]
            except ft.LevelError as error:
                outcome[name] = str(error)
            equal(B.unwrap(tensors[name] + 1), XS + 1)
            barrier.wait()

    in_threads(work, ["ab", "ba"])
    assert sorted(outcome) == ["a", "b"]
    assert all("not in one chain" in text for text in outcome.values())
    assert type(tensors["a"]).__bases__ == type(tensors["b"]).__bases__ == (ft.Tensor,)


def test_two_threads_enter_one_context_manager():
    shared = ft.vmap()
    barrier = threading.Barrier(2, timeout=HANG)

    def work(_):
        with shared as B:
            x = B(XS)
            barrier.wait()
            equal(B.unwrap(x + 1), XS + 1)
            barrier.wait()
        raises(ft.EscapedTensorError, lambda: x + 1)
        return B

    assert len({*in_threads(work, range(2))}) == 2


def test_a_tensor_handed_to_another_thread_nests_under_its_class():
    def outer(x):
        seen = []

        def inner(row):
            seen.append(type(row))
            return row * 2

        out = in_thread(lambda: ft.vmap(inner)(x))
        assert seen[0].__bases__ == (type(x),)
        return out

    xs = np.arange(24.0).reshape(4, 3, 2)
    equal(ft.vmap(outer)(xs), xs * 2)


@pytest.mark.parametrize("transform", ["grad", "jvp", "vjp"])
def test_derivatives_in_another_thread_nest_under_the_tensors_class(transform):
    def derivative(x):
        if transform == "grad":
            return in_thread(lambda: ft.grad(lambda y: y * y * y)(x))
        if transform == "vjp":
            return in_thread(lambda: ft.vjp(lambda y: y * y * y, x)[1](1.0)[0])
        return in_thread(lambda: ft.jvp(lambda y: y * y * y, (x,), (1.0,))[1])

    xs = np.array([1.0, 2.0])
    equal(ft.vmap(derivative)(xs), 3 * xs**2)
    equal(ft.vmap(ft.grad(derivative))(xs), 6 * xs)


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    "run",
    [
        lambda f, x: f(XS[0], c=x),
        lambda f, x: f(XS[0], c={"a": [x]}),
        lambda f, x: f(XS[0], Pair(x, 0)),
        lambda f, x: f(XS[0], {"a": x}),
    ],
    ids=["keyword", "keyword_tree", "namedtuple", "dict"],
)
@pytest.mark.parametrize("transform", ["grad", "vmap"])
def test_every_argument_in_another_thread_is_an_enclosing_one(transform, run):
    """Also those that are neither mapped nor differentiated."""

    def inner(y, c):
        return np.sum(y * (c if isinstance(c, ft.Tensor) else optree.tree_leaves(c)[0]))

    def outer(x):
        if transform == "grad":
            return in_thread(lambda: run(ft.grad(inner), x))
        half = lambda *args: (0, *(None for _ in args[1:]))  # noqa: E731
        return in_thread(lambda: run(lambda *a, **k: ft.vmap(inner, half(*a))(*a, **k), x))

    out = ft.vmap(outer)(XS)
    equal(out, XS if transform == "grad" else XS[0] * np.sum(XS, axis=1, keepdims=True))


def test_a_copied_context_inherits_the_level():
    def outer(x):
        context = contextvars.copy_context()
        return context.run(lambda: ft.vmap(lambda y: x + y)(YS))

    equal(ft.vmap(outer)(XS), SUMS)


def test_a_generators_level_encloses_what_it_runs_in_another_thread():
    def generator():
        with ft.vmap() as A:
            x = A(XS)
            context = contextvars.copy_context()
            nested = lambda: ft.vmap(lambda y: x + y)(YS)  # noqa: E731
            yield A.unwrap(in_thread(lambda: context.run(nested)))

    equal(next(generator()), SUMS)


def test_a_level_that_has_ended_encloses_nothing_in_a_copied_context():
    with ft.vmap():
        context = contextvars.copy_context()

    def f(x):
        assert type(x).__bases__ == (ft.Tensor,)
        return x + 1

    equal(context.run(lambda: ft.vmap(f)(XS)), XS + 1)


def test_asyncio_tasks_do_not_mix():
    async def work(barrier, seen):
        with ft.vmap() as B:
            x = B(XS)
            seen.append(x)
            await barrier.wait()
            await asyncio.sleep(0)
            with ft.vmap() as C:
                assert C.__bases__ == (B,)
                await asyncio.sleep(0)
                out = x + C(YS)
                return out.elem().elem()

    async def main():
        barrier, seen = asyncio.Barrier(2), []
        results = await asyncio.gather(work(barrier, seen), work(barrier, seen))
        return results, seen

    results, (a, b) = asyncio.run(main())
    for out in results:
        equal(out, SUMS)
    assert type(a).__bases__ == type(b).__bases__ == (ft.Tensor,)
