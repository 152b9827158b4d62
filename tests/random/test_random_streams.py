"""The sources of draws: chunks, other processes, checkpoints, threads, NumPy's generators."""

import copy
import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from functier._transforms.chunks.chunk import CHUNK
from functier._transforms.chunks.streams import record_draws, replay_draws
from functier.random import Generator, default_rng
from support.basics import HANG, equal, has_all, in_threads, message, raises

pytestmark = pytest.mark.inside("Replays of draws have no public name.")

SEED = 5
ZEROS = np.zeros(10)
same = partial(ft.vmap, randomness="same")
different = partial(ft.vmap, randomness="different")


class Backwards(Executor):
    """Runs what it is given in the opposite order, when somebody waits for a result."""

    _max_workers = 100

    def __init__(self):
        self.waiting = []

    def submit(self, task, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, partial(task, *args, **kwargs)))
        if len(self.waiting) == 4:  # the chunks of a batch of 10 by 3
            while self.waiting:
                later, call = self.waiting.pop()
                later.set_result(call())
        return future


@pytest.fixture(scope="module")
def pools():
    # Not "fork": the process has threads.
    context = multiprocessing.get_context("spawn")
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, mp_context=context) as processes:
        yield {"threads": threads, "processes": processes}


@pytest.fixture
def executors(pools):
    return {"row": None, "back": Backwards(), **pools}  # an error leaves tasks in that


# Functions that another process can import.

GLOBAL = default_rng(SEED)


def several(x, rng):
    return x + rng.normal(size=2) + 0 * rng.poisson(3.0), rng.integers(1 << 40)


def of_a_global(x):
    return x + GLOBAL.normal()


def of_its_own(x):
    return x + default_rng(SEED).normal()


def of_children(x, rng):
    a, b = rng.spawn(2)
    return x + a.normal(), b.normal() + copy.copy(rng).normal()


def of_numpys(x, rng):
    return x + rng.normal()


def batched(x, rng):
    return rng.poisson(3.0 + x)


def inner_chunks(x, rng):
    f = ft.vmap(lambda y: y + rng.normal(), randomness="different", chunk_size=2)
    return x + f(np.zeros(4)), f(np.zeros(4)), rng.normal()


def fails(x, rng):
    x = x + rng.normal()
    raise ArithmeticError("on purpose")


def flat(tree):
    leaves = tree if isinstance(tree, tuple) else (tree,)
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


# ---- chunks ----


@pytest.mark.parametrize("mode", ["same", "different"])
@pytest.mark.parametrize(
    "f", [several, of_children, batched, inner_chunks], ids=lambda f: f.__name__
)
def test_numbers_depend_neither_on_the_executor_nor_on_the_order(f, mode, executors):
    runs = {}
    for name, executor in executors.items():
        rng = default_rng(SEED)
        g = ft.vmap(f, (0, None), randomness=mode, chunk_size=3, executor=executor)
        runs[name] = [flat(g(ZEROS, rng)), flat(g(ZEROS, rng)), rng.normal(size=2)]
    for run in runs.values():
        for own, first in zip(run, runs["row"], strict=True):
            equal(own, first)
    once, again, after = runs["row"]

    if mode == "different" and f is not batched:
        assert len(np.unique(np.concatenate([once, again, after]))) == 2 * once.size + 2
    assert not np.array_equal(once, again)
    assert not np.intersect1d(after, [*once, *again]).size


@pytest.mark.parametrize("processes", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_dask_cluster_draws_the_same_numbers(processes, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which it adds its folders
    distributed = pytest.importorskip("distributed", reason="Dask is in the extra examples")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=processes, **options) as own:
        with distributed.Client(own) as client:
            for mode in ("same", "different"):
                runs = []
                for executor in (None, client.get_executor()):
                    rng = default_rng(SEED)
                    options = {"randomness": mode, "chunk_size": 3, "executor": executor}
                    f = ft.vmap(lambda x, rng=rng: x + rng.normal(), **options)
                    g = ft.vmap(several, (0, None), **options)
                    runs.append([f(ZEROS), flat(g(ZEROS, rng)), f(ZEROS), rng.normal()])
                for first, second in zip(*runs, strict=True):
                    equal(first, second)


def test_same_is_that_of_the_whole_batch():
    for f in (several, batched, of_children):
        rng = default_rng(SEED)
        whole = flat(same(f, (0, None))(ZEROS, rng))
        after = rng.normal(), rng.spawn(1)[0].normal()
        for n in (1, 3, 10, 99):
            rng = default_rng(SEED)
            equal(flat(same(f, (0, None), chunk_size=n)(ZEROS, rng)), whole)
            own = rng.normal(), rng.spawn(1)[0].normal()
            assert own == after or f is batched  # whose examples each took their own way


@given(
    modes=st.lists(st.sampled_from(["same", "different"]), min_size=2, max_size=3),
    chunks=st.lists(st.sampled_from([None, 1, 2, 3]), min_size=3, max_size=3),
)
def test_nested_chunks_share_what_the_modes_say(modes, chunks):
    rng = default_rng(SEED)
    f = lambda x: x + rng.normal()  # noqa: E731
    for mode, chunk in zip(modes, chunks):
        f = ft.vmap(f, randomness=mode, chunk_size=chunk)
    x = np.zeros((4, 3, 2)[-len(modes) :])
    first, second = f(x), f(x)

    axes = tuple(i for i, mode in enumerate(reversed(modes)) if mode == "same")
    for result in (first, second):
        lead = np.min(result, axis=axes, keepdims=True) if axes else result
        equal(np.broadcast_to(lead, x.shape), result)
        assert len(np.unique(result)) == lead.size
    assert not np.intersect1d(first, second).size


def test_a_generator_made_in_the_function_gives_each_chunk_its_own(executors):
    for name, executor in executors.items():
        rows = different(of_its_own, chunk_size=3, executor=executor)(ZEROS)
        assert len(np.unique(rows)) == 10, name
        equal(rows, different(of_its_own, chunk_size=3)(ZEROS))
        rows = same(of_its_own, chunk_size=3, executor=executor)(ZEROS)
        equal(rows, np.full(10, np.random.default_rng(SEED).normal()))
    whole = same(lambda x: x + default_rng().normal(), chunk_size=3)(ZEROS)
    assert len(np.unique(whole)) == 1
    assert (
        len(np.unique(different(lambda x: x + default_rng().normal(), chunk_size=3)(ZEROS))) == 10
    )


def test_a_global_of_another_process_is_refused(executors):
    for name in ("row", "back", "threads"):
        g = different(of_a_global, chunk_size=3, executor=executors[name])
        assert len(np.unique([g(ZEROS), g(ZEROS)])) == 20
    for mode in ("same", "different"):
        g = ft.vmap(of_a_global, randomness=mode, chunk_size=3, executor=executors["processes"])
        with pytest.raises(ft.RandomnessError) as error:
            g(ZEROS)
        has_all(message(error), "vmap(of_a_global)", "another process", "in_dims=None")


def test_after_a_failure_the_next_call_draws_other_numbers(executors):
    for name in ("row", "threads", "processes"):
        rng = default_rng(SEED)
        with pytest.raises(ArithmeticError):
            g = different(fails, (0, None), chunk_size=3, executor=executors[name])
            g(ZEROS, rng)
        if name != "processes":  # of which no report comes back
            assert rng.normal() != np.random.default_rng(SEED).normal()
        assert CHUNK.get() is None
        # What draws outside of the call does so as ever.
        equal(np.unique(same(lambda x, rng=rng: rng.normal())(ZEROS)).size, 1)


def test_chunks_of_a_user_of_bit_generators():
    for kind in (np.random.Philox, np.random.SFC64, np.random.MT19937, np.random.PCG64DXSM):
        rng = Generator(kind(SEED))
        rows = [
            different(lambda x, rng=rng: x + rng.normal(), chunk_size=3)(ZEROS) for _ in range(2)
        ]
        assert len(np.unique(rows)) == 20
        assert type(rng.bit_generator) is kind


def test_error_in_chunks(executors):
    rng = default_rng(SEED)
    for executor in executors.values():
        with pytest.raises(ft.RandomnessError) as error:
            ft.vmap(several, (0, None), chunk_size=3, executor=executor)(ZEROS, rng)
        has_all(message(error), "vmap(several)", __file__, "randomness='different'")
    equal(rng.normal(), np.random.default_rng(SEED).normal())


# ---- draws that repeat ----


def draws(rng):
    child = rng.spawn(1)[0]
    return [rng.normal(), child.normal(), default_rng().normal(), default_rng(3).normal(),
            copy.copy(rng).normal(), rng.integers(1 << 40), rng.spawn(1)[0].normal()]  # fmt: skip


def test_noted_draws_are_replayed_as_often_as_one_likes():
    rng, other, theirs = default_rng(SEED), default_rng(1), default_rng(SEED)
    with record_draws() as drawn:
        first = draws(rng)
    equal([first[0], *first[3:6]], [v for i, v in enumerate(draws(theirs)) if i in (0, 3, 4, 5)])
    for _ in range(2):
        with replay_draws(drawn):
            assert draws(rng) == first
            assert draws(rng) != first  # it goes on
            other.normal()  # which was not drawn from: it moves
    equal(rng.normal(), theirs.normal())
    equal(other.normal(), np.random.default_rng(1).normal(size=3)[2])

    with record_draws() as outer, replay_draws(drawn), record_draws() as inner:
        assert draws(rng) == first
    for again in (inner, drawn):
        with replay_draws(again):
            assert draws(rng) == first
    with replay_draws(outer):
        assert draws(rng)[0] != first[0]  # what was repeated there did not move anything


def test_replays_and_chunks_nest():
    rng = default_rng(SEED)
    f = different(lambda x: x + rng.normal(), chunk_size=3)
    with record_draws() as drawn:
        first = [f(ZEROS), f(ZEROS)]
    for _ in range(2):
        with replay_draws(drawn):
            equal(np.stack([f(ZEROS), f(ZEROS)]), np.stack(first))
    assert not np.intersect1d(f(ZEROS), first).size

    def g(x):
        with record_draws() as drawn:
            a = rng.normal()
        with replay_draws(drawn):
            return x + a, x + rng.normal()

    a, b = different(g, chunk_size=3)(ZEROS)
    equal(a, b)
    assert len(np.unique(a)) == 10


def test_a_scope_is_left_by_an_exception():
    rng = default_rng(SEED)
    for scope in (record_draws, lambda: replay_draws(record_draws())):
        with pytest.raises(ArithmeticError), scope():
            raise ArithmeticError
        assert CHUNK.get() is None
    equal(rng.normal(), np.random.default_rng(SEED).normal())


def dropout(x, rng):
    keep = rng.random(size=x.shape) < 0.5
    return np.sum(np.sin(x) * keep * rng.normal(1.0, x**2))


PLACES = {
    "grad": lambda f: ft.grad(f),
    "vmap of grad": lambda f: different(ft.grad(f), (0, None)),
    "grad of vmap": lambda f: ft.grad(lambda x, r: np.sum(different(f, (0, None))(x, r))),
    "grad of same": lambda f: ft.grad(lambda x, r: np.sum(same(f, (0, None))(x, r))),
    "grad of chunks": lambda f: ft.grad(
        lambda x, r: np.sum(different(f, (0, None), chunk_size=2)(x, r))
    ),
    "chunks of grad": lambda f: different(ft.grad(f), (0, None), chunk_size=2),
    "hessian": lambda f: ft.hessian(f, randomness="same"),
    "grad of grad": lambda f: ft.grad(lambda x, r: np.sum(ft.grad(f)(x, r) ** 2)),
    "jacrev of vmap": lambda f: ft.jacrev(lambda x, r: different(f, (0, None))(x, r)),
}


@pytest.mark.parametrize("place", PLACES)
def test_checkpoint_repeats_the_draws(place):
    x = np.linspace(0.5, 2.0, 12).reshape(4, 3)
    results = []
    for f in (dropout, ft.checkpoint(dropout), ft.checkpoint(ft.checkpoint(dropout))):
        rng = default_rng(SEED)
        results.append([PLACES[place](f)(x, rng), rng.normal()])
    for gradient, after in results[1:]:
        np.testing.assert_allclose(gradient, results[0][0], rtol=1e-13, atol=1e-13)
        equal(after, results[0][1])


def test_checkpoint_of_fresh_entropy_and_children():
    def f(x, rng):
        noise = default_rng().normal(size=3) * rng.spawn(1)[0].normal(size=3)
        return np.sum(noise * x**2), noise

    rng = default_rng(SEED)
    gradient, noise = ft.grad(ft.checkpoint(f), has_aux=True)(np.ones(3), rng)
    np.testing.assert_allclose(gradient, 2 * noise, rtol=1e-13)
    again, other = ft.grad(ft.checkpoint(f), has_aux=True)(np.ones(3), rng)
    np.testing.assert_allclose(again, 2 * other, rtol=1e-13)
    assert not np.any(noise == other)


# ---- threads ----


def test_threads_that_share_a_generator_get_every_number_once():
    rng = default_rng(SEED)

    def work(_):
        own = []
        for _ in range(50):
            own.append(np.ravel(different(lambda x: x + rng.normal())(np.zeros(3))))
            own.append(np.ravel(rng.random(2)))
            own.append(np.ravel(same(lambda x: rng.standard_gamma(x + 0.0))(np.array([1.5, 2.5]))))
        return np.concatenate(own)

    total = np.concatenate(in_threads(work, range(8)))
    assert len(np.unique(total)) == total.size == 8 * 50 * 7


def test_a_replay_in_one_thread_does_not_disturb_another():
    rng, theirs = default_rng(SEED), np.random.default_rng(SEED)
    with record_draws() as drawn:
        first = rng.normal(size=3)
    theirs.normal(size=3)
    inside, outside = threading.Event(), threading.Event()
    found = []

    def other():
        inside.wait(HANG)
        found.append(rng.normal(size=3))
        outside.set()

    thread = threading.Thread(target=other)
    thread.start()
    with replay_draws(drawn):
        inside.set()
        outside.wait(HANG)
        equal(rng.normal(size=3), first)
    thread.join()
    equal(found[0], theirs.normal(size=3))


# ---- NumPy's own generators ----


@pytest.mark.parametrize(
    ("rng", "noun"),
    [
        (np.random.default_rng(0), "Generator"),
        (np.random.RandomState(0), "RandomState"),
        (np.random.Generator(np.random.MT19937(0)), "Generator"),
    ],
    ids=["PCG64", "RandomState", "MT19937"],
)
def test_a_draw_from_numpys_generator_among_the_arguments_is_seen(rng, noun):
    def model(x, own, key=None):
        return x + (own or key)["rng"].normal()

    tree = {"rng": rng, "w": np.ones(2)}
    for g in (ft.vmap(model, (0, None)), different(model, (0, None))):
        for call, place in (
            (lambda g=g: g(ZEROS, tree), "args[1]['rng']"),
            (lambda g=g: g(ZEROS, None, key=tree), "kwargs['key']['rng']"),
        ):
            with pytest.raises(ft.RandomnessError) as error:
                call()
            has_all(message(error), "vmap(model)", f"{place} is NumPy's {noun}", __file__,
                    "functier.random.default_rng(seed)", "randomness='same'")  # fmt: skip
    assert len(np.unique(same(model, (0, None))(ZEROS, tree))) == 1
    raises(ft.RandomnessError, lambda: ft.vmap(model, (0, None), chunk_size=3)(ZEROS, tree))
    with pytest.raises(ft.RandomnessError):
        ft.vmap(lambda x: ft.vmap(model, (0, None))(x, tree))(np.zeros((2, 3)))
    # One that stays where it is may be passed in.
    equal(ft.vmap(lambda x, tree: x + tree["w"], (0, None))(ZEROS, tree), np.ones((10, 2)))
    equal(ft.vmap(lambda x, tree: x, (0, None), chunk_size=3)(ZEROS, tree), ZEROS)


def test_functiers_generator_is_not_taken_for_numpys():
    tree = {"rng": default_rng(SEED)}
    rows = different(lambda x, tree: x + tree["rng"].normal(), (0, None))(ZEROS, tree)
    equal(rows, np.random.default_rng(SEED).normal(size=10))


def test_a_failure_in_the_function_is_told_before_the_generator():
    raises(ArithmeticError, lambda: ft.vmap(fails, (0, None))(ZEROS, np.random.default_rng(0)))


def test_a_generator_that_was_sent_and_comes_back():
    rng = pickle.loads(pickle.dumps(default_rng(SEED)))
    rows = different(lambda x: x + rng.normal(), chunk_size=3)
    assert len(np.unique([rows(ZEROS), rows(ZEROS)])) == 20
