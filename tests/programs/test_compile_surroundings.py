"""Compiled functions among threads, processes, other transforms, and all that a program has."""

import collections
import copy
import dataclasses
import datetime
import decimal
import functools
import itertools
import multiprocessing
import os
import pickle
import random
import re
import secrets
import subprocess
import sys
import threading
import time
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.fft
from scipy import signal, sparse, special, stats

import functier as ft
import functier.numpy as fnp
from functier import random as ftr
from functier.scipy import linalg
from strategies.outcomes import difference
from support.basics import HANG, in_threads, raises
from support.compiling import called as check

X = np.array([0.5, -1.0, 2.0])


def loss(x):
    return np.sum(np.sin(x) * x)


@ft.compile
def decorated(x):
    return 2 * x


# ---- threads and processes ----


def test_threads():
    compiled = ft.compile(ft.grad(lambda x: np.sum(np.where(x > 0, x, -x) ** 3)))
    points = [np.full(n % 4 + 1, 1.0 + n) for n in range(64)]
    found = in_threads(lambda k: [compiled(x) for x in points[k::8]], range(8))
    for k, results in enumerate(found):
        for x, y in zip(points[k::8], results):
            assert np.array_equal(y, 3 * x**2)
    assert len(compiled.programs) == 4


def test_a_function_that_waits_for_a_thread_that_calls_it():
    def f(x):
        if np.ndim(x) == 0:
            return 2 * x
        with ThreadPoolExecutor(1) as pool:
            return x * pool.submit(compiled, 1.5).result(HANG)

    compiled = ft.compile(f)

    assert np.array_equal(compiled(X), 3 * X)


def test_fork():
    compiled = ft.compile(ft.grad(loss))
    expected = compiled(X)

    def child(queue):
        queue.put((compiled(X), compiled(X[:2])))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        process = context.Process(target=child, args=(queue,))
        process.start()
    one, two = queue.get(timeout=HANG)
    process.join()

    assert np.array_equal(one, expected)
    assert np.array_equal(two, ft.grad(loss)(X[:2]))


def test_a_program_in_another_process():
    program = ft.trace(ft.grad(lambda x: np.sum(np.linalg.inv(np.outer(x, x) + np.eye(3)) @ x)))(X)
    code = (
        "import pickle, sys; p, x = pickle.load(sys.stdin.buffer); "
        "sys.stdout.buffer.write(pickle.dumps((p(x), p.source)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((program, X)), capture_output=True,
        check=True, env={**os.environ},
    )  # fmt: skip
    found, source = pickle.loads(run.stdout)

    assert difference(found, program(X)) is None
    assert source == program.source


def test_pickles_and_copies_of_compiled_functions():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    again = pickle.loads(pickle.dumps(ft.compile(loss)))
    assert again(X) == loss(X)
    assert copy.deepcopy(decorated)(X)[0] == 1.0


# ---- recursion, exceptions, escape ----


def test_compiled_functions_that_call_each_other():
    @ft.compile
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)

    @ft.compile
    def both(x):
        return power(x, 2) + ft.grad(lambda y: np.sum(power(y, 1)))(x)

    for x in (X, X + 1, X):
        assert difference(both(x), x * x * x + 2 * x) is None
    assert difference(ft.grad(lambda x: np.sum(both(x)))(X), 3 * X**2 + 2) is None
    assert difference(ft.vmap(both)(X), X**3 + 2 * X) is None


def test_a_tensor_that_escapes():
    kept = []
    ft.trace(lambda x: (kept.append(x * 2), x)[1])(X)

    with pytest.raises(ft.LevelError, match="return it from the function"):
        kept[0] + 1
    with pytest.raises(ft.LevelError):
        np.sum(kept[0])


@pytest.mark.parametrize(
    "ask",
    [float, complex, np.asarray, lambda x: x.item()],
    ids=["float", "complex", "asarray", "item"],
)
def test_what_takes_a_value_out_makes_the_function_run_as_it_is(ask):
    def caught(x):
        try:
            return ask(x[0]) * x
        except Exception:
            return x

    for f in (lambda x: ask(x[0]) * x, caught):
        compiled = ft.compile(f)
        assert np.array_equal(compiled(X), f(X)) and not compiled.programs
        assert "would be the same in each call" in str(compiled.explain())


def test_an_argument_without_derivative_may_become_an_array():
    def f(p, start):
        return np.sum((np.array(start) * p) ** 2)

    assert ft.compile(ft.grad(f))(2.0, np.ones(3)) == 12.0


def test_inside_other_transforms():
    compiled = ft.compile(loss)

    for _ in range(2):
        assert np.array_equal(ft.grad(compiled)(X), ft.grad(loss)(X))
        assert np.array_equal(ft.vmap(compiled)(X[:, None]), ft.vmap(loss)(X[:, None]))
        assert np.array_equal(ft.hessian(compiled)(X), ft.hessian(loss)(X))
        compiled(X)
    with pytest.raises(ft.LevelError, match="a trace must be outermost"):
        ft.grad(lambda x: ft.trace(loss)(x)(x))(X)


# ---- what a function may have in it ----


@ft.custom_jvp
def cube(x):
    return x * x * x


cube.defjvps(lambda t, out, x: 3 * x * x * t)


@ft.custom_vjp
def halved(x):
    return x * 0.5


halved.defvjp(lambda x: (x * 0.5, x), lambda x, g: (g * 7.0,))


def generated(x):
    def parts():
        for i in range(3):
            yield x[i] * i

    return sum(parts())


INSIDE = {
    "generator": generated,
    "stop_gradient": lambda x: ft.stop_gradient(x) * x,
    "no_grad": lambda x: _no_grad(x) + x,
    "custom_jvp": lambda x: np.sum(cube(x)),
    "custom_vjp": lambda x: np.sum(halved(x)),
    "checkpoint": lambda x: np.sum(ft.checkpoint(lambda y: np.sin(y) * y)(x)),
    "scan": lambda x: ft.scan(lambda c, v: (c + np.sin(v), c * v), 0.0, x)[1],
    "fori_loop": lambda x: ft.fori_loop(0, 3, lambda i, c: c * 1.5 + i, x),
    "while_loop": lambda x: ft.while_loop(lambda c: np.sum(c) < 10, lambda c: c + 1, x),
    "cond": lambda x: ft.cond(np.sum(x) > 1, lambda y: y * 2, lambda y: y * 3, x),
    "linearize": lambda x: ft.linearize(loss, x)[1](x),
    "vjp": lambda x: ft.vjp(np.sin, x)[1](x),
    "writes": lambda x: _writes(x),
    "level as a block": lambda x: _block(x),
}


def _no_grad(x):
    with ft.no_grad():
        return np.sum(x * x)


def _writes(x):
    y = fnp.zeros(3)
    y[1:] += x[1:]
    y[0] = np.sum(y)
    return y * x


def _block(x):
    with ft.vmap() as B:
        return B.unwrap(np.sin(B(x)) * 2)


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name):
    f = INSIDE[name]

    check(f, (X,), (X + 2,), (X,))
    if name not in ("scan", "level as a block"):
        g = ft.grad(lambda x: np.sum(f(x)))
        try:
            g(X)
        except ft.LevelError:
            return
        check(g, (X,), (X + 2,), (X,))


@ft.register_dataclass
@dataclasses.dataclass
class State:
    position: np.ndarray
    name: str = dataclasses.field(default="a", metadata={"static": True})


def test_pytrees():
    def f(s):
        return {"s": State(s.position * 2, s.name), "t": (s.position, [s.position + 1]), "n": None}

    compiled = ft.compile(f)
    for s in (State(X), State(X + 1), State(X, "b"), State(X[:2]), State(X)):
        found, expected = compiled(s), f(s)
        assert type(found["s"]) is State
        assert found["s"].name == expected["s"].name
        assert found["n"] is None
        for a, b in ((found["s"].position, expected["s"].position), (found["t"], expected["t"])):
            assert difference(a, b) is None


ARRAYS = [
    X, X.astype("f4"), X.astype(int), X + 1j, np.array(2.0), np.zeros(0), np.zeros((0, 3)),
    np.broadcast_to(X, (2, 3)), X[::-1], np.asfortranarray(np.outer(X, X)), np.ones(3, bool),
    X.astype(">f8"), np.arange(3, dtype="u1"),
]  # fmt: skip


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype.str}{x.shape}")
def test_kinds_of_arrays(x):
    x = x.copy("K") if x.flags.writeable else x
    before = x.copy()

    check(lambda x: (np.sin(x), x * 2 + x, np.sum(x), x[..., None] + np.float32(1)), (x,))
    assert np.array_equal(x, before)


def test_random_draws():
    one, two = ftr.default_rng(0), ftr.default_rng(0)

    def body(rng, x):
        rng.random(2)  # nobody reads it
        first, second = rng.normal(size=3), rng.normal(size=3)
        return (x * first - second) if rng.random() < 0.5 else rng.poisson(x * x) + first

    compiled = ft.compile(lambda x: body(two, x))
    for n in range(12):
        assert difference(compiled(X + n), body(one, X + n)) is None
    assert len(compiled.programs) == 2
    assert one.bit_generator.state == two.bit_generator.state


def test_a_generator_of_the_function():
    check(lambda x: x * ftr.default_rng(3).normal(size=3), (X,), (X + 1,))
    check(lambda x: [(g := ftr.default_rng(3)).poisson(x * x), g.normal()], (X,), (X + 1,))


def test_a_generator_with_a_seed_does_not_ask_the_system():
    for seeded in (
        lambda x, seed=3: x * np.random.RandomState(seed).rand(),
        lambda x: x * np.random.RandomState(seed=4).rand(),
    ):
        assert np.array_equal(ft.compile(seeded)(X), seeded(X))


theirs = np.random.default_rng(0)
REFUSED = {
    "entropy": lambda x: x * ftr.default_rng().normal(),
    "entropy of NumPy": lambda x: x * np.random.default_rng().normal(),
    "no seed": lambda x, seed=None: x * np.random.RandomState(seed).rand(),
    "a seed": lambda x: x * np.random.RandomState(4).rand() * np.random.default_rng().random(),
    "generator of NumPy": lambda x: x * theirs.normal(),
    "global of NumPy": lambda x: x * np.random.normal(),  # noqa: NPY002
    "global of Python": lambda x: x * __import__("random").random(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_draws_that_are_refused(name):
    with pytest.raises(ft.RandomnessError, match="would be the same in each call"):
        ft.compile(REFUSED[name])(X)


NOW = datetime.datetime.now
COUNTING = iter(range(99))
EVER_NEW = {
    "datetime.now": lambda x: x * datetime.datetime.now().microsecond,
    "its method": lambda x: x * NOW().microsecond,
    "a text": lambda x: x * np.datetime64("now", "s").astype("int64"),
    "a clock": lambda x: x * time.perf_counter_ns(),
    "a default": lambda x, clock=time.perf_counter_ns: x * clock(),
    "in map": lambda x: x * next(map(lambda f: f(), [time.perf_counter_ns])),
    "a key": lambda x: x * sorted([1], key=lambda _: 1)[0] * time.perf_counter_ns(),
    "in starmap": lambda x: x * next(itertools.starmap(time.perf_counter_ns, [()])),
    "in a default dict": lambda x: x * collections.defaultdict(time.perf_counter_ns)["a"],
    "in iter": lambda x: x * next(iter(time.perf_counter_ns, None)),
    "in vectorize": lambda x: x * np.vectorize(lambda v: time.perf_counter_ns())(1.0),
    "the system": lambda x: x * int.from_bytes(os.urandom(4), "big"),
    "uuid": lambda x: x * (uuid.uuid4().int % 10**6),
    "secrets": lambda x: x * secrets.randbelow(10**6),
    "an address": lambda x: x * id(object()) * time.perf_counter_ns(),
    "a generator of the system": lambda x: x * random.SystemRandom().random(),
    "an iterator": lambda x: x * next(COUNTING),
}
STATES = {
    "a thread": lambda x: x * threading.get_ident(),
    "workers": lambda x: x * scipy.fft.get_workers(),
    "decimals": lambda x: x * float(decimal.Decimal(2) / 3),
    "the system": lambda x: x * os.getpid(),
    "an address": lambda x: x * id(object()),
    "references": lambda x: x * sys.getrefcount(np),
}


@pytest.mark.parametrize("name", EVER_NEW)
def test_what_is_ever_new_is_no_program(name):
    f = ft.compile(EVER_NEW[name])
    try:
        found = {float(f(2.0)) for _ in range(4)}
    except ft.RandomnessError:
        return
    assert not f.programs
    assert len(found) > 1 or name == "a text"
    assert "not watched" in str(f.explain())


@pytest.mark.parametrize("name", STATES)
def test_what_asks_for_a_state_is_no_program(name):
    f = ft.compile(STATES[name])
    f(2.0)
    assert not f.programs and "not watched" in str(f.explain())


@functools.wraps(np.sin)
def wrapped(x):
    return np.sin(x)


CONFIG = {"a": [1.0, 2.0]}
PURE = {
    "deepcopy": lambda x: x * copy.deepcopy(CONFIG)["a"][0],
    "finfo": lambda x: x * np.finfo(float).eps,
    "a pattern": lambda x: x * len(re.sub("a", "b", "aa")),
    "an import": lambda x: __import__("math").sqrt(4.0) * x,
    "a vectorized function": lambda x: x * np.vectorize(lambda v: v + 1)(1.0),
    "a distribution": lambda x: x * stats.norm.pdf(0.0),
    "a filter": lambda x: x * signal.butter(2, 0.2)[0][0],
    "a sparse matrix": lambda x: x * sparse.csr_array(np.eye(3)).sum(),
    "a quadrature": lambda x: x * special.roots_legendre(3)[0][0],
    "a length of time": lambda x: x * datetime.timedelta(1).total_seconds(),
    "a counter": lambda x: x * collections.Counter("aab")["a"],
    "a generator with a seed": lambda x: x * np.random.default_rng(0).normal(),
    "a key": lambda x: x * sorted([2.0, 1.0], key=lambda v: -v)[0],
    "wraps": lambda x: wrapped(x),
}


@pytest.mark.parametrize("name", PURE)
def test_what_depends_on_its_arguments_alone_is_a_program(name):
    f = ft.compile(PURE[name])
    for x in (2.0, 3.0):
        assert np.allclose(f(x), PURE[name](x))
    assert len(f.programs) == 1, f.explain()


def test_draws_of_another_thread_are_not_those_of_the_function():
    drawn, stop = threading.Event(), threading.Event()

    def other():
        while not stop.is_set():
            random.random()
            np.random.random()  # noqa: NPY002
            drawn.set()

    def f(x):
        return np.sum(np.cos(x))

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert drawn.wait(HANG)
        for _ in range(10):
            ft.compile(ft.grad(f))(np.ones(3))
        for draw in (random.random, np.random.random, lambda: sum([random.random()])):
            with pytest.raises(ft.RandomnessError):
                ft.compile(lambda x, draw=draw: x * draw())(2.0)
    finally:
        stop.set()
        thread.join()


def test_a_number_that_is_left_of_the_last_draw_is_a_draw():
    """NumPy's global generator makes normal numbers in pairs, and keeps the second one."""
    for _ in range(2):
        np.random.normal()  # noqa: NPY002
        with pytest.raises(ft.RandomnessError, match="would be the same in each call"):
            ft.compile(REFUSED["global of NumPy"])(X)


# ---- memory ----

VIEWS = {
    "itself": lambda x: x,
    "twice": lambda x: (x, x),
    "transposed": lambda x: x.T,
    "part": lambda x: x[1:],
    "copy": lambda x: x * 1,
    "view of a copy": lambda x: (x * 1).reshape(-1),
    "view of a view": lambda x: (x.T * 1).T[1:],
    "equal values": lambda x: (np.sin(x), np.sin(x)),
    "equal values, turned": lambda x: (np.flip(np.sin(x)), np.sin(x)),
    "view of a result": lambda x: (lambda y: (y, y[1:]))(np.sin(x)),
    "constant": lambda x: (x * 2, np.zeros(3)),
    "einsum": lambda x: np.sum(np.einsum("ij->ji", x) * 2),
    "negative twice": lambda x: np.negative(-x).T,
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("size", [3, 40])
def test_memory(name, size):
    f = VIEWS[name]
    compiled = ft.compile(f)
    x = np.random.default_rng(0).normal(size=(size, size))
    kept = x.copy()

    def leaves(y):
        return list(y) if isinstance(y, tuple) else [y]

    def shares(many):
        return [[np.shares_memory(a, b) for a in many] for b in many]

    expected = shares([x, *leaves(f(x))])
    rounds = [leaves(compiled(x)) for _ in range(3)]
    for found in rounds:
        assert shares([x, *found]) == expected
    assert np.array_equal(x, kept)
    for a, b in zip(rounds[1], rounds[2]):
        if np.ndim(a) and not np.shares_memory(a, x):
            assert not np.shares_memory(a, b)
            a[...] = 99
    assert difference(compiled(kept), f(kept)) is None


def test_a_plain_array_that_is_written_to():
    for size in (3, 20000):

        def f(x, size=size):
            buffer = np.zeros(size)
            buffer[0] = 1
            y = x * buffer
            if size == 3:
                buffer[0] = 2
            return y, x * buffer  # fmt: skip

        check(f, (2.0,), (3.0,))
    long, pair = np.zeros(20000), np.zeros(2)
    for written, big in ((long, long), (pair, np.broadcast_to(pair, (9999, 2)))):

        def g(x, written=written, big=big):
            y = x * big
            written[1] += 1
            return y + x * big

        raises(ft.MutationError, lambda: ft.trace(g)(1.0), "written to later")


# ---- warnings and settings ----


def test_settings_inside_the_function():
    def f(x):
        with np.errstate(divide="ignore"):
            y = 1 / x
        return y * 2

    compiled, before = ft.compile(f), np.geterr()
    with warnings.catch_warnings(action="error"):
        for x in (X, X * 0, X * 0):
            assert difference(compiled(x), f(x)) is None
    assert compiled.programs
    assert np.geterr() == before


def test_what_a_trace_that_ends_has_entered_is_left():
    lock = threading.Lock()

    def f(x):
        with lock:  # whose state nobody sees
            return np.sum(x * x)

    compiled = ft.compile(f)
    assert [compiled(X), compiled(X)] == [f(X)] * 2
    assert not lock.locked()
    assert not compiled.programs


def test_settings_around_the_call():
    compiled = ft.compile(lambda x: 1 / x)
    compiled(X)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(X * 0)
    with np.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide"):
        compiled(X * 0)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_errors_of_what_a_derivative_does_not_need(backend):
    def f(x):
        try:
            with np.errstate(invalid="raise"):
                return np.sum(np.log(x))
        except FloatingPointError:
            return np.sum(x)

    for transform in (ft.grad, ft.hessian):
        plain = transform(f)
        compiled = ft.compile(plain, backend=backend, warm=True)
        for x in (abs(X), X, abs(X), X):
            assert difference(compiled(x), plain(x)) is None
        around = ft.compile(transform(lambda x: np.sum(np.log(x))), backend=backend, warm=True)
        around(abs(X))
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
            around(X)


@pytest.mark.parametrize("record", [False, True])
def test_warnings_that_a_function_asks_for(record):
    def f(x):
        with warnings.catch_warnings(record=record) as found:
            warnings.simplefilter("always" if record else "error")
            try:
                y = np.sum(np.log(x))
            except RuntimeWarning:
                return -x
            return -x if found else x * y

    compiled = ft.compile(f)
    for x in (abs(X), X, abs(X)):
        assert difference(compiled(x), f(x)) is None
    assert "it asks for warnings" in str(compiled.explain())


def test_warnings_that_a_function_ignores():
    @ft.compile
    def f(x):
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            return np.log(x)

    assert np.isnan(f(X)[1]) and np.isnan(f(2 * X)[1])
    assert "not watched" not in str(f.explain())


def test_many_programs_are_warned_of():
    compiled = ft.compile(lambda x, text: x * len(text))

    with pytest.warns(RuntimeWarning, match="static arguments"):
        for n in range(20):
            compiled(X, n * "a")
    assert len(compiled.programs) == 10


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @ft.compile
        def apply(self, x, *, scale=1.0):
            return self.w * x * scale

    one, two = Model(2.0), Model(3.0)
    for _ in range(2):
        assert np.array_equal(one.apply(X), 2 * X)
        assert np.array_equal(two.apply(X, scale=2.0), 6 * X)
    assert functools.partial(decorated, X)()[0] == 1.0


def test_a_transform_of_a_function_of_numpy():
    assert np.array_equal(ft.trace(ft.grad(np.sum))(X)(X), np.ones_like(X))
    assert np.array_equal(ft.compile(ft.grad(np.sum))(X), np.ones_like(X))


@pytest.mark.parametrize("module", [linalg, fnp.linalg])
def test_a_name_of_a_mirror_that_is_used_for_the_first_time(module):
    vars(module).pop("det", None)

    compiled = check(lambda x: module.det(x * np.eye(3)), (X,), (X + 1,))

    assert len(compiled.programs) == 1


def test_what_explain_says_of_calls_inside_a_transform():
    f = ft.compile(lambda x: x * 2)
    ft.vmap(f)(np.ones((2, 3)))
    assert str(f.explain()).startswith("no program: the calls came from inside a transform")

    f(np.ones(3))
    assert "no program" not in str(f.explain())


def test_a_method_tells_of_its_programs():
    class Model:
        @ft.compile
        def step(self, x):
            return x * 2

    model = Model()
    model.step(np.ones(3))

    assert len(model.step.programs) == 1
    assert "1 steps" in model.step.explain()


class Settings(dict):
    """As that of Matplotlib, whose methods are Python code."""

    def __len__(self):
        return dict.__len__(self)

    def __getitem__(self, key):
        return dict.__getitem__(self, key)


SETTINGS = Settings(scale=2.0)


def test_a_dict_with_methods_in_python_is_read_once():
    f = ft.compile(lambda x: x * SETTINGS["scale"])

    assert f(3.0) == f(3.0) == 6.0
