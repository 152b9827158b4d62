"""checkpoint with slots: the same derivatives of a loop from the memory of a few states."""

import gc
import subprocess
import sys
from math import comb

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functier as ft
from faults.planted import transforms as faulty
from support.basics import alike, close, equal, held, in_threads, message

rng = np.random.default_rng(0)
N = 23
X, W = np.arange(4.0) / 3, rng.normal(size=(4, 4)) / 3
ROWS = rng.normal(size=(N, 4))
XS, WS, ROWSS = rng.normal(size=(3, 4)), rng.normal(size=(3, 4, 4)) / 2, rng.normal(size=(3, N, 4))


def scanned(c, w, rows, reverse=False):
    """A loop over rows with stacked results, whose `w` the rest of the function uses as well."""

    def step(c, row):
        c = np.tanh(w @ c) + 0.3 * row
        return c, {"square": c * c, "none": None, "constant": 2.0}

    c, ys = ft.scan(step, c * np.sum(w), rows, reverse=reverse)
    return np.sum(c**2) + np.sum(np.sin(ys["square"][::3])) + np.sum(w**3) * ys["constant"][0]


def counted(c, w, rows):
    """A loop whose steps take their rows by number from an array that they close over."""
    c = ft.fori_loop(2, N, lambda i, c: np.tanh(w @ c) + 0.1 * rows[i], c)
    return np.sum(c**2) + np.sum(w)


def step(c, w, *, shift):
    return np.tanh(w @ c) + shift


def repeated(c, w, rows):
    for _ in range(N):
        c = step(c, w, shift=rows[0])
    return np.sum(c * c) + np.sum(np.sin(w))


def repeated_in(slots, chunk):
    long = ft.checkpoint(step, slots=slots, chunk=chunk, steps=N)
    return lambda c, w, rows: np.sum(long(c, w, shift=rows[0]) ** 2) + np.sum(np.sin(w))


def inside(f):
    return f, lambda slots, chunk: ft.checkpoint(f, slots=slots, chunk=chunk)


LOOPS = {
    "scan": inside(scanned),
    "scan in reverse": inside(lambda c, w, rows: scanned(c, w, rows, reverse=True)),
    "map": inside(lambda c, w, rows: np.sum(ft.map(lambda row: np.sin(w @ row) * c, rows) ** 2)),
    "fori_loop": inside(counted),
    "steps": (repeated, repeated_in),
}
FIRST = {
    "value": lambda f: f(X, W, ROWS),
    "grad": lambda f: ft.grad(f, (0, 1, 2))(X, W, ROWS),
    "pullback, twice": lambda f: (lambda p: [p(2.0), p(1.0)])(ft.vjp(f, X, W, ROWS)[1]),
    "pullback of a batch": lambda f: ft.vmap(ft.vjp(f, X, W, ROWS)[1])(np.arange(3.0)),
    "jvp": lambda f: ft.jvp(f, (X, W, ROWS), (X, W, ROWS)),
    "linearize": lambda f: ft.linearize(f, X, W, ROWS)[1](X, W, ROWS),
    "hessian": lambda f: ft.hessian(f, (0, 1, 2))(X, W, ROWS),
    "grad of jvp": lambda f: ft.grad(lambda w: ft.jvp(lambda c: f(c, w, ROWS), (X,), (X,))[1])(W),
    "vmap": lambda f: ft.vmap(f, (0, None, None))(XS, W, ROWS),
    "vmap of grad": lambda f: ft.vmap(ft.grad(f, (0, 1, 2)), (0, None, 0))(XS, W, ROWSS),
    "grad of vmap": lambda f: ft.grad(
        lambda *args: np.sum(ft.vmap(f, (0, None, 0))(*args)), (0, 1, 2)
    )(XS, W, ROWSS),
    "grad of vmap by parameters": lambda f: ft.grad(
        lambda *args: np.sum(ft.vmap(f, (None, 0, None))(*args)), (0, 1, 2)
    )(X, WS, ROWS),
    "jacrev of vmap": lambda f: ft.jacrev(lambda w: ft.vmap(f, (0, None, None))(XS, w, ROWS))(W),
    "compiled": lambda f: ft.compile(ft.grad(f, (0, 1, 2)))(X, W, ROWS),
    "compiled vmap": lambda f: ft.compile(ft.vmap(ft.grad(f, (0, 1, 2)), (0, None, 0)))(
        XS, W, ROWSS
    ),
}
SECOND = {
    "jacrev of jacrev": lambda f: ft.jacrev(ft.jacrev(f, (0, 1)), (0, 1))(X, W, ROWS),
    "grad of grad": lambda f: ft.grad(
        lambda *args: sum(np.sum(g**2) for g in ft.grad(f, (0, 1, 2))(*args)), (0, 1, 2)
    )(X, W, ROWS),
    "third order": lambda f: ft.grad(
        lambda c: np.sum(ft.grad(lambda c: np.sum(ft.grad(lambda c: f(c, W, ROWS))(c) ** 2))(c))
    )(X),
    "grad of vmap of grad": lambda f: ft.grad(
        lambda w, rows: sum(
            np.sum(g**2) for g in ft.vmap(ft.grad(f, (0, 1, 2)), (0, None, 0))(XS, w, rows)
        ),
        (0, 1),
    )(W, ROWSS),
    "compiled hessian": lambda f: ft.compile(ft.hessian(f, (0, 1)))(X, W, ROWS),
}


def same(actual, expected):
    """Compare trees bit by bit."""
    alike(actual, expected, compare=equal)


def near(actual, expected):
    alike(actual, expected, compare=lambda a, e: close(a, e, 1e-12 * max(1.0, np.max(np.abs(e)))))


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize("sizes", [(1, 3), (3, 2), (4, 1)], ids=str)
@pytest.mark.parametrize("use", FIRST.values(), ids=FIRST)
@pytest.mark.parametrize(("plain", "wrap"), LOOPS.values(), ids=LOOPS)
def test_first_derivatives_have_the_bits_of_those_without_slots(plain, wrap, use, sizes):
    same(use(wrap(*sizes)), use(plain))


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize("sizes", [(1, 8), (3, 2)], ids=str)
@pytest.mark.parametrize("use", SECOND.values(), ids=SECOND)
@pytest.mark.parametrize(("plain", "wrap"), LOOPS.values(), ids=LOOPS)
def test_higher_derivatives(plain, wrap, use, sizes):
    near(use(wrap(*sizes)), use(plain))


# ---- how often the step runs ----


def optimum(n, slots):
    """The fewest steps that run again to take n steps back: Griewank and Walther, 2000."""
    r = 1
    while comb(slots + r, r) < n:
        r += 1
    return r * n - comb(slots + r, r - 1)


def evaluations(n, slots, chunk=1):
    runs = 0

    def step(x):
        nonlocal runs
        runs += 1
        return x * 0.5

    ft.grad(ft.checkpoint(step, slots=slots, chunk=chunk, steps=n))(1.0)
    return runs


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 10, 50])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 200])
def test_the_step_runs_as_often_as_the_best_schedule_says(n, slots):
    assert evaluations(n, slots) == (optimum(n, slots) if n > 1 else 0) + n


@pytest.mark.parametrize(("n", "slots"), [(1_000, 3), (10_000, 50)])
def test_so_it_does_in_long_loops(n, slots):
    assert evaluations(n, slots) == optimum(n, slots) + n


@pytest.mark.parametrize("chunk", [3, 7, 64])
def test_chunks_count_as_steps_do(chunk):
    for slots in (1, 2, 6):
        chunks = -(-60 // chunk)
        again = optimum(chunks, slots) if chunks > 1 else 0
        assert evaluations(60, slots, chunk) <= again * chunk + 60


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 2, 3, 10, 50])
def test_so_it_does_in_all_loops_to_some_length(slots):
    for n in [*range(1, 60), 100, 300]:
        assert evaluations(n, slots) == (optimum(n, slots) if n > 1 else 0) + n


# ---- what it keeps ----


def drift(x):
    return x + 1e-4 * np.sin(x)


def risen(n, slots, chunk):
    """Return by how many bytes the memory rose, and the evaluations of the step."""
    runs = 0

    def step(x):
        nonlocal runs
        runs += 1
        return drift(x)

    def loss(x):
        return np.sum(ft.checkpoint(step, slots=slots, chunk=chunk, steps=n)(x))

    x = np.linspace(0.0, 1.0, 100)
    gc.disable()  # nothing waits for it
    try:
        return held(lambda: ft.grad(loss)(x))[2], runs
    finally:
        gc.enable()


def test_the_memory_does_not_grow_with_the_loop():
    risen(200, 8, 4)
    short, runs = risen(200, 8, 4)
    assert runs == 4 * optimum(50, 8) + 200
    long, _ = risen(2_000, 8, 4)
    assert long < 1.5 * short < 200_000


LONG = """
import resource, sys
import numpy as np
import functier as ft
runs = 0
def step(x):
    global runs
    runs += 1
    return x + 1e-4 * np.sin(x)
def loss(x, n):
    return np.sum(ft.checkpoint(step, slots=44, chunk=64, steps=n)(x))
x = np.linspace(0.0, 1.0, 100)
ft.grad(loss)(x, 300)
runs, before = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ft.grad(loss)(x, int(sys.argv[1]))
print(runs, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("steps", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_many_steps(steps):
    call = [sys.executable, "-c", LONG, str(steps)]
    out = subprocess.run(call, capture_output=True, text=True, check=True)
    runs, rise = map(int, out.stdout.split())  # of the memory of the process, in KB
    assert runs <= 5 * steps and rise <= 10_000


def test_a_second_order_keeps_a_state_for_each_chunk():
    def loss(x):
        return np.sum(ft.checkpoint(drift, slots=4, chunk=8, steps=200)(x))

    def plain(x):
        for _ in range(200):
            x = drift(x)
        return np.sum(x)

    def peak(f):
        g = ft.grad(lambda x: np.sum(ft.grad(f)(x) ** 2))
        g(x)
        return held(lambda: g(x))[2]

    x = np.linspace(0.0, 1.0, 1000)
    assert peak(loss) < peak(plain) / 2.5


# ---- what the state may be ----


def sizes(f):
    """Return `f` with some slots and chunks."""
    return [ft.checkpoint(f, slots=s, chunk=c) for s, c in ((1, 1), (2, 3), (3, 1))]


def check(f, *args, argnums=0):
    expected = ft.grad(f, argnums)(*args)
    for g in sizes(f):
        same(ft.grad(g, argnums)(*args), expected)


def test_trees_with_numbers_and_constants():
    table = rng.normal(size=30)

    def f(x):
        def step(state, row):
            i, (a, b), fixed, kept = state
            a = a * table[int(i)] + row * fixed["w"]
            return (i + 1, (a, b + a * a), fixed, kept), None

        state = 0, (x, np.zeros(4)), {"w": x[0], "none": None}, np.arange(3)
        (i, (a, b), _, kept), _ = ft.scan(step, state, ROWS)
        assert i == N and kept[2] == 2
        return np.sum(a * b)

    check(f, X / 4)


def test_a_state_that_depends_on_what_is_differentiated_after_some_steps_alone():
    def f(x):
        step = lambda i, c: c * 1.25 if i < 7 else c * 0.5 + x  # noqa: E731
        return np.sum(ft.fori_loop(0, 15, step, np.ones(4)) ** 2)

    check(f, X)


def test_a_state_that_no_longer_depends():
    def f(x):
        return np.sum(ft.fori_loop(0, 15, lambda i, c: c * x if i < 7 else np.ones(4), x)) + x[0]

    check(f, X)


def test_results_whose_levels_differ_from_step_to_step():
    def f(c, x, w):
        def step(state, k):
            a, b = state
            return (a * w + b, b * x if k > 3 else b), (a, b, k * 1.0)

        (a, b), (before, after, _) = ft.scan(step, (x, c), np.arange(9.0))
        return np.sum(a * b) + np.sum(np.sin(before)) + np.sum(after**2)

    for dims in ((None, None, 0), (None, 0, None), (0, None, None), (None, None, None)):
        vmapped = ft.vmap(f, dims, axis_size=3)
        args = [XS if dim == 0 else X for dim in dims]
        for use in (lambda f: lambda *args: np.sum(f(*args)), lambda f: lambda *args: f(*args)[1]):
            expected = ft.grad(use(vmapped), (0, 1, 2))(*args)
            for g in sizes(f):
                near(ft.grad(use(ft.vmap(g, dims, axis_size=3)), (0, 1, 2))(*args), expected)
        expected = ft.vmap(ft.grad(f, (0, 1, 2)), dims, axis_size=3)(*args)
        tangents = ft.grad(lambda x: np.sum(ft.jvp(lambda w: f(x, x, w), (X,), (X,))[1]))(X)
        for g in sizes(f):
            near(ft.vmap(ft.grad(g, (0, 1, 2)), dims, axis_size=3)(*args), expected)
            one = ft.grad(lambda x: np.sum(ft.jvp(lambda w: g(x, x, w), (X,), (X,))[1]))(X)
            near(one, tangents)


def test_one_tensor_at_several_places():
    def f(x, w):
        def step(i, state):
            a, b, c = state
            a = np.sin(a) + w * c
            return (a, a, w) if i % 3 else (a * b, a, w)

        a, b, c = ft.fori_loop(0, 14, step, (x, x, w))
        return np.sum(a * b * c)

    check(f, X, X + 0.5, argnums=(0, 1))
    check(lambda x: f(x, x), X)


def test_arrays_of_a_scan_that_are_one_tensor():
    def f(x):
        def step(c, rows):
            a, b = rows
            return np.sin(c * a) + b, (c, a * b)

        c, (before, products) = ft.scan(step, x[0], (x, x))
        return np.sum(c) + np.sum(before**2 + products)

    expected = ft.grad(f)(ROWS)
    for g in sizes(f):
        near(ft.grad(g)(ROWS), expected)


def test_results_of_python_numbers_and_of_several_dtypes():
    def f(x):
        def step(i, _):
            c = np.float32(2) * np.float32(i)
            return i + 1, (1 if i < 5 else 2.5, 3 if i < 9 else c, i, True)

        return ft.scan(step, 0, length=13)[1], x

    for g in sizes(f):
        for a, e in zip(optree.tree_leaves(g(1.0)), optree.tree_leaves(f(1.0))):
            equal(a, e)


@pytest.mark.parametrize("dtype", [np.float32, complex])
def test_other_dtypes(dtype):
    def f(x):
        step = lambda i, c: c * x + dtype(0.1)  # noqa: E731
        return np.sum(np.abs(ft.fori_loop(0, 11, step, x)) ** 2)

    check(f, (X + (1j * X if dtype is complex else 0)).astype(dtype))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_short_loops(n):
    def f(x):
        c, ys = ft.scan(lambda c, _: (c * x, c), x, length=n)
        return np.sum(c) + np.sum(ys)

    check(f, X)
    long = ft.checkpoint(lambda x: x * x, slots=2, steps=n)
    equal(ft.grad(long)(1.5), np.float64(2**n * 1.5 ** (2**n - 1)))


def test_loops_inside_of_a_step_follow_no_schedule():
    def f(x):
        def step(c, _):
            d = ft.fori_loop(0, 3, lambda i, d: np.sin(d) * x, c)
            return ft.while_loop(lambda d: np.sum(d * d) > 0.1, lambda d: d * 0.5, d), None

        return np.sum(ft.scan(step, x, length=9)[0])

    check(f, X + 1)


def test_slots_inside_of_slots():
    def f(wrap):
        inner = wrap(lambda c: ft.fori_loop(0, 7, lambda i, c: np.sin(c) * 1.1, c))
        return wrap(lambda x: np.sum(ft.fori_loop(0, 8, lambda i, c: inner(c) + x, x)))

    expected = ft.hessian(f(lambda f: f))(X)
    near(ft.hessian(f(lambda f: ft.checkpoint(f, slots=2, chunk=2)))(X), expected)
    near(ft.jacrev(ft.grad(f(lambda f: ft.checkpoint(f, slots=2))))(X), expected)


def test_branches_and_steps_of_some_examples():
    def f(x):
        def step(i, c):
            return ft.cond(c[0] > 0.5, lambda c: c * 0.7, lambda c: np.sqrt(c + 2 * x * x), c)

        return ft.cond(
            x[1] > 0, lambda x: np.sum(ft.fori_loop(0, 9, step, x)), lambda x: np.sum(x * x), x
        )

    xs = np.abs(XS) * [[1, -1, 1, 1], [1, 1, 1, 1], [3, 1, 1, 1]]
    expected = ft.vmap(ft.grad(f))(xs)

    def of_one_loop(x):
        return ft.cond(x[1] > 0, ft.checkpoint(lambda x: f(x), slots=2), f, x)

    same(ft.vmap(ft.grad(of_one_loop))(xs), expected)


def test_a_step_that_writes_to_its_own_copy():
    def f(x):
        def step(i, c):
            d = ft.numpy.array(c)
            d[i % 4] = np.sin(d[0]) * x[1]
            return d

        return np.sum(ft.fori_loop(0, 9, step, x) ** 2)

    check(f, X)


def test_a_step_that_writes_to_its_state():
    def f(x):
        def step(i, state):
            a, n, c = state
            a[0] += 1.0
            n[...] = n + 1
            return a, n, np.sin(c) * a[0] * n

        return np.sum(ft.fori_loop(0, 9, step, (np.zeros(2), np.zeros((), int), x))[2])

    check(f, X)  # plain arrays, of which each run has copies

    def of_tensors(x):
        def step(i, c):
            c[0] = np.sin(c[1])
            return c * x

        return np.sum(ft.fori_loop(0, 9, step, x * 1.0))

    with pytest.raises(ft.MutationError, match="make a copy first"):
        ft.grad(ft.checkpoint(of_tensors, slots=2))(X)


def test_large_arrays():
    def f(x, w):
        return np.sum(ft.fori_loop(0, 9, lambda i, c: np.sqrt(c * w) + x[::-1] * w, x))

    x = rng.random(70_000) + 0.1
    check(f, x, x[::-1].copy(), argnums=(0, 1))


def test_derivatives_that_are_not_finite():
    def f(x):
        return np.sum(ft.fori_loop(0, 6, lambda i, c: np.sqrt(c) * np.array([0.0, 1, 1, 1]), x))

    with np.errstate(all="ignore"):
        check(f, X)


# ---- the second run ----


def test_draws_are_repeated():
    def run(slots):
        source = ft.random.default_rng(3)

        def step(c, w):
            if c[0] > 0.3:  # sometimes it draws, and sometimes twice
                c = c * source.normal(size=4)
            return np.tanh(w @ c) * source.random() + source.normal(size=4)

        def loop(c, w):
            for _ in range(N):
                c = step(c, w)
            return c

        if slots:
            loop = ft.checkpoint(step, slots=slots, chunk=2, steps=N)
        value, pullback = ft.vjp(loop, X, W)
        return value, pullback(X), pullback(X), source.random()

    expected = run(None)
    for slots in (1, 2, 4):
        same(run(slots), expected)


def test_draws_are_repeated_in_the_second_order():
    def run(wrap):
        source = ft.random.default_rng(3)

        def f(c, w):
            return np.sum(wrap(lambda c, w: np.tanh(w @ c) * source.random())(c, w) ** 2)

        return ft.grad(lambda w: np.sum(ft.grad(f)(X, w) ** 2))(W)

    def unrolled(step):
        def loop(c, w):
            for _ in range(9):
                c = step(c, w)
            return c

        return loop

    near(run(lambda step: ft.checkpoint(step, slots=2, steps=9)), run(unrolled))


def test_other_numbers_in_the_second_run():
    source = np.random.default_rng(0)
    noisy = ft.checkpoint(lambda x: x * source.normal(), slots=2, steps=9)
    with pytest.raises(RuntimeError) as error:
        ft.grad(lambda x: np.sum(noisy(x)))(X)
    assert "different numbers from the first time" in message(error)

    table = np.ones(9)
    f = ft.checkpoint(lambda x: ft.scan(lambda c, t: (c, t * x), 0.0, table)[1], slots=2)
    g = ft.checkpoint(lambda x: ft.map(lambda i: table[i] * x, np.arange(9)), slots=2)
    for one, changed in ((f, False), (g, True)):
        _, pullback = ft.vjp(one, 2.0)
        table[4] = 7.0
        if changed:  # an array that the step closes over; the other one was an argument
            with pytest.raises(RuntimeError, match="an array that it closes over was written to"):
                pullback(np.ones(9))
        else:
            equal(pullback(np.ones(9))[0], np.float64(9.0))
        table[4] = 1.0


def test_other_forms_in_the_second_run():
    runs = []

    def step(x):
        runs.append(1)
        return x * 1.0 if len(runs) <= 6 else np.array([1.0, 2.0, 3.0, 4.0]) * 0 + 1.0 * X

    with pytest.raises(RuntimeError):
        ft.grad(lambda x: np.sum(ft.checkpoint(step, slots=2, steps=6)(x)))(X)


def test_a_pullback_is_called_in_several_threads():
    value, pullback = ft.vjp(ft.checkpoint(scanned, slots=2, chunk=2), X, W, ROWS)
    expected = pullback(value)
    for results in in_threads(lambda _: [pullback(value) for _ in range(5)], range(4)):
        for result in results:
            same(result, expected)


def test_arguments_may_be_written_to_after_the_forward_pass():
    c, w, rows = X.copy(), W.copy(), ROWS.copy()
    _, pullback = ft.vjp(repeated_in(3, 2), c, w, rows)
    expected = ft.vjp(repeated, X, W, ROWS)[1](1.0)
    c[:], w[:], rows[:] = 0.0, 0.0, 0.0
    same(pullback(1.0), expected)


def test_a_tensor_that_a_step_leaves_outside():
    kept = []

    def f(x):
        kept.clear()

        def step(i, c):
            c = np.sin(c)
            kept.append(c)
            return c

        c = ft.fori_loop(0, 9, step, x)
        return np.sum(c + kept[place])

    place = -1  # of the last chunk, whose tape is there
    check(f, X)
    place = 4
    for slots, chunk in (1, 1), (2, 3):
        with pytest.raises(RuntimeError) as error:
            ft.grad(ft.checkpoint(f, slots=slots, chunk=chunk))(X)
        assert "a tensor of a step that the step did not return" in message(error)


def test_errors_name_the_step():
    def step(x):
        runs.append(1)
        if len(runs) == 8:
            raise KeyError("eight")
        return x * 2.0

    for use in (lambda f: f, ft.grad):
        runs = []
        with pytest.raises(KeyError) as error:
            use(ft.checkpoint(step, slots=2, steps=9))(1.0)
        assert any("in step 7 of 9" in note for note in error.value.__notes__)


# ---- what is refused ----


def in_loop(n):
    return ft.fori_loop(0, n, lambda i, c: c * 2.0, 1.0)


REFUSED = {
    "no loop": (
        lambda: ft.checkpoint(np.sin, slots=3)(1.0),
        "checkpoint(sin): the function calls no scan, map or fori_loop",
    ),
    "two loops": (
        lambda: ft.checkpoint(lambda n: in_loop(n) + in_loop(n), slots=3)(4),
        "slots are for one loop; write a function for each",
    ),
    "while_loop": (
        lambda: ft.checkpoint(
            lambda x: ft.while_loop(lambda x: x < 9, lambda x: x * 2, x), slots=3
        )(1.0),
        "ends when its condition says so, and slots need the number of steps; write scan",
    ),
    "bounds of examples": (
        lambda: ft.vmap(ft.checkpoint(in_loop, slots=3))(np.array([3, 4])),
        "has bounds that differ between examples, and slots need the number of steps",
    ),
    "slots of 0": (lambda: ft.checkpoint(in_loop, slots=0), "slots=0; write an int of at least 1"),
    "chunk of 0": (
        lambda: ft.checkpoint(in_loop, slots=1, chunk=0),
        "chunk=0; write an int of at least 1",
    ),
    "steps below 0": (
        lambda: ft.checkpoint(in_loop, slots=1, steps=-1),
        "steps=-1; write an int of at least 0",
    ),
    "slots that are no int": (
        lambda: ft.checkpoint(in_loop, slots=2.0),
        "slots is 2.0, a float; write an int",
    ),
    "slots that are a bool": (lambda: ft.checkpoint(slots=True), "slots is True, a bool"),
    "steps without slots": (
        lambda: ft.checkpoint(in_loop, steps=4),
        "steps is given without slots; write slots=...",
    ),
    "chunk without slots": (
        lambda: ft.checkpoint(in_loop, chunk=4),
        "chunk is given without slots; write slots=...",
    ),
    "no state": (
        lambda: ft.checkpoint(in_loop, slots=1, steps=4)(),
        "there is no first state; pass it as the first argument",
    ),
    "a state of another form": (
        lambda: ft.checkpoint(lambda x: np.stack([x, x]), slots=1, steps=4)(1.0),
        "the step returned float64[2] for state of the carry, which was a Python float",
    ),
}


@pytest.mark.parametrize(("call", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(call, text):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert text in message(error)


def test_as_a_decorator():
    @ft.checkpoint(slots=3, chunk=2)
    def f(x):
        """Powers of two."""
        return x * in_loop(5)

    assert f.__doc__ == "Powers of two."
    equal(ft.grad(f)(1.0), np.float64(32.0))


@given(
    st.integers(0, 30), st.integers(1, 6), st.integers(1, 6), st.booleans(),
    st.lists(st.sampled_from(["grad", "jvp", "vmap"]), max_size=3),
)  # fmt: skip
def test_in_any_nesting(n, slots, chunk, reverse, names):
    def loop(x):
        def step(c, k):
            return np.sin(c) * x + 0.1 * k, c * c

        c, ys = ft.scan(step, x, np.arange(float(n)), reverse=reverse)
        return c + np.sum(ys, 0) if n else c

    def stacked(f):
        for name in names:
            f = {
                "grad": lambda f: lambda x: ft.grad(lambda x: np.sum(f(x)))(x),
                "jvp": lambda f: lambda x: ft.jvp(f, (x,), (np.sin(x),))[1],
                "vmap": lambda f: ft.vmap(f),
            }[name](f)
        return f(np.linspace(0.1, 1.0, 8).reshape(2, 2, 2))

    close(stacked(ft.checkpoint(loop, slots=slots, chunk=chunk)), stacked(loop), 1e-9)


# ---- the checks are checked ----

PLANTED = {
    "sums that a region does not go on with": (
        lambda: same(
            ft.grad(ft.checkpoint(scanned, slots=2), 1)(X, W, ROWS), ft.grad(scanned, 1)(X, W, ROWS)
        )
    ),
    "draws from the start of the segment": test_draws_are_repeated,
    "a state that is kept in the middle": (
        lambda: test_the_step_runs_as_often_as_the_best_schedule_says(57, 3)
    ),
    "results of different levels as one group": test_results_whose_levels_differ_from_step_to_step,
    "a tape that is not cut": test_the_memory_does_not_grow_with_the_loop,
    "a second run that nobody compares": test_other_numbers_in_the_second_run,
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault, monkeypatch):
    faulty.wrong_slots(fault, monkeypatch)
    with pytest.raises((AssertionError, RuntimeError, pytest.fail.Exception)):
        PLANTED[fault]()


@pytest.mark.slow
def test_a_slot_of_checkpoint_keeps_one_array():
    x = np.linspace(-1, 1, 10_000)

    def loop(x):
        def step(c, _):
            return np.tanh(np.sin(c * 1.01 + 0.1)), None

        return ft.scan(step, x, None, length=50)[0].sum()

    def arrays(slots):
        gradient = ft.grad(ft.checkpoint(loop, slots=slots))
        gradient(x)
        return held(lambda: gradient(x))[2] / x.nbytes

    assert (arrays(30) - arrays(10)) / 20 < 1.2
