"""Programs that write, in everything of the library that runs a function, and in nestings."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import functier as ft
from support.basics import close
from support.differences import Numeric, check, direction, total
from support.rows import run_each
from support.turns import few
from support.view_programs import INTO, THROUGH_VIEWS
from support.write_programs import AT_INDEXES, WRITES, X

PROGRAMS = {
    name: {**AT_INDEXES, **WRITES, **THROUGH_VIEWS, **INTO}[name]
    for name in (
        "y[step] = v", "y[repeats] = v", "y[mask] = v", "y += x", "recurrence", "twice", "rows",
        "out is an operand", "add.at", "sort", "sorted_places", "beside T of a result",
        "through slice of zeros", "filled the argument", "kept ufunc", "filled zeros",
    )
}  # fmt: skip


# ---- functions that compute the same ----


def branch(f):
    """`f` where the sum is large, which it is; the other branch writes, too."""

    def other(x):
        x *= 2.0
        return f(x) * 3.0

    return lambda x: ft.cond(np.sum(x * x) > -1.0, f, other, x)


def mixed(f):
    """A batch takes both branches; each example has the value of its own."""

    def other(x):
        y = x * 1.0
        y[0] += 0.0
        return f(y)

    return lambda x: ft.cond(x[0] > 0.72, f, other, x)


def choice(f):
    return lambda x: ft.switch(np.argmax(x) * 0 + 1, [lambda x: f(x) * 2.0, f], x)


def carry(f):
    """The carry of a scan is an array that the body writes to."""

    def body(c, i):
        y = f(c * 1.0)
        c *= 1.0
        return c, y

    return lambda x: ft.scan(body, x, np.arange(2))[1][1]


def once(f):
    """A loop of one step, whose state the body writes to."""

    def body(state):
        i, y = state
        y[...] = 0.0
        y += f(x_of[0])
        return i + 1, y

    x_of = [None]

    def run(x):
        x_of[0] = x * 1.0
        start = np.zeros_like(f(x * 1.0))
        return ft.while_loop(lambda s: s[0] < 1, body, (0, start))[1]

    return run


def counted(f):
    return lambda x: ft.fori_loop(0, 2, lambda i, y: f(x * 1.0) + 0.0 * y, 0.0 * f(x * 1.0))


def with_vjp(f):
    g = ft.custom_vjp(f)
    g.defvjp(lambda x: (f(x * 1.0), x), lambda x, t: ft.vjp(f, x)[1](t))
    return g


def with_jvp(f):
    g = ft.custom_jvp(f)
    g.defjvp(lambda primals, tangents: ft.jvp(f, primals, tangents))
    return g


def as_function(f):
    class Program(ft.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return f(x * 1.0)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return ft.vjp(f, ctx.saved_tensors[0])[1](g)[0]

        @staticmethod
        def jvp(ctx, t):
            return ft.jvp(f, (ctx.saved_tensors[0],), (t,))[1]

    return Program.apply


def aside(f):
    """A part of the work is done where no derivative is recorded."""

    def run(x):
        y = x * 1.0
        with ft.no_grad():
            z = y * 2.0
            z[0] = 7.0
        return f(y) + 0.0 * np.sum(z)

    return run


SAME = {
    "checkpoint": ft.checkpoint,
    "cond": branch,
    "cond of a batch": mixed,
    "switch": choice,
    "scan": carry,
    "while_loop": once,
    "fori_loop": counted,
    "custom_vjp": with_vjp,
    "custom_jvp": with_jvp,
    "Function": as_function,
    "sequential_vmap": ft.sequential_vmap,
    "no_grad": aside,
}
NESTINGS = [
    (), ("vmap",), ("grad",), ("jvp",), ("vmap", "grad"), ("grad", "vmap"), ("vmap", "jvp"),
    ("jvp", "vmap"), ("jvp", "grad"), ("grad", "jvp"), ("grad", "grad"), ("vmap", "vmap"),
]  # fmt: skip
WITHOUT = {
    "custom_vjp": {("jvp",), ("vmap", "jvp"), ("jvp", "vmap"), ("grad", "jvp")},
    "while_loop": {n for n in NESTINGS if "grad" in n},
}
"""Nestings that a feature does not have: no jvp of a custom_vjp, no reverse of a while loop."""


@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize("names", NESTINGS, ids=" ".join)
def test_a_program_that_writes_in_another_function(kind, names):
    """Control flow, checkpoint, custom rules: the program does what it does without them."""
    if names in WITHOUT.get(kind, ()):
        return
    run_each(PROGRAMS, lambda f: check(names, SAME[kind](f), X, reference=f))


# ---- Jacobians and their kin ----


def by_linearize(f):
    def jacobian(x):
        value, push = ft.linearize(f, x)
        close(value, f(x.copy()))
        return np.stack([push(t) for t in np.eye(x.size)], -1)

    return jacobian


def by_vjp(f):
    def jacobian(x):
        value, pull = ft.vjp(f, x)
        close(value, f(x.copy()))
        rows = [pull(g.reshape(np.shape(value)))[0] for g in np.eye(np.size(value))]
        return np.reshape(rows, (*np.shape(value), *x.shape))

    return jacobian


JACOBIANS = {
    "jacfwd": ft.jacfwd,
    "jacrev": ft.jacrev,
    "jacfwd in chunks": lambda f: ft.jacfwd(f, chunk_size=2),
    "jacrev in chunks": lambda f: ft.jacrev(f, chunk_size=2),
    "linearize": by_linearize,
    "vjp": by_vjp,
    "with grad": lambda f: ft.jacrev(lambda x: f(x * 1.0)),
}


@pytest.mark.parametrize("kind", JACOBIANS)
def test_jacobians(kind):
    """The whole Jacobian, which runs the program under vmap inside or outside of a derivative."""

    def test(f):
        wanted = Numeric.jacobian(f)(X.copy())
        np.testing.assert_allclose(JACOBIANS[kind](f)(X), wanted, rtol=1e-7, atol=1e-7)

    before = X.copy()
    run_each(PROGRAMS, test)
    np.testing.assert_array_equal(X, before)


HESSIANS = {
    "hessian": ft.hessian,
    "jacrev of grad": lambda f: ft.jacrev(ft.grad(f)),
    "jacfwd of grad": lambda f: ft.jacfwd(ft.grad(f)),
    "jacfwd of jacfwd": lambda f: ft.jacfwd(ft.jacfwd(f)),
    "hvp": lambda f: lambda x: np.stack([ft.hvp(f, (x,), (t,))[1][0] for t in np.eye(x.size)]),
}


@pytest.mark.parametrize("kind", HESSIANS)
def test_hessians(kind):
    """Second derivatives of a number that follows from a program."""

    def test(f):
        wanted = Numeric.jacobian(Numeric.grad(f))(X.copy())
        found = HESSIANS[kind](lambda x: total(f(x)))(X)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)

    run_each(PROGRAMS, test)


# ---- batches in parts ----


@pytest.mark.parametrize("options", [
    {"chunk_size": 2}, pytest.param({"chunk_size": 1}, marks=pytest.mark.slow), {"in_dims": 1},
    {"out_dims": -1}, {"chunk_size": 2, "executor": "threads"},
], ids=str)  # fmt: skip
def test_options_of_vmap(options):
    """Chunks, also in threads, and other axes: each example has its own array."""
    xs = np.stack([X * s + 0.01 for s in (1.0, 1.1, 0.9, 1.2, 0.8)])
    options = dict(options)

    def test(f):
        wanted = np.stack([f(x.copy()) for x in xs], options.get("out_dims", 0))
        given = xs.T.copy() if options.get("in_dims") else xs.copy()
        before = given.copy()
        np.testing.assert_allclose(ft.vmap(f, **options)(given), wanted, rtol=1e-14, atol=1e-14)
        np.testing.assert_array_equal(given, before)

    with ThreadPoolExecutor(2) as pool:
        if "executor" in options:
            options["executor"] = pool
        run_each(PROGRAMS, test)


def test_many_threads_at_once():
    """Each thread has its own levels, and its own memories."""
    programs = list(PROGRAMS.values()) * 4
    wanted = [Numeric.grad(f)(X.copy()) for f in programs[: len(PROGRAMS)]] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda f: ft.grad(lambda x: total(f(x)))(X), programs))
    for name, a, b in zip([*PROGRAMS] * 4, found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=name)


# ---- blocks ----


def test_blocks_of_vmap_grad_and_jvp():
    """``with grad() as G``: the program writes inside of the block, and to its tensors."""

    def test(f):
        value = f(X.copy())
        with ft.vmap() as V:
            out = V.unwrap(f(V(np.stack([X, X]))))
        close(out, np.stack([value, value]), 1e-14)
        with ft.grad() as G:
            x = G(X)
            y = total(f(x * 1.0))
            slope = G.gradient(y, x)
        np.testing.assert_allclose(slope, Numeric.grad(f)(X.copy()), rtol=1e-6, atol=1e-6)
        with ft.jvp() as F:
            out, moved = F.unwrap(f(F(X, direction(X))))
        close(out, value, 1e-14)
        np.testing.assert_allclose(moved, Numeric.jvp(f)(X.copy()), rtol=1e-6, atol=1e-6)

    run_each(PROGRAMS, test)


# ---- programs that write, in the nestings of the transforms, beside NumPy and differences ----


TABLES = {"indexes": AT_INDEXES, "functions": WRITES, "views": THROUGH_VIEWS, "arrays": INTO}
FEW = {
    name: {**AT_INDEXES, **WRITES, **THROUGH_VIEWS, **INTO}[name]
    for name in (
        "y[step] = v", "y[repeats] = v", "y[int arrays] *= v", "y[column] += v", "y[mask] = v",
        "y += x", "recurrence", "shift by itself", "twice", "rows", "out is an operand",
        "add.at", "fill_diagonal", "sort", "sorted_places", "read_at_a_place",
        "through reversed of a result", "through a view of a view of zeros",
        "beside T of a result", "beside asarray of zeros", "filled the argument", "kept ufunc",
    )
}  # fmt: skip


def nestings(depth):
    """All nestings of three transforms, the outermost first."""
    return list(itertools.product(("vmap", "grad", "jvp"), repeat=depth))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("names", nestings(1), ids=" ".join)
def test_a_program_that_writes_under_a_transform(table, names):
    """The value, or its derivative, and the caller's array is unchanged."""
    run_each(TABLES[table], lambda f: check(names, f, X))


@pytest.mark.parametrize("table", ["functions", "arrays"])
@pytest.mark.parametrize("names", few(nestings(2), 4), ids=" ".join)
def test_a_program_that_writes_under_two_transforms(table, names):
    """Every pair of vmap, grad and jvp."""
    run_each(TABLES[table], lambda f: check(names, f, X))


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize("table", ["indexes", "views"])
@pytest.mark.parametrize("names", nestings(2), ids=" ".join)
def test_a_program_with_an_index_or_a_view_under_two_transforms(table, names):
    """The same for the large tables."""
    run_each(TABLES[table], lambda f: check(names, f, X))


@pytest.mark.parametrize("names", nestings(2) + nestings(3), ids=" ".join)
def test_a_few_programs_that_write_under_three_transforms(names, request):
    """Every pair and every triple, of a program for each kind of write.

    A quick run takes the programs in turn: each under nine triples, each triple with a third.
    """
    turn, step = 0, 1
    if len(names) == 3 and not request.config.getoption("--slow"):
        turn, step = nestings(3).index(names) % 3, 3
    run_each(dict(list(FEW.items())[turn::step]), lambda f: check(names, f, X))
