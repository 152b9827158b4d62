"""vmap in chunks: what it computes, what it keeps in memory, and what may compute it."""

import contextvars
import gc
import multiprocessing
import os
import pickle
import sys
import threading
import weakref
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import functier as ft
from functier._transforms.chunks import compute as _compute
from functier._transforms.chunks import join as _join
from functier._transforms.chunks.chunk import CHUNK, Chunk, Run
from functier._transforms.chunks.compute import Task
from support.basics import (
    HANG,
    calls_of,
    close,
    equal,
    has_all,
    held,
    message,
    model,
    raises,
    wait_until,
)

pytestmark = pytest.mark.inside(
    "The place of a chunk and the joining of results have no public name."
)

XS = np.arange(30.0).reshape(10, 3)


class Pair(NamedTuple):
    first: Any
    second: Any


class OwnError(Exception):
    """One whose class a caller asks for."""


# Functions that another process can import.


def several(x, scale=2.0):
    """Results in a tree."""
    return {"sines": np.sin(x) * scale, "rest": Pair(np.sum(x), [x[::-1], x > 3])}


def fails_late(x):
    """Raises in the chunk that has the number 21."""
    if np.any(ft.unwrap(x) == 21):
        raise OwnError("it was 21")
    return x


def process(x):
    return np.sum(x) * 0 + os.getpid()


def branches(x):
    return x if x > 0 else -x


def place(x):
    chunk = CHUNK.get()
    chunk.report(merge_items, chunk.index)
    return np.sum(x) * 0 + chunk.index


def everything_of_the_place(x):
    """All that a chunk knows, as numbers."""
    chunk = CHUNK.get()
    outer = -1 if chunk.outer is None else chunk.outer.index
    known = chunk.index, chunk.count, chunk.start, chunk.stop, chunk.size, outer
    return np.sum(x) * 0 + np.array(known)


MERGED: list = []


def merge_items(run, items):
    MERGED.append((run, sorted(items), CHUNK.get()))


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.fixture(scope="module")
def processes():
    # Not "fork": the process has threads.
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(autouse=True)
def everything_is_left():
    yield
    assert CHUNK.get() is None


def same_trees(actual, expected):
    """Trees of one structure, types of containers included, with equal arrays."""
    assert type(actual) is type(expected)
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        actual, expected = list(actual.values()), list(expected.values())
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected):
            same_trees(a, e)
    else:
        equal(actual, expected)


def against_the_whole(f, args, chunk_size, in_dims=0, out_dims=0, **options):
    """vmap in chunks gives what vmap of the whole batch gives."""
    expected = ft.vmap(f, in_dims, out_dims)(*args)
    same_trees(ft.vmap(f, in_dims, out_dims, chunk_size=chunk_size, **options)(*args), expected)


# ---- results ----

OUT_DIMS = [0, 1, -1, {"sines": -1, "rest": 0}, {"sines": 0, "rest": Pair(0, [1, 0])}]


@settings(max_examples=60)
@given(
    n=st.integers(0, 7),
    chunk_size=st.integers(1, 9),
    in_dim=st.sampled_from([0, 1, -1, -2]),
    scale=st.sampled_from(["none", "mapped", "shared"]),
    out_dims=st.sampled_from(OUT_DIMS),
)
def test_chunks_give_what_the_whole_batch_gives(n, chunk_size, in_dim, scale, out_dims):
    def f(x, scale):
        tree = several(x, scale)
        if out_dims in (1, -1):  # which needs an axis in each leaf
            tree["rest"] = tree["rest"]._replace(first=x)
        return tree

    xs = np.moveaxis(np.arange(3.0 * n).reshape(n, 3), 0, in_dim)
    if scale == "none":
        args, in_dims = (xs, 2.0), (in_dim, None)
    elif scale == "mapped":
        args, in_dims = (xs, np.arange(n) + 0.5), (in_dim, 0)
    else:
        args, in_dims = (xs, np.arange(3.0)), (in_dim, None)
    against_the_whole(f, args, chunk_size, in_dims, out_dims)


@pytest.mark.parametrize("fault", ["order", "overlap", "lost"])
def test_a_fault_in_what_is_joined_is_found(fault, monkeypatch):
    add = _join._Column.add

    def wrong(self, chunk, leaf):
        if fault == "order":
            moved = (chunk.start + 3) % chunk.size
            chunk.start, chunk.stop = moved, moved + chunk.stop - chunk.start
        elif fault == "overlap" and chunk.index:
            chunk.start, chunk.stop = chunk.start - 1, chunk.stop - 1
        elif chunk.index == 2:
            leaf = leaf * 0
        return add(self, chunk, leaf)

    monkeypatch.setattr(_join._Column, "add", wrong)
    with pytest.raises(AssertionError):
        against_the_whole(np.sin, (np.arange(9.0),), 3)


def test_arguments_and_results_may_be_trees():
    args = ({"x": XS, "pair": Pair(XS[:, 0], XS.T)}, [np.ones(3)])
    in_dims = ({"x": 0, "pair": Pair(0, 1)}, None)

    def f(tree, rest):
        return Pair(tree["x"] * tree["pair"].first + rest[0], (tree["pair"].second, None))

    against_the_whole(f, args, 4, in_dims)
    against_the_whole(f, args, 4, in_dims, Pair(1, 0))


def test_keyword_arguments_are_shared():
    result = ft.vmap(lambda x, *, w: x @ w, chunk_size=3)(XS, w=np.arange(3.0))
    equal(result, XS @ np.arange(3.0))


@pytest.mark.parametrize("chunk_size", [1, 2, 5, 7])
def test_a_batch_that_no_argument_has(chunk_size):
    f = ft.vmap(lambda: np.arange(2.0), axis_size=5, chunk_size=chunk_size)
    equal(f(), np.tile(np.arange(2.0), (5, 1)))


@pytest.mark.parametrize("number", [3, np.int64(3), np.int8(3)])
def test_a_chunk_size_may_be_a_number_of_numpy(number):
    equal(ft.vmap(np.sin, chunk_size=number)(XS), np.sin(XS))


def test_it_is_a_decorator_too():
    @ft.vmap(chunk_size=3, in_dims=1)
    def f(x):
        """The docstring of the function."""
        return np.sum(x)

    assert f.__name__ == "f" and f.__doc__ == "The docstring of the function."
    equal(f(XS), XS.sum(0))


def test_dtypes_that_differ_from_chunk_to_chunk_are_promoted():
    """Real eigenvalues come as real numbers, unless others of the batch are complex."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for matrices in ([np.eye(2), np.eye(2), turn], [turn, np.eye(2), np.eye(2)]):
        against_the_whole(np.linalg.eigvals, (np.stack(matrices),), 1)


def test_chunks_of_arguments_are_views():
    seen = []

    def f(x, y):
        seen.append(x.elem().base is xs or np.shares_memory(x.elem(), xs))
        return x + y

    xs = XS.copy()
    ft.vmap(f, (0, None), chunk_size=6)(xs, 1.0)
    assert seen == [True, True]


@pytest.mark.parametrize("which", [0, 1, 3])
def test_some_chunks_may_give_tensors_and_others_arrays(which):
    def f(x):
        return x * 2 if CHUNK.get().index == which else np.arange(3.0)

    rows = np.arange(10) // 3 == which
    value, slope = ft.value_and_grad(
        lambda xs: np.sum(ft.vmap(f, chunk_size=3)(xs) * np.arange(30.0).reshape(10, 3))
    )(XS)
    equal(slope, np.where(rows[:, None], 2.0, 0.0) * XS)
    assert value == np.sum(np.where(rows[:, None], 2 * XS, np.arange(3.0)) * XS)


def test_arrays_of_other_classes_are_concatenated():
    class Own(ft.Tensor):
        pass

    result = ft.vmap(lambda x: x * 2, chunk_size=3)(Own(XS))
    assert type(result) is Own
    equal(result.elem(), XS * 2)


# ---- what does not vary ----


def test_a_result_that_does_not_vary_is_that_of_the_first_chunk():
    w = np.arange(3.0)
    result = ft.vmap(lambda x: (x + w, w, "name"), out_dims=(0, None, None), chunk_size=4)(XS)
    equal(result[0], XS + w)
    assert result[1] is w and result[2] == "name"
    nan = ft.vmap(lambda x: w * np.nan, out_dims=None, chunk_size=4)(XS)
    equal(nan, w * np.nan)


def test_the_first_chunk_is_so_by_its_place_in_the_batch(threads):
    made, last = {}, threading.Event()

    def f(x):
        index = CHUNK.get().index
        if index == 0:
            last.wait(HANG)
        made[index] = np.zeros(2)
        if index == 2:
            last.set()
        return made[index]

    assert ft.vmap(f, out_dims=None, chunk_size=4, executor=threads)(XS) is made[0]


def test_a_result_that_varies_from_chunk_to_chunk_needs_an_axis():
    numbers = iter(range(10))
    f = ft.vmap(lambda x: np.array(next(numbers)), out_dims=None, chunk_size=4)
    raises(
        ValueError, lambda: f(XS), "vmap(<lambda>): the result of chunk 1", "chunk 0",
        "out_dims is None", "write the axis",
    )  # fmt: skip
    raises(
        ValueError, lambda: ft.vmap(model, out_dims=None, chunk_size=4)(XS), "vmap(model)",
        "out_dims is None", "varies along the batch",
    )  # fmt: skip


# ---- results that do not fit together ----


def test_structures_that_differ_from_chunk_to_chunk():
    def f(x):
        return (x, x) if CHUNK.get().index else x

    raises(
        ValueError, lambda: ft.vmap(f, chunk_size=4)(XS), "vmap(f): chunk 1 gave",
        "(float64[4, 3], float64[4, 3])", "chunk 0 an array of shape (4, 3)",
        "the same for every batch",
    )  # fmt: skip


def test_shapes_that_differ_from_chunk_to_chunk():
    def f(x):
        return {"a": x[: 2 + (CHUNK.get().index == 2)]}

    raises(
        ValueError, lambda: ft.vmap(f, chunk_size=4)(XS), "vmap(f): the result['a'] of chunk 2",
        "(3,) for each example", "(2,)",
    )  # fmt: skip


# ---- the options ----

OPTIONS = [
    ({"chunk_size": 0}, ValueError, ["chunk_size=0", "at least 1"]),
    ({"chunk_size": -2}, ValueError, ["chunk_size=-2", "at least 1"]),
    ({"chunk_size": 2.0}, TypeError, ["chunk_size is 2.0", "float", "an int"]),
    ({"chunk_size": True}, TypeError, ["chunk_size is True", "an int"]),
    ({"axis_size": -1}, ValueError, ["axis_size=-1", "at least 0"]),
    ({"axis_size": "3"}, TypeError, ["axis_size is '3'", "str"]),
    ({"axis_size": np.bool_(True)}, TypeError, ["axis_size", "an int"]),
    ({"randomness": "diff"}, ValueError, ["randomness='diff'", "'different'"]),
    ({"randomness": 3}, ValueError, ["randomness=3", "'different'"]),
    ({"axis_name": ["i"]}, TypeError, ["axis_name=['i']", "hashable"]),
    ({"axis_name": ("i", "j")}, TypeError, ["axis_name=('i', 'j')", "several names"]),
    ({"executor": object(), "chunk_size": 2}, TypeError, ["executor is a object", "submit"]),
    ({"executor": ThreadPoolExecutor(1)}, ValueError, ["executor", "chunk_size=n"]),
    ({"progress": True}, ValueError, ["progress", "chunk_size=n"]),
]


@pytest.mark.parametrize(("options", "kind", "parts"), OPTIONS)
@pytest.mark.parametrize("func", [model, None])
def test_an_option_that_is_wrong(options, kind, parts, func):
    raises(kind, lambda: ft.vmap(func, **options), "vmap", *parts)


def test_a_with_block_cannot_be_run_for_every_chunk():
    def use():
        with ft.vmap(chunk_size=3):
            pass

    raises(TypeError, use, "vmap(chunk_size=...)", "with block", "decorator")


@pytest.mark.parametrize("options", [{}, {"chunk_size": 3}])
def test_an_axis_size_that_is_not_that_of_an_argument(options):
    f = ft.vmap(model, axis_size=np.int64(4), **options)
    raises(
        ValueError, lambda: f(np.ones((4, 2)), {"a": np.ones(3)}), "vmap(model): args[1]['a']",
        "size 3", "axis_size is 4",
    )  # fmt: skip
    assert f(np.ones((4, 2)), 1.0 * np.ones(4)).shape == (4, 2)


ERRORS = [
    (0, (XS, np.ones(3)), "args[1] | size 3 | batch size 10"),
    (2, (XS,), "in_dim 2 | args[0] | (10, 3)"),
    ((0, 0), (XS,), "in_dims | 2 entries | 1 positional"),
    (None, (XS,), "no argument is mapped | axis_size"),
    (0, (XS, 2.0), "args[1] | 2.0 | no axis to map over"),
    (({"a": 0},), (XS,), "in_dims | does not fit"),
    ((0, "0"), (XS, XS), "in_dim | '0'"),
]


@pytest.mark.parametrize(("in_dims", "args", "parts"), ERRORS)
def test_errors_are_those_of_the_whole_batch(in_dims, args, parts):
    errors = []
    for options in ({}, {"chunk_size": 3}):
        with pytest.raises((ValueError, TypeError)) as error:
            ft.vmap(model, in_dims, **options)(*args)
        errors.append((type(error.value), message(error)))
    assert errors[0] == errors[1]
    has_all(errors[0][1], "vmap(model)", parts)


def test_a_message_names_the_line_of_the_call():
    raises(
        ft.DataDependentError, lambda: ft.vmap(branches, chunk_size=2)(XS[:, 0]),
        "vmap(branches)", "test_chunks.py:", "numpy.where",
    )  # fmt: skip


# ---- under and around other transforms ----


def norm(x):
    return np.sqrt(np.sum(x * x) + 1)


NESTINGS = {
    "grad of chunks": lambda v: ft.grad(lambda xs: np.sum(v(norm)(xs) ** 2)),
    "chunks of grad": lambda v: v(ft.grad(norm)),
    "jvp of chunks": lambda v: lambda xs: ft.jvp(v(norm), (xs,), (np.cos(xs),)),
    "chunks of jvp": lambda v: v(lambda x: ft.jvp(norm, (x,), (np.cos(x),))),
    "jacrev of chunks": lambda v: ft.jacrev(v(norm)),
    "jacfwd of chunks": lambda v: ft.jacfwd(v(norm)),
    "hessian of chunks": lambda v: ft.hessian(lambda xs: np.sum(v(norm)(xs) ** 2)),
    "chunks of hessian": lambda v: v(ft.hessian(norm)),
    "vmap of chunks": lambda v: ft.vmap(lambda x: v(lambda y: x * y)(x), in_dims=1),
    "chunks of vmap": lambda v: v(lambda x: ft.vmap(lambda y: norm(x * y))(x)),
    "chunks of chunks": lambda v: v(lambda x: v(lambda y: norm(x * y))(x)),
    "chunks of what is mapped and what is not": lambda v: (
        lambda xs: v(lambda x: ft.grad(lambda w: np.sum(v(lambda y: norm(w * y))(x)))(xs[0]))(xs)
    ),
    "grad of chunks of grad": lambda v: ft.grad(lambda xs: np.sum(v(ft.grad(norm))(xs))),
    "a closure over a tensor": lambda v: ft.grad(
        lambda w: np.sum(v(lambda i: norm(w[0] * i))(np.arange(7.0)))
    ),
}


@pytest.mark.parametrize("nesting", NESTINGS.values(), ids=NESTINGS)
@settings(max_examples=12)
@given(n=st.integers(1, 6), chunk_size=st.integers(1, 4), with_threads=st.booleans())
def test_nested_with_other_transforms(nesting, threads, n, chunk_size, with_threads):
    xs = np.sin(np.arange(3.0 * n)).reshape(n, 3)
    pool = threads if with_threads else None
    got = nesting(lambda f: ft.vmap(f, chunk_size=chunk_size, executor=pool))(xs)
    expected = nesting(ft.vmap)(xs)
    for a, e in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, expected)]):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12)


def products(f, x, y):
    """The results of each transform of a function of two arrays, and of pairs of transforms."""
    value, back = ft.vjp(f, x, y)
    g = np.cos(value)
    return {
        "value": value,
        "vjp": back(g),
        "jvp": ft.jvp(f, (x, y), (np.cos(x), np.sin(y)))[1],
        "jacrev": ft.jacrev(f)(x, y),
        "jacfwd": ft.jacfwd(f, 1)(x, y),
        "second": ft.grad(lambda y: np.sum(ft.vjp(f, x, y)[1](g)[0] ** 2))(y),
        "batched": ft.vmap(lambda t: ft.jvp(f, (x, y), (t * x, y))[1])(np.arange(2.0)),
    }


@settings(max_examples=40)
@given(
    n=st.integers(1, 5),
    chunk_size=st.integers(1, 4),
    in_dims=st.tuples(st.sampled_from([0, 1, -1]), st.sampled_from([None, 0, 1])),
    out_dim=st.sampled_from([0, 1, 2, -1, -2]),
)
def test_derivatives_along_any_axis(n, chunk_size, in_dims, out_dim):
    def f(x, y):
        return np.sin(x) * np.exp(np.sum(y)) + x * y[::-1][:, None]

    x, y = np.sin(np.arange(3.0 * n)).reshape(n, 3), np.cos(np.arange(2.0 * n)).reshape(n, 2)
    x = np.moveaxis(x, 0, in_dims[0])
    y = y[0] if in_dims[1] is None else np.moveaxis(y, 0, in_dims[1])
    got = products(ft.vmap(f, in_dims, out_dim, chunk_size=chunk_size), x, y)
    expected = products(ft.vmap(f, in_dims, out_dim), x, y)
    for name, parts in expected.items():
        for a, e in zip(*[p if isinstance(p, tuple) else (p,) for p in (got[name], parts)]):
            close(a, e)


def test_the_parts_of_a_tensor_have_one_backward_pass():
    """The cotangent of a part by itself would be as large as the whole."""
    with ft.grad() as G:
        x = G(XS)
        part = _compute.pieces_of(x, 0, 10, 2)
        first, last = part(0, 2), part(8, 10)
        equal(last.elem(), XS[8:])
        assert first._extra[1] is last._extra[1] is not x._extra  # the node of the split


def test_the_gradient_costs_about_the_same_for_each_of_many_chunks():
    f = ft.grad(lambda xs: np.sum(ft.vmap(norm, chunk_size=1)(xs)))
    few, many = [calls_of(lambda n=n: f(np.ones((n, 1)))) for n in (40, 400)]
    assert many < 13 * few


# ---- memory ----


def peak(f):
    f()  # what a first call loads stays
    result, _, most = held(f)
    return most, result


def test_memory_is_that_of_a_chunk():
    xs = np.random.default_rng(0).normal(size=(256, 4096))

    def f(x):
        return np.sum(np.exp(np.outer(x[:64], x[:64]) * 0.1))  # 64 times as large as its row

    whole, expected = peak(lambda: ft.vmap(f)(xs))
    parts, result = peak(lambda: ft.vmap(f, chunk_size=8)(xs))
    equal(result, expected)
    assert parts < whole / 16
    assert parts < 8 * 3 * 64 * 64 * 8 + 200_000  # three such arrays of a chunk are alive


def test_a_chunk_is_gone_when_the_next_begins():
    made = []

    def f(x):
        assert [ref() for ref in made] == [None] * len(made)
        y = np.sin(x)
        made.append(weakref.ref(y.elem()))
        return y

    equal(ft.vmap(f, chunk_size=3)(XS), np.sin(XS))
    assert len(made) == 4


def test_memory_of_the_result_is_not_taken_twice():
    xs = np.ones((64, 20_000))
    once, result = peak(lambda: ft.vmap(np.sin, chunk_size=2)(xs))
    assert once < result.nbytes + 4 * 2 * 20_000 * 8


def test_memory_with_threads_is_that_of_the_chunks_under_way():
    xs = np.ones((200, 20_000))
    with ThreadPoolExecutor(2) as pool:
        f = ft.vmap(lambda x: np.sum(np.sin(x) * np.cos(x)), chunk_size=2, executor=pool)
        bound, _ = peak(lambda: f(xs))
    assert bound < 2 * 3 * 2 * 20_000 * 8 + 500_000
    assert bound < xs.nbytes / 10


# ---- threads ----


def test_the_order_is_that_of_the_batch(threads):
    gates = [threading.Event() for _ in range(3)]

    def f(x):
        index = CHUNK.get().index
        if index < 2:
            gates[index + 1].wait(HANG)  # the last chunk is the first to be done
        gates[index].set()
        return x * 2

    equal(ft.vmap(f, chunk_size=4, executor=threads)(XS), XS * 2)


def test_threads_see_the_levels_around_the_call(threads):
    seen = []

    def f(x, w):
        seen.append((threading.get_ident(), ft.depth_of(x), ft.depth_of(x * w)))
        return np.sum(x * w)

    def total(w):
        return np.sum(ft.vmap(f, (0, None), chunk_size=2, executor=threads)(XS, w))

    equal(ft.grad(total)(np.ones(3)), XS.sum(0))
    assert {(depth, inner) for _, depth, inner in seen} == {(2, 2)}
    assert threading.get_ident() not in {thread for thread, _, _ in seen}


def test_threads_have_the_context_of_the_call(threads):
    variable: contextvars.ContextVar = contextvars.ContextVar("variable", default=0)
    variable.set(3)

    def f(x):
        value = variable.get()
        variable.set(value + 1)  # which stays in the task
        return np.log(x) + value

    with np.errstate(divide="ignore"):
        result = ft.vmap(f, chunk_size=1, executor=threads)(np.zeros(4))
    assert np.all(np.isneginf(result))
    assert variable.get() == 3


def test_threads_see_the_generators_level_that_is_around_the_call(threads):
    def generator_in_level(xs):
        with ft.vmap() as B:
            x = B(xs)
            while True:
                f = ft.vmap(ft.grad(lambda y: y * y * x), chunk_size=1, executor=threads)
                yield B.unwrap(f(np.arange(3.0)))

    one, two = generator_in_level(np.ones(2)), generator_in_level(np.ones(4))
    for _ in range(3):  # each is resumed while the other holds its level
        equal(next(one), np.tile([0.0, 2.0, 4.0], (2, 1)))
        equal(next(two), np.tile([0.0, 2.0, 4.0], (4, 1)))
        assert type(ft.vmap(np.sin, chunk_size=1, executor=threads)(XS)) is np.ndarray
    two.close()
    one.close()


def test_a_pool_that_is_given_inside_its_own_tasks_does_not_wait_for_itself():
    with ThreadPoolExecutor(1) as pool:

        def inner(x):
            return ft.vmap(lambda y: x * y, chunk_size=1, executor=pool)(x)

        equal(ft.vmap(inner, chunk_size=2, executor=pool)(XS), XS[:, :, None] * XS[:, None, :])


def test_chunks_of_several_threads_do_not_mix():
    f = ft.vmap(ft.grad(norm), chunk_size=2)
    inputs = [np.sin(np.arange(15.0) + i).reshape(5, 3) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for xs, result in zip(inputs, pool.map(f, inputs)):
            equal(result, ft.vmap(ft.grad(norm))(xs))


class Counting(Executor):
    """Threads that record how many tasks wait or run at a time."""

    def __init__(self, workers):
        self.pool = ThreadPoolExecutor(workers)
        self._max_workers = workers
        self.now = self.most = self.all = 0
        self.futures: list[Future] = []

    def submit(self, fn, /, *args, **kwargs):
        self.now += 1
        self.all += 1
        self.most = max(self.most, self.now)
        future = self.pool.submit(fn, *args, **kwargs)
        future.add_done_callback(self.less)
        self.futures.append(future)
        return future

    def less(self, future):
        self.now -= 1

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.pool.shutdown(wait, cancel_futures=cancel_futures)


def test_an_executor_has_no_more_tasks_than_keep_it_busy():
    def f(x):
        wait_until(lambda: pool.most > 1)  # else one may be done before the next is given
        return np.sin(x)

    with Counting(2) as pool:
        ft.vmap(f, chunk_size=1, executor=pool)(np.ones(50))
    assert pool.all == 50
    assert 2 <= pool.most <= 4


def test_an_executor_that_does_not_tell_how_many_workers_it_has():
    with Counting(2) as pool:
        del pool._max_workers
        equal(ft.vmap(np.sin, chunk_size=1, executor=pool)(np.ones(200)), np.sin(np.ones(200)))
    assert pool.most <= 64


# ---- errors of a chunk ----


@pytest.mark.parametrize("kind", [OwnError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("outer", [False, True])
def test_the_first_error_reaches_the_caller_as_it_is(kind, outer):
    error = kind("why")

    def f(x):
        if CHUNK.get().index == 1:
            raise error
        return x

    with Counting(2) as pool:
        g = ft.vmap(f, chunk_size=1, executor=pool)
        with pytest.raises(kind) as caught:
            ft.vmap(lambda x: g(x))(XS.T) if outer else g(XS)
        assert all(future.done() for future in pool.futures)
    assert caught.value is error
    assert error.__cause__ is None


def test_those_that_run_are_waited_for_and_those_that_wait_are_cancelled():
    ended, begun = [], threading.Event()

    def f(x):
        index = CHUNK.get().index
        if index == 0:
            begun.wait(HANG)
            raise OwnError
        begun.set()
        # Of eight, one raises and two run. A worker that is free sooner would begin another one.
        wait_until(lambda: sum(future.cancelled() for future in pool.futures) >= 5)
        ended.append(index)
        return x

    with Counting(2) as pool:
        pool._max_workers = 4  # so that more wait than can begin
        raises(OwnError, lambda: ft.vmap(f, chunk_size=1, executor=pool)(np.ones(40)))
        left = list(ended)
        assert len(pool.futures) == 8
        assert sum(future.cancelled() for future in pool.futures) >= 5
    assert ended == left  # none goes on after the call
    assert 1 in ended and set(ended) <= {1, 2}


def test_an_error_of_the_first_in_time_wins(monkeypatch):
    first = threading.Event()

    class Telling(_compute.SimpleQueue):
        def get(self):
            try:
                return super().get()
            finally:
                first.set()  # the caller has a chunk that is done

    def f(x):
        if CHUNK.get().index == 0:
            first.wait(HANG)
            raise ValueError("later")
        raise OwnError("sooner")

    monkeypatch.setattr(_compute, "SimpleQueue", Telling)
    with ThreadPoolExecutor(2) as pool, pytest.raises(OwnError, match="sooner"):
        ft.vmap(f, chunk_size=5, executor=pool)(XS)


def test_an_interrupt_of_the_waiting_caller_cancels(monkeypatch):
    """Ctrl-C reaches the main thread, which waits for a result."""
    release = threading.Event()

    class Interrupted(_compute.SimpleQueue):
        def get(self):
            if not release.is_set():
                release.set()
                raise KeyboardInterrupt
            return super().get()

    monkeypatch.setattr(_compute, "SimpleQueue", Interrupted)
    with Counting(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            ft.vmap(lambda x: (release.wait(HANG), x)[1], chunk_size=1, executor=pool)(XS)
        assert all(future.done() for future in pool.futures)
    assert pool.all <= 2


def test_without_an_executor_no_later_chunk_is_begun():
    begun = []

    def f(x):
        begun.append(CHUNK.get().index)
        return fails_late(x)

    raises(OwnError, lambda: ft.vmap(f, chunk_size=2)(XS))
    assert begun == [0, 1, 2, 3]


def test_an_executor_that_is_closed():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    raises(RuntimeError, lambda: ft.vmap(np.sin, chunk_size=2, executor=pool)(XS), "shutdown")


# ---- nothing stays ----


@pytest.mark.parametrize("ends", ["well", "with an error"])
@pytest.mark.parametrize("pooled", [False, True])
def test_nothing_keeps_the_arrays_alive(ends, pooled, threads):
    def f(x):
        made.append(weakref.ref(x.elem()))
        if ends == "with an error" and CHUNK.get().index == 2:
            raise OwnError
        return np.sin(x)

    made: list = []
    xs = np.ones((8, 100))
    gone = weakref.ref(xs)
    gc.collect()
    gc.disable()
    try:
        try:
            ft.vmap(f, chunk_size=2, executor=threads if pooled else None)(xs)
        except OwnError:
            assert ends == "with an error"
        if pooled:  # an idle worker holds on to its last task until it gets another
            barrier = threading.Barrier(3)
            for future in [threads.submit(barrier.wait) for _ in range(3)]:
                future.result()
        del xs
        assert made
        assert [ref() for ref in made] == [None] * len(made)
        assert gone() is None
    finally:
        gc.enable()


# ---- processes ----


def test_processes_give_what_the_whole_batch_gives(processes):
    against_the_whole(several, (XS,), 4, executor=processes)
    against_the_whole(several, (XS, np.arange(3.0)), 3, (0, None), executor=processes)
    against_the_whole(norm, (XS,), 3, executor=processes)
    ids = ft.vmap(process, chunk_size=2, executor=processes)(XS)
    assert os.getpid() not in ids


def test_an_error_in_another_process_keeps_its_class(processes):
    raises(OwnError, lambda: ft.vmap(fails_late, chunk_size=2, executor=processes)(XS), "it was 21")
    raises(
        ft.DataDependentError,
        lambda: ft.vmap(branches, chunk_size=2, executor=processes)(XS[:, 0]),
        "vmap(branches)", "test_chunks.py:", "numpy.where",
    )  # fmt: skip


def test_what_cannot_be_pickled_needs_threads(processes):
    def local(x):
        return x

    run = lambda f, *args, **kw: ft.vmap(f, chunk_size=3, executor=processes)(*args, **kw)  # noqa: E731
    words = "could not be sent", "cannot be pickled", "ThreadPoolExecutor"
    raises(TypeError, lambda: run(lambda x: x, XS), "vmap(<lambda>): chunk", *words)
    raises(TypeError, lambda: run(local, XS), "vmap(local)", *words)
    raises(TypeError, lambda: run(model, XS, scale=local), "vmap(model)", *words)
    with pytest.raises(TypeError) as error:
        ft.grad(lambda x: np.sum(run(model, x)))(XS)
    has_all(message(error), "vmap(model)", *words)
    assert isinstance(error.value.__cause__, ft.ConversionError)
    equal(run(model, XS), XS)  # the pool goes on


def test_an_error_of_the_function_that_speaks_of_pickling_is_its_own(threads):
    def f(x):
        raise TypeError("cannot pickle this")

    with pytest.raises(TypeError, match=r"^cannot pickle this\n"):
        ft.vmap(f, chunk_size=3, executor=threads)(XS)


# ---- Dask ----


@pytest.fixture(scope="module")
def cluster():
    """Processes of Dask take seconds to start; quick runs have a pool's, and Dask's threads."""
    distributed = pytest.importorskip("distributed", reason="Dask is in the extra examples")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])  # to which it adds its folders
        with distributed.LocalCluster(processes=True, **options) as own:
            with distributed.Client(own) as client:
                yield client.get_executor()


@pytest.mark.slow
def test_a_dask_cluster_gives_what_the_whole_batch_gives(cluster):
    against_the_whole(several, (XS,), 4, executor=cluster)
    against_the_whole(several, (XS, np.arange(3.0)), 3, (0, None), executor=cluster)
    against_the_whole(lambda x: x * len(XS), (XS,), 3, executor=cluster)  # cloudpickle can
    ids = ft.vmap(process, chunk_size=1, executor=cluster)(np.ones(50))
    assert os.getpid() not in ids and len(set(ids)) == 2


@pytest.mark.slow
def test_chunks_of_a_dask_cluster_know_their_place(cluster, bars):
    check_places(cluster)
    ft.vmap(several, chunk_size=3, executor=cluster, progress=True)(XS)
    assert bars[0].n == 4 and bars[0].closed


def test_dask_knows_a_task_by_its_call_and_not_by_its_data():
    """Else it would read the data, and take what draws random numbers for a repetition."""
    base = pytest.importorskip("dask.base", reason="Dask is in the extra examples")

    class Unread:
        def __reduce__(self):
            raise AssertionError

    def task(run, index):
        return Task(model, Chunk(run, index, 2, 0, 5, 10), (Unread(),), {})

    one, two = Run("vmap(f)"), Run("vmap(f)")
    names = [base.tokenize(task(run, i)) for run in (one, two) for i in (0, 1)]
    assert len(set(names)) == 4
    assert base.tokenize(task(one, 0)) == names[0]


@pytest.mark.slow
def test_errors_of_a_dask_cluster(cluster, caplog):
    caplog.set_level("CRITICAL")
    raises(OwnError, lambda: ft.vmap(fails_late, chunk_size=2, executor=cluster)(XS), "it was 21")
    lock = threading.Lock()
    raises(
        TypeError,
        lambda: ft.vmap(lambda x: (lock, x)[1], chunk_size=2, executor=cluster)(XS),
        "vmap(<lambda>): chunk 0", "'_thread.lock'", "ThreadPoolExecutor",
    )  # fmt: skip
    f = ft.grad(lambda x: np.sum(ft.vmap(model, chunk_size=2, executor=cluster)(x)))
    raises(TypeError, lambda: f(XS), "vmap(model): chunk 0", "grad(<lambda>)", "ThreadPoolExecutor")


# ---- which chunk is computed ----


def check_places(executor):
    MERGED.clear()
    known = ft.vmap(everything_of_the_place, chunk_size=4, executor=executor)(XS)
    expected = [[0, 3, 0, 4, 10, -1]] * 4 + [[1, 3, 4, 8, 10, -1]] * 4 + [[2, 3, 8, 10, 10, -1]] * 2
    equal(known, np.array(expected, float))
    equal(ft.vmap(place, chunk_size=4, executor=executor)(XS), np.arange(10) // 4 * 1.0)
    ((run, items, chunk),) = MERGED
    assert isinstance(run, Run) and run.label == "vmap(place)"
    assert items == [0, 1, 2] and chunk is None


def test_a_function_can_know_its_chunk(threads):
    check_places(None)
    check_places(threads)


def test_a_function_in_another_process_can_know_its_chunk(processes):
    check_places(processes)


def test_a_nested_call_knows_the_chunk_around_it(threads):
    def f(x):
        inner = ft.vmap(everything_of_the_place, chunk_size=2)(x)
        return np.stack([inner[:, 0], inner[:, -1]])

    for executor in (None, threads):
        result = ft.vmap(f, chunk_size=5, executor=executor)(XS)
        equal(result[:, 0], np.tile([0.0, 0, 1], (10, 1)))
        equal(result[:, 1], np.repeat([0.0, 1], 5)[:, None] * np.ones(3))


def test_reports_are_merged_where_the_call_was_made(threads):
    def f(x):
        return ft.vmap(place, chunk_size=2)(x)

    MERGED.clear()
    ft.vmap(f, chunk_size=5, executor=threads)(XS)
    assert [items for _, items, _ in MERGED] == [[0, 1], [0, 1]]
    assert {chunk.index for _, _, chunk in MERGED} == {0, 1}
    assert MERGED[0][0] != MERGED[1][0]


def test_reports_are_merged_after_an_error(threads):
    def f(x):
        place(x)
        return fails_late(x)

    for executor in (None, threads):
        MERGED.clear()
        raises(OwnError, lambda: ft.vmap(f, chunk_size=2, executor=executor)(XS))
        ((_, items, _),) = MERGED
        assert {0, 3} <= set(items) or executor
        assert 3 in items


def test_a_run_is_known_again_after_pickling():
    run, other = Run("vmap(f)"), Run("vmap(f)")
    copy = pickle.loads(pickle.dumps(run))
    assert copy == run and hash(copy) == hash(run) and copy.label == "vmap(f)"
    assert run != other


# ---- the bar ----


class Bar:
    """A stand-in for tqdm that records its calls."""

    made: list = []  # noqa: RUF012

    def __init__(self, total, desc, unit):
        self.total, self.desc, self.unit, self.n, self.closed = total, desc, unit, 0, False
        Bar.made.append(self)

    def update(self):
        self.n += 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.closed = True


@pytest.fixture
def bars(monkeypatch):
    auto = pytest.importorskip("tqdm.auto", reason="the extra progress is not installed")
    Bar.made = []
    monkeypatch.setattr(auto, "tqdm", Bar)
    return Bar.made


@pytest.mark.parametrize("pooled", [False, True])
def test_a_bar_counts_chunks(bars, threads, pooled):
    options = {"executor": threads} if pooled else {}
    equal(ft.vmap(model, chunk_size=3, progress=True, **options)(XS), XS)
    (bar,) = bars
    assert (bar.desc, bar.unit, bar.total, bar.n) == ("vmap(model)", "chunk", 4, 4)
    assert bar.closed


@pytest.mark.parametrize("pooled", [False, True])
def test_a_bar_is_closed_after_an_error(bars, threads, pooled):
    options = {"executor": threads} if pooled else {}
    raises(OwnError, lambda: ft.vmap(fails_late, chunk_size=2, progress=True, **options)(XS))
    (bar,) = bars
    assert bar.closed and bar.n < 5


def test_a_bar_goes_on_as_chunks_end(bars, threads):
    """Not in the order of the batch: the first chunk waits for the bar."""

    def f(x):
        if CHUNK.get().index == 0:
            wait_until(lambda: bars[0].n == 3)
        return x

    equal(ft.vmap(f, chunk_size=3, progress=True, executor=threads)(XS), XS)


def test_the_bar_is_that_of_tqdm(capsys):
    pytest.importorskip("tqdm", reason="the extra progress is not installed")
    ft.vmap(model, chunk_size=3, progress=True)(XS)
    has_all(capsys.readouterr().err, "vmap(model)", "100%", "4/4", "chunk")


def test_a_bar_needs_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    f = ft.vmap(model, chunk_size=3, progress=True)
    raises(ImportError, lambda: f(XS), "vmap(model)", "tqdm", "functier[progress]")
